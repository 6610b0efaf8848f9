"""Epochs that end on the host long before the devices have done them.

A host that only gives out work marks an epoch as over when all of it is queued.  The devices are waited for at the next
evaluation.  On 4,216 GPUs one submission of MLPerf v2.1 marks four epochs within 0.17 s, and evaluates 0.65 s later.
Where hosts wait, in the logs of five rounds, the time from the start of a block to its evaluation is at most 1.05 times
that of its epochs.
"""

from datetime import datetime
from typing import Any, NamedTuple

from scalelens.parsing.rows import Rows

AHEAD = 1.25  # the time of a block over that of its epochs
Row = dict[str, Any]


class Kept(NamedTuple):
    start_line: int | None  # of an epoch; None of a record of a step
    line: int
    row: Row


class Block:
    """What epochs of one block say, kept back until the block's training has ended."""

    def __init__(self, began: datetime | None) -> None:
        self.began = began
        self.kept: list[Kept] = []

    def end(self, ended: datetime | None, line: int, rows: Rows, ran_ahead: bool) -> bool:
        """Takes the times and rates off the rows where the host ran ahead, and says so once.  Whether it did.

        The training of the block has `ended` at `line`.  Without that the log is cut: the host did where it `ran_ahead`
        before.
        """
        was_said = ran_ahead
        spans_s = [kept.row["span_s"] for kept in self.kept if kept.start_line is not None]
        if self.began and ended and spans_s:
            block_s = (ended - self.began).total_seconds()
            ran_ahead = block_s > AHEAD * sum(spans_s)
        if ran_ahead and spans_s:
            if ended and not was_said:
                reason = "the host marks epochs as over before the devices are done: their times and rates are not read"
                rows.problem(line, reason, f"{len(spans_s)} epochs in {sum(spans_s):.3f} s")
            for kept in self.kept:
                kept.row.update(dict.fromkeys({"step_s", "samples_per_s", "rate_scope", "span_s"} & kept.row.keys()))
        return ran_ahead
