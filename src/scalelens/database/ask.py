"""Asks a warehouse: a query by its name and parameters, or an SQL statement.  Answers are polars frames, or Arrow."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.database.answering import MayWriteError, arrow_answer, frame_of
from scalelens.database.connect import connect
from scalelens.database.views import sql_text
from scalelens.errors import UserError
from scalelens.queries.header import Query, is_ours
from scalelens.queries.load import load
from scalelens.queries.page import suggestion
from scalelens.queries.parameter_values import check_value
from scalelens.warehouse.log import Warehouse

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

# What lists the tables and macros of a connection: then all must be there.
LISTS = re.compile(r"\b(?:SHOW|DESCRIBE|PRAGMA|duckdb_\w+|information_schema|pg_\w+|sqlite_\w+)\b", re.IGNORECASE)
NO_RUN = re.compile(r"[ab] := '(.*)' is no run")  # says two_sides
NAMES_TRIED = 4


def ask(
    root: Path,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    query_folders: tuple[Path, ...] = (),
    unsafe: bool = False,
    refined: str = "* FROM {}",
) -> "pl.DataFrame":
    """Rows of a query.  Raises UserError for a query or parameter that does not exist.

    `unsafe` lets parameters such as `runs` read files outside the warehouse.  `refined` is what stands behind SELECT,
    with {} in the place of the query: `devices FROM {} WHERE devices > 8`.
    """
    return frame_of(ask_for_arrow(root, name, parameters, query_folders, unsafe, refined))


def ask_for_arrow(
    root: Path,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    query_folders: tuple[Path, ...] = (),
    unsafe: bool = False,
    refined: str = "* FROM {}",
) -> "pa.Table":
    """The same as an Arrow table, without polars."""
    statement = f"SELECT {refined.replace('{}', call(name, parameters or {}))}"
    queries = load(query_folders, statement)
    check_call(name, parameters or {}, queries, query_folders)
    try:
        return arrow_answer_of(root, statement, query_folders, queries, unsafe)
    except UserError as error:
        if NO_RUN.search(str(error)):
            raise UserError(f"{str(error).partition(';')[0]}", names_to_try(root, str(error))) from None
        raise


def names_to_try(root: Path, complaint: str) -> str:
    """Names of runs of the warehouse that may be meant, those first that are like the wrong one."""
    names = answer_of(root, "SELECT DISTINCT name FROM runs WHERE name IS NOT NULL ORDER BY name")["name"].to_list()
    found = NO_RUN.search(complaint)
    near = get_close_matches(found[1], names, NAMES_TRIED) if found else []
    tried = near or names[:NAMES_TRIED]
    if not tried:
        return "the warehouse has no runs"
    more = f" and {len(names) - len(tried)} more (FROM runs)" if len(names) > len(tried) else ""
    return f"name one of {', '.join(tried)}{more}, or write key=value or a condition"


def answer_of(
    root: Path,
    statement: str,
    query_folders: tuple[Path, ...] = (),
    queries: Mapping[str, Query] | None = None,
    unsafe: bool = False,
) -> "pl.DataFrame":
    """Rows of a statement about a warehouse; without `queries` the statement is the user's own."""
    return frame_of(arrow_answer_of(root, statement, query_folders, queries, unsafe))


def arrow_answer_of(
    root: Path,
    statement: str,
    query_folders: tuple[Path, ...] = (),
    queries: Mapping[str, Query] | None = None,
    unsafe: bool = False,
) -> "pa.Table":
    """The answer to a statement about a warehouse, asked again where `compact` replaced the segments meanwhile.

    Without `queries` the statement is the user's own.  Only the queries that it names are made, which takes half the
    time; all of them where that fails, because a statement can put a name together.
    """
    warehouse = Warehouse(root)
    asked = None if queries is None and LISTS.search(statement) else statement
    while True:
        names = warehouse.names() if warehouse.exists() else []
        try:
            return arrow_answer(connect(root, query_folders, asked, queries, closed=not unsafe), statement, unsafe)
        except MayWriteError:
            raise
        except UserError:
            if queries is None and asked:
                asked = None
            elif not names or warehouse.names() == names:
                raise


def call(name: str, parameters: Mapping[str, Any]) -> str:
    """SQL that calls the macro of a query: `batch_stats(warmup := 5)`."""
    return f"{name}({', '.join(f'{key} := {literal(value)}' for key, value in parameters.items())})"


def check_call(
    name: str, parameters: Mapping[str, Any], queries: Mapping[str, Query], query_folders: tuple[Path, ...] = ()
) -> None:
    """Raises UserError for a query or parameter that does not exist, and for a value that a parameter cannot have."""
    if name not in queries:
        names = load(query_folders)
        raise UserError(
            f"there is no query '{name}'", suggestion(name, names) or f"there are: {', '.join(sorted(names))}"
        )
    allowed = {parameter.name: parameter for parameter in queries[name].parameters}
    for key, value in parameters.items():
        if key not in allowed:
            takes = f"it takes {', '.join(allowed)}" if allowed else "it takes no parameters"
            raise UserError(f"'{key}' is not a parameter of {name}", takes)
        if is_ours(queries[name].path):
            check_value(allowed[key], value)


def literal(value: Any) -> str:
    """A parameter as SQL.  Numbers and booleans stay as they are, even those that come as text; the rest is text.

    Digits that begin with 0 are text: the beginning of a run's id.
    """
    text = str(value)
    if value is None or re.fullmatch(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|True|False", text):
        return "NULL" if value is None else text
    return sql_text(text)
