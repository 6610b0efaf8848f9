"""Statistics that SQL would make unreadable, on numpy arrays; `register` makes them functions of a DuckDB connection.

Times are in seconds; a list of times is in the order in which the steps were taken.
"""

import contextlib
from collections.abc import Callable, Container, Sequence
from math import ceil, comb, floor, sqrt
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import betainc, stdtrit

Values = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

FEWEST_STEPS = 40  # below it the order statistics do not cover 95 %: 78 % for n = 6 and phi = 0.5
FEWEST_RUNS = 6  # the range of 5 runs covers their median in 93.8 % of cases, that of 6 in 96.9 %
HALF_WIDTH = 0.98  # 1.96 / 2: standard deviation of the share of n values below the median is 1 / (2 sqrt(n))


class Interval(NamedTuple):
    """Interval of a median.  Without one `kind` is None and `reason` says why."""

    low: float | None
    high: float | None
    kind: str | None  # `ci95`, or `range` where a confidence cannot be claimed
    n_eff: float | None  # values of an uncorrelated series that would say as much
    autocorrelation: float | None  # lag-1, of the ranks
    reason: str | None


def ranks(values: Values) -> Values:
    """Rank of each value from 1, shape (n,) to (n,); values that tie share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def rank_autocorrelation(values: Values) -> float:
    """Lag-1 autocorrelation of the ranks: Pearson's r of each rank with the one before it, -1 to 1.

    By ranks, so that a single stall of a minute does not hide the correlation of all other steps.  A constant series
    has none: 0.
    """
    rank = ranks(values)
    before, after = rank[:-1], rank[1:]
    if len(rank) < 3 or np.ptp(before) == 0 or np.ptp(after) == 0:
        return 0.0
    return float(np.corrcoef(before, after)[0, 1])


def median_interval(values: Values) -> Interval:
    """95 % interval of the median of one run's step times, shape (n,), distribution-free, for autocorrelated steps.

    The order statistics floor(n (0.5 - 0.98 / sqrt(n_eff))) and ceil(n (0.5 + 0.98 / sqrt(n_eff))) + 1, counted from
    1, with n_eff = n (1 - r) / (1 + r) and r the lag-1 rank autocorrelation, not below 0.  For n_eff = n this is the
    interval that Hoefler and Belli (SC'15, section 3.1) take from Le Boudec; n_eff is the number of independent
    observations that a first-order autoregressive series is worth (Bayley and Hammersley, J. R. Stat. Soc. 8, 1946).
    """
    n = len(values)
    if n == 0:
        return Interval(None, None, None, None, None, "no record is left")
    if n == 1:
        return Interval(None, None, None, 1.0, None, "one record has no interval")
    r = rank_autocorrelation(values)
    likeness = max(r, 0.0)
    n_eff = n * (1 - likeness) / (1 + likeness)
    if n < FEWEST_STEPS:
        reason = f"{n} records are too few for a 95 % interval: the range of them"
        return Interval(float(np.min(values)), float(np.max(values)), "range", n_eff, r, reason)
    half = HALF_WIDTH / sqrt(n_eff) if n_eff > 0 else float("inf")
    if half >= 0.5 or floor(n * (0.5 - half)) < 1 or ceil(n * (0.5 + half)) + 1 > n:
        reason = f"neighbours are too alike (r = {r:.2f}): {n} records say as much as {n_eff:.1f}"
        return Interval(None, None, None, n_eff, r, reason)
    ordered = np.sort(values)
    low, high = floor(n * (0.5 - half)), ceil(n * (0.5 + half)) + 1
    return Interval(float(ordered[low - 1]), float(ordered[high - 1]), "ci95", n_eff, r, None)


def median_interval_between_runs(medians: Values) -> Interval:
    """Interval of the median over runs, shape (n_runs,): the run is the unit.

    From six runs on the narrowest symmetric pair of order statistics that covers 95 %, exact by the binomial
    distribution of the number of runs below the median; with fewer the range.
    """
    n = len(medians)
    if n < 2:
        return Interval(None, None, None, None, None, "one run has no interval between runs")
    ordered = np.sort(medians)
    if n < FEWEST_RUNS:
        reason = f"{n} runs are too few for a 95 % interval: the range of them"
        return Interval(float(ordered[0]), float(ordered[-1]), "range", float(n), None, reason)
    outside, rank = 0, 0
    while outside + comb(n, rank) <= 0.025 * 2**n:  # values below the median: binomial (n, 1/2)
        outside += comb(n, rank)
        rank += 1
    return Interval(float(ordered[rank - 1]), float(ordered[n - rank]), "ci95", float(n), None, None)


def binomial_tail(successes: Values, trials: Values, rate: Values) -> Values:
    """Probability of at least that many successes in that many trials, each of shape (n,); NaN for no trial."""
    least = np.maximum(successes, 1)  # one success or more: the regularised incomplete beta function
    tail = np.where(successes <= 0, 1.0, betainc(least, np.maximum(trials - least + 1, 1), rate))
    return np.where(trials > 0, tail, np.nan)


def innermost(starts: Sequence[int], ends: Sequence[int], times: Sequence[int]) -> list[int | None]:
    """Place, from 1, of the innermost span around each time; None where there is none.

    Spans of one thread lie within each other or apart; of two that cross, the later start is the inner one.
    """
    spans = sorted(range(len(starts)), key=lambda n: (starts[n], -ends[n]))
    found: list[int | None] = [None] * len(times)
    opened: list[int] = []
    waiting = iter(spans)
    following = next(waiting, None)
    for place in sorted(range(len(times)), key=times.__getitem__):
        while following is not None and starts[following] <= times[place]:
            while opened and ends[opened[-1]] < starts[following]:
                opened.pop()
            opened.append(following)
            following = next(waiting, None)
        while opened and ends[opened[-1]] < times[place]:
            opened.pop()
        found[place] = opened[-1] + 1 if opened else None
    return found


def nested(
    lines: Places, starts: Places, durations: Places, kernels: Places, kernel_ns: Places
) -> dict[str, npt.NDArray[np.int64]]:
    """How the calls on a thread lie within each other, and the work that they launch; -1 where there is no parent.

    An entry with a duration is a call, one of -1 a launch of `kernels` pieces of work.  At one instant calls end before
    others begin, the outer begins first and ends last, and so does what lasts no time; of two that cross, the later
    start is the inner one.
    """
    is_call = durations >= 0
    line, start, lasted, launched = lines[is_call], starts[is_call], durations[is_call], starts[~is_call]
    calls, nothing = len(line), np.zeros(len(launched), np.int64)
    # Edges: calls begin, calls end, work is launched.
    kind = np.concatenate((np.full(calls, 1), np.where(lasted == 0, 3, 0), nothing + 2))
    outer_first, line_first = np.concatenate((-lasted, lasted, nothing)), np.concatenate((line, -line, nothing))
    order = np.lexsort((line_first, outer_first, kind, np.concatenate((start, start + lasted, launched))))
    at = np.argsort(order)
    begins, ends, launches = at[:calls], at[calls : 2 * calls], at[2 * calls :]
    depths = np.cumsum(np.concatenate((np.full(calls, 1), np.full(calls, -1), nothing))[order])
    # The innermost call around an edge is the last that began at its depth.
    by_depth = np.argsort(depths, kind="stable")
    call = np.concatenate((np.arange(calls), np.full(len(order) - calls, -1)))[order][by_depth]
    last = np.maximum.accumulate(np.where(call >= 0, np.arange(len(order)), 0))
    owner = np.empty_like(call)
    owner[by_depth] = np.where(depths[by_depth[last]] == depths[by_depth], call[last], -1)

    depth, parent, within = depths[begins] - 1, owner[ends], np.zeros(calls, np.int64)
    parent = np.where(depth > 0, parent, -1)
    np.add.at(within, parent[parent >= 0], lasted[parent >= 0])
    around = np.where(depths[launches] > 0, owner[launches], -1)
    parent_line = np.where(parent >= 0, line[parent], -1)
    found = {"line": line, "depth": depth, "parent_line": parent_line, "self_ns": lasted - within}
    for name, work in (("kernels", kernels[~is_call]), ("kernel_ns", kernel_ns[~is_call])):
        found[name], so_far = np.zeros(calls, np.int64), np.zeros(len(order), np.int64)
        np.add.at(found[name], around[around >= 0], work[around >= 0])
        so_far[launches] = work
        so_far = np.cumsum(so_far)
        found[f"subtree_{name}"] = so_far[ends] - so_far[begins]
    return found


def class_spans(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], classes: npt.NDArray[np.int64]
) -> list[int]:
    """How long each combination of classes runs, from the first start to the last end; place n is that of bits n.

    Classes are 1, 2 and 4: place 3 is the time in which work of 1 and of 2 runs and none of 4, place 0 that of no work.
    """
    times = np.concatenate((starts, ends))
    order = np.argsort(times, kind="stable")
    edges = classes.astype(np.int8)  # an eighth of the memory to go through for each class
    edges = np.concatenate((edges, -edges))[order][:-1]
    running = np.zeros(len(edges), np.int8)
    for bit in (1, 2, 4):
        change = (edges == bit).view(np.int8) - (edges == -bit).view(np.int8)
        running |= (np.cumsum(change, dtype=np.int64) > 0).view(np.int8) * np.int8(bit)
    lasted = np.diff(times[order])
    return [int(lasted @ (running == bits)) for bits in range(8)]


def student_t(freedom: Values) -> Values:
    """Half-width of a 95 % interval in standard errors, by Student's t; NaN without a degree of freedom."""
    return np.asarray(stdtrit(freedom, 0.975))


FUNCTIONS: dict[str, Callable[[Values], Interval]] = {
    "median_interval": median_interval,
    "median_interval_between_runs": median_interval_between_runs,
}

_NESTED = [
    "line", "depth", "parent_line", "self_ns", "kernels", "kernel_ns", "subtree_kernels", "subtree_kernel_ns",
]  # fmt: skip
_TEXT = ("kind", "reason")
_STRUCT = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Interval._fields)
_ARROW = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Interval._fields])


