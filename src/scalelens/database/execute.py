"""Carries out a statement: its rows as Arrow, what it may do, and errors of DuckDB as sentences."""

import itertools
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import duckdb

from scalelens.database.errors import UNSAFE, MayWriteError, as_user_error, duckdb_errors_as_user_errors
from scalelens.database.texts import sql_name
from scalelens.database.times import check_times

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_WRITES = re.compile(r"\b(?:COPY|EXPORT|ATTACH|INSTALL|LOAD|CREATE|INSERT|SET)\b", re.IGNORECASE)
PIECE_ROWS = 100_000  # of an answer: some tens of megabytes
_NESTED = {"list", "array", "struct", "map"}
# Types that each format can write: of others Arrow has bytes, other values, or what polars cannot take.
_WRITABLE = {
    "boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint",
    "float", "double", "decimal", "varchar", "enum", "uuid", "blob", "null", "date", "time", "time_ns", "timestamp",
    "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone", "timestamptz_ns",
}  # fmt: skip
_NOT_NAMES = {"boolean", "hugeint", "decimal", *_NESTED}  # as keys of a map they do not become names of a JSON object


def frame(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool = False) -> "pl.DataFrame":
    """Rows of a statement, as `table_of` gives them."""
    return as_frame(table_of(connection, statement, unsafe))


def as_frame(table: "pa.Table") -> "pl.DataFrame":
    import polars as pl  # takes as long to load as a small question takes

    try:
        frame = pl.from_arrow(table)
    except pl.exceptions.PolarsError as error:
        raise as_user_error(error) from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def table_of(connection: Any, statement: str, unsafe: bool = False) -> "pa.Table":
    """Rows of a statement as one table.  An error of DuckDB becomes a UserError of one line.

    No two columns have the same name, and what not each format can write is text.  Unless `unsafe`, what could write is
    refused.  By `execute`, which plans a statement once and holds its rows: `sql`, in `pieces_of`, plans it to describe
    it and again to carry it out, and planning is half of the time of many questions.  Only where there are odd types it
    is asked once more, because Arrow does not keep all of them.
    """
    import pyarrow as pa

    with duckdb_errors_as_user_errors():
        _check_reads(connection, statement, unsafe)
        done = connection.execute(statement)
        if done is None or done.description is None:  # nothing but a comment; nothing to say
            return pa.table({})
        names = _unique_column_names([column[0] for column in done.description])
        texts = _odd_types_as_texts(names, [column[1] for column in done.description])
        if texts and (last := _last_that_reads(connection, statement)):
            if hasattr(connection, "abort"):  # DuckDB 2 has not carried it out yet
                connection.abort()
            rows: pa.Table = connection.sql(last).project(texts).to_arrow_table()
            check_times(rows)
            return rows
        fetch = connection.to_arrow_table if hasattr(connection, "to_arrow_table") else connection.fetch_arrow_table
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of one more copy of rows that are few
            rows = fetch().rename_columns(names)
        check_times(rows)
        return connection.from_arrow(rows).project(texts).to_arrow_table() if texts else rows


def _last_that_reads(connection: Any, statements: str) -> str:
    """The last of some statements; empty where it writes, or where DuckDB has made several of one."""
    last = connection.extract_statements(statements)[-1]
    return last.query.strip() if _only_reads(last) else ""


def pieces_of(connection: Any, statement: str, unsafe: bool = False) -> "Iterator[pa.Table]":
    """The same in tables of at most PIECE_ROWS rows, of which one is held at a time; there is at least one."""
    import pyarrow as pa

    with duckdb_errors_as_user_errors():
        _check_reads(connection, statement, unsafe)
        try:
            relation = connection.sql(statement)
            if relation is None:
                yield pa.table({})
                return
            names = _unique_column_names(relation.columns)
            texts = _odd_types_as_texts(names, relation.types)
            reader = (relation.project(texts) if texts else relation).to_arrow_reader(PIECE_ROWS)
            first = next(reader, None)
            yield reader.schema.empty_table().rename_columns(names) if first is None else _piece_of(first, names)
            for batch in reader:
                yield _piece_of(batch, names)
        except (OSError, pa.ArrowException) as error:  # by which Arrow says what DuckDB complained of
            raise as_user_error(error) from None


def _piece_of(batch: "pa.RecordBatch", names: list[str]) -> "pa.Table":
    import pyarrow as pa

    rows = pa.Table.from_batches([batch]).rename_columns(names)
    check_times(rows)
    return rows


def _check_reads(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool) -> None:
    statement.encode()
    # Not `duckdb.extract_statements`: that opens a database of its own, which takes as long as opening this one.
    if not unsafe and not all(_only_reads(part) for part in connection.extract_statements(statement)):
        raise MayWriteError("the statement may write or change something", f"ask by SELECT, or {UNSAFE}")


def _only_reads(statement: duckdb.Statement) -> bool:
    """Whether a statement reads and does nothing else.

    EXPLAIN ANALYZE carries out what it explains, and DuckDB makes several statements of one with PIVOT.
    """
    kind = str(statement.type).rpartition(".")[2]
    return kind == "SELECT" or (kind in ("EXPLAIN", "MULTI") and not _WRITES.search(statement.query))


def _unique_column_names(names: list[str]) -> list[str]:
    """Names of columns; those that there are already get a number."""
    different: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in itertools.count(1))
        different.append(next(other for other in others if other not in different) if name in different else name)
    return different


def _odd_types_as_texts(names: list[str], types: list[Any]) -> str | None:
    """What to select so that columns of types which not each format can write are text; None where there are none."""
    if all(map(_is_writable, types)):
        return None
    values = (f"#{k}" if _is_writable(kind) else f"CAST(#{k} AS VARCHAR)" for k, kind in enumerate(types, 1))
    return ", ".join(f"{value} AS {sql_name(name)}" for value, name in zip(values, names, strict=True))


def _is_writable(kind: Any) -> bool:
    """Whether each format can write values of a type of DuckDB."""
    if kind.id == "map" and kind.children[0][1].id in _NOT_NAMES:
        return False
    if kind.id in _NESTED:  # an array has its size among the types
        return all(_is_writable(inner) for _, inner in kind.children if isinstance(inner, type(kind)))
    return kind.id in _WRITABLE
