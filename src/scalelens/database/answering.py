"""Answers of one connection: a statement's rows, what may be asked, and errors of DuckDB as sentences."""

import itertools
import re
import warnings
from typing import TYPE_CHECKING, Any

import duckdb

from scalelens.errors import UserError

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

UNSAFE = "--unsafe lets it do what DuckDB can"
WRITES = re.compile(r"\b(?:COPY|EXPORT|ATTACH|INSTALL|LOAD|CREATE|INSERT|SET)\b", re.IGNORECASE)
REMEDIES = {
    "CatalogException": "see scalelens tables and scalelens queries",
    "BinderException": "columns are listed by scalelens tables, parameters by scalelens queries",
    "IOException": "if a segment is missing or damaged, scalelens check says what mends it",
    "PermissionException": f"a question reads the warehouse alone; {UNSAFE}",
    "OutOfMemoryException": 'ask for fewer runs, runs="...", or allow more: SCALELENS_MEMORY=16GB',
}

REFUSED = "Invalid Input Error: "  # what DuckDB puts before the words of error()


class MayWriteError(UserError):
    """A statement that is not carried out, because it may write."""


def answer(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool = False) -> "pl.DataFrame":
    """Rows of a statement, as `arrow_answer` gives them."""
    return frame_of(arrow_answer(connection, statement, unsafe))


def frame_of(answer: "pa.Table") -> "pl.DataFrame":
    import polars as pl  # takes as long to load as a small question takes

    try:
        frame = pl.from_arrow(answer)
    except pl.exceptions.PolarsError as error:
        raise complaint(error) from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def arrow_answer(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool = False) -> "pa.Table":
    """The answer to a statement.  An error of DuckDB becomes a UserError of one line.

    Unless `unsafe`, a statement that could write is refused.
    """
    try:
        statement.encode()
        # Not `duckdb.extract_statements`: that opens a database of its own, which takes as long as opening this one.
        if not unsafe and not all(only_reads(part) for part in connection.extract_statements(statement)):
            raise MayWriteError("the statement may write or change something", f"ask by SELECT, or {UNSAFE}")
        return rows_of(connection, statement)
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except UnicodeEncodeError:
        raise UserError("the question holds bytes that are not UTF-8", "write it in UTF-8") from None
    except duckdb.Error as error:
        raise complaint(error) from None


def complaint(error: Exception) -> UserError:
    """An error of DuckDB or polars in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(line for line in lines if not re.match(r"LINE \d+:|\^", line))
    if text.startswith(REFUSED):  # said by a query of ours: what is wrong, and what to do
        reason, _, remedy = text.removeprefix(REFUSED).partition("; ")
        return UserError(reason, remedy or "see scalelens explain and the query's name")
    return UserError(text.rstrip("."), REMEDIES.get(type(error).__name__, "correct the SQL"))


def only_reads(statement: duckdb.Statement) -> bool:
    """Whether a statement reads and does nothing else.

    EXPLAIN ANALYZE carries out what it explains, and DuckDB makes several statements of one with PIVOT.
    """
    kind = str(statement.type).rpartition(".")[2]
    return kind == "SELECT" or (kind in ("EXPLAIN", "MULTI") and not WRITES.search(statement.query))


def rows_of(connection: Any, statement: str) -> "pa.Table":
    """Rows of a statement as polars can take them: no two columns have the same name, and intervals are text.

    By `execute`, which plans a statement once: `sql` does so to describe it and again to carry it out, and planning is
    half of the time of many questions.
    """
    import pyarrow as pa

    done = connection.execute(statement)
    if done is None or done.description is None:  # nothing but a comment; nothing to say
        return pa.table({})
    fetch = connection.to_arrow_table if hasattr(connection, "to_arrow_table") else connection.fetch_arrow_table
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of one more copy in memory: few rows leave
        rows: pa.Table = fetch()
    names: list[str] = []
    for name in rows.column_names:
        others = (f"{name}_{number}" for number in itertools.count(1))
        names.append(next(other for other in others if other not in names) if name in names else name)
    rows = rows.rename_columns(names)
    kinds = [str(kind) for kind in rows.schema.types]
    if not any("interval" in kind for kind in kinds):
        return rows
    values = (f"CAST(#{k} AS VARCHAR)" if "interval" in kind else f"#{k}" for k, kind in enumerate(kinds, 1))
    columns = ", ".join(f'{value} AS "{name}"' for value, name in zip(values, names, strict=True))
    return connection.from_arrow(rows).project(columns).to_arrow_table()
