"""Intervals of medians and other quantiles, of the steps of one run and of repeated runs.

Times are in seconds, in the order of steps.
"""

from collections.abc import Sequence
from math import erf, floor, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.blocks import Lengths, padded
from scalelens.statistics.effective_size import (
    at,
    behind_end,
    effective_size,
    half_width,
    ordered_with_ranks,
    rank_autocorrelation,
)
from scalelens.statistics.rounding import widened
from scalelens.statistics.significance import normal_quantile
from scalelens.statistics.two_levels import changes_of_level

Values = npt.NDArray[np.float64]

# Records that a median has at least: with 60 of them it is covered in 88 % for phi = 0.9.  Then those that the rarer
# side of another quantile has at least: with 40 of them the 95th percentile of a sawtooth is covered in 82 to 90 %.
_FEWEST = 80
_FEWEST_TO_A_SIDE = 50
_TOLERANCE = 1e-6  # of a number of records: 500 times 1 - 0.9 is less than 50
FEWEST_RUNS = 6  # the range of 5 runs covers their median in 93.8 % of cases, that of 6 in 96.9 %


class Interval(NamedTuple):
    """Interval of a median or another quantile.  Without one `kind` is None and `reason` says why."""

    low: float | None
    high: float | None
    kind: str | None  # `ci95`, or `range` where a confidence cannot be claimed
    n_eff: float | None  # values of an uncorrelated series that would say as much
    autocorrelation: float | None  # lag-1, of the ranks
    reason: str | None


def median_interval(values: Values) -> Interval:
    """95 % interval of the median of one run's step times, shape (n,), distribution-free, for autocorrelated steps.

    The order statistics j = floor(n (0.5 - 0.98 / sqrt(n_eff)) + 0.5) and n + 1 - j, counted from 1, widened by what
    rounding hides.  For n_eff = n this is the interval that Hoefler and Belli (SC'15, section 3.1) take from Le Boudec;
    n_eff allows for autocorrelation (effective_size.py).  docs/statistics.md says what it covers for which series.

    `range` is from the smallest to the largest value: of few values, and of a run so unsteady that its steps say as
    little as a few.
    """
    return median_intervals([values])[0]


def median_intervals(runs: Sequence[Values]) -> list[Interval]:
    """`median_interval` of each of several runs."""
    values, n = padded(runs)
    return intervals_of_ordered(values, n, *ordered_with_ranks(values, n))


def quantile_interval(values: Values, quantile: float) -> Interval:
    """95 % interval of any quantile of one run's records, shape (n,), in the order of steps; `range` as of the median.

    With the n_eff of that quantile.  An interval that reaches beyond the records ends with the last of them: there is
    one from 50 records on to each side of the quantile, and hardly ever lies the quantile beyond all of them.
    """
    return quantile_intervals([values], quantile)[0]


def quantile_intervals(runs: Sequence[Values], quantile: float) -> list[Interval]:
    """`quantile_interval` of each of several runs."""
    if not 0 < quantile < 1:
        reason = f"an interval is of a quantile between 0 and 1, and not of {quantile:g}"
        return [Interval(None, None, None, None, None, reason)] * len(runs)
    values, n = padded(runs)
    return intervals_of_ordered(values, n, *ordered_with_ranks(values, n), quantile)


def intervals_of_ordered(
    values: Values, n: Lengths | None, ordered: Values, rank_of: Values, quantile: float = 0.5
) -> list[Interval]:
    """The same of `padded` runs of which `ordered_with_ranks` is known: sorting is a third of its time."""
    runs, widest = values.shape
    if widest < 2:
        of_none = Interval(None, None, None, None, None, "no record is left")
        of_one = Interval(None, None, None, 1.0, None, "one record has no interval")
        return [of_one if widest else of_none] * runs
    lengths = np.full(runs, widest) if n is None else n
    r = rank_autocorrelation(rank_of, n)
    place = quantile * (lengths - 1)
    levels = (at(ordered, np.floor(place).astype(np.int64)) + at(ordered, np.ceil(place).astype(np.int64))) / 2
    n_eff = effective_size(values, levels, r, rank_of, n, quantile)
    is_tie = ordered[:, 1:] == ordered[:, :-1]
    if n is not None:
        is_tie &= ~behind_end(ordered, n)[:, 1:]
    of_runs = zip(
        values, ordered, lengths.tolist(), n_eff.tolist(), r.tolist(), is_tie.any(axis=1).tolist(), strict=True
    )
    return [_interval_of(row[:length], sort[:length], quantile, *rest) for row, sort, length, *rest in of_runs]


