"""Times and rates of the epochs in a block, where the host that prints them may run ahead of the devices.

A host that only queues work reaches the end of an epoch before the devices do.  It then waits in front of the
evaluation, and the time and the rate that it has printed of each epoch are those of queueing.  MLPerf v3.0's ResNet on
512 GPUs prints four epochs of 0.2 s, waits 1.6 s, and prints a rate that is about three times the true one.  So they
are kept back until the block ends: if the wait is longer than a quarter of the block's epochs, they are left out and a
problem says so.  Where the host waits for the devices in each epoch, what lies before the evaluation is at most 5 % of
the epochs, in five rounds of results.
"""

from typing import Any

from scalelens.parsing.epochs import DerivedEpochs
from scalelens.parsing.rows import Rows

AHEAD = 0.25  # of the epochs of a block
HELD = 1000  # rows that are kept back at most; then they are taken as printed
Row = dict[str, Any]


class EpochBlocks:
    def __init__(self, rows: Rows, epochs: DerivedEpochs) -> None:
        self._rows, self._epochs = rows, epochs
        # the line of an epoch's start, None of a rate; its own line; the row
        self._held: list[tuple[int | None, int, Row]] = []
        self._runs_ahead = False  # in the last block that ended

    def put_rate(self, line: int, row: Row) -> None:
        """A row of `steps` with the rate of an epoch."""
        self._hold(None, line, row)

    def put_epoch(self, start_line: int, line: int, row: Row) -> None:
        """A row of `phases` of an epoch that has stopped at `ts`."""
        self._hold(start_line, line, row)

    def end(self, line: int, ts: Any) -> None:
        """The block ends at `ts`, or its evaluation begins: were the devices done when the host printed?"""
        epochs = [row for start, _, row in self._held if start is not None]
        if epochs and ts is not None:
            by_marks, waited = sum(row["span_s"] for row in epochs), (ts - epochs[-1]["ts"]).total_seconds()
            runs_ahead = waited > AHEAD * by_marks > 0
            if runs_ahead and not self._runs_ahead:
                self._rows.problem(
                    line,
                    f"the epochs before this line take {by_marks:.2f} s by their marks, and then the host waits "
                    f"{waited:.2f} s for the devices: it runs ahead of them, so that the times and rates which it "
                    "prints of epochs are left out; the time of the block is in phases",
                )
            self._runs_ahead = runs_ahead
        self.settle()

    def settle(self) -> None:
        """Writes what is kept back; a block that does not end is taken as the one before."""
        held, self._held = self._held, []
        for start_line, line, row in held:
            if start_line is None:
                without = {"step_s": None, "samples_per_s": None, "rate_scope": None} if self._runs_ahead else {}
                self._rows.put("steps", line, row | without)
            elif self._runs_ahead:
                self._rows.put("phases", line, row | {"span_s": None})
            else:
                self._epochs.put(start_line, line, row)

    def _hold(self, start_line: int | None, line: int, row: Row) -> None:
        self._held.append((start_line, line, row))
        if len(self._held) > HELD:
            self.settle()
