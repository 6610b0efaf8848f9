"""A table whose columns have roles: the values of a record by role, and how the table counts its steps."""

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord, is_blank, time_stamp
from scalelens.tabular.roles import ColumnReading

_PHASES = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "eval": "validation", "test": "validation", "warmup": "warmup", "warm-up": "warmup",
}  # fmt: skip
OF_RUN = ("run", "devices", "nodes", "model", "precision", "job_id")  # another value is another run
FINE = 10  # times the resolution of a clock: its differences are times from there on
# Roles that are numbers of a row of `steps`, and their columns.
MEASURED = {
    "data_time": "data_s", "samples_per_s": "samples_per_s", "loss": "loss", "accuracy": "accuracy",
    "learning_rate": "learning_rate", "grad_norm": "grad_norm", "peak_memory": "peak_memory_bytes",
    "tflops_per_device": "tflops_per_device", "global_batch_size": "samples",
}  # fmt: skip
_PAUSE = 5  # usual spans between records: a longer one is a pause
_IN_BURSTS = 0.02  # of the time lies between records that follow one another as usual; the rest are pauses
MOST_RECORDS = 10_000  # by which the time stamps are judged, and whether steps have several records
_LEAST_ENDS = 2  # of epochs, over which a count goes on
EVALUATED = re.compile(r"(?<![a-z])(?:eval|valid|val(?![a-z])|test(?![a-z]))", re.IGNORECASE)
BY_STAMPS_UNLESS = {"batch_time", "interval_time", "span_time", "running_time", "elapsed"}
_DAY_BEGINS = datetime(1970, 1, 1)


def in_bursts(spans: Sequence[float]) -> bool:
    """Whether records come in bursts, as where output is buffered: then stamps are not of when a step was over."""
    usual = _PAUSE * statistics.median(spans)
    return sum(span for span in spans if span <= usual) < _IN_BURSTS * sum(spans)


class StepTable:
    """Columns by role, and the values of a record under them.

    With `by_stamps`, time stamps are the time since the start, where the steps have no time.
    """

    def __init__(self, readings: Sequence[ColumnReading], by_stamps: bool = False) -> None:
        self.readings = readings
        self.columns = {reading.role: reading for reading in readings if reading.role}
        self.of_run = [role for role in OF_RUN if role in self.columns]
        self.factors = {role: reading.factor for role, reading in self.columns.items()}
        self.metrics = [
            reading for reading in readings if reading.role in (None, "tokens_per_s", "energy") and not reading.is_text
        ]
        undecided = any(choice.startswith("batch_time=") for reading in readings for choice in reading.choices)
        stamped = "timestamp" in self.columns and not {"step", "batch"}.isdisjoint(self.columns)
        self.by_stamps = by_stamps and stamped and not undecided and BY_STAMPS_UNLESS.isdisjoint(self.columns)
        self.evaluated = {reading.column for reading in self.metrics if EVALUATED.search(reading.column)}

    def cell(self, record: TableRecord, role: str) -> Any:
        reading = self.columns.get(role)
        value = record.cells.get(reading.column) if reading else None
        return None if value is None or is_blank(value) else value

    def value(self, record: TableRecord, role: str) -> float | None:
        """A number in the unit of the role."""
        reading = self.columns.get(role)
        printed = number(record.cells.get(reading.column)) if reading else None
        return None if printed is None else printed * self.factors[role]

    def stamp(self, record: TableRecord) -> tuple[datetime, str] | None:
        return time_stamp(self.cell(record, "timestamp")) if "timestamp" in self.columns else None

    def elapsed_s(self, record: TableRecord, stamp: tuple[datetime, str] | None) -> float | None:
        """The time since the start.  By a stamp it is unknown beside a validation, which lies before it or after it."""
        if not self.by_stamps:
            return self.value(record, "elapsed")
        evaluated = any(number(record.cells[column]) is not None for column in self.evaluated & record.cells.keys())
        return (stamp[0] - _DAY_BEGINS).total_seconds() if stamp and not evaluated else None

    def count(self, record: TableRecord, role: str) -> int | None:
        value = self.value(record, role)
        return int(value) if value is not None and value == int(value) and abs(value) < 2**31 else None

    def step_in_log(self, record: TableRecord) -> int | None:
        return self.count(record, "step" if "step" in self.columns else "batch")

    def whose(self, record: TableRecord) -> tuple[int | None, str | None]:
        place = self.cell(record, "place")
        return self.count(record, "rank"), None if place is None else str(place)

    def phase(self, record: TableRecord) -> str | None:
        name = self.cell(record, "phase")
        return "train" if name is None else _PHASES.get(str(name).lower())

    def run(self, record: TableRecord) -> tuple[Any, ...]:
        return tuple(self.cell(record, role) for role in self.of_run)


