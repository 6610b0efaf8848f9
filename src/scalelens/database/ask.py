"""Asks a warehouse: a query by its name and parameters, or an SQL statement.  Answers are polars frames, or Arrow."""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.database.answering import MayWriteError, arrow_answer, arrow_pieces, frame_of
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

    from scalelens.database.by_run import Elsewhere

# What lists the tables and macros of a connection: then all must be there.
LISTS = re.compile(r"\b(?:SHOW|DESCRIBE|PRAGMA|duckdb_\w+|information_schema|pg_\w+|sqlite_\w+)\b", re.IGNORECASE)
NO_RUN = re.compile(r"[ab] := '(.*)' is no run")  # says two_sides
NAMES_TRIED = 4
EVERYTHING = "* FROM {}"  # of a query
LARGE_BYTES = 1 << 26  # of segments; a question of fewer is mostly planned, and its answer can be held


def ask(
    root: Path,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    query_folders: tuple[Path, ...] = (),
    unsafe: bool = False,
    refined: str = EVERYTHING,
) -> "pl.DataFrame":
    """Rows of a query.  Raises UserError for a query or parameter that does not exist.

    `unsafe` lets parameters such as `runs` read files outside the warehouse.  `refined` is what stands behind SELECT,
    with {} in the place of the query: `devices FROM {} WHERE devices > 8`.
    """
    return frame_of(next(ask_in_pieces(root, name, parameters, query_folders, unsafe, refined, whole=True)))


def ask_in_pieces(
    root: Path,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    query_folders: tuple[Path, ...] = (),
    unsafe: bool = False,
    refined: str = EVERYTHING,
    whole: bool = False,
    elsewhere: "Elsewhere | None" = None,
    beside: str | None = None,
) -> "Iterator[pa.Table]":
    """The same as Arrow tables, without polars, as `answer_in_pieces` gives them.

    Of a large warehouse, a query of `Partition: run_id` is asked some runs at a time, `elsewhere` if that is given.
    Raises UserError where it is given and the question is about all runs at once.  The answer to a statement `beside`
    comes first, as a table of its own.
    """
    given = dict(parameters or {})
    statement = f"SELECT {refined.replace('{}', call(name, given))}"
    queries = load(query_folders, statement)
    check_call(name, given, queries, query_folders)
    all_ours = all(is_ours(query.path) for query in queries.values())  # a user's query may rest on all runs
    by_run = refined == EVERYTHING and all_ours and queries[name].is_asked_by_run(given)
    if elsewhere and not by_run:
        raise UserError(
            f"{name}, asked so, is about all runs at once: a cluster cannot share it",
            "leave --dask out; it is for queries that say Partition: run_id, without --where, --sort or --limit",
        )
    try:
        if elsewhere or (by_run and is_large(Warehouse(root))):
            from scalelens.database.by_run import answer_by_run

            runs = given.pop("runs", None)
            plain, is_light = f"SELECT * FROM {call(name, given)}", queries[name].is_light

            def asked() -> "Iterator[pa.Table]":
                return answer_by_run(root, plain, runs or "", queries, not unsafe, is_light, elsewhere)

            first = answer_in_pieces(root, beside, queries={}, whole=True) if beside else ()
            return itertools.chain(first, begun(root, asked, whole))
        return answer_in_pieces(root, statement, query_folders, queries, unsafe, whole, beside)
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
    return frame_of(next(answer_in_pieces(root, statement, query_folders, queries, unsafe, whole=True)))


def answer_in_pieces(
    root: Path,
    statement: str,
    query_folders: tuple[Path, ...] = (),
    queries: Mapping[str, Query] | None = None,
    unsafe: bool = False,
    whole: bool = False,
    beside: str | None = None,
) -> "Iterator[pa.Table]":
    """The answer to a statement about a warehouse: one table, or pieces where a large warehouse is asked.

    An answer can have more rows than memory holds; `whole` asks for one table all the same.  The answer to a statement
    `beside` comes first: to open a warehouse once for both saves a tenth of a second.  Without `queries` the statement
    is the user's own.  Only the queries that it names are made, which takes half the time; all of them where
    that fails, because a statement can put a name together.
    """

    def asked(about: str | None) -> "Iterator[pa.Table]":
        connection = connect(root, query_folders, about, queries, closed=not unsafe)
        first = [arrow_answer(connection, beside, unsafe)] if beside else []
        if is_large(Warehouse(root)):
            return itertools.chain(first, arrow_pieces(connection, statement, unsafe))
        return iter([*first, arrow_answer(connection, statement, unsafe)])

    about = f"{statement}; {beside}" if beside else statement
    if queries is None and not LISTS.search(statement):
        try:
            return begun(root, lambda: asked(about), whole)
        except MayWriteError:
            raise
        except UserError:
            return begun(root, lambda: asked(None), whole)
    return begun(root, lambda: asked(None if queries is None else about), whole)


def begun(root: Path, ask_once: "Callable[[], Iterator[pa.Table]]", whole: bool) -> "Iterator[pa.Table]":
    """Pieces of an answer, the first of which is there, or all as one.

    Where `compact` replaced the segments until then, the warehouse is asked again.
    """
    import pyarrow as pa

    warehouse = Warehouse(root)
    while True:
        names = warehouse.names() if warehouse.exists() else []
        try:
            pieces = ask_once()
            return iter([pa.concat_tables(pieces)]) if whole else itertools.chain([next(pieces)], pieces)
        except MayWriteError:
            raise
        except UserError:
            if not names or warehouse.names() == names:
                raise


def is_large(warehouse: Warehouse) -> bool:
    """Whether there are many bytes of segments."""
    left = LARGE_BYTES
    with contextlib.suppress(FileNotFoundError), os.scandir(warehouse.segments) as files:
        return any((left := left - file.stat().st_size) < 0 for file in files)
    return False


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
