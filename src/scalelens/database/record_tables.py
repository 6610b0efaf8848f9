"""The tables that follow from the commit records alone: files, members, what is known of runs without their rows."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from scalelens.parsing.rows import TEXT_LIMIT
from scalelens.runs.joining import runs_of, sidecars_of
from scalelens.runs.path_facts import facts_of
from scalelens.runs.run import Run
from scalelens.runs.templates import FACTS
from scalelens.tables import FILES, INT, MEMBERS, RUN_ID, SMALL, STORED, TEXT, TIME, Column, schema
from scalelens.warehouse.log import Live

RUN_BASICS = (
    Column("run_id", TEXT, ""), Column("name", TEXT, ""), Column("path", TEXT, ""),
    Column("started_at", TIME, ""), Column("ended_at", TIME, ""), Column("attempts", SMALL, ""),
    Column("outcome", TEXT, ""), Column("outcome_line", INT, ""),
)  # fmt: skip

Row = dict[str, Any]


def create(connection: duckdb.DuckDBPyConnection, live: Live, needed: set[str]) -> dict[str, str]:
    """Makes `members`, and of the other tables those that `needed` ones are made of.

    Returns the labels that sidecars give, with the SQL type of each.
    """
    runs = runs_of(live)
    said = list(sidecar_params(runs, live))
    tables = (
        ("members", members(runs), MEMBERS, "members"),
        ("files", files(live), FILES, "files"),
        ("_run_basics", run_basics(runs), RUN_BASICS, "runs"),
        ("_path_params", path_params(runs), STORED["params"], "params"),
        ("_sidecar_params", said, (RUN_ID, *STORED["params"]), "params"),
        ("_sidecar_problems", sidecar_problems(live), STORED["problems"], "problems"),
    )
    for name, rows, columns, part_of in tables:
        if part_of in needed:
            connection.from_arrow(pa.Table.from_pylist(list(rows), schema=schema(columns))).create(name)
    return label_types(said)


def files(live: Live) -> Iterator[Row]:
    """One row per content, with all its paths."""
    paths = defaultdict(list)
    for path, entry in sorted(live.paths.items()):
        paths[entry.file_id or path].append(entry)  # of a file that could not be read there is no hash
    for file_id, entries in paths.items():
        entry = live.providers.get(file_id, entries[0])
        yield {
            "file_id": entry.file_id or None, "path": entries[0].path, "paths": [other.path for other in entries],
            "size_bytes": entry.size_bytes, "modified_at": entries[0].modified_ns // 1000, "formats": entry.formats,
            "status": entry.status, "rows": entry.rows, "problems": entry.problems, "note": entry.note,
            "parser_version": entry.parser_version, "ingested_at": entry.committed_ns // 1000,
        }  # fmt: skip


def members(runs: list[Run]) -> Iterator[Row]:
    """Which run each part of each file belongs to."""
    for run in runs:
        for part in run.parts:
            yield {"file_id": part.file_id, "part": part.part, "run_id": run.run_id, "why": run.why_of(part)}


def run_basics(runs: list[Run]) -> Iterator[Row]:
    """What `runs` says besides the facts of `params`."""
    for run in runs:
        facts = [part.facts for part in run.parts]
        yield {
            "run_id": run.run_id, "name": run.name, "path": run.parts[0].path,
            "started_at": min((one.started_at for one in facts if one.started_at), default=None),
            "ended_at": max((one.ended_at for one in facts if one.ended_at), default=None),
            "attempts": max(one.attempts for one in facts),
            "outcome": run.outcome[0], "outcome_line": run.outcome[1],
        }  # fmt: skip


def path_params(runs: list[Run]) -> Iterator[Row]:
    """Facts in the names of folders and files, of runs that have steps."""
    for part in (run.parts[0] for run in runs):
        for key, value in facts_of(part.path, part.root).items() if part.facts.steps else ():
            yield {"file_id": part.file_id, "part": part.part, "key": key, "value": value, "origin": "path"}


def sidecar_params(runs: list[Run], live: Live) -> Iterator[Row]:
    """Facts and labels that sidecars give each run."""
    for run in runs:
        for key, said in run.said.items():
            yield {
                "run_id": run.run_id, "file_id": live.paths[said.path].file_id, "part": 0, "line": said.line,
                "key": key, "value": said.value, "origin": said.origin, "is_int": said.is_int,
            }  # fmt: skip


def sidecar_problems(live: Live) -> Iterator[Row]:
    """What is wrong with the sidecars."""
    for fault in sidecars_of(live).faults:
        yield {
            "file_id": live.paths[fault.path].file_id, "part": 0, "line": fault.line, "format": "sidecar",
            "reason": fault.reason, "text": fault.text[:TEXT_LIMIT],
        }  # fmt: skip


def label_types(said: list[Row]) -> dict[str, str]:
    """Labels and the SQL type of each: BIGINT where every sidecar gives a whole number."""
    labels: dict[str, str] = {}
    for row in said:
        if row["key"] not in FACTS:
            integer = row["is_int"] and labels.get(row["key"], "BIGINT") == "BIGINT"
            labels[row["key"]] = "BIGINT" if integer else "VARCHAR"
    return labels
