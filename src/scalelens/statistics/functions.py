"""The statistics as functions of a DuckDB connection, on Arrow columns."""

import contextlib
from collections.abc import Callable, Container, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from scalelens.statistics.medians import Interval, Values, median_interval, median_interval_between_runs
from scalelens.statistics.significance import binomial_tail, student_t
from scalelens.statistics.spans import class_spans, innermost, nested

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