class Counting:
    """How a table counts its steps: through the run, or from the start in each epoch."""

    def __init__(self, table: StepTable, records: Iterator[TableRecord]) -> None:
        self.restarts, self.lowest, self.batches = "batch" in table.columns, 0, 0
        self.first_epoch = 1  # or 0, as the log counts
        self.repeats = False  # whether most steps have several records
        self.resolution_s = 0.0  # of the time stamps
        counts = self.restarts or "step" in table.columns
        in_epochs = counts and "epoch" in table.columns
        self.restarts = self.restarts and in_epochs
        if not in_epochs and not (counts and (table.by_stamps or "elapsed" in table.columns)):
            return
        stamps, ends = Stamps(), _EpochEnds()
        last: dict[tuple[Any, ...], tuple[float, int]] = {}
        least: int | None = None
        if not in_epochs:
            records = itertools.islice(records, MOST_RECORDS)
        most = batches = seen = again = 0
        leaps = [0, 0]  # by which all counts can be divided, from 1 and from 0
        for record in records:
            step, epoch = table.step_in_log(record), table.value(record, "epoch") if in_epochs else 0.0
            if record.damage or step is None or epoch is None or table.phase(record) != "train":
                continue
            least, most = (step, step) if least is None else (min(least, step), max(most, step))
            batches = max(batches, table.count(record, "batches") or 0)
            self.first_epoch = min(self.first_epoch, int(epoch))
            before = last.get(whose := (table.run(record), *table.whose(record)))
            self.restarts |= before is not None and epoch > before[0] and step <= before[1]
            leaps = [math.gcd(leap, step + k) for k, leap in enumerate(leaps)]
            if before is not None:
                ends.take(before, (epoch, step))
            seen, again = seen + 1, again + (before == (epoch, step))
            last[whose] = epoch, step
            if table.by_stamps and seen <= MOST_RECORDS:
                stamps.take(whose, table.elapsed_s(record, table.stamp(record)))
        self.repeats = 2 * again > seen
        table.by_stamps = table.by_stamps and stamps.tell
        self.resolution_s = stamps.resolution_s
        if not in_epochs:
            return
        self.restarts = self.restarts and not ends.are_counted_over
        if least is not None:
            self.lowest, self.batches = least, most - least + 1
        for k, leap in enumerate(leaps):  # 20, 40 ... 200 or 19, 39 ... 199: the first batch of an epoch is 1, or 0
            if least is not None and 1 < least + k == leap < most:
                self.lowest, self.batches = 1 - k, most + k
        if least is not None and batches > most - (least > 0):  # not each batch has a row
            self.lowest, self.batches = int(least > 0 and (most == batches or least == 1)), batches

    def step(self, step: int | None, epoch: float | None) -> int | None:
        """The step counted through the run."""
        if not self.restarts or step is None or epoch is None:
            return step
        return (int(epoch) - self.first_epoch) * self.batches + step - self.lowest


class _EpochEnds:
    """Whether a count goes on where the next epoch begins, as one through the run does: `400/600 (epoch 2)`."""

    def __init__(self) -> None:
        self._over = self._anew = self._within = 0

    def take(self, before: tuple[float, int], now: tuple[float, int]) -> None:
        """Notes the epoch and the count of two records that follow each other."""
        grows, later = now[1] > before[1], int(now[0]) - int(before[0])  # `400/600 (epoch 2.013)`
        self._within += grows and not later
        self._over += grows and later > 0
        self._anew += not grows and now != before

    @property
    def are_counted_over(self) -> bool:
        """Whether it does at each of several ends, and stands in several records of most epochs."""
        return self._over >= _LEAST_ENDS and not self._anew and self._within >= self._over


class Stamps:
    """The time stamps of a table, and whether they tell the time of its steps."""

    def __init__(self) -> None:
        self.resolution_s = 1.0
        self.spans: list[float] = []
        self._by_the_minute = True  # as in a series of measured data
        self._last: dict[tuple[Any, ...], float] = {}

    def take(self, whose: tuple[Any, ...], seconds: float | None) -> None:
        if seconds is None:
            return
        self._by_the_minute = self._by_the_minute and seconds % 60 == 0
        if seconds % 1:
            self.resolution_s = 0.001
        if whose in self._last:
            self.spans.append(seconds - self._last[whose])
        self._last[whose] = seconds

    @property
    def tell(self) -> bool:
        if not self.spans or self._by_the_minute or in_bursts(self.spans):
            return False
        return statistics.median(self.spans) >= FINE * self.resolution_s
