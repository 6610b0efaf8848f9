"""SQL for macros in the place of a query: they read its rows from a table, or have old names of its columns too."""

from collections.abc import Mapping

from scalelens.queries.header import Query, is_builtin

BUILTIN, USERS, SHARED = "queries", "user_queries", "shared"  # schemas; BUILTIN may be an attached file


def users_sql(queries: Mapping[str, Query]) -> str:
    """The SQL of all queries that are a user's."""
    return "\n".join(query.sql for query in queries.values() if not is_builtin(query.path))


def in_place_of(query: Query, columns: str, rows: str = "") -> str:
    """SQL for a macro that takes the place of a query: it selects columns of `rows`, else of those of the query."""
    given = ", ".join(f"{parameter.name} := {parameter.name}" for parameter in query.parameters)
    rows = rows or f"FROM {original(query)}({given})"
    return f"CREATE OR REPLACE MACRO main.{query.signature} AS TABLE SELECT {columns} {rows}"


def no_rows(query: Query) -> str:
    """SQL that gives the columns of a query, and no row."""
    columns = ", ".join(f"CAST(NULL AS {column.type}) AS {column.name}" for column in query.columns)
    return f"FROM (SELECT {columns} WHERE false)"


def original(query: Query) -> str:
    """The macro of a query itself, whatever takes its place."""
    return f"{BUILTIN if is_builtin(query.path) else USERS}.{query.name}"
