"""Asks a warehouse: a query by its name and parameters, or an SQL statement.  The answer is a polars DataFrame."""

import itertools
import re
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from scalelens.database.connect import connect
from scalelens.database.views import sql_text
from scalelens.errors import UserError
from scalelens.queries.header import Query, is_ours
from scalelens.queries.load import load
from scalelens.queries.page import suggestion
from scalelens.queries.parameter_values import check_value
from scalelens.warehouse.log import Warehouse

UNSAFE = "--unsafe lets it do what DuckDB can"
WRITES = re.compile(r"\b(?:COPY|EXPORT|ATTACH|INSTALL|LOAD|CREATE|INSERT|SET)\b", re.IGNORECASE)
# What lists the tables and macros of a connection: then all must be there.
LISTS = re.compile(r"\b(?:SHOW|DESCRIBE|PRAGMA|duckdb_\w+|information_schema|pg_\w+|sqlite_\w+)\b", re.IGNORECASE)
REMEDIES = {
    "CatalogException": "see scalelens tables and scalelens queries",
    "BinderException": "columns are listed by scalelens tables, parameters by scalelens queries",
    "IOException": "if a segment is missing or damaged, scalelens check says what mends it",
    "PermissionException": f"a question reads the warehouse alone; {UNSAFE}",
    "OutOfMemoryException": "ask for fewer runs with a WHERE clause",
}

NO_RUN = re.compile(r"[ab] := '(.*)' is no run")  # says two_sides
NAMES_TRIED = 4

REFUSED = "Invalid Input Error: "  # what DuckDB puts before the words of error()


class MayWriteError(UserError):
    """A statement that is not carried out, because it may write."""


def ask(
    root: Path,
    name: str,
    parameters: Mapping[str, Any] | None = None,
    query_folders: tuple[Path, ...] = (),
    unsafe: bool = False,
    refined: str = "* FROM {}",
) -> pl.DataFrame:
    """Rows of a query.  Raises UserError for a query or parameter that does not exist.

    `unsafe` lets parameters such as `runs` read files outside the warehouse.  `refined` is what stands behind SELECT,
    with {} in the place of the query: `devices FROM {} WHERE devices > 8`.
    """
    statement = f"SELECT {refined.replace('{}', call(name, parameters or {}))}"
    queries = load(query_folders, statement)
    check_call(name, parameters or {}, queries, query_folders)
    try:
        return answer_of(root, statement, query_folders, queries, unsafe)
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
) -> pl.DataFrame:
    """Rows of a statement about a warehouse, asked again where `compact` replaced the segments meanwhile.

    Without `queries` the statement is the user's own.  Only the queries that it names are made, which takes half the
    time; all of them where that fails, because a statement can put a name together.
    """
    warehouse = Warehouse(root)
    asked = None if queries is None and LISTS.search(statement) else statement
    while True:
        names = warehouse.names() if warehouse.exists() else []
        try:
            return answer(connect(root, query_folders, asked, queries, closed=not unsafe), statement, unsafe)
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


def answer(connection: duckdb.DuckDBPyConnection, statement: str, unsafe: bool = False) -> pl.DataFrame:
    """Rows of a statement.  An error of DuckDB becomes a UserError of one line.

    Unless `unsafe`, a statement that could write is refused.
    """
    try:
        statement.encode()
        if not unsafe and not all(only_reads(part) for part in duckdb.extract_statements(statement)):
            raise MayWriteError("the statement may write or change something", f"ask by SELECT, or {UNSAFE}")
        frame = pl.from_arrow(rows_of(connection, statement))
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except UnicodeEncodeError:
        raise UserError("the question holds bytes that are not UTF-8", "write it in UTF-8") from None
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = " ".join(line for line in lines if not re.match(r"LINE \d+:|\^", line))
        if text.startswith(REFUSED):  # said by a query of ours: what is wrong, and what to do
            reason, _, remedy = text.removeprefix(REFUSED).partition("; ")
            raise UserError(reason, remedy or "see scalelens explain and the query's name") from None
        raise UserError(text.rstrip("."), REMEDIES.get(type(error).__name__, "correct the SQL")) from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def only_reads(statement: duckdb.Statement) -> bool:
    """Whether a statement reads and does nothing else.

    EXPLAIN ANALYZE carries out what it explains, and DuckDB makes several statements of one with PIVOT.
    """
    kind = str(statement.type).rpartition(".")[2]
    return kind == "SELECT" or (kind in ("EXPLAIN", "MULTI") and not WRITES.search(statement.query))


def rows_of(connection: Any, statement: str) -> pa.Table:
    """Rows of a statement as polars can take them: no two columns have the same name, and intervals are text.

    By `execute`, which plans a statement once: `sql` does so to describe it and again to carry it out, and planning is
    half of the time of many questions.
    """
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
