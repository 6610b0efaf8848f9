"""Steps of a log that may count samples where others count steps.

AMD and others write the number of samples into the field of the step.  A record alone does not tell.  So rows are kept
back until a count of samples comes: in the record itself, or at the ends of a block or an evaluation.
"""

from typing import Any

from scalelens.parsing.rows import Rows

HELD = 1000  # rows that are kept back at most; then they are taken for steps
Row = dict[str, Any]


class CountedSteps:
    """Rows of steps, written as soon as it is known what `step` counts."""

    def __init__(self, rows: Rows) -> None:
        self.counts_samples: bool | None = None  # None while that is open
        self._rows = rows
        self._samples_count = 0.0  # the last one of a block or an evaluation
        self._held: list[tuple[int, Row, float | None]] = []  # line, row, and the record's own count of samples
        self._last_step = 0  # of those that count samples

    def put(self, line: int, row: Row, counted: float | None) -> None:
        """A row with `step` and the `samples` of a step; `counted` is its own count of samples."""
        step, batch = row["step"], row["samples"]
        if self.counts_samples is not None or not step:
            self._write(line, row)
            return
        self._held.append((line, row, counted))
        if not batch or batch == 1 or step % batch or counted not in (None, step) or len(self._held) > HELD:
            self._decide(False)
        elif step == self._samples_count:
            self._decide(True)
        elif len({row["step"] for _, row, counted in self._held if counted == row["step"]}) > 1:
            self._decide(True)  # the count goes on with the step

    def see_count(self, samples: float, batch: float | None, begins: bool) -> None:
        """Takes the samples that a block or evaluation counts as proof of what the steps around it count."""
        self._samples_count = samples
        if self._held:
            step, batch = self._held[-1][1]["step"], self._held[-1][1]["samples"]
            if samples in (step, step * batch):
                self._decide(samples == step)
        elif begins and batch:  # a run that goes on from a checkpoint
            self._last_step = max(self._last_step, int(samples // batch))

    def settle(self) -> None:
        """Writes the rows whose unit is open: they are taken for steps."""
        self._decide(self.counts_samples)

    def _decide(self, counts_samples: bool | None) -> None:
        self.counts_samples = counts_samples
        held, self._held = self._held, []
        for line, row, _ in held:
            self._write(line, row)

    def _write(self, line: int, row: Row) -> None:
        if self.counts_samples and row["step"] and row["samples"]:
            row["step"] = int(row["step"] // row["samples"])
            if row["step"] > self._last_step:
                row["averaged_steps"] = row["step"] - self._last_step
            self._last_step = row["step"]
        self._rows.put("steps", line, row)