def _interval_of(
    values: Values, ordered: Values, quantile: float, n_eff: float, autocorrelation: float, has_ties: bool
) -> Interval:
    """The interval of one run's values, shape (n,), in the order of steps and sorted."""
    n = len(ordered)
    low, high, kind, reason = float(ordered[0]), float(ordered[-1]), "range", None
    if low == high:  # equal as printed
        low, high = widened(low, high, ordered) or (low, high)
    to_each_side = half_width(quantile) / sqrt(n_eff) if n_eff > 0 else 0.5
    if n < _fewest(quantile):
        of_what = "" if quantile == 0.5 else f" of the quantile {quantile:g}"
        reason = f"{n} records are too few for a 95 % interval{of_what}: their range is given"
    elif floor(n * (0.5 - to_each_side) + 0.5) < 1:
        reason = f"unsteady: {n} records are worth {n_eff:.1f} independent ones: their range is given"
    elif (changes := changes_of_level(values, ordered)) is not None:
        times = "once" if changes == 1 else f"{changes} times"
        reason = (
            f"two levels, changed {times} in {n} records: too few to tell how long each lasts: their range is given"
        )
    else:
        below, above = (max(floor(n * share + 0.5), 1) for share in _shares_outside(quantile, to_each_side))
        ends = float(ordered[below - 1]), float(ordered[n - above])
        widest = widened(*ends, ordered) if has_ties else ends
        if widest is None:
            reason = "all records are equal, and nothing shows how coarsely they are rounded"
        else:
            low, high, kind = *widest, "ci95"
    return Interval(low, high, kind, n_eff, autocorrelation, reason)


def _fewest(quantile: float) -> float:
    """Records of which the quantile has an interval."""
    return _FEWEST if quantile == 0.5 else _FEWEST_TO_A_SIDE / min(quantile, 1 - quantile) - _TOLERANCE


def _shares_outside(quantile: float, to_each_side: float) -> tuple[float, float]:
    """Shares of the values below and above the interval of a quantile, as wide as one of a median that has this share.

    As wide in standard deviations of a normal distribution, so that an end comes nearer to 0 and 1 and not beyond.
    """
    if quantile == 0.5:
        return 0.5 - to_each_side, 0.5 - to_each_side
    z, half = normal_quantile(quantile), normal_quantile(0.5 + to_each_side)
    return (1 + erf((z - half) / sqrt(2))) / 2, (1 - erf((z + half) / sqrt(2))) / 2


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
        reason = f"{n} runs are too few for a 95 % interval: their range is given"
        return Interval(float(ordered[0]), float(ordered[-1]), "range", float(n), None, reason)
    rank, _ = rank_of_lower_end(n)
    return Interval(float(ordered[rank - 1]), float(ordered[n - rank]), "ci95", float(n), None, None)


def rank_of_lower_end(n: int) -> tuple[int, int]:
    """Rank of the lower end of the 95 % interval of a median of n values, and the outcomes that lie below it.

    Of 2^n outcomes, those with fewer values below the median than the rank: 2.5 % at most.  Whole numbers, because
    2^n is beyond a float from 1,024 runs on.
    """
    most, below, rank, ways = 2**n // 40, 0, 0, 1  # ways: outcomes with `rank` values below the median
    while below + ways <= most:
        below += ways
        rank += 1
        ways = ways * (n - rank + 1) // rank
    return rank, below
