"""The queries: each `.sql` file of a topic's folder, or of a user's folder, becomes a table macro of its name.

A user's queries stand in folders that `--queries` or SCALELENS_QUERIES names, in topic folders or not.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb

from scalelens.errors import UserError
from scalelens.folders import files_of, users_folders
from scalelens.queries.header import QUERIES_FOLDER, Query, is_ours, names_in, read_query
from scalelens.statistics import functions

read_ours = cache(read_query)  # of the package, whose files do not change while it runs


def load(folders: Iterable[Path] = (), asked: str | None = None) -> dict[str, Query]:
    """Queries of the package and of `folders` by name, each after those that it calls.

    Folders in `SCALELENS_QUERIES` come last.  A user's query of the same name replaces ours.  With a statement
    `asked`, only the files are read that it needs.

    Raises UserError for a file that is not a query, with what it lacks, and for two files of one name in one folder.
    """
    trees = [QUERIES_FOLDER, *users_folders(folders, "SCALELENS_QUERIES", "give --queries a folder of .sql files")]
    paths = {name: path for tree in trees for name, path in files_of(tree, ".sql").items()}
    ours = all(map(is_ours, paths.values()))  # a user's query may give ours a text
    queries: dict[str, Query] = {}
    graph: dict[str, list[str]] = {}  # sorted, so that the order is the same in every process
    wanted = sorted(paths if asked is None else names_in(asked) & paths.keys(), reverse=True)
    while wanted:
        name = wanted.pop()
        if name not in queries:
            queries[name] = (read_ours if is_ours(paths[name]) else read_query)(paths[name])
            graph[name] = sorted(calls(queries[name], paths) & queries[name].reads(asked if ours else None))
            wanted += graph[name]
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        ring = cycle.args[1]
        raise UserError(
            f"{queries[ring[0]].path}: the queries call each other: {' -> '.join(ring)}", "break the ring"
        ) from None
    return {name: queries[name] for name in order}


def calls(query: Query, others: Mapping[str, object]) -> set[str]:
    """Names among `others` that a query calls."""
    return {name for name in called_in(query.sql) if name in others}


@cache
def called_in(sql: str) -> frozenset[str]:
    """Names of a query before a bracket."""
    return frozenset(re.findall(r"(\w+)\s*\(", re.sub(r"--[^\n]*", "", sql)))


def create_macros(
    connection: duckdb.DuckDBPyConnection, queries: Mapping[str, Query], asked: str | None = None
) -> None:
    """Adds the queries to a connection as table macros, and the functions that they call.

    The connection has the documented tables already.  With a statement `asked`, functions are left out that neither
    it nor a query calls.
    """
    called = None if asked is None else names_in(asked).union(*(names_in(query.sql) for query in queries.values()))
    functions.register(connection, called)
    for query in queries.values():
        try:
            connection.execute(query.macro)
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{query.path}: {reason}", "correct the SQL") from None