def _over_lists(statistic: Callable[[Values], Interval]) -> Callable[[Any], Any]:
    """The statistic of each list of an Arrow array; NULL for NULL.  2 million numbers in 100 lists take 0.1 s."""

    def apply(lists: pa.ChunkedArray) -> pa.Array:
        arrays: Sequence[Any] = [entry.values for entry in lists]
        results = [
            None if array is None else statistic(array.to_numpy(zero_copy_only=False))._asdict() for array in arrays
        ]
        return pa.array(results, type=_ARROW)

    return apply


def _binomial_tail(successes: pa.ChunkedArray, trials: pa.ChunkedArray, rate: pa.ChunkedArray) -> pa.Array:
    """`binomial_tail` of Arrow columns; NULL where there is no trial or a value is NULL."""
    columns = (column.to_numpy(zero_copy_only=False).astype(float) for column in (successes, trials, rate))
    return pa.array(binomial_tail(*columns), type=pa.float64(), from_pandas=True)


def _innermost(starts: pa.ChunkedArray, ends: pa.ChunkedArray, times: pa.ChunkedArray) -> pa.Array:
    """`innermost` of Arrow columns of lists."""
    rows = zip(starts.to_pylist(), ends.to_pylist(), times.to_pylist(), strict=True)
    return pa.array([innermost(*row) if all(row) else None for row in rows], type=pa.list_(pa.int64()))


