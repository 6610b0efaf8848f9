"""A table whose columns have roles: the values of a record by role, and how the table counts its steps."""

from collections.abc import Iterator, Sequence
from typing import Any

from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord, is_blank
from scalelens.tabular.roles import ColumnReading

_PHASES = {
    "train": "train", "training": "train", "val": "validation", "valid": "validation", "validation": "validation",
    "eval": "validation", "test": "validation", "warmup": "warmup", "warm-up": "warmup",
}  # fmt: skip
OF_RUN = ("run", "devices", "nodes", "model", "precision", "job_id")  # another value is another run


class StepTable:
    """Columns by role, and the values of a record under them."""

    def __init__(self, readings: Sequence[ColumnReading]) -> None:
        self.columns = {reading.role: reading for reading in readings if reading.role}
        self.of_run = [role for role in OF_RUN if role in self.columns]
        self.factors = {role: reading.factor for role, reading in self.columns.items()}
        self.metrics = [
            reading for reading in readings if reading.role in (None, "tokens_per_s") and not reading.is_text
        ]

    def cell(self, record: TableRecord, role: str) -> Any:
        reading = self.columns.get(role)
        value = record.cells.get(reading.column) if reading else None
        return None if value is None or is_blank(value) else value

    def value(self, record: TableRecord, role: str) -> float | None:
        """A number in the unit of the role."""
        reading = self.columns.get(role)
        printed = number(record.cells.get(reading.column)) if reading else None
        return None if printed is None else printed * self.factors[role]

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
        self.repeats = False  # whether most steps have several records
        counts = self.restarts or "step" in table.columns
        in_epochs = counts and "epoch" in table.columns
        self.restarts = self.restarts and in_epochs
        if not in_epochs and not (counts and "elapsed" in table.columns):
            return
        last: dict[tuple[Any, ...], tuple[float, int]] = {}
        least: int | None = None
        most = batches = seen = again = 0
        for record in records:
            step, epoch = table.step_in_log(record), table.value(record, "epoch") if in_epochs else 0.0
            if record.damage or step is None or epoch is None or table.phase(record) != "train":
                continue
            least, most = (step, step) if least is None else (min(least, step), max(most, step))
            batches = max(batches, table.count(record, "batches") or 0)
            before = last.get(whose := (table.run(record), *table.whose(record)))
            self.restarts |= before is not None and epoch > before[0] and step <= before[1]
            seen, again = seen + 1, again + (before == (epoch, step))
            last[whose] = epoch, step
        self.repeats = 2 * again > seen
        if not in_epochs:
            return
        if least is not None:
            self.lowest, self.batches = least, most - least + 1
        if least is not None and batches > most - (least > 0):  # not each batch has a row
            self.lowest, self.batches = int(least > 0 and (most == batches or least == 1)), batches

    def step(self, step: int | None, epoch: float | None) -> int | None:
        """The step counted through the run."""
        if not self.restarts or step is None or epoch is None:
            return step
        return int(epoch) * self.batches + step - self.lowest
