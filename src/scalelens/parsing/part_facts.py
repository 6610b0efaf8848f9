"""What a part of a file says about its run, gathered while the file is read and kept in the commit record.

With these facts, parts are joined to runs without reading their rows again.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import isfinite
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing.power_windows import Windows
from scalelens.parsing.values import nanoseconds_since_1970

_WHOLE_RUN = ("run_mean", "run_median")  # value kinds that sum up a run
_TRACES = ("events",)  # tables whose ranks were traced
# Settings by which the rows of a result table differ.
_RESULT_SETTINGS = ("model", "nodes", "devices", "global_batch_size", "tp", "pp")
_OF_TRAININGS = ("framework", "model", "global_batch_size", "outcome", "tp", "pp")  # facts that only a training has
_NAMES = ("run_name", "run")
_MOST_LOSSES = 10  # that are kept of a part
_DIGITS = 9  # of each of them
_MANY_STEPS = 10 * _MOST_LOSSES  # of more, the roundest are looked for before each is looked at
_FIRST_ABSOLUTE_NS = 10**18  # an event that starts earlier has a time since the zero of its trace

_Row = dict[str, Any]
# Integers as the tables hold them: a record with any other is damaged.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class PartFacts(msgspec.Struct, omit_defaults=True):
    """Facts of one part of one file.  It is stored: a field's name is its name in the commit records."""

    rows: dict[str, int] = {}  # by table
    steps: dict[str, tuple[int, int]] = {}  # first and last step by rank, which is "None" where no line names it
    attempts: Int32 = 0
    summary: bool | None = None  # whether all step records sum up a whole run; None without such records
    traced: list[int | None] = []  # ranks whose events it holds
    measured_by: list[str] = []  # ranks that measured its power
    measured: tuple[int, int] | None = None  # first and last power sample, nanoseconds since 1970
    traced_at: tuple[int, int] | None = None  # starts of the first and last event, if the trace has a base
    clocks: list[str] = []  # `ts_origin` of its times: steps, phases and power samples
    of_lines: bool = False  # whether line formats read it
    of_tracker: bool = False  # whether a tracker kept it
    timed: bool = False  # whether its steps have times
    of_training: bool = False  # whether it states what only a training does
    folders: list[str] = []  # folders that it describes, relative to its own
    job_id: str | None = None
    run_name: str | None = None  # what a tracker or a column calls the run
    outcomes: list[tuple[str, Int64 | None]] = []  # outcome and the line that says it
    settings: dict[str, str] = {}  # the first value of each of _RESULT_SETTINGS
    result: str | None = None  # the first time or rate that sums up the run
    started_at: datetime | None = None
    ended_at: datetime | None = None
    powers: Windows | None = None  # what it measured
    losses: dict[str, tuple[float, float | None]] = {}  # loss and time of a few steps of one rank, the roundest ones

    def add(self, table: str, rows: Sequence[_Row]) -> None:
        """Adds the facts that rows of `table` hold."""
        self.count(table, len(rows))
        for take in _TAKEN_FROM.get(table, ()):
            take(self, rows)

    def add_columns(self, table: str, rows: pa.Table) -> None:
        """Adds the facts of rows that come as Arrow columns."""
        self.count(table, rows.num_rows)
        if table in _TRACES:
            first, last = pc.ends(rows["start_ns"]) if "start_ns" in rows.column_names else (None, None)
            self.add_traced(pc.unique(rows["rank"]).to_pylist(), first, last)
        elif table == "steps":  # of one rank
            ends: list[_Row] = [{}, {}]
            for name in {"rank", "step", "attempt", "ts", "ts_origin"} & {*rows.column_names}:
                ranges = name in ("step", "attempt", "ts")
                both = pc.ends(rows[name]) if ranges else (rows[name][0].as_py(), rows[name][-1].as_py())
                ends[0][name], ends[1][name] = both
            for take in (_take_ends, _take_times):
                take(self, ends)
            self._add_losses_of_columns(rows)
            self.timed |= "step_s" in rows.column_names and rows["step_s"].null_count < rows.num_rows

    def _add_losses_of_columns(self, rows: pa.Table) -> None:
        rank = rows["rank"][0].as_py() if "rank" in rows.column_names else None
        if not {"step", "loss"} <= {*rows.column_names} or not self.has_losses_of(rank):
            return
        rows = pc.filter(rows, pc.is_valid(rows["loss"]))
        few = pc.filter(rows, pc.is_in(rows["step"], pa.array(_roundest(*pc.ends(rows["step"])), rows["step"].type)))
        times = few["step_s"].to_pylist() if "step_s" in few.column_names else [None] * few.num_rows
        self.keep_losses(zip(few["step"].to_pylist(), few["loss"].to_pylist(), times, strict=True))

    def keep_losses(self, records: Iterable[tuple[int, float, float | None]]) -> None:
        """Keeps the losses of the roundest steps: two files of one training keep the same ones."""
        kept = {int(step): loss_and_time for step, loss_and_time in self.losses.items()}
        found = {step: (loss, step_s) for step, loss, step_s in records if isfinite(loss)}
        for step in (roundest := _most_round({*kept, *found})):
            if step not in kept:
                loss, step_s = found[step]
                kept[step] = _short(loss), _short(step_s) or None if step_s else None
        self.losses = {str(step): kept[step] for step in roundest}

    def has_losses_of(self, rank: int | None) -> bool:
        """Whether the losses are those of `rank`: of no rank where some have none, else of the only one."""
        if "None" in self.steps:
            return rank is None
        if len(self.steps) > 1:
            self.losses = {}
        return len(self.steps) == 1

    def count(self, table: str, rows: int) -> None:
        self.rows[table] = self.rows.get(table, 0) + rows

    def add_traced(self, ranks: Sequence[int | None], first: int | None, last: int | None) -> None:
        """Adds ranks whose events it holds, with the starts of their first and last event."""
        self.traced = list(dict.fromkeys((*self.traced, *ranks)))
        if first is not None and last is not None and first >= _FIRST_ABSOLUTE_NS:
            begin, end = self.traced_at or (first, last)
            self.traced_at = min(begin, first), max(end, last)

    def add_clocks(self, rows: Sequence[_Row]) -> None:
        """Adds the clocks of the rows that have a time."""
        origins = {row.get("ts_origin") for row in rows if row.get("ts") is not None} - {None, *self.clocks}
        if origins:
            self.clocks = sorted({*self.clocks, *map(str, origins)})


