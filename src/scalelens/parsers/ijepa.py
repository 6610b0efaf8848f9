"""Progress lines of I-JEPA, and of the trainings that share its loop.

Tool: facebookresearch/ijepa, jepa (V-JEPA), msn, suncet; scripts made from them
Versions: 2020 to 2025
Yields: params, steps
Source: ijepa/src/train.py, log_stats(); jepa/app/vjepa/train.py, log_stats()

The milliseconds at the end are a mean since the epoch began (an AverageMeter): times the number of its steps they are a
clock, and what that grew by between two records is the time of the steps between.  Of V-JEPA it is `wall`, with the wait
for data in it.  Steps count from 0; epochs from 1.  The loss is such a mean, too.

Samples:
    INFO:root:[3,   120] loss: 0.125 masks: 66.8 44.2 [wd: 4.00e-02] [lr: 1.86e-04] [mem: 5.98e+04] (654.5 ms)
    INFO:root:[3,   120/  476] train_loss: 5.625 [wd: 5.00e-02] [lr: 2.50e-04] [mem: 1.50e+04] (1434.9 ms)
    [INFO    ][2026-01-02 03:04:05][root     ] [3,   120] loss: 0.612 | [wd: 4.00e-02] [lr: 1.86e-04] [mem: 5.98e+04] [gpu: 500.1 ms][wall: 690.1 ms]
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

VERSION = 1
ANCHORS = ("] [lr: ", "[mem: ")

_BEGIN = re.compile(
    r"(?:^|[:\] ])\[(\d{1,9}), {0,12}(\d{1,9})(?:/ {0,12}(\d{1,9}))?\] (?:train_)?loss: (-?\d{1,15}\.\d{1,6}|nan|inf)"
)
_RATE = re.compile(r"\[lr: (\d(?:\.\d{1,6})?e[-+]\d\d)\]")
_MEAN = re.compile(
    r"\[mem: [\d.e+]{1,12}\] ?(?:\((\d{1,12}(?:\.\d{1,3})?) ms\)|.{0,200}\[wall: (\d{1,12}(?:\.\d{1,3})?) ms\])"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[Any, tuple[tuple[int, int, int], SinceStart]] = {}  # by writer: of an epoch
        self.first, self.length = 0, 0  # the first epoch of the launch, and how many steps an epoch has

    def take(self, line: Line) -> bool:
        begin = _BEGIN.search(line.text)
        if not begin or "[mem: " not in line.text:
            return False
        mean = _MEAN.search(line.text, begin.end())
        if not mean:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        rows, whose = self.rows, (line.rank, line.location)
        epoch, index, loss = int(begin[1]), int(begin[2]), float(begin[4])
        printed = mean[1] or mean[2]
        of, clock = self.clocks.get(whose, (None, SinceStart()))
        self.count(begin, epoch, index, of)
        step = (epoch - self.first) * self.length + index
        at = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        if of is None or of[:2] != (rows.part, epoch) or index < of[2]:
            clock = SinceStart()
            clock.times(-1, 0.0, 0.0)
        self.clocks[whose] = (rows.part, epoch, index), clock
        digit_s = 10.0 ** -len(printed.partition(".")[2]) / 1000
        row: dict[str, Any] = {"attempt": at, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step}
        row |= clock.times(index, float(printed) * (index + 1) / 1000, digit_s * (index + 1))
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        if rate := _RATE.search(line.text, begin.end()):
            row["learning_rate"] = float(rate[1])
        rows.param("framework", "pytorch", line.number, origin="inferred")
        if begin[3]:
            rows.param("iterations_per_epoch", int(begin[3]), line.number)
        rows.put("steps", line.number, row)
        return True

    def count(self, begin: re.Match[str], epoch: int, index: int, of: tuple[int, int, int] | None) -> None:
        """Notes how many steps an epoch has: as the line states, or as the one before had, up to its last record."""
        if begin[3]:
            self.first, self.length = 1, int(begin[3])
            return
        if of is None or of[0] != self.rows.part or epoch < of[1] or (epoch == of[1] and index < of[2]):
            self.first, self.length = epoch, 0
        elif epoch > of[1] and not self.length:
            self.length = of[2] + 1
