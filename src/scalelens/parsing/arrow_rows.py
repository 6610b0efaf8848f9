"""Rows as Arrow: those of one file at once, or those of many small files together.

Arrow takes as long for a column of 24 values as for one of some hundreds.  So the rows of small files are gathered
until there are many.  Only values that certainly fit into their columns are gathered.  Rows with any other value
become Arrow with their file, so that what does not fit is reported with its file and line.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from scalelens.tables import FLOAT, INT, SCHEMAS, SMALL, TEXT, TIME

FEW = 1000  # rows of one table and file, at most, that are gathered
MANY = 4000  # gathered rows of one table become Arrow

Write = Callable[[str, pa.RecordBatch], None]
Columns = Mapping[str, Sequence[Any]]  # values by the name of the column, equally many in each


class _ColumnType(NamedTuple):
    """A column of a stored table."""

    kind: pa.DataType
    held: frozenset[type]  # types that certainly fit, except for integers beyond `limit`
    limit: int


_NULL = type(None)
_HELD: dict[pa.DataType, tuple[frozenset[type], int]] = {
    TEXT: (frozenset({str, _NULL}), 0),
    INT: (frozenset({int, _NULL}), 1 << 63),
    SMALL: (frozenset({int, _NULL}), 1 << 31),
    FLOAT: (frozenset({float, int, _NULL}), 1 << 53),
    TIME: (frozenset({datetime, _NULL}), 0),
}
COLUMN_TYPES = {
    table: {field.name: _ColumnType(field.type, *_HELD.get(field.type, (frozenset({_NULL}), 0))) for field in schema}
    for table, schema in SCHEMAS.items()
}


class GatheredRows:
    """Rows of small files, until there are many of a table."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._files: dict[str, list[tuple[str, int, Columns]]] = {}  # by table: a file, how many rows, their columns
        self._counts: dict[str, int] = {}

    def take(self, table: str, file_id: str, columns: Columns, count: int) -> bool:
        """Takes rows of a file, unless they are many or a value may not fit into its column."""
        if count > FEW or not _columns_fit(COLUMN_TYPES[table], columns):
            return False
        self._files.setdefault(table, []).append((file_id, count, columns))
        self._counts[table] = self._counts.get(table, 0) + count
        if self._counts[table] >= MANY:
            self._hand_over(table)
        return True

    def flush(self) -> None:
        """Hands over everything that is still gathered."""
        for table in [*self._files]:
            self._hand_over(table)

    def _hand_over(self, table: str) -> None:
        files, count = self._files.pop(table), self._counts.pop(table)
        columns: dict[str, list[Any]] = {name: [] for _, _, given in files for name in given}
        file_ids: list[str] = []
        for file_id, rows, given in files:
            file_ids += [file_id] * rows
            for name, values in columns.items():
                values += given.get(name) or [None] * rows
        self._write(table, batch_of(table, columns | {"file_id": file_ids}, count))


def _columns_fit(fields: Mapping[str, _ColumnType], columns: Columns) -> bool:
    """Whether all values certainly fit into the columns of a table."""
    for name, values in columns.items():
        field = fields.get(name)
        if field is None or not column_fits(field, values):
            return False
    return True


def column_fits(field: _ColumnType, values: Sequence[Any]) -> bool:
    """Whether values certainly fit into a column."""
    kinds = {*map(type, values)}
    if not kinds <= field.held:
        return False
    if int in kinds:
        numbers = [value for value in values if type(value) is int] if len(kinds) > 1 else values
        return max(numbers) < field.limit and min(numbers) > -field.limit
    if str in kinds:
        return _is_unicode("".join(filter(None, values)))
    return datetime not in kinds or all(value is None or value.tzinfo is None for value in values)


def _is_unicode(text: str) -> bool:
    """Whether a text has no half characters."""
    return text.isascii() or text.encode("utf-8", "replace").decode() == text


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Rows as columns.  Most rows fill the same few columns of a table; then the others are not looked for in each."""
    names = [*rows[0]]
    try:
        if len(names) > 1 and all(len(row) == len(names) for row in rows):
            return {name: [row[name] for row in rows] for name in names}
    except KeyError:
        pass
    names = [*dict.fromkeys(name for row in rows for name in row)]
    return {name: [row.get(name) for row in rows] for name in names}


def batch_of(table: str, columns: Columns, count: int) -> pa.RecordBatch:
    """Columns of a table as Arrow; those that are not given are NULL.  Where a value does not fit, Arrow raises."""
    arrays = [
        _column_of(columns[name], field.kind) if name in columns else pa.nulls(count, field.kind)
        for name, field in COLUMN_TYPES[table].items()
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMAS[table])


def _column_of(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values as Arrow.  Many columns hold one value in all rows, and counting is cheaper than converting."""
    if values[-1] == values[0] and values.count(values[0]) == len(values):
        return pa.nulls(len(values), kind) if values[0] is None else repeated(values[0], kind, len(values))
    return pa.array(values, type=kind)


def repeated(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    """A value `count` times.  Without a type, Arrow would look for time libraries, for a millisecond each time."""
    return pa.repeat(pa.scalar(value, kind), count)
