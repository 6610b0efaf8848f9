"""The statistics on the records of steps as functions of SQL: a list of numbers for each run, NULL for NULL."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.medians import (
    Interval,
    median_interval_between_runs,
    median_intervals,
    quantile_intervals,
)
from scalelens.statistics.ratios import ratio_interval
from scalelens.statistics.steps import Records, StepStatistics, kept_records, step_statistics

_NOTHING = Interval(None, None, None, None, None, None)

_TEXT = ("kind", "reason")
_INTERVAL = pa.struct([(field, pa.string() if field in _TEXT else pa.float64()) for field in Interval._fields])
_STATISTICS = {
    "n_steps": pa.int64(), "n_excluded": pa.int64(), "first_step": pa.int64(), "last_step": pa.int64(),
    "timed_s": pa.float64(), "percentiles": pa.list_(pa.float64()), "tflops_per_device": pa.float64(),
}  # fmt: skip
_SQL_INTERVAL = ", ".join(f"{field} {'VARCHAR' if field in _TEXT else 'DOUBLE'}" for field in Interval._fields)


def _lists(column: pa.ChunkedArray) -> Iterator[npt.NDArray[Any] | None]:
    """The lists of numbers of an Arrow column, as views on its memory; None for NULL."""
    for chunk in column.chunks:
        values, ends = _values_and_ends(chunk)
        is_known = [one.is_valid for one in chunk] if chunk.null_count else itertools.repeat(True)
        for known, first, end in zip(is_known, ends[:-1].tolist(), ends[1:].tolist(), strict=False):
            yield values[first:end] if known else None


def _values_and_ends(lists: pa.ListArray) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The numbers of all lists, one list after the other; where each list begins, and where the last one ends."""
    ends = lists.offsets.to_numpy()
    return lists.values.to_numpy(zero_copy_only=False)[ends[0] : ends[-1]], ends - ends[0]


def _in_order(steps: pa.ChunkedArray, times: pa.ChunkedArray) -> Iterator[bool]:
    """Whether a run's steps rise and its numbers are finite, all runs at once: numpy takes as long for one of them."""
    for chunks in zip(steps.chunks, times.chunks, strict=True):
        columns = [_values_and_ends(chunk) for chunk in chunks]
        numbers, ends = columns[0]
        falls = np.flatnonzero(~(numbers[1:] > numbers[:-1])) + 1
        odd = [(falls[~np.isin(falls, ends)], ends)]  # where a list begins it may fall
        odd += [(np.flatnonzero(~np.isfinite(values)), ends) for values, ends in columns]
        is_in_order = np.ones(len(chunks[0]), bool)
        for indexes, ends in odd:
            is_in_order[np.searchsorted(ends, indexes, side="right") - 1] = False
        yield from is_in_order.tolist()


def _median_intervals(lists: pa.ChunkedArray) -> pa.Array:
    """`median_interval` of each list of an Arrow array; NULL for NULL."""
    return _intervals(in_blocks(median_intervals, list(_lists(lists)), lambda values: (len(values), True)))


def _quantile_intervals(lists: pa.ChunkedArray, quantiles: pa.ChunkedArray) -> pa.Array:
    """`quantile_interval` of Arrow columns; NULL for NULL."""
    runs, wanted = list(_lists(lists)), quantiles.to_pylist()
    found: list[Interval | None] = [None] * len(runs)
    for quantile in set(wanted):
        of_one = partial(quantile_intervals, quantile=quantile)
        asked = [values if one == quantile else None for values, one in zip(runs, wanted, strict=True)]
        answers = in_blocks(of_one, asked, lambda values: (len(values), True))
        found = [answer or before for answer, before in zip(answers, found, strict=True)]
    return _intervals(found)


def _median_intervals_between_runs(lists: pa.ChunkedArray) -> pa.Array:
    """`median_interval_between_runs` of each list of an Arrow array; NULL for NULL."""
    return _intervals([None if values is None else median_interval_between_runs(values) for values in _lists(lists)])


def _intervals(intervals: Sequence[Interval | None]) -> pa.StructArray:
    """Intervals as an Arrow array; None is NULL."""
    columns = zip(*(interval or _NOTHING for interval in intervals), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _INTERVAL, strict=True)]
    return _structs(_INTERVAL, arrays, [interval is not None for interval in intervals])


def _structs(kind: pa.StructType, fields: Sequence[pa.Array], is_known: Sequence[bool]) -> pa.StructArray:
    """Structs of these fields, NULL where not known.  `from_arrays` loads `pyarrow.compute` for a mask: 0.05 s."""
    bits = pa.py_buffer(np.packbits(is_known, bitorder="little").tobytes())
    return pa.StructArray.from_buffers(kind, len(is_known), [bits], children=[*fields])


def _ratio_interval(firsts: pa.ChunkedArray, seconds: pa.ChunkedArray) -> pa.Array:
    """`ratio_interval` of Arrow columns of lists; NULL where one is NULL."""
    rows = zip(firsts.to_pylist(), seconds.to_pylist(), strict=True)
    results = [None if None in row else ratio_interval(*map(np.array, row))._asdict() for row in rows]
    return pa.array(results, type=_INTERVAL)


def _step_statistics(
    steps: pa.ChunkedArray,
    times: pa.ChunkedArray,
    epochs: pa.ChunkedArray,
    tflops: pa.ChunkedArray,
    left_out: pa.ChunkedArray,
    warmups: pa.ChunkedArray,
    by_epochs: pa.ChunkedArray,
) -> pa.Array:
    """`step_statistics` of `kept_records` of Arrow columns; NULL where that is None."""
    lists = (_lists(column) for column in (steps, times, epochs, tflops, left_out))
    rows = zip(*lists, warmups.to_pylist(), by_epochs.to_pylist(), _in_order(steps, times), strict=True)
    found = in_blocks(step_statistics, [kept_records(*row) for row in rows], _kind_of)
    arrays = [
        _intervals([row and row.around for row in found])
        if field == "around"
        else pa.array([row and getattr(row, field) for row in found], _STATISTICS[field])
        for field in StepStatistics._fields
    ]
    kind = pa.struct([*zip(StepStatistics._fields, (array.type for array in arrays), strict=True)])
    return _structs(kind, arrays, [row is not None for row in found])


def _kind_of(records: Records) -> tuple[int, bool]:
    return len(records.times_s), records.tflops is not None


SQL_STEPS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "median_interval": (_median_intervals, ["DOUBLE[]"], f"STRUCT({_SQL_INTERVAL})"),
    "median_interval_between_runs": (
        _median_intervals_between_runs,
        ["DOUBLE[]"],
        f"STRUCT({_SQL_INTERVAL})",
    ),
    "quantile_interval": (_quantile_intervals, ["DOUBLE[]", "DOUBLE"], f"STRUCT({_SQL_INTERVAL})"),
    "ratio_interval": (_ratio_interval, ["DOUBLE[]"] * 2, f"STRUCT({_SQL_INTERVAL})"),
    "step_statistics": (
        _step_statistics,
        ["INTEGER[]", *["DOUBLE[]"] * 3, "BIGINT[]", "BIGINT", "BOOLEAN"],
        "STRUCT(n_steps BIGINT, n_excluded BIGINT, first_step BIGINT, last_step BIGINT, timed_s DOUBLE, "
        f"around STRUCT({_SQL_INTERVAL}), "
        "percentiles DOUBLE[], tflops_per_device DOUBLE)",
    ),
}
