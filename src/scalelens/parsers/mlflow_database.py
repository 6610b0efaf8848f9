"""MLflow's database: mlflow.db, with its experiments and their runs.

Tool: MLflow, SQLAlchemy store on SQLite, the default since 3.7
Versions: 1 to 3; files of 3.15, 3.16 and 3.17 were at hand
Yields: steps, metrics, params, power, phases
Source: mlflow/store/tracking/dbmodels/models.py; mlflow/entities/run_status.py; mlflow/system_metrics

Each run is a part of the file, in the order in which they began; runs that were deleted are left out, and counted.  The
values that were logged of one step one after the other are a record; `line` is the rowid of its first value in
`metrics`, of a parameter that in `params`, of a run that in `runs`.  Numbers have the roles that columns of a CSV have
by their names (docs/generic.md); all others are metrics.  A value that goes back to a step before its last one is a
restart.

What a step counts is the script's affair, and autologging counts epochs.  It is taken for a step where a column counts
steps, where it leaps, or by `--map step=_step`; else no time of a step is made of the stamps, which are in milliseconds.

Metrics that MLflow measures by itself (system/...) count their own samples as steps: power of GPUs is `power`, their use
and memory are metrics with their device.  FINISHED is taken as completed, FAILED as an error, KILLED as cancelled.
"""

import itertools
import math
import operator
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, Database, sqlite_database, unread_journal
from scalelens.parsing.system_metrics import SystemMetrics, is_of_system
from scalelens.parsing.values import YEARS_2000_TO_2100, json_integer
from scalelens.tabular.history.values import OWN, Values
from scalelens.tabular.history.writing import write_history

VERSION = 2
IN_HEAD = (b"experiment_id",)

