"""Tables of per-step metrics, CSV or JSONL: records, what their columns hold, and rows of `steps` and `metrics`.

A file is read twice: once to see what its columns hold (which decides between the meanings of a name, see
`columns.py`), once for the rows.  A format file of a user's hands its mapping to `read_as`; without one, `read`
guesses.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scalelens.errors import UserError
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import HEAD, Source
from scalelens.tabular.cells import (
    Record,
    Records,
    csv_header,
    csv_records,
    is_blank,
    jsonl_header,
    jsonl_records,
    moment,
    number,
)
from scalelens.tabular.roles import ROLE, Assigned, Seen, assign, claim, column_and_unit, metric_unit

PHASES = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "eval": "validation", "test": "validation", "warmup": "warmup", "warm-up": "warmup",
}  # fmt: skip
# Roles that are numbers of a row of `steps`, and their columns.
MEASURED = {
    "data_time": "data_s", "samples_per_s": "samples_per_s", "loss": "loss", "accuracy": "accuracy",
    "learning_rate": "learning_rate", "grad_norm": "grad_norm", "peak_memory": "peak_memory_bytes",
    "tflops_per_device": "tflops_per_device", "global_batch_size": "samples",
}  # fmt: skip
SETTINGS = (
    "run", "devices", "nodes", "devices_per_node", "model", "precision", "dataset", "system", "device_model",
    "global_batch_size", "micro_batch_size", "seq_length", "job_id",
)  # fmt: skip
OF_RUN = ("run", "devices", "nodes", "model", "precision", "job_id")  # another value is another run
LABELS = ("run", "rank", "place", "phase", "epoch", "devices", "nodes", "model", "precision", "job_id")
NAMES = ("name", "metric", "metric_name", "tag", "key")  # beside `value`: a long table
PLACES = ("step", "batch", "epoch", "batch_time", "interval_time")  # one of them makes a table one of steps


# What columns hold


class Survey:
    """A first look at a table: what each column holds, rank by rank, and how steps are counted."""

    def __init__(self, records: Iterator[Record]) -> None:
        self.seen: dict[str, Seen] = {}
        self.labels: list[str] = []
        last: dict[tuple[Any, ...], float] = {}
        for record in records:
            if record.damage:
                continue
            for name in record.cells:
                if name not in self.seen:
                    self.seen[name] = Seen()
                    self.labels += [name] if claim(name).role in LABELS[:4] else []
            whose = tuple(record.cells.get(name) for name in self.labels)
            for name, value in record.cells.items():
                seen = self.seen[name]
                self.look(seen, value, (name, whose), last)
                seen.line = seen.line or (record.line if seen.first else None)

    def look(self, seen: Seen, value: Any, key: tuple[Any, ...], last: dict[tuple[Any, ...], float]) -> None:
        found = number(value)
        if found is None and is_blank(value):
            return
        if seen.constant:
            seen.constant = seen.first in (None, str(value))
            seen.first = seen.first or str(value)
        if seen.stamps == seen.numbers + seen.texts:  # until something else comes
            seen.stamps += moment(value) is not None
        if found is None:
            seen.texts += 1
            return
        seen.numbers += 1
        before = last.get(key, found - 1)
        seen.falls += found < before
        seen.leaps += found > before + 1
        seen.stays |= found == before
        last[key] = found


class Counting:
    """How a table counts its steps: through the run, or anew with each epoch."""

    def __init__(self, table: "Table", records: Iterator[Record]) -> None:
        self.anew, self.lowest, self.batches = "batch" in table.columns, 0, 0
        if "epoch" not in table.columns or not (self.anew or "step" in table.columns):
            self.anew = False
            return
        last: dict[tuple[Any, ...], tuple[float, int]] = {}
        found: list[int] = []
        for record in records:
            step, epoch = table.step_in_log(record), table.value(record, "epoch")
            if record.damage or step is None or epoch is None or table.phase(record) != "train":
                continue
            found = [min([step, *found[:1]]), max([step, *found[1:]])]
            before = last.get(whose := (table.run(record), *table.whose(record)))
            self.anew |= before is not None and epoch > before[0] and step <= before[1]
            last[whose] = epoch, step
        if found:
            self.lowest, self.batches = found[0], found[1] - found[0] + 1

    def step(self, step: int | None, epoch: float | None) -> int | None:
        """The step counted through the run."""
        if not self.anew or step is None or epoch is None:
            return step
        return int(epoch) * self.batches + step - self.lowest


class Table:
    """Columns by role, and the values of a record under them."""

    def __init__(self, assigned: Sequence[Assigned]) -> None:
        self.columns = {one.role: one for one in assigned if one.role}
        self.of_run = [role for role in OF_RUN if role in self.columns]
        self.factors = {role: one.factor for role, one in self.columns.items()}
        self.metrics = [one for one in assigned if (not one.role or one.role == "tokens_per_s") and not one.is_text]

    def cell(self, record: Record, role: str) -> Any:
        one = self.columns.get(role)
        value = record.cells.get(one.column) if one else None
        return None if value is None or is_blank(value) else value

    def value(self, record: Record, role: str) -> float | None:
        one = self.columns.get(role)
        found = number(record.cells.get(one.column)) if one else None
        return None if one is None or found is None else found * self.factors[role]

    def count(self, record: Record, role: str) -> int | None:
        found = self.value(record, role)
        return int(found) if found is not None and found == int(found) and abs(found) < 2**31 else None

    def step_in_log(self, record: Record) -> int | None:
        return self.count(record, "step" if "step" in self.columns else "batch")

    def whose(self, record: Record) -> tuple[int | None, str | None]:
        place = self.cell(record, "place")
        return self.count(record, "rank"), None if place is None else str(place)

    def phase(self, record: Record) -> str | None:
        said = self.cell(record, "phase")
        return "train" if said is None else PHASES.get(str(said).lower())

    def run(self, record: Record) -> tuple[Any, ...]:
        return tuple(self.cell(record, role) for role in self.of_run)


# Rows


def read(source: Source, rows: Rows, records: Records) -> str | None:
    """Rows of a table, by what its columns are called and `rows.mapping` says.  Returns why it is none of steps."""
    survey = Survey(records(source))
    assigned = assign(survey.seen, rows.mapping)
    rows.assigned = assigned
    if lacking := lacks(survey, assigned):
        return lacking
    write(source, rows, records, survey, assigned)
    return None


def read_as(source: Source, rows: Rows, columns: Mapping[str, str]) -> None:
    """Rows of a table whose columns a format file names: `{"step": "it", "batch_time": "iter_time:ms"}`.

    Raises UserError for a role that there is not, or a unit that is not said.
    """
    unknown = [role for role in columns if role not in ROLE]
    if unknown:
        raise UserError(f"{unknown[0]} is no role of a column", f"there are {', '.join(ROLE)}")
    said = {role: column_and_unit(ROLE[role], text) for role, text in columns.items()}
    records = jsonl_records if jsonl_header(next(source.utf8(HEAD), b"")) else csv_records
    survey = Survey(records(source))
    for role, (column, _) in said.items():
        if column not in survey.seen:
            rows.problem(1, f"there is no column {column}, which is to be {role}")
    assigned = assign(survey.seen, said, guess=False)
    rows.assigned = assigned
    write(source, rows, records, survey, assigned)


def lacks(survey: Survey, assigned: Sequence[Assigned]) -> str | None:
    """Why a table is none of steps, or None."""
    roles = {one.role for one in assigned}
    if not roles & set(PLACES):
        return "a table without a step, an epoch or a time per step; --map says which column is one"
    if not any(not one.is_text and one.role not in (*LABELS, *SETTINGS, "step", "batch") for one in assigned):
        return "a table without a number beside its steps"
    named = [one.column for one in assigned if one.is_text and one.column.lower() in NAMES]
    if any(not survey.seen[name].constant for name in named) and any(one.column.lower() == "value" for one in assigned):
        return f"a table of one value in each row, which {named[0]} names, and not of a column for each"
    varying = [one.column for one in assigned if one.role in OF_RUN and not survey.seen[one.column].constant]
    if varying and not roles & {"step", "batch", "epoch"}:
        return f"a table of runs, not of steps: {varying[0]} differs from row to row, and there is no step or epoch"
    return None


def write(source: Source, rows: Rows, records: Records, survey: Survey, assigned: Sequence[Assigned]) -> None:
    """Rows of all records."""
    for refusal in dict.fromkeys(one.refusal for one in assigned if one.refusal):
        rows.problem(1, f"{refusal}; until then its numbers are metrics")
    table = Table(assigned)
    writer = Writer(rows, table, Counting(table, records(source)))
    for record in records(source):
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
        else:
            writer.take(record)
    for one in assigned:
        seen = survey.seen.get(one.column)
        if one.role is None and one.is_text and seen and seen.constant and seen.first:
            for part in range(max(1, len(writer.parts))):
                rows.part = part
                rows.param(one.column, seen.first, seen.line)


class Place(NamedTuple):
    """Where the records of one rank and phase stand."""

    epoch: float
    step: int | None
    elapsed_s: float | None


class Writer:
    """Rows of one table, record by record."""

    def __init__(self, rows: Rows, table: Table, counting: Counting) -> None:
        self.rows, self.table, self.counting = rows, table, counting
        self.parts: dict[tuple[Any, ...], int] = {}
        self.attempts: Counter[tuple[Any, ...]] = Counter()
        self.last: dict[tuple[Any, ...], Place] = {}
        self.settings = [role for role in SETTINGS if role in table.columns]
        self.units = {one.column: metric_unit(one.column, one.unit) for one in table.metrics}

    def take(self, record: Record) -> None:
        table, rows = self.table, self.rows
        self.check(record)
        rows.part = self.parts.setdefault(table.run(record), len(self.parts))
        for role in self.settings:
            value = table.cell(record, role) if ROLE[role].kind == "text" else table.count(record, role)
            rows.param(role, value, record.line)
        rank, place = table.whose(record)
        epoch, phase = table.value(record, "epoch"), table.phase(record)
        step = self.counting.step(table.step_in_log(record), epoch)
        whose = (rows.part, rank, place)
        before = self.last.get((*whose, phase))
        now = Place(epoch or 0, step, table.value(record, "elapsed"))
        counted = step is not None or not {"step", "batch"} & set(table.columns)
        if counted and before and phase == "train" and (now.epoch, step or 0) < (before.epoch, before.step or 0):
            self.attempts[whose] += 1
            before = None
        if counted:
            self.last[(*whose, phase)] = now
        attempt = self.attempts[whose]
        row: dict[str, Any] = {"attempt": attempt, "rank": rank, "place": place, "epoch": epoch, "step": step}
        if span_s := table.value(record, "epoch_time"):
            rows.add("phases", record.line, **row, phase="epoch", span_s=span_s, origin="logged")
        elif span_s := self.epoch_span(now, before):
            rows.add("phases", record.line, **row, phase="epoch", span_s=span_s, origin="derived")
        measured: dict[str, Any] = {
            column: table.value(record, role) for role, column in MEASURED.items() if role in table.columns
        }
        measured |= self.times(record, now, before)
        if "timestamp" in table.columns and (stamp := moment(table.cell(record, "timestamp"))):
            measured |= {"ts": stamp[0], "ts_origin": stamp[1]}
        if measured.get("samples_per_s") is not None:
            measured["rate_scope"] = table.columns["samples_per_s"].unit
        if any(value is not None for column, value in measured.items() if column != "samples"):
            rows.add("steps", record.line, **row, phase=phase, **measured)
        rows.attempt, rows.step = attempt, step
        values = ((column, number(record.cells.get(column)), unit) for column, unit in self.units.items())
        named = [(column, value, unit) for column, value, unit in values if value is not None]
        if named:  # where nothing counts steps, the epoch says which row it is
            of_epochs = not {"step", "batch"} & set(table.columns)
            rows.metrics(record.line, rank, place, table.count(record, "epoch") if of_epochs else step, named)

    def epoch_span(self, now: Place, before: Place | None) -> float | None:
        """Time of an epoch, where each has one row that says the time since the start."""
        if not before or now.elapsed_s is None or before.elapsed_s is None:
            return None
        follows = now.step is None and before.step is None and now.epoch == before.epoch + 1
        return now.elapsed_s - before.elapsed_s if follows and now.elapsed_s > before.elapsed_s else None

    def times(self, record: Record, now: Place, before: Place | None) -> dict[str, Any]:
        """Time of the step, and what kind of time it is."""
        table = self.table
        steps = now.step - before.step if before and None not in (now.step, before.step) else None  # type: ignore[operator]
        if "batch_time" in table.columns:
            time_s, kind, steps = table.value(record, "batch_time"), "instant", 1
        elif "interval_time" in table.columns:
            time_s, kind = table.value(record, "interval_time"), "interval_mean"
        elif "elapsed" in table.columns and "step" in table.columns and before:
            known = now.elapsed_s is not None and before.elapsed_s is not None and now.elapsed_s >= before.elapsed_s
            held = known and steps is not None and steps > 0
            # Between the last batch logged of an epoch and the first of the next lie batches that nobody counted.
            held = held and not (self.counting.anew and now.epoch != before.epoch)
            time_s = (now.elapsed_s - before.elapsed_s) / steps if held else None  # type: ignore[operator]
            kind = "interval_mean"
        else:
            return {}
        if time_s is None:
            return {}
        return {"step_s": time_s, "value_kind": kind, "averaged_steps": steps if steps and steps > 0 else None}

    def check(self, record: Record) -> None:
        """What a cell should be and is not."""
        table = self.table
        for role, one in table.columns.items():
            kind, value = ROLE[role].kind, table.cell(record, role)
            if value is None or kind == "text":
                continue
            fits = (
                moment(value) is not None if kind == "stamp"
                else table.count(record, role) is not None if kind == "count"
                else number(value) is not None
            )  # fmt: skip
            if not fits:
                what = {"stamp": "time stamp", "count": "whole number"}.get(kind, "number")
                self.rows.problem(record.line, f"{one.column} is no {what}", record.text)
        for column in self.units:
            value = record.cells.get(column)
            if number(value) is None and not is_blank(value):
                self.rows.problem(record.line, f"{column} is no number", record.text)


def has_header(head: bytes, names: Sequence[str]) -> bool:
    """Whether a file is a CSV, or JSON lines, of exactly these columns, in any order."""
    return sorted(jsonl_header(head) or csv_header(head)) == sorted(names)
