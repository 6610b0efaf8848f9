"""Tables of per-step metrics, CSV or JSONL, as rows of `steps` and `metrics`.

A file is read several times: first to see what its columns hold, which decides between the meanings of a name, then to
see how it counts its steps, then for the rows.  A user's format file passes its mapping to `read_as`; without
one, `read_table` guesses.
"""

import itertools
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from scalelens.errors import UserError
from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import (
    RecordReader,
    TableRecord,
    csv_header,
    csv_records,
    is_blank,
    jsonl_header,
    jsonl_records,
)
from scalelens.tabular.column_names import metric_unit
from scalelens.tabular.column_values import Survey
from scalelens.tabular.initials import with_initials
from scalelens.tabular.role_table import ROLE
from scalelens.tabular.roles import (
    MOST_RUNS,
    ColumnReading,
    as_map,
    assign,
    column_and_unit,
    may_be_of_training,
    supposed,
)
from scalelens.tabular.runs import RUN_SETTINGS, as_means, has_sizes, runs_in, write_runs
from scalelens.tabular.table import FINE, MEASURED, OF_RUN, Counting, StepTable

_LABELS = ("run", "rank", "place", "phase", "epoch", "devices", "nodes", "model", "precision", "job_id")
# Beside a column `value`, one of these columns names the value in each row.
_NAME_COLUMNS = ("name", "metric", "metric_name", "tag", "key")
# A table of steps has one of these roles.
_COUNTS = ("step", "batch", "averaged_steps")
_ITERATION = re.compile(r"iter(?:ation)?s?", re.IGNORECASE)
_MEASURED = re.compile(r"energy|joule|power|watt|(?:^|[^a-z])k?wh(?:$|[^a-z])|latency|benchmark", re.IGNORECASE)
_TIMES, _OF_STEP = ("batch_time", "interval_time", "running_time"), re.compile(r"step|iter|batch|epoch", re.IGNORECASE)
_TRAINS = re.compile(r"train|loss|epoch|optimi[sz]er|backward|perplexity|grad", re.IGNORECASE)
_ONLY_TRAININGS_HAVE = {
    "epoch", "batch", "batches", "batch_time", "running_time", "data_time", "loss", "learning_rate", "grad_norm",
    "samples_per_s", "tokens_per_s",
}  # fmt: skip
_OF_TORCHTITAN = "time_metrics/end_to_end(s)"  # torchtitan/components/metrics.py, log()
_LOOKED_AT = MOST_RUNS + 1  # records of a table whose names of columns show that it has neither steps nor runs
_OF_STEPS = ("step", "batch", "epoch", "batch_time", "interval_time", "running_time")


def read_table(source: Source, rows: Rows, records: RecordReader) -> str | None:
    """Rows of a table, by the names of its columns and by `rows.mapping`.  Returns why it is not a table of steps."""
    head = Survey(itertools.islice(records(source), _LOOKED_AT))
    suffices = records is csv_records and not rows.mapping and not may_be_of_training(head.columns)
    survey = head if suffices else Survey(records(source))
    readings = assign(survey.columns, rows.mapping)
    rows.assigned = readings
    means = as_means(with_initials(readings, survey.columns))
    if runs := runs_in(survey, means, lambda: records(source)):
        rows.assigned = means
        write_runs(rows, runs, survey, means)
        return None
    if lacking := lacks(survey, readings) or _counts_measurements(readings, rows.mapping):
        rows.assigned = []  # the format that reads it instead may take them otherwise
        return lacking
    write_rows(source, rows, records, survey, [*map(_of_the_job, readings)], by_stamps=True)
    return None


