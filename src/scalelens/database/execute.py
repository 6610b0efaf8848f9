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

WRITES = re.compile(r"\b(?:COPY|EXPORT|ATTACH|INSTALL|LOAD|CREATE|INSERT|SET)\b", re.IGNORECASE)
PIECE_ROWS = 100_000  # of an answer: some tens of megabytes


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

    No two columns have the same name, and intervals are text.  Unless `unsafe`, what could write is refused.
    By `execute`, which plans a statement once and holds its rows: `sql`, in `pieces_of`, plans it to describe it and
    again to carry it out, and planning is half of the time of many questions.
    """
    import pyarrow as pa

    with duckdb_errors_as_user_errors():
        check_reads(connection, statement, unsafe)
        done = connection.execute(statement)
        if done is None or done.description is None:  # nothing but a comment; nothing to say
            return pa.table({})
        fetch = connection.to_arrow_table if hasattr(connection, "to_arrow_table") else connection.fetch_arrow_table
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of one more copy of rows that are few
            rows: pa.Table = fetch()
        rows = rows.rename_columns(unique_column_names(rows.column_names))
        check_times(rows)
        texts = intervals_as_texts(rows.column_names, rows.schema.types)
        return connection.from_arrow(rows).project(texts).to_arrow_table() if texts else rows


def pieces_of(connection: Any, statement: str, unsafe: bool = False) -> "Iterator[pa.Table]":
    """The same in tables of at most PIECE_ROWS rows, of which one is held at a time; there is at least one."""
    import pyarrow as pa

    with duckdb_errors_as_user_errors():
        check_reads(connection, statement, unsafe)
        try:
            relation = connection.sql(statement)
            if relation is None:
                yield pa.table({})
                return
            names = unique_column_names(relation.columns)
            texts = intervals_as_texts(names, relation.types)
            reader = (relation.project(texts) if texts else relation).to_arrow_reader(PIECE_ROWS)
            first = next(reader, None)
            yield reader.schema.empty_table().rename_columns(names) if first is None else piece_of(first, names)
            for batch in reader:
                yield piece_of(batch, names)
        except (OSError, pa.ArrowException) as error:  # by which Arrow says what DuckDB complained of
            raise as_user_error(error) from None


def piece_of(batch: "pa.RecordBatch", names: list[str]) -> "pa.Table":
    import pyarrow as pa

    rows = pa.Table.from_batches([batch]).rename_columns(names)
    check_times(rows)
    return rows


def check_reads(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool) -> None:
    statement.encode()
    # Not `duckdb.extract_statements`: that opens a database of its own, which takes as long as opening this one.
    if not unsafe and not all(only_reads(part) for part in connection.extract_statements(statement)):
        raise MayWriteError("the statement may write or change something", f"ask by SELECT, or {UNSAFE}")


def only_reads(statement: duckdb.Statement) -> bool:
    """Whether a statement reads and does nothing else.

    EXPLAIN ANALYZE carries out what it explains, and DuckDB makes several statements of one with PIVOT.
    """
    kind = str(statement.type).rpartition(".")[2]
    return kind == "SELECT" or (kind in ("EXPLAIN", "MULTI") and not WRITES.search(statement.query))


def unique_column_names(names: list[str]) -> list[str]:
    """Names of columns; those that there are already get a number."""
    different: list[str] = []
    for name in names:
        others = (f"{name}_{number}" for number in itertools.count(1))
        different.append(next(other for other in others if other not in different) if name in different else name)
    return different


def intervals_as_texts(names: list[str], types: list[Any]) -> str | None:
    """What to select so that intervals are text; None where there are none."""
    kinds = [str(type_).lower() for type_ in types]
    if not any("interval" in kind for kind in kinds):
        return None
    values = (f"CAST(#{k} AS VARCHAR)" if "interval" in kind else f"#{k}" for k, kind in enumerate(kinds, 1))
    return ", ".join(f"{value} AS {sql_name(name)}" for value, name in zip(values, names, strict=True))
