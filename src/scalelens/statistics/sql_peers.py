"""Ranks among their peers, and tests of significance, as functions of SQL, on Arrow columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens.statistics.peers import Spread, Standing, standing, true_spread
from scalelens.statistics.significance import benjamini_hochberg, binomial_tail, holm, student_t

_LIST_OF_STANDINGS = f"STRUCT({', '.join(f'{field} DOUBLE' for field in Standing._fields)})[]"
_SPREAD = pa.struct([(field, pa.float64()) for field in Spread._fields])


def _binomial_tail(successes: pa.ChunkedArray, trials: pa.ChunkedArray, rate: pa.ChunkedArray) -> pa.Array:
    """`binomial_tail` of Arrow columns; NULL where there is no trial or a value is NULL."""
    columns = (column.to_numpy(zero_copy_only=False).astype(float) for column in (successes, trials, rate))
    return pa.array(binomial_tail(*columns), type=pa.float64(), from_pandas=True)


def _adjusted(by: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]) -> Callable[..., pa.Array]:
    """The adjustment of each list of p-values of an Arrow array; NULL stays NULL."""

    def adjust(p_values: pa.ChunkedArray) -> pa.Array:
        rows = [None if row is None else np.array(row, dtype=float) for row in p_values.to_pylist()]
        adjusted = [None if row is None else pa.array(by(row), from_pandas=True) for row in rows]
        return pa.array(adjusted, type=pa.list_(pa.float64()))

    return adjust


def _standing(levels: pa.ChunkedArray, noise: pa.ChunkedArray, typical: pa.ChunkedArray) -> pa.Array:
    """`standing` of each list of levels of an Arrow array, none of them NULL: a list with an entry a level."""
    rows = zip(levels, noise.to_pylist(), typical, strict=True)
    results = [
        standing(level.values.to_numpy(), error, of.values.to_numpy(zero_copy_only=False)) for level, error, of in rows
    ]
    entries = [np.concatenate([np.zeros(0), *(getattr(one, field) for one in results)]) for field in Standing._fields]
    ends = np.cumsum([0, *(len(one.p) for one in results)], dtype=np.int32)
    columns = [pa.array(entry, from_pandas=True) for entry in entries]
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays(columns, list(Standing._fields)))


def _true_spread(levels: pa.ChunkedArray, noise: pa.ChunkedArray, steps: pa.ChunkedArray) -> pa.Array:
    """`true_spread` of each list of levels of an Arrow array, none of them NULL."""
    rows = zip(levels, noise.to_pylist(), steps.to_pylist(), strict=True)
    results = [true_spread(row.values.to_numpy(), error, count)._asdict() for row, error, count in rows]
    return pa.array(results, type=_SPREAD, from_pandas=True)


SQL_PEERS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "benjamini_hochberg": (_adjusted(benjamini_hochberg), ["DOUBLE[]"], "DOUBLE[]"),
    "binomial_tail": (_binomial_tail, ["BIGINT", "BIGINT", "DOUBLE"], "DOUBLE"),
    "holm": (_adjusted(holm), ["DOUBLE[]"], "DOUBLE[]"),
    "standing": (_standing, ["DOUBLE[]", "DOUBLE", "BOOLEAN[]"], _LIST_OF_STANDINGS),
    "student_t": (lambda n: pa.array(student_t(n.to_numpy())), ["DOUBLE"], "DOUBLE"),
    "true_spread": (
        _true_spread,
        ["DOUBLE[]", "DOUBLE", "BIGINT"],
        "STRUCT(share DOUBLE, low DOUBLE, high DOUBLE, p DOUBLE)",
    ),
}
