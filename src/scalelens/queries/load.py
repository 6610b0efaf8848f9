"""The queries: each `.sql` file of a topic's folder, or of a user's folder, becomes a table macro of its name.

A user's queries stand in folders that `--queries` or SCALELENS_QUERIES names, in topic folders or not.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from scalelens.errors import UserError
from scalelens.folders import files_of, user_folders
from scalelens.queries.calls import called_in
from scalelens.queries.header import QUERIES_FOLDER, Query, is_builtin, names_in, read_query
from scalelens.queries.old_columns import with_new_columns

_read_builtin = cache(read_query)  # of the package, whose files do not change while it runs


def paths_of_queries(folders: Iterable[Path] = ()) -> dict[str, Path]:
    """Files of queries by name, of the package and of `folders`.  A user's query of the same name replaces ours."""
    trees = [QUERIES_FOLDER, *user_folders(folders, "SCALELENS_QUERIES", "give --queries a folder of .sql files")]
    return {name: path for tree in trees for name, path in files_of(tree, ".sql").items()}


def load(folders: Iterable[Path] = (), about: str | None = None) -> dict[str, Query]:
    """Queries of the package and of `folders` by name, each after those that it calls.

    Folders in `SCALELENS_QUERIES` come last.  With SQL that the queries are `about`, only the files are read that it
    needs.

    Raises UserError for a file that is not a query, with what it lacks, and for two files of one name in one folder.
    """
    paths = paths_of_queries(folders)
    all_builtin = all(map(is_builtin, paths.values()))  # a user's query may give ours a text
    queries: dict[str, Query] = {}
    graph: dict[str, list[str]] = {}  # sorted, so that the order is the same in every process
    wanted = sorted(paths if about is None else names_in(about) & paths.keys(), reverse=True)
    while wanted:
        name = wanted.pop()
        if name not in queries:
            path = paths[name]
            query = _read_builtin(path) if is_builtin(path) else with_new_columns(read_query(path))
            queries[name] = query
            graph[name] = sorted(called_in(query.sql) & paths.keys() & query.reads(about if all_builtin else None))
            wanted += graph[name]
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        ring = cycle.args[1]
        raise UserError(
            f"{queries[ring[0]].path}: the queries call each other: {' -> '.join(ring)}", "break the ring"
        ) from None
    return {name: queries[name] for name in order}


def needed_by(statement: str, queries: Mapping[str, Query]) -> dict[str, Query]:
    """Those of the queries that a statement needs."""
    all_builtin = all(is_builtin(query.path) for query in queries.values())
    needed: set[str] = set()
    wanted = names_in(statement) & queries.keys()
    while wanted:
        needed |= wanted
        reads = (
            called_in(queries[name].sql) & queries[name].reads(statement if all_builtin else None) for name in wanted
        )
        wanted = set().union(*reads) & queries.keys() - needed
    return {name: query for name, query in queries.items() if name in needed}
