"""The rows of the tables that follow from the commit records alone."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from scalelens.database.record_tables import ORDERS, TABLES, LiveBatch, RecordTables
from scalelens.runs.joining import sidecars_of
from scalelens.runs.path_facts import facts_of
from scalelens.runs.run import Run
from scalelens.runs.templates import FACT_KINDS
from scalelens.tables import LONGEST_TEXT, schema
from scalelens.warehouse.live import Live

_LABELS = pa.schema([("run_id", pa.string()), ("key", pa.string()), ("is_int", pa.bool_())])

_Row = dict[str, Any]


def record_tables(live: Live, runs: list[Run]) -> RecordTables:
    """The record tables, from what counts and its runs."""
    params_of_sidecars = list(_sidecar_params(runs, live))
    rows_of: dict[str, Callable[[], Iterable[_Row]]] = {
        "members": lambda: _members(runs),
        "files": lambda: _files(live),
        "_run_basics": lambda: _run_basics(runs),
        "_path_params": lambda: _path_params(runs),
        "_sidecar_params": lambda: params_of_sidecars,
        "_sidecar_problems": lambda: _sidecar_problems(live),
        "_copy_problems": lambda: _copy_problems(runs),
    }
    tables = {
        name: pa.Table.from_pylist(sorted(rows_of[name](), key=_sort_key_of(name)), schema=schema(columns))
        for name, (columns, _) in TABLES.items()
    }
    labels = pa.Table.from_pylist([row for row in params_of_sidecars if row["key"] not in FACT_KINDS], schema=_LABELS)
    return RecordTables(tables, labels, live_batches(live))


def _sort_key_of(name: str) -> Callable[[_Row], list[Any]]:
    """Sorts the rows of a table as Arrow does, NULL last; loading Arrow's own sort takes longer than this."""
    return lambda row: [(row[column] is None, row[column]) for column in ORDERS[name]]


def live_batches(live: Live) -> list[LiveBatch]:
    """Batches with rows that count."""
    contents: dict[str, set[str]] = defaultdict(set)  # by batch
    for file_id, entry in live.providers.items():
        contents[entry.batch].add(file_id)
    return [
        LiveBatch(
            batch.id,
            [*batch.tables],
            batch.schema,
            sorted({*batch.file_ids} - contents[batch.id]),
            sorted(contents[batch.id]),
        )
        for batch in live.batches.values()
        if contents[batch.id]
    ]


def _files(live: Live) -> Iterator[_Row]:
    """One row per content, with all its paths."""
    paths = defaultdict(list)
    for path, entry in sorted(live.paths.items()):
        paths[entry.file_id or path].append(entry)  # a file that could not be read has no hash
    for file_id, entries in paths.items():
        entry = live.providers.get(file_id, entries[0])
        yield {
            "file_id": entry.file_id or None, "path": entries[0].path, "paths": [other.path for other in entries],
            "size_bytes": entry.size_bytes, "modified_at": entries[0].modified_ns // 1000, "formats": entry.formats,
            "status": entry.status, "rows": entry.rows, "problems": entry.problems, "note": entry.note,
            "parser_version": entry.parser_version, "ingested_at": entry.committed_ns // 1000,
        }  # fmt: skip


def _members(runs: list[Run]) -> Iterator[_Row]:
    """Which run each part of each file belongs to."""
    for run in runs:
        for part, reason in zip(run.parts, run.reasons, strict=True):
            yield {"file_id": part.file_id, "part": part.part, "run_id": run.run_id, "why": reason}


def _run_basics(runs: list[Run]) -> Iterator[_Row]:
    """The columns of `runs` that are not facts of `params`."""
    for run in runs:
        outcome, outcome_line = run.outcome
        yield {
            "run_id": run.run_id, "name": run.name, "name_of_place": run.name_of_place, "path": run.parts[0].path,
            "started_at": min((start for part in run.parts if (start := part.facts.started_at)), default=None),
            "ended_at": max((end for part in run.parts if (end := part.facts.ended_at)), default=None),
            "attempts": max(part.facts.attempts for part in run.parts),
            "outcome": outcome, "outcome_line": outcome_line,
        }  # fmt: skip


def _path_params(runs: list[Run]) -> Iterator[_Row]:
    """Facts in the names of folders and files, for runs with steps; a job's id for any run that states none."""
    for run in runs:
        part = run.parts[0]
        if part.job_id and not any(other.facts.job_id or "job_id" in other.statements for other in run.parts):
            yield {"file_id": part.file_id, "part": part.part, "key": "job_id", "value": part.job_id, "origin": "path"}
        stated = next((count for other in run.parts if (count := other.facts.settings.get("devices"))), None)
        facts = facts_of(part.path, part.root, stated) if part.facts.steps or part.exported_run else {}
        for key, value in facts.items():
            yield {"file_id": part.file_id, "part": part.part, "key": key, "value": value, "origin": "path"}


def _sidecar_params(runs: list[Run], live: Live) -> Iterator[_Row]:
    """Facts and labels from sidecars, by run."""
    for run in runs:
        for key, statement in run.statements.items():
            yield {
                "run_id": run.run_id, "file_id": live.paths[statement.path].file_id, "part": 0, "line": statement.line,
                "key": key, "value": statement.value, "origin": statement.origin, "is_int": statement.is_int,
            }  # fmt: skip


def _sidecar_problems(live: Live) -> Iterator[_Row]:
    """What is wrong with the sidecars."""
    for fault in sidecars_of(live).faults:
        yield {
            "file_id": live.paths[fault.path].file_id, "part": 0, "line": fault.line, "format": "sidecar",
            "reason": fault.reason, "text": fault.text[:LONGEST_TEXT],
        }  # fmt: skip


def _copy_problems(runs: list[Run]) -> Iterator[_Row]:
    """Files whose power readings do not count, as another has them."""
    for run in runs:
        for part in run.parts:
            if part.repeats:
                name = posixpath.relpath(part.repeats, part.folder)
                yield {
                    "file_id": part.file_id, "part": part.part, "line": 1, "format": "power",
                    "reason": "the power readings of another file, perhaps added up or averaged: they do not count",
                    "text": name[:LONGEST_TEXT],
                }  # fmt: skip
