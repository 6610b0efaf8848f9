"""The statistics on many jobs and their nodes as functions of SQL, on Arrow columns."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scalelens.statistics.blame import Blame, blame_labels, failing_labels
from scalelens.statistics.significance import poisson_interval

_SQL_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE"}
_ARROW_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
_FIELDS = {
    field: next(kind for kind in _SQL_TYPES if kind.__name__ in str(annotation))
    for field, annotation in Blame.__annotations__.items()
}
_BLAMES = pa.list_(pa.struct([(field, _ARROW_TYPES[kind]) for field, kind in _FIELDS.items()]))
_SQL_BLAMES = f"STRUCT({', '.join(f'{field} {_SQL_TYPES[kind]}' for field, kind in _FIELDS.items())})[]"
_INTERVAL = pa.struct([("low", pa.float64()), ("high", pa.float64())])


def _judged(judge: Callable[..., list[Blame]], *columns: pa.ChunkedArray) -> pa.Array:
    """A judgment of labels of Arrow columns, each with a list over the jobs."""
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    found = [[] if row[0] is None else judge(*row) for row in rows]
    return pa.array([[blame._asdict() for blame in blames] for blames in found], type=_BLAMES)


def _poisson_intervals(counts: pa.ChunkedArray) -> pa.Array:
    """`poisson_interval` of an Arrow column of counts; NULL for NULL."""
    found = [None if count is None else poisson_interval(count)._asdict() for count in counts.to_pylist()]
    return pa.array(found, type=_INTERVAL)


SQL_JOBS: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "blame_labels": (
        lambda times, kinds, moments, labels, effect: _judged(blame_labels, times, kinds, moments, labels, effect),
        ["DOUBLE[]", "VARCHAR[]", "DOUBLE[]", "VARCHAR[][]", "DOUBLE"],
        _SQL_BLAMES,
    ),
    "failing_labels": (
        lambda failed, kinds, moments, labels: _judged(failing_labels, failed, kinds, moments, labels),
        ["BOOLEAN[]", "VARCHAR[]", "DOUBLE[]", "VARCHAR[][]"],
        _SQL_BLAMES,
    ),
    "poisson_interval": (_poisson_intervals, ["BIGINT"], "STRUCT(low DOUBLE, high DOUBLE)"),
}
