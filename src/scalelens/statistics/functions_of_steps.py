"""The statistics on the records of steps as functions of SQL: a list of numbers for each run, NULL for NULL."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens.statistics.medians import Interval, Values, median_interval, median_interval_between_runs
from scalelens.statistics.ratios import ratio_interval
from scalelens.statistics.steps import Records, kept_records, quantiles

NOTHING = Interval(None, None, None, None, None, None)

_TEXT = ("kind", "reason")
_INTERVAL = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Interval._fields])
_SQL_INTERVAL = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Interval._fields)


def _lists(column: pa.ChunkedArray) -> Iterator[npt.NDArray[Any] | None]:
    """The lists of numbers of an Arrow column, as views on its memory; None for NULL."""
    for chunk in column.chunks:
        values, ends = chunk.values.to_numpy(zero_copy_only=False), chunk.offsets.to_numpy().tolist()
        is_known = chunk.is_valid().to_pylist() if chunk.null_count else itertools.repeat(True)
        for known, first, end in zip(is_known, ends[:-1], ends[1:], strict=False):
            yield values[first:end] if known else None


def _over_lists(statistic: Callable[[Values], Interval]) -> Callable[[Any], Any]:
    """The statistic of each list of an Arrow array; NULL for NULL."""

    def apply(lists: pa.ChunkedArray) -> pa.Array:
        results = [None if values is None else statistic(values) for values in _lists(lists)]
        missing = pa.array([interval is None for interval in results])
        columns = zip(*(interval or NOTHING for interval in results), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _INTERVAL, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=[*_INTERVAL], mask=missing)

    return apply


def _ratio_interval(firsts: pa.ChunkedArray, seconds: pa.ChunkedArray) -> pa.Array:
    """`ratio_interval` of Arrow columns of lists; NULL where one is NULL."""
    rows = zip(firsts.to_pylist(), seconds.to_pylist(), strict=True)
    results = [None if None in row else ratio_interval(*map(np.array, row))._asdict() for row in rows]
    return pa.array(results, type=_INTERVAL)


def _quantiles(lists: pa.ChunkedArray, shares: pa.ChunkedArray) -> pa.Array:
    """`quantiles` of Arrow columns of lists; NULL where a list is NULL."""
    rows = zip(_lists(lists), _lists(shares), strict=True)
    results = [None if values is None or at is None else quantiles(values, at) for values, at in rows]
    return pa.array(results, type=pa.list_(pa.float64()))


def _kept_records(
    steps: pa.ChunkedArray,
    times: pa.ChunkedArray,
    epochs: pa.ChunkedArray,
    tflops: pa.ChunkedArray,
    left_out: pa.ChunkedArray,
    warmups: pa.ChunkedArray,
) -> pa.Array:
    """`kept_records` of Arrow columns of lists, and one of numbers; NULL where it is None."""
    lists = (_lists(column) for column in (steps, times, epochs, tflops, left_out))
    found = [kept_records(*row) for row in zip(*lists, warmups.to_pylist(), strict=True)]
    missing = pa.array([records is None for records in found])
    times = _array_of_lists([records and records.times_s for records in found])
    tflops = _array_of_lists([records and records.tflops_per_device for records in found])
    counts = pa.array([records and records.n_excluded for records in found], pa.int64())
    return pa.StructArray.from_arrays([times, tflops, counts], list(Records._fields), mask=missing)


def _array_of_lists(lists: Sequence[npt.NDArray[Any] | None]) -> pa.ListArray:
    """An Arrow array of lists of floating-point numbers; None is NULL."""
    known = [np.zeros(0), *(values for values in lists if values is not None)]
    ends = np.cumsum([0, *(0 if values is None else len(values) for values in lists)], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, np.concatenate(known), mask=pa.array([values is None for values in lists]))


FUNCTIONS_OF_STEPS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "kept_records": (
        _kept_records,
        ["BIGINT[]", *["DOUBLE[]"] * 3, "BIGINT[]", "BIGINT"],
        "STRUCT(times_s DOUBLE[], tflops_per_device DOUBLE[], n_excluded BIGINT)",
    ),
    "median_interval": (_over_lists(median_interval), ["DOUBLE[]"], f"STRUCT({_SQL_INTERVAL})"),
    "median_interval_between_runs": (
        _over_lists(median_interval_between_runs),
        ["DOUBLE[]"],
        f"STRUCT({_SQL_INTERVAL})",
    ),
    "quantiles": (_quantiles, ["DOUBLE[]"] * 2, "DOUBLE[]"),
    "ratio_interval": (_ratio_interval, ["DOUBLE[]"] * 2, f"STRUCT({_SQL_INTERVAL})"),
}