_NEEDED = {
    "runs": {"run_uuid", "name", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"},
    "metrics": {"key", "value", "timestamp", "run_uuid", "step", "is_nan"},
    "params": {"key", "value", "run_uuid"},
    "experiments": {"experiment_id", "name"},
}
_RUNS = """
SELECT r.rowid, r.run_uuid, r.name, r.status, r.start_time, r.end_time, r.lifecycle_stage, e.name
FROM runs r LEFT JOIN experiments e ON e.experiment_id = r.experiment_id ORDER BY r.start_time, r.rowid"""
_PARAMS = "SELECT run_uuid, rowid, key, value FROM params ORDER BY run_uuid, rowid"
_TAGS = "SELECT run_uuid, rowid, key, value FROM tags ORDER BY run_uuid, rowid"
_METRICS = """
SELECT run_uuid, rowid, key, value, timestamp, step, is_nan FROM metrics ORDER BY run_uuid, timestamp, rowid"""
_OUTCOMES = {"FINISHED": "completed", "FAILED": "error", "KILLED": "cancelled"}
_TAG_FACTS = {
    "mlflow.runName": "run_name",
    "mlflow.source.name": "source_name",
    "mlflow.source.git.commit": "git_commit",
}
_INFINITY = 1.7e308  # the database holds no infinities: the largest number stands for them
_LATEST_MS = YEARS_2000_TO_2100[1] * 1000

_Row = tuple[Any, ...]


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and all(word in head for word in (b"run_uuid", b"experiment_id", b"is_nan"))


def read(source: Source, rows: Rows) -> str | None:
    notes = [unread_journal(source.path)]
    try:
        with sqlite_database(source) as database:
            stored = database.columns
            lacking = [table for table, columns in _NEEDED.items() if not columns <= stored.get(table, set())]
            if lacking:
                rows.problem(None, f"the database lacks columns of MLflow's in {', '.join(lacking)}: it is not read")
                return None
            notes += _read_runs(database, rows)
    except sqlite3.Error as error:
        rows.problem(None, f"the database is cut or damaged ({error}): what was read before is kept")
    return "; ".join(filter(None, notes)) or None


def _read_runs(database: Database, rows: Rows) -> Iterator[str]:
    """Reads all runs.  Yields what is worth knowing about them."""
    runs = database.rows(_RUNS)
    kept = {run[1]: number for number, run in enumerate(run for run in runs if run[6] != "deleted")}
    if len(kept) < len(runs):
        yield f"{len(runs) - len(kept):,} deleted runs are left out"
    for run in runs:
        if run[1] in kept:
            _at(rows, kept[run[1]])
            _write_run(run, rows)
    facts = {"params": _write_parameters, "tags": _write_tags}
    for table, write in facts.items():
        if {"run_uuid", "key", "value"} <= database.columns.get(table, set()):
            for run, values in _by_run(database, _PARAMS if table == "params" else _TAGS):
                if run in kept:
                    _at(rows, kept[run])
                    write([*values], rows)
    uncounted = 0
    for run, values in _by_run(database, _METRICS):
        if run in kept:
            _at(rows, kept[run])
            uncounted += _write_metrics(values, rows)
    _at(rows, 0)
    if uncounted:
        yield (
            f"in {uncounted:,} runs nothing shows what a step counts: times of steps need a column that counts steps, or "
            "--map step=_step"
        )


def _at(rows: Rows, part: int) -> None:
    if rows.part != part:
        rows.part, rows.params = part, {}
    rows.attempt = 0


def _by_run(database: Database, query: str) -> Iterator[tuple[Any, Iterator[_Row]]]:
    """The rows of a query run by run, each without its run."""
    records = (record for batch in database.batches(query) for record in batch)
    for run, of_run in itertools.groupby(records, key=operator.itemgetter(0)):
        yield run, (record[1:] for record in of_run)


def _write_run(run: _Row, rows: Rows) -> None:
    line, run_id, name, status, began, ended, _, experiment = run
    rows.param("tracker", "mlflow", line)
    rows.param("mlflow_run_id", str(run_id), line)
    rows.param("run_name", str(name)[:500] if name else None, line)
    rows.param("experiment_name", str(experiment)[:500] if experiment else None, line)
    rows.param("outcome", _OUTCOMES.get(status), line)
    if _is_time(began) and _is_time(ended) and began <= ended:
        rows.add(
            "phases", line, phase="run", span_s=(ended - began) / 1000, origin="logged", ts_origin="utc",
            ts=datetime.fromtimestamp(ended / 1000, UTC).replace(tzinfo=None),
        )  # fmt: skip


def _is_time(value: Any) -> bool:
    return json_integer(value) is not None and 0 < value < _LATEST_MS


def _write_parameters(values: list[_Row], rows: Rows) -> None:
    if values:
        write_configuration({str(key): value for _, key, value in values}, rows, values[0][0])


def _write_tags(values: list[_Row], rows: Rows) -> None:
    for line, key, value in values:
        if key in _TAG_FACTS:
            rows.param(_TAG_FACTS[key], str(value)[:500] or None, line)
        elif not str(key).startswith("mlflow."):
            rows.param(f"tag.{key}", str(value)[:500], line)


def _write_metrics(values: Iterator[_Row], rows: Rows) -> bool:
    """The metrics of a run.  Returns whether it has records whose step may count anything."""
    records, system = Values(), SystemMetrics(rows)
    for line, key, value, ms, step, is_nan in values:
        if not isinstance(value, int | float) or not _is_time(ms) or json_integer(step) is None:
            rows.problem(line, "the metric has no value, no time or no step", f"{key}: {value}")
            continue
        number = math.nan if is_nan else math.copysign(math.inf, value) if abs(value) > _INFINITY else float(value)
        if is_of_system(key) or key in OWN:
            stamp = datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None)
            system.take(line, key, number, (stamp, "utc"), step)
        else:
            records.take(line, str(key), number, ms / 1000, step)
    return write_history(records.finish(), OWN, rows).lacks_times and records.history.records > 1
