"""What a part of a file says of its run, gathered while it is read and kept in the commit record.

With it, runs are joined without reading rows again.
"""

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from scalelens.parsing.values import nanoseconds_since_1970

WHOLE_RUN = ("run_mean", "run_median")  # kinds of values that sum up a run
TRACES = ("events",)  # tables whose ranks were traced
SETTINGS = ("model", "nodes", "devices", "global_batch_size", "tp", "pp")  # tell the rows of a result table apart

Row = dict[str, Any]


class PartFacts(msgspec.Struct, omit_defaults=True):
    """Facts of one part of one file."""

    rows: dict[str, int] = {}  # by table
    steps: dict[str, tuple[int, int]] = {}  # first and last step by rank, which is "None" where no line names it
    attempts: int = 0
    summary: bool | None = None  # whether all step records sum up a whole run; None without such records
    traced: list[int | None] = []  # ranks whose events it holds
    measured_by: list[str] = []  # ranks that measured its power
    measured: tuple[int, int] | None = None  # first and last power sample, nanoseconds since 1970
    folders: list[str] = []  # folders that it describes, relative to its own
    job_id: str | None = None
    outcomes: list[tuple[str, int | None]] = []  # outcome and the line that says it
    settings: dict[str, str] = {}  # the first value of each of SETTINGS
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def add(self, table: str, rows: Sequence[Row]) -> None:
        """Takes up what rows of `table` say."""
        self.count(table, len(rows))
        for take_up in TAKEN_UP.get(table, ()):
            take_up(self, rows)

    def add_columns(self, table: str, rows: pa.Table) -> None:
        """`add` of rows as Arrow columns."""
        self.count(table, rows.num_rows)
        if table in TRACES:
            self.add_traced(pc.unique(rows["rank"]).to_pylist())

    def count(self, table: str, rows: int) -> None:
        self.rows[table] = self.rows.get(table, 0) + rows

    def add_traced(self, ranks: Sequence[int | None]) -> None:
        self.traced = list(dict.fromkeys((*self.traced, *ranks)))


def of_events(facts: PartFacts, rows: Sequence[Row]) -> None:
    facts.add_traced([row.get("rank") for row in rows])


def of_steps(facts: PartFacts, rows: Sequence[Row]) -> None:
    for rank, of_rank in itertools.groupby(rows, key=lambda row: str(row.get("rank"))):
        steps = [row.get("step") or 0 for row in of_rank]
        low, high = facts.steps.get(rank, (steps[0], steps[0]))
        facts.steps[rank] = (min(low, *steps), max(high, *steps))
    of_whole_run = all(row.get("value_kind") in WHOLE_RUN and row.get("step") is None for row in rows)
    facts.summary = of_whole_run and facts.summary is not False
    facts.attempts = max(facts.attempts, 1 + max(row.get("attempt") or 0 for row in rows))


def of_params(facts: PartFacts, rows: Sequence[Row]) -> None:
    for row in rows:
        key, value = row["key"], row["value"]
        if key == "job_id":
            facts.job_id = facts.job_id or str(value)
        elif key == "outcome":
            facts.outcomes.append((str(value), row["line"]))
        elif key == "measured_by_rank":
            facts.measured_by.append(str(value))
        elif key == "describes_folder":
            facts.folders.append(str(value))
        elif key in SETTINGS:
            facts.settings.setdefault(key, str(value))


def of_power(facts: PartFacts, rows: Sequence[Row]) -> None:
    times = [nanoseconds_since_1970(ts) for row in rows if (ts := row.get("ts")) is not None]
    if times:
        first, last = facts.measured or (times[0], times[0])
        facts.measured = min(first, *times), max(last, *times)


def of_times(facts: PartFacts, rows: Sequence[Row]) -> None:
    times = [ts for row in rows if (ts := row.get("ts")) is not None]
    if times:
        facts.started_at = min(facts.started_at or times[0], *times)
        facts.ended_at = max(facts.ended_at or times[0], *times)


TAKEN_UP: dict[str, tuple[Callable[[PartFacts, Sequence[Row]], None], ...]] = {
    "events": (of_events,),
    "params": (of_params,),
    "phases": (of_times,),
    "power": (of_power,),
    "steps": (of_steps, of_times),
}
