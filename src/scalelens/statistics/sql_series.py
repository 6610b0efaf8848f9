"""Statistics of series as functions of a DuckDB connection: a list of values in, a struct out, NULL for NULL."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from scalelens.statistics.distributions import distribution
from scalelens.statistics.elbows import Corner, Elbows, FastMode, elbows
from scalelens.statistics.medians import Values
from scalelens.statistics.slow_classes import slow_classes
from scalelens.statistics.steady import steadiness

_MOST_KNOWN = 10_000  # series
_known_elbows: dict[bytes, Elbows] = {}
_CORNER = pa.struct([(field, pa.float64()) for field in Corner._fields])
_FAST = [(field, pa.float64()) for field in FastMode._fields]
_ELBOWS = pa.struct(
    [("fast", pa.struct(_FAST)), ("departure", _CORNER), ("elbows", pa.list_(_CORNER)), ("reason", pa.string())]
)
_DISTRIBUTION = pa.struct([("step_s", pa.list_(pa.float64())), ("n_at_most", pa.list_(pa.int64()))])
_STEADY = pa.struct(
    [
        ("verdict", pa.string()), ("first", pa.int64()), ("changes", pa.list_(pa.int64())),
        ("level", pa.float64()), ("before", pa.float64()), ("reason", pa.string()),
    ]
)  # fmt: skip
_SLOW = pa.struct(
    [
        ("fast_s", pa.float64()), ("limit_s", pa.float64()), ("position", pa.list_(pa.int64())),
        ("kind", pa.list_(pa.string())), ("period", pa.list_(pa.int64())), ("reason", pa.string()),
    ]
)  # fmt: skip


def _elbows_of(series: Values) -> Elbows:
    """`elbows` of a series, which several questions of a report ask."""
    key = hashlib.blake2b(series.tobytes(), digest_size=16).digest()
    if (known := _known_elbows.get(key)) is None:
        if len(_known_elbows) >= _MOST_KNOWN:
            _known_elbows.clear()
        known = _known_elbows[key] = elbows(series)
    return known


def _elbows(series: pa.ChunkedArray) -> pa.Array:
    """`elbows` of an Arrow column of lists."""
    found = [None if row is None else _elbows_of(row) for row in _arrays(series)]
    rows = [
        None if row is None else row._asdict()
        | {
            "fast": row.fast and row.fast._asdict(),
            "departure": row.departure and row.departure._asdict(),
            "elbows": [corner._asdict() for corner in row.elbows],
        }
        for row in found
    ]  # fmt: skip
    return pa.array(rows, type=_ELBOWS)


def _distributions(series: pa.ChunkedArray, slots: pa.ChunkedArray, marks: pa.ChunkedArray) -> pa.Array:
    """`distribution` of Arrow columns of lists; NULL where there is no list of times."""
    rows = zip(_arrays(series), slots.to_pylist(), _arrays(marks), strict=True)
    found = [None if row[0] is None else distribution(*row)._asdict() for row in rows]
    return pa.array(found, type=_DISTRIBUTION)


def _steadiness(series: pa.ChunkedArray) -> pa.Array:
    """`steadiness` of an Arrow column of lists."""
    return pa.array([None if row is None else steadiness(row)._asdict() for row in _arrays(series)], type=_STEADY)


def _slow_classes(
    times: pa.ChunkedArray, steps: pa.ChunkedArray, is_first: pa.ChunkedArray, counts: pa.ChunkedArray,
    slower_than: pa.ChunkedArray,
) -> pa.Array:  # fmt: skip
    """`slow_classes` of Arrow columns of lists; the flags are 0 and 1."""
    rows = zip(_arrays(times), _arrays(steps), _arrays(is_first), _arrays(counts), slower_than.to_pylist(), strict=True)
    found = [None if row[0] is None else slow_classes(row[0], row[1], row[2] == 1, row[3] == 1, row[4]) for row in rows]
    return pa.array([row and row._asdict() for row in found], type=_SLOW)


def _arrays(lists: pa.ChunkedArray) -> Sequence[Any]:
    """The lists of an Arrow column as numpy arrays, None for NULL."""
    arrays: list[Any] = [entry.values for entry in lists]
    return [None if array is None else array.to_numpy(zero_copy_only=False) for array in arrays]


def _sql(kind: Any) -> str:
    """An Arrow type as DuckDB writes it."""
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{field.name} {_sql(field.type)}" for field in kind)
        return f"STRUCT({fields})"
    if pa.types.is_list(kind):
        return f"{_sql(kind.value_type)}[]"
    return {"double": "DOUBLE", "int64": "BIGINT", "string": "VARCHAR"}[str(kind)]


SQL_SERIES: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "distribution": (_distributions, ["DOUBLE[]", "BIGINT", "DOUBLE[]"], _sql(_DISTRIBUTION)),
    "elbows": (_elbows, ["DOUBLE[]"], _sql(_ELBOWS)),
    "slow_classes": (_slow_classes, ["DOUBLE[]", "BIGINT[]", "INTEGER[]", "INTEGER[]", "DOUBLE"], _sql(_SLOW)),
    "steadiness": (_steadiness, ["DOUBLE[]"], _sql(_STEADY)),
}
