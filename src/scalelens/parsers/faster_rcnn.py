"""Progress lines of Faster R-CNN in PyTorch, each record over several lines.

Tool: jwyang/faster-rcnn.pytorch, and what was made from it
Versions: 2017 to 2022
Yields: steps
Source: faster-rcnn.pytorch/trainval_net.py, the end of the loop

`time cost` is what all iterations since the record before took, in seconds; of the first record, at iteration 0, that one
alone.  Each epoch begins anew, and the first record of a later epoch has the iterations that the last one had left, too: it
has no time, as how many these were is not known.

Samples:
    [session 1][epoch  3][iter  200/5011] loss: 0.8750, lr: 1.00e-03
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("[session ", "time cost: ")
LATER = ("step_s",)

_RECORD = re.compile(
    r"\[session \d{1,6}\]\[epoch {1,6}(\d{1,6})\]\[iter {1,8}(\d{1,9})/ {0,8}(\d{1,9})\] loss: (-?\d{1,12}\.\d{1,6}|nan|inf)"
    r", lr: (\d\.\d\de[-+]\d\d)\s*\Z"
)
_COST = re.compile(r"\s*fg/bg=\(\d{1,9}/\d{1,9}\), time cost: (\d{1,9}\.\d{1,9})\s*\Z")


class Reader:
    claims = re.compile(r"\s+(?:fg/bg=|rpn_cls: )")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.before: tuple[int, int] | None = None  # epoch and iteration of the record before
        self.begun: tuple[Line, dict[str, Any], int] | None = None  # a record, and how many iterations its time is of

    def take(self, line: Line) -> bool:
        if cost := _COST.match(line.text):
            self.end(cost)
            return True
        if not (record := _RECORD.match(line.text)):
            return False
        self.put()
        rows, epoch, at, total = self.rows, int(record[1]), int(record[2]), int(record[3])
        step, loss = (epoch - 1) * total + at, float(record[4])
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        steps = 1 if self.before is None and not at else 0
        if self.before and self.before[0] == epoch and at > self.before[1]:
            steps = at - self.before[1]
        self.before = epoch, at
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step, "learning_rate": float(record[5])}
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.param("iterations_per_epoch", total, line.number)
        self.begun = line, row, steps
        return True

    def more(self, line: Line) -> None:
        if cost := _COST.match(line.text):
            self.end(cost)

    def end(self, cost: re.Match[str]) -> None:
        """The line with the time of the record."""
        if self.begun:
            _, row, steps = self.begun
            if steps and float(cost[1]) > 0:
                kind = "instant" if steps == 1 else "interval_mean"
                row |= {"step_s": float(cost[1]) / steps, "averaged_steps": steps, "value_kind": kind}
            self.put()

    def conclude(self) -> None:
        self.put()

    def put(self) -> None:
        """Writes the record that was begun."""
        if self.begun:
            line, row, _ = self.begun
            self.begun = None
            self.rows.put("steps", line.number, row)
