"""The queries: each `.sql` file of a topic's folder, or of a user's folder, becomes a table macro of its name.

A user's queries stand in folders that `--queries` or SCALELENS_QUERIES names, in topic folders or not.
"""

import re
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import duckdb

from scalelens.errors import UserError
from scalelens.folders import files_of, users_folders
from scalelens.queries.header import FOLDER, Query, is_ours, read, words
from scalelens.statistics import functions


def load(folders: Iterable[Path] = (), asked: str | None = None) -> dict[str, Query]:
    """Queries of the package and of `folders` by name, each after those that it calls.

    Folders in `SCALELENS_QUERIES` come last.  A user's query of the same name replaces ours.  Of what a
    statement `asked` does not need nothing is read.

    Raises UserError for a file that is not a query, with what it lacks, and for two files of one name in one folder.
    """
    trees = [FOLDER, *users_folders(folders, "SCALELENS_QUERIES", "give --queries a folder of .sql files")]
    paths = {name: path for tree in trees for name, path in files_of(tree, ".sql").items()}
    ours = all(map(is_ours, paths.values()))  # a user's SQL may give a text
    queries: dict[str, Query] = {}
    graph: dict[str, list[str]] = {}  # sorted, so that the order is the same in every process
    wanted = sorted(paths if asked is None else words(asked) & paths.keys(), reverse=True)
    while wanted:
        name = wanted.pop()
        if name not in queries:
            queries[name] = read(paths[name])
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
    """Names of the queries that this one calls."""
    code = re.sub(r"--[^\n]*", "", query.sql)
    return {name for name in re.findall(r"(\w+)\s*\(", code) if name in others}


def create(connection: duckdb.DuckDBPyConnection, queries: Mapping[str, Query], asked: str | None = None) -> None:
    """Makes the queries table macros of a connection that has the documented tables, with the functions they call.

    With `asked`, a statement, functions that neither it nor a query calls are left out.
    """
    called = None if asked is None else words(asked).union(*(words(query.sql) for query in queries.values()))
    functions.register(connection, called)
    for query in queries.values():
        try:
            connection.execute(query.macro)
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{query.path}: {reason}", "correct the SQL") from None