def read_runs(tables: Sequence[tuple[str, list[TableRecord]]], rows: Rows) -> str | None:
    """Rows of tables of runs of different sizes, each with its title.  Returns why none is such a table."""
    lacking = "no table in it has runs of different sizes with a time or a rate"
    written: list[ColumnReading] = []
    for title, records in tables:
        survey = Survey(iter(records))
        readings = as_means(assign(survey.columns, rows.mapping))
        if not has_sizes(survey, readings) or not (runs := runs_in(survey, readings, records.copy)):
            lacking = lacks(survey, readings) or lacking
            continue
        if written:
            rows.new_part()
        written += readings
        write_runs(rows, runs, survey, readings, title)
    rows.assigned = [*dict.fromkeys(written)]
    return None if written else lacking


def _of_the_job(reading: ColumnReading) -> ColumnReading:
    """A rate in a table is of the whole job, unless its name says of what."""
    return reading._replace(unit="global") if reading.role == "samples_per_s" and not reading.unit else reading


def read_as(source: Source, rows: Rows, columns: Mapping[str, str], from_zero: bool = False) -> None:
    """Rows of a table whose columns a format file names: `{"step": "it", "batch_time": "iter_time:ms"}`.

    With `from_zero`, a time since the start is that since the first epoch of a launch began.
    Raises UserError for a role that does not exist, or a unit that is missing.
    """
    mapping = mapping_of(columns)
    records = jsonl_records if jsonl_header(source.text_head()) else csv_records
    survey = Survey(records(source))
    for role, (column, _) in mapping.items():
        if column not in survey.columns:
            rows.problem(1, f"there is no column {column} for the role {role}")
    readings = assign(survey.columns, mapping, guess=False)
    rows.assigned = readings
    write_rows(source, rows, records, survey, readings, from_zero=from_zero)


