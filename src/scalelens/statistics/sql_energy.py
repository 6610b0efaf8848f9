"""The energy of windows as a function of a DuckDB connection."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scalelens.statistics.windows import Window, covered

_COVERED = pa.struct(
    [("low_j", pa.float64()), ("high_j", pa.float64()), ("span_s", pa.float64()), ("relation", pa.string())]
)


def _covered(begins: pa.ChunkedArray, ends: pa.ChunkedArray, joules: pa.ChunkedArray) -> pa.Array:
    """`covered` of Arrow columns of lists: begins and ends in nanoseconds, joules."""
    rows = zip(begins.to_pylist(), ends.to_pylist(), joules.to_pylist(), strict=True)
    found = [None if row[0] is None else covered(list(map(Window, *row)))._asdict() for row in rows]
    return pa.array(found, type=_COVERED)


SQL_ENERGY: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "covered": (
        _covered, ["BIGINT[]", "BIGINT[]", "DOUBLE[]"],
        "STRUCT(low_j DOUBLE, high_j DOUBLE, span_s DOUBLE, relation VARCHAR)",
    ),
}  # fmt: skip
