"""Asks a warehouse in tests as the command line does."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from scalelens.question import session
from scalelens.question.question import EVERYTHING, Question
from scalelens.report import other_figures

if TYPE_CHECKING:
    import polars as pl


def connect(home: Path, about: str | None = None) -> duckdb.DuckDBPyConnection:
    """An open warehouse, closed to other files; with what a statement is `about`, or with all tables and queries."""
    return session.Session(home, about=about).connection


def answer(home: Path, statement: str) -> duckdb.DuckDBPyConnection:
    """The answer to one statement: to open a warehouse for any takes longer."""
    return connect(home, statement).execute(statement)


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