def mapping_of(columns: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
    """Column and unit by role.  Raises UserError for a role that does not exist, or a unit that is missing."""
    unknown = [role for role in columns if role not in ROLE]
    if unknown:
        raise UserError(f"{unknown[0]} is not a role of a column", f"there are {', '.join(ROLE)}")
    return {role: column_and_unit(ROLE[role], text) for role, text in columns.items()}


def lacks(survey: Survey, readings: Sequence[ColumnReading]) -> str | None:
    """Why a table is not one of steps, or None."""
    roles = {reading.role for reading in readings}
    if not roles & set(_OF_STEPS):
        return f"a table without a step, an epoch or a time per step; {supposed(survey.columns, readings)}"
    if not any(
        not reading.is_text and reading.role not in (*_LABELS, *RUN_SETTINGS, "step", "batch", "averaged_steps")
        for reading in readings
    ):
        return "a table with steps and no other numbers"
    named = [reading.column for reading in readings if reading.is_text and reading.column.lower() in _NAME_COLUMNS]
    if any(not survey.columns[name].constant for name in named) and any(
        reading.column.lower() == "value" for reading in readings
    ):
        return f"a table of one value in each row, which {named[0]} names, and not of a column for each"
    varying = [
        reading.column for reading in readings if reading.role in OF_RUN and not survey.columns[reading.column].constant
    ]
    if varying and not roles & {"step", "batch", "epoch"}:
        return f"a table of runs, not of steps: {varying[0]} differs from row to row, and there is no step or epoch"
    return None


def _counts_measurements(readings: Sequence[ColumnReading], mapping: Mapping[str, object]) -> str | None:
    """Why iterations are those of a benchmark or of a meter, where nothing beside them says training; or None.

    So is a time without any count: a meter's log may state the time between its readings.
    """
    counts = [reading for reading in readings if reading.role in ("step", "batch", "epoch")]
    unnamed = [one for one in readings if one.role in _TIMES and not _OF_STEP.search(one.column)]
    times = [] if counts else unnamed
    is_iteration = bool(counts) and counts[0].role == "step" and _ITERATION.fullmatch(counts[0].column.strip())
    if not times and not is_iteration:
        return None
    doubted = (*counts, *times)[0]
    others = [reading.column for reading in readings if reading.column != doubted.column]
    roles = {reading.role for reading in readings if reading is not doubted}
    if (
        doubted.role is None
        or doubted.role in mapping
        or roles & _ONLY_TRAININGS_HAVE
        or any(map(_TRAINS.search, others))
    ):
        return None
    if measured := next(filter(_MEASURED.search, others), None):
        what = (
            ("can count repeats of a measurement", "steps")
            if counts
            else ("can be that of a reading", "that of a step")
        )
        return (
            f"{doubted.column} beside {measured} {what[0]}, and no column mentions training; "
            f"--map '{as_map(doubted.role, doubted)}' reads it as {what[1]}"
        )
    return None


def write_rows(
    source: Source, rows: Rows, records: RecordReader, survey: Survey, readings: Sequence[ColumnReading],
    stream: str = "", from_zero: bool = False, by_stamps: bool = False, begins_epochs: bool = False,
    least_steps: int = 0, least_epoch_s: float = 0.0, without_validation: bool = False,
    after_pauses: Container[int] = (), often_paused: bool = False, after_launches: Container[int] = (),
) -> list[int]:  # fmt: skip
    """Rows of all records; returns the parts that they are of.  Of two tables of the same steps, each is a stream.

    With `by_stamps`, time stamps give the time of steps that have none; with `begins_epochs`, each row is the beginning
    of an epoch, and the time until the next row is its time.  Coarse stamps tell the mean time of `least_steps`
    steps, or that of the epochs in `least_epoch_s`.  `without_validation`: the time of an epoch is of its training.
    No interval of several records goes over one of the lines `after_pauses`; with `often_paused`, none of one does.
    None at all goes over one of the lines `after_launches`.
    """
    for refusal in dict.fromkeys(reading.refusal for reading in readings if reading.refusal):
        rows.problem(1, f"{refusal}; until then its numbers are metrics")
    table = StepTable(readings, by_stamps)
    writer = _RowWriter(rows, table, Counting(table, records(source)), stream, from_zero, begins_epochs)
    writer.least_epoch_s, writer.by_epoch = least_epoch_s, _is_by_epoch(survey, table)
    writer.least_steps, writer.epoch_phase = least_steps, "train" if without_validation else "epoch"
    writer.after_pauses, writer.often_paused = after_pauses, often_paused
    writer.after_launches = after_launches
    if "elapsed" in table.columns and (elapsed := survey.columns.get(table.columns["elapsed"].column)):
        writer.resolution_s = table.factors["elapsed"] * elapsed.resolution
    elif table.by_stamps:
        writer.resolution_s = writer.counting.resolution_s
        first = survey.columns[table.columns["timestamp"].column].line
        rows.param("step_s_origin", "derived", first, origin="inferred")
    for record in records(source):
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
        else:
            writer.take(record)
    for reading in readings:
        column = survey.columns.get(reading.column)
        if reading.role is None and reading.is_text and column and column.constant and column.first:
            for part in sorted(writer.written or {rows.part}):
                rows.part = part
                rows.param(reading.column, column.first, column.line)
    return sorted(writer.written)


def _is_by_epoch(survey: Survey, table: StepTable) -> bool:
    """Whether each row is of another epoch, and counts no step: a time of a step in it is a mean of the epoch."""
    epoch = survey.columns.get(table.columns["epoch"].column) if "epoch" in table.columns else None
    return bool(epoch and not epoch.repeats) and {"step", "batch"}.isdisjoint(table.columns)


class _EpochStep(NamedTuple):
    """How far the records of one rank and phase have come."""

    epoch: float
    step: int | None
    elapsed_s: float | None
    ts: datetime | None


def _since_record(mean_s: float, steps: int | None, step: int | None) -> float | None:
    """The time of a step by torchtitan, which divides the time since its record before by the interval of logging.

    It logs step 1 whatever the interval, so that the next record is over one step less, which is told where the
    interval is above two; of its first record no time is known.
    """
    if not steps or step is None:
        return None
    return mean_s * step / steps if step - steps == 1 and steps > 1 else mean_s


class _RowWriter:
    """Rows of one table, record by record."""

    def __init__(
        self, rows: Rows, table: StepTable, counting: Counting, stream: str, from_zero: bool, begins_epochs: bool
    ) -> None:
        self.begins_epochs = begins_epochs
        self.rows, self.table, self.counting, self.stream, self.from_zero = rows, table, counting, stream, from_zero
        self.resolution_s = 0.0  # of the time since the start
        interval = table.columns.get("interval_time")
        self.divides_by_interval = bool(interval and interval.column.endswith(_OF_TORCHTITAN))
        self.by_epoch = False  # whether each row is of another epoch, and of no step
        self.least_steps, self.least_epoch_s, self.epoch_phase = 0, 0.0, "epoch"
        self.after_pauses: Container[int] = ()
        self.often_paused = False
        self.after_launches: Container[int] = ()
        self.epochs_from: dict[tuple[Any, ...], _EpochStep] = {}  # those whose mean time is not yet told
        self.starts: dict[tuple[Any, ...], _EpochStep] = {}  # of the interval that is not yet long enough
        self.parts: dict[tuple[Any, ...], int] = {}
        self.written: set[int] = set()  # parts
        self.attempts: Counter[tuple[Any, ...]] = Counter()
        self.last: dict[tuple[Any, ...], _EpochStep] = {}
        self.counts = bool({"step", "batch"} & set(table.columns))
        self.settings = [role for role in RUN_SETTINGS if role in table.columns]
        self.units = {
            reading.column: metric_unit(reading.column, reading.unit, reading.role) for reading in table.metrics
        }

    def take(self, record: TableRecord) -> None:
        table, rows = self.table, self.rows
        stamp = table.stamp(record)
        self.check(record, stamp is not None)
        if table.of_run:
            rows.part = self.parts.setdefault(table.run(record), len(self.parts))
        else:
            rows.turn_to(record.line)
        self.written.add(rows.part)
        for role in self.settings:
            value = table.cell(record, role) if ROLE[role].kind == "text" else table.count(record, role)
            rows.param(role, value, record.line)
        rank, place = table.whose(record)
        rank = rows.rank if (rank, place) == (None, None) else rank
        epoch, phase = table.value(record, "epoch"), table.phase(record)
        step = self.counting.step(table.step_in_log(record), epoch)
        whose = (rows.part, rank, place)
        before = last = self.last.get((*whose, phase))
        counted = step is not None or not self.counts
        now = _EpochStep(epoch or 0, step, table.elapsed_s(record, stamp), stamp[0] if stamp else None)
        if counted and phase == "train":
            position = rows.writers.position_of(
                (rows.part, place, self.stream),
                (now.epoch, step or 0),
                record.line,
                rank,
                stamp[0] if stamp else None,
                once=False,
            )
            self.attempts[whose] = position.attempt
            before = None if position.begins or record.line in self.after_launches else before
        if counted:
            self.last[(*whose, phase)] = now
        attempt = self.attempts[whose]
        row: dict[str, Any] = {"attempt": attempt, "rank": rank, "place": place, "epoch": epoch, "step": step}
        if span_s := table.value(record, "epoch_time"):
            rows.add("phases", record.line, **row, phase=self.epoch_phase, span_s=span_s, origin="logged")
        elif span_s := self.epoch_span(now, before) or self.first_epoch_span(now, last):
            whole = before.epoch if before and self.begins_epochs else epoch
            rows.add("phases", record.line, **row | {"epoch": whole}, phase="epoch", span_s=span_s, origin="derived")
            self.epochs_from[whose] = now
        elif not self.counts and (mean_s := self.mean_of_epochs(now, before, whose)):
            rows.attempt = attempt
            rows.metrics(record.line, rank, place, int(now.epoch), [("epoch time", mean_s, "s")], stat="mean")
        measured = self.measured(record, stamp) | self.times(record, now, before, whose)
        idle = ("samples",) if {"step", "batch"} & set(table.columns) else ("samples", "ts", "ts_origin")
        if any(value is not None for column, value in measured.items() if column not in idle):
            rows.add("steps", record.line, **row, phase=phase, **measured)
        rows.attempt = attempt
        values = ((column, number(record.cells.get(column)), unit) for column, unit in self.units_in(record))
        named = [(column, value, unit) for column, value, unit in values if value is not None]
        if named:  # without steps, the number of the epoch distinguishes the rows
            rows.metrics(record.line, rank, place, step if self.counts else table.count(record, "epoch"), named)

    def units_in(self, record: TableRecord) -> Iterable[tuple[str, str | None]]:
        """The metrics that a record may hold: of objects that name ever others, its own alone are looked at."""
        if len(record.cells) >= len(self.units):
            return self.units.items()
        return [(column, self.units[column]) for column in record.cells if column in self.units]

    def measured(self, record: TableRecord, stamp: tuple[datetime, str] | None) -> dict[str, Any]:
        """The columns of a row of `steps`, except the time of the step."""
        table = self.table
        values: dict[str, Any] = {
            column: table.value(record, role) for role, column in MEASURED.items() if role in table.columns
        }
        if stamp:
            values |= {"ts": stamp[0], "ts_origin": stamp[1]}
        if values.get("samples_per_s") is not None:
            values["rate_scope"] = table.columns["samples_per_s"].unit
        return values

    def epoch_span(self, now: _EpochStep, before: _EpochStep | None) -> float | None:
        """Time of an epoch, where each epoch has one row with the time since the start, or else with a time stamp."""
        if not before or self.counts or now.epoch != before.epoch + 1 or self.least_epoch_s:
            return None
        if now.elapsed_s is not None and before.elapsed_s is not None:
            span_s = now.elapsed_s - before.elapsed_s
            return span_s if span_s > 0 and span_s >= FINE * self.resolution_s else None
        if "elapsed" in self.table.columns or now.ts is None or before.ts is None:
            return None
        resolution_s = 1.0 if now.ts.microsecond == before.ts.microsecond == 0 else 0.001
        span_s = (now.ts - before.ts).total_seconds()
        return span_s if span_s >= FINE * resolution_s else None

    def mean_of_epochs(self, now: _EpochStep, before: _EpochStep | None, whose: tuple[Any, ...]) -> float | None:
        """Mean time of the epochs since an earlier row: one that is not the row before, or of an epoch further back."""
        start = self.epochs_from.get(whose) if before else None
        if start is None or start.elapsed_s is None or now.elapsed_s is None or now.epoch <= start.epoch:
            self.epochs_from[whose] = now
            return None
        span_s, epochs = now.elapsed_s - start.elapsed_s, now.epoch - start.epoch
        if span_s <= 0 or span_s < max(self.least_epoch_s, FINE * self.resolution_s):
            return None
        self.epochs_from[whose] = now
        return span_s / epochs

    def first_epoch_span(self, now: _EpochStep, last: _EpochStep | None) -> float | None:
        """Time of the first epoch of a launch, where the time since the start begins with it."""
        begins = last is None or (last.elapsed_s or 0) > (now.elapsed_s or 0)
        return now.elapsed_s if self.from_zero and begins and not self.counts else None

    def times(
        self, record: TableRecord, now: _EpochStep, before: _EpochStep | None, whose: tuple[Any, ...]
    ) -> dict[str, Any]:
        """Time of the step, and what kind of time it is."""
        table = self.table
        steps = now.step - before.step if before and None not in (now.step, before.step) else None  # type: ignore[operator]
        if "batch_time" in table.columns:
            time_s, kind, steps = table.value(record, "batch_time"), "instant", 1
            kind, steps = ("epoch_mean", None) if self.by_epoch else (kind, steps)
        elif "interval_time" in table.columns:
            time_s, kind = table.value(record, "interval_time"), "interval_mean"
            if "averaged_steps" in table.columns:
                steps = table.count(record, "averaged_steps")
                kind = "instant" if steps == 1 else kind
            elif self.by_epoch:
                kind, steps = "epoch_mean", None
            elif self.divides_by_interval and time_s is not None:
                time_s = _since_record(time_s, steps, now.step)
        elif "span_time" in table.columns:
            time_s, steps = self.divided(record, steps, now, before)
            kind = "interval_mean"
        elif "running_time" in table.columns:
            time_s, kind, steps = table.value(record, "running_time"), "running_mean", None
        elif (table.by_stamps or "elapsed" in table.columns) and {"step", "batch"} & set(table.columns):
            start = self.starts.get(whose) if before else None
            time_s, steps = self.since(start, now)
            kind = "interval_mean"
            several = start and before and start.step != before.step
            if (several or self.often_paused) and start and record.line in self.after_pauses:
                self.starts[whose] = now
                return {}
            if start and time_s is not None and steps and self.is_too_short(time_s * steps, steps):
                if record.line in self.after_pauses:
                    self.starts[whose] = now
                return {}
            if now.step is not None:
                self.starts[whose] = now
        else:
            return {}
        if time_s is None:
            return {}
        return {"step_s": time_s, "value_kind": kind, "averaged_steps": steps if steps and steps > 0 else None}

    def is_too_short(self, span_s: float, steps: int) -> bool:
        """Whether a span is too short for what it is measured by.

        By coarse stamps all spans have as many steps: those that are chosen because they seem long would be too long.
        """
        return steps < self.least_steps if self.least_steps else span_s < FINE * self.resolution_s

    def divided(
        self, record: TableRecord, steps: int | None, now: _EpochStep, before: _EpochStep | None
    ) -> tuple[float | None, int | None]:
        """Time of a step by that of several, and how many: as many as the record says, or all since the one before."""
        span_s, stated = self.table.value(record, "span_time"), "averaged_steps" in self.table.columns
        steps = self.table.count(record, "averaged_steps") if stated else steps
        known = span_s is not None and steps is not None and steps > 0 and (stated or not self.counting.repeats)
        if not known or (not stated and self.counting.restarts and before and now.epoch != before.epoch):
            return None, None
        return span_s / steps, steps  # type: ignore[operator]

    def since(self, start: _EpochStep | None, now: _EpochStep) -> tuple[float | None, int | None]:
        """Time of a step since an earlier record, and the steps since then."""
        if start is None or None in (start.step, now.step, start.elapsed_s, now.elapsed_s) or self.counting.repeats:
            return None, None
        steps, span_s = now.step - start.step, now.elapsed_s - start.elapsed_s  # type: ignore[operator]
        # The batches between the last record of an epoch and the first of the next are not counted.
        held = span_s >= 0 and steps > 0 and not (self.counting.restarts and now.epoch != start.epoch)
        return (span_s / steps, steps) if held else (None, None)

    def check(self, record: TableRecord, has_stamp: bool) -> None:
        """Reports each cell that does not hold what its column should."""
        table = self.table
        for role, reading in table.columns.items():
            kind, value = ROLE[role].kind, table.cell(record, role)
            if value is None or kind == "text":
                continue
            fits = (
                has_stamp if kind == "stamp"
                else table.count(record, role) is not None if kind == "count"
                else number(value) is not None
            )  # fmt: skip
            if not fits:
                what = {"stamp": "time stamp", "count": "whole number"}.get(kind, "number")
                self.rows.problem(record.line, f"{reading.column} is not a {what}", record.text)
        for column, _ in self.units_in(record):
            value = record.cells.get(column)
            if number(value) is None and not is_blank(value):
                self.rows.problem(record.line, f"{column} is not a number", record.text)


def has_header(head: bytes, names: Sequence[str]) -> bool:
    """Whether a file is a CSV, or JSON lines, of exactly these columns, in any order."""
    return sorted(jsonl_header(head) or csv_header(head)) == sorted(names)