def _take_events(facts: PartFacts, rows: Sequence[_Row]) -> None:
    starts = [start for row in rows if (start := row.get("start_ns")) is not None]
    facts.add_traced([row.get("rank") for row in rows], min(starts, default=None), max(starts, default=None))


def _number_of_epoch(row: _Row) -> int | None:
    """The epoch of a record that counts no steps, below zero."""
    epoch = row.get("epoch")
    return -int(epoch) - 1 if epoch is not None and float(epoch).is_integer() else None


def _most_round(steps: Iterable[int]) -> list[int]:
    """The roundest of some steps, in their order."""
    round_ones: list[int] = []
    others: list[int] = []
    for step in steps:
        (others if step % 10 or not step else round_ones).append(step)
    round_ones.sort(key=_roundness)
    return round_ones[:_MOST_LOSSES] + sorted(others, key=abs)[: max(_MOST_LOSSES - len(round_ones), 0)]


def _roundness(step: int) -> tuple[int, int]:
    """A key for sorting steps: those with more zeros at their end come first, then the lower ones."""
    zeros = len(str(step)) - len(str(step).rstrip("0")) if step else 0
    return -zeros, abs(step)


def _roundest(first: int, last: int) -> set[int]:
    """Of the steps between two, some of the roundest: several times as many as are kept."""
    found = set[int]()
    for zeros in range(len(str(last)), -1, -1):
        found.update(itertools.islice(range(-(-first // 10**zeros) * 10**zeros, last + 1, 10**zeros), _MANY_STEPS))
        if len(found) >= _MANY_STEPS:
            break
    return found


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _take_steps(facts: PartFacts, rows: Sequence[_Row]) -> None:
    _take_ends(facts, rows)
    counted = [
        (number, loss, row.get("step_s"))
        for row in rows
        if (loss := row.get("loss")) is not None
        and facts.has_losses_of(row.get("rank"))
        and row.get("phase", "train") == "train"
        and (number := row["step"] if row.get("step") is not None else _number_of_epoch(row)) is not None
    ]
    if not counted:
        return
    steps = [step for step, _, _ in counted]
    first, last = min(steps), max(steps)
    if last - first < _MANY_STEPS:
        facts.keep_losses(counted)
        return
    of_round = _roundest(first, last)
    round_ones = [record for record in counted if record[0] in of_round]
    facts.keep_losses(round_ones if len(round_ones) >= _MOST_LOSSES else counted)


def _take_ends(facts: PartFacts, rows: Sequence[_Row]) -> None:
    by_rank: dict[str, list[int]] = {}
    if len({row.get("rank") for row in rows}) == 1:
        by_rank[str(rows[0].get("rank"))] = [row.get("step") or 0 for row in rows]
    else:
        for row in rows:
            by_rank.setdefault(str(row.get("rank")), []).append(row.get("step") or 0)
    for rank, steps in by_rank.items():
        low, high = facts.steps.get(rank, (steps[0], steps[0]))
        facts.steps[rank] = (min(low, *steps), max(high, *steps))
    all_sum_up = all(row.get("value_kind") in _WHOLE_RUN and row.get("step") is None for row in rows)
    facts.summary = all_sum_up and facts.summary is not False
    if facts.summary and facts.result is None:
        measured = (rows[0].get("step_s"), rows[0].get("samples_per_s"))
        facts.result = repr(measured) if any(measured) else None
    facts.timed |= any(row.get("step_s") is not None for row in rows)
    facts.attempts = max(facts.attempts, 1 + max([row.get("attempt") or 0 for row in rows]))


def _take_params(facts: PartFacts, rows: Sequence[_Row]) -> None:
    for row in rows:
        key, value = row["key"], row["value"]
        facts.of_training |= key in _OF_TRAININGS
        if key == "job_id":
            facts.job_id = facts.job_id or str(value)
        elif key in _NAMES:
            facts.run_name = facts.run_name or str(value)
        elif key == "tracker":
            facts.of_tracker = True
        elif key == "outcome":
            facts.outcomes.append((str(value), row["line"]))
        elif key == "measured_by_rank":
            facts.measured_by.append(str(value))
        elif key == "describes_folder":
            facts.folders.append(str(value))
        elif key in _RESULT_SETTINGS:
            facts.settings.setdefault(key, str(value))


def _take_power(facts: PartFacts, rows: Sequence[_Row]) -> None:
    timed = [(nanoseconds_since_1970(ts), row) for row in rows if (ts := row.get("ts")) is not None]
    if not timed:
        return
    times = [ns for ns, _ in timed]
    first, last = facts.measured or (times[0], times[0])
    facts.measured = min(first, *times), max(last, *times)
    facts.add_clocks(rows)
    if facts.powers is None:
        facts.powers = Windows()
    facts.powers.add(
        ((row.get("node") or "", row.get("scope") or "", row.get("device") or ""), ns, power_w)
        for ns, row in timed
        if (power_w := row.get("power_w")) is not None and isfinite(power_w) and row.get("flag") != "implausible"
    )


def _take_times(facts: PartFacts, rows: Sequence[_Row]) -> None:
    times = [ts for row in rows if (ts := row.get("ts")) is not None]
    if times:
        facts.started_at = min(facts.started_at or times[0], *times)
        facts.ended_at = max(facts.ended_at or times[0], *times)
        facts.add_clocks(rows)


_TAKEN_FROM: dict[str, tuple[Callable[[PartFacts, Sequence[_Row]], None], ...]] = {
    "events": (_take_events,),
    "params": (_take_params,),
    "phases": (_take_times,),
    "power": (_take_power,),
    "steps": (_take_steps, _take_times),
}
