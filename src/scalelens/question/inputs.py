"""The files that an answer rests on: ids (sha256 of the contents) and names."""

import os
from collections.abc import Iterable

import duckdb

from scalelens.database.execute import table_of
from scalelens.database.texts import sql_text
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

NEEDED_FOR_INPUTS = "members params"  # tables


def inputs_of(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, runs: Iterable[str]) -> dict[str, str]:
    """Ids and names of the files of some runs, with the sidecars that say something of them; without runs, of all.

    The connection has the tables NEEDED_FOR_INPUTS.
    """
    chosen = ", ".join(map(sql_text, runs))
    of_runs = f"run_id IN ({chosen})" if chosen else "true"
    statement = (
        f"SELECT file_id FROM members WHERE {of_runs} "
        f"UNION SELECT file_id FROM params WHERE origin = 'sidecar' AND {of_runs}"
    )
    names = names_of(warehouse.live())
    found = table_of(connection, statement)["file_id"].to_pylist()
    return {file_id: names.get(file_id, "") for file_id in found}


def files_of_runs(connection: duckdb.DuckDBPyConnection, runs: Iterable[str]) -> dict[str, list[str]]:
    """Ids of the files of each of some runs, in order."""
    chosen = ", ".join(map(sql_text, runs))
    files: dict[str, list[str]] = {}
    if chosen:
        statement = f"SELECT DISTINCT run_id, file_id FROM members WHERE run_id IN ({chosen}) ORDER BY ALL"
        for run_id, file_id in zip(
            *(column.to_pylist() for column in table_of(connection, statement).columns), strict=True
        ):
            files.setdefault(run_id, []).append(file_id)
    return files


def members_of(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """How many parts of files belong to runs, and a number that differs where others do."""
    counted = connection.execute("SELECT count(*), coalesce(bit_xor(hash(m)), 0) FROM main.members AS m").fetchall()
    return counted[0][0], counted[0][1]


def names_of(live: Live) -> dict[str, str]:
    """Names of contents: their paths below the folder that was given to `ingest`, so that no home folder is told."""
    names: dict[str, str] = {}
    for path, entry in sorted(live.paths.items()):
        names.setdefault(entry.file_id, name_of(entry, path))
    return names


def name_of(entry: Entry, path: str) -> str:
    inside = path.removeprefix(entry.root.rstrip("/") + "/") if entry.root else path
    return inside if inside != path else os.path.basename(path)