def _nested(
    lines: pa.ChunkedArray,
    starts: pa.ChunkedArray,
    durations: pa.ChunkedArray,
    kernels: pa.ChunkedArray,
    kernel_ns: pa.ChunkedArray,
) -> pa.Array:
    """`nested` of Arrow columns of lists: of each thread a list with an entry for each call."""
    rows = zip(lines, starts, durations, kernels, kernel_ns, strict=True)
    found = [nested(*(one.values.to_numpy() for one in row)) for row in rows]
    entries = [np.concatenate([np.zeros(0, np.int64), *(one[name] for one in found)]) for name in _NESTED]
    ends = np.cumsum([0, *(len(one["line"]) for one in found)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(entries, _NESTED))


def _class_spans(starts: pa.ChunkedArray, ends: pa.ChunkedArray, classes: pa.ChunkedArray) -> pa.Array:
    """`class_spans` of Arrow columns of lists."""
    rows = zip(starts, ends, classes, strict=True)
    return pa.array([class_spans(*(one.values.to_numpy() for one in row)) for row in rows], type=pa.list_(pa.int64()))


def register(connection: duckdb.DuckDBPyConnection, called: Container[str] | None = None) -> None:
    """Makes the functions known to SQL, or those called alone: `median_interval(list(step_s ORDER BY step)).low`."""
    lists: list[Any] = ["BIGINT[]"] * 3
    functions: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
        name: (_over_lists(statistic), ["DOUBLE[]"], f"STRUCT({_STRUCT})") for name, statistic in FUNCTIONS.items()
    }
    functions |= {
        "binomial_tail": (_binomial_tail, ["BIGINT", "BIGINT", "DOUBLE"], "DOUBLE"),
        "class_spans": (_class_spans, lists, "BIGINT[]"),
        "innermost": (_innermost, lists, "BIGINT[]"),
        "nested": (_nested, ["BIGINT[]"] * 5, f"STRUCT({' BIGINT, '.join(_NESTED)} BIGINT)[]"),
        "student_t": (lambda n: pa.array(student_t(n.to_numpy())), ["DOUBLE"], "DOUBLE"),
    }
    arrow: Any = {"type": "arrow", "null_handling": "special"}  # as text: the enums move between versions
    for name, (function, takes, gives) in functions.items():
        if called is not None and name not in called:
            continue
        with contextlib.suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # known already
            connection.create_function(name, function, takes, gives, **arrow)
