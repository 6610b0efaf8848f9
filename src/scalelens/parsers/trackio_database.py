"""trackio's database: PROJECT.db, with the runs of a project.

Tool: trackio, whose database lies in ~/.cache/huggingface/trackio or TRACKIO_DIR
Versions: 0.2 to 0.43; files of 0.41, 0.42 and 0.43 were at hand
Yields: steps, metrics, params, power
Source: trackio/sqlite_storage.py; trackio/gpu.py

Each run is a part of the file.  A record of a history is a JSON object, whose `line` is its id in `metrics`.  Numbers
have the roles that columns of a CSV have by their names (docs/generic.md); all others are metrics; texts, tables and
pictures are passed over.  A step that goes back is a restart.

The step counts the calls of log() unless the script gave it, which shows where it leaps; `--map step=_step` says so too.
The time is that at which some records were sent together: where these come in bursts, no time of a step is made of it.
What trackio measures of GPUs is `power`, or metrics with their device.  Newest records may still be in PROJECT.db-wal.
"""

import itertools
import json
import operator
import sqlite3
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.sqlite_file import MAGIC, Database, sqlite_database, unread_journal
from scalelens.parsing.system_metrics import SystemMetrics
from scalelens.parsing.values import json_integer, json_number_or_nan, nanoseconds_since_1970
from scalelens.tabular.cells import nested_values
from scalelens.tabular.history.columns import History
from scalelens.tabular.history.values import OWN
from scalelens.tabular.history.writing import write_history

VERSION = 2
IN_HEAD = (b"SQLite format 3",)

_TABLE = re.compile(rb"TABLE (?:IF NOT EXISTS )?\"?metrics\"? ?\([^)]*\bmetrics\b")
_NEEDED = {"id", "timestamp", "run_name", "step", "metrics"}
_NOT_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_LONGEST = 1 << 20  # characters of a record

_Row = tuple[Any, ...]


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(MAGIC) and b"run_name" in head and _TABLE.search(head) is not None


def read(source: Source, rows: Rows) -> str | None:
    notes = [unread_journal(source.path)]
    try:
        with sqlite_database(source) as database:
            if not database.columns.get("metrics", set()) >= _NEEDED:
                rows.problem(None, "the database lacks columns of trackio's table metrics: it is not read")
                return None
            notes.append(_Runs(database, rows).read())
    except sqlite3.Error as error:
        rows.problem(None, f"the database is cut or damaged ({error}): what was read before is kept")
    return "; ".join(filter(None, notes)) or None


class _Runs:
    """The runs of a database, which are parts of the file in the order of their first records."""

    def __init__(self, database: Database, rows: Rows) -> None:
        self.database, self.rows = database, rows
        self.parts: dict[Any, int] = {}

    def read(self) -> str | None:
        uncounted, stored = 0, self.database.columns
        for table, write in (
            ("configs", self.configuration),
            ("metrics", self.history),
            ("system_metrics", self.system),
        ):
            known = stored.get(table, set())
            value = {"configs": "config"}.get(table, "metrics")
            if {"id", "run_name", value} <= known:
                run = "run_id" if "run_id" in known else "run_name"
                names = ("id", "run_name", value, *(name for name in ("timestamp", "step") if name in known))
                query = f"SELECT {run}, {', '.join(names)} FROM {table} ORDER BY {run}, id"
                for run_id, records in self.by_run(query):
                    self.at(run_id)
                    uncounted += bool(write(records))
        self.rows.part = 0
        if not uncounted:
            return None
        return (
            f"in {uncounted:,} runs `_step` may count calls of log(): times of steps need a column that counts steps, or "
            "--map step=_step"
        )

    def at(self, run_id: Any) -> None:
        part = self.parts.setdefault(run_id, len(self.parts))
        if self.rows.part != part:
            self.rows.part, self.rows.params = part, {}

    def by_run(self, query: str) -> Iterator[tuple[Any, Iterator[_Row]]]:
        for run_id, records in itertools.groupby(
            (record for batch in self.database.batches(query) for record in batch), key=operator.itemgetter(0)
        ):
            yield run_id, (record[1:] for record in records)

    def configuration(self, records: Iterator[_Row]) -> None:
        for line, name, text, *_ in records:
            configuration = self.object_of(line, text)
            self.rows.param("run_name", str(name)[:500], line)
            self.rows.param("run_group", configuration.pop("_Group", None), line)
            own = [key for key in configuration if key.startswith("_")]
            write_configuration({key: value for key, value in configuration.items() if key not in own}, self.rows, line)

    def history(self, records: Iterator[_Row]) -> bool:
        """The records of a run.  Returns whether its step may count anything."""
        history, last, attempt = History(), None, 0
        for line, name, text, stamp, step in records:
            self.rows.param("tracker", "trackio", line)
            self.rows.param("run_name", str(name)[:500], line)
            values = dict(_numbers(self.object_of(line, text)))
            if json_integer(step) is not None:
                attempt += last is not None and step < last
                last = values["_step"] = step
            if time := stamp_of(str(stamp)):
                values["_timestamp"] = nanoseconds_since_1970(time[0]) / 1e9
            history.add(line, values, attempt)
        return write_history(history, OWN, self.rows).lacks_times and history.records > 1

    def system(self, records: Iterator[_Row]) -> None:
        system = SystemMetrics(self.rows)
        for line, _, text, *times in records:
            for name, value in _numbers(self.object_of(line, text)):
                system.take(line, name, value, stamp_of(str(times[0])) if times else None)

    def object_of(self, line: int, text: Any) -> dict[str, Any]:
        try:
            if not isinstance(text, str | bytes) or len(text) > _LONGEST:
                raise ValueError
            found = json.loads(text)
            if not isinstance(found, dict):
                raise ValueError
        except (ValueError, RecursionError):
            self.rows.problem(line, "the record is not a JSON object, or is too long", str(text)[:500])
            return {}
        return found


def _numbers(record: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in nested_values(record, marker="_type"):
        number = _NOT_NUMBERS.get(value) if isinstance(value, str) else json_number_or_nan(value)
        if number is not None:
            yield name, float(number)
