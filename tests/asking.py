"""Asks a warehouse in tests as the command line does."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from scalelens.queries import load as queries
from scalelens.question import session
from scalelens.question.once import SharedHelpers
from scalelens.question.question import EVERYTHING, Question
from scalelens.report import other_figures

if TYPE_CHECKING:
    import polars as pl

QUERIES = queries.load()


def connect(home: Path, about: str | None = None) -> duckdb.DuckDBPyConnection:
    """An open warehouse, closed to other files; with what a statement is `about`, or with all tables and queries."""
    return session.Session(home, about=about, by_hand=about is None).connection


def answer(home: Path, statement: str) -> duckdb.DuckDBPyConnection:
    """The answer to one statement: to open a warehouse for any takes longer."""
    connection = connect(home, statement)
    SharedHelpers(connection, QUERIES).share(statement)
    return connection.execute(statement)


def carried_out(
    connection: duckdb.DuckDBPyConnection, statement: str
) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """Columns (name and type) and rows of a statement, with its helpers shared as a question shares them."""
    helpers = SharedHelpers(connection, QUERIES)
    try:
        helpers.share(statement)
        cursor = connection.execute(statement)
        return [(column[0], str(column[1])) for column in cursor.description or ()], cursor.fetchall()
    finally:
        helpers.forget()  # rows may change until the next


def rows_of(connection: duckdb.DuckDBPyConnection, statement: str) -> list[dict[str, Any]]:
    """The same as a dictionary for each row."""
    columns, rows = carried_out(connection, statement)
    return [dict(zip([name for name, _ in columns], row, strict=True)) for row in rows]


def ask(
    home: Path, name: str, parameters: Mapping[str, Any] | None = None, folders: Iterable[Path] = (),
    select: str = EVERYTHING, unsafe: bool = False,
) -> "pl.DataFrame":  # fmt: skip
    """Rows of a query."""
    return session.ask(home, Question(name, "", parameters or {}, select, unsafe), folders).frame


def ask_sql(home: Path, statement: str) -> "pl.DataFrame":
    """Rows of SQL, as a user asks it."""
    return session.ask(home, Question(sql=statement)).frame


def shown_by(home: Path, refused: str, runs: str = "") -> list[str]:
    """Commands that show what a warehouse has, other than a refused chart."""
    with session.Session(home, about=other_figures.about(refused, runs)) as opened:
        return other_figures.shown_by(opened, refused, runs)
