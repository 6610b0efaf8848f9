"""Iterations of NVIDIA's Tacotron 2.

Tool: tacotron2 (NVIDIA), and its forks
Versions: 2018 to 2023
Yields: steps
Source: tacotron2/train.py, train(), the print at the end of each iteration

The seconds are those of the iteration, from its batch in memory to its update.  `Validation loss` has no time.

Samples:
    Train loss 120 0.406250 Grad Norm 1.250000 2.25s/it
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" Grad Norm ",)

_N = r"(-?\d+\.\d{6}|nan|inf)"
_RECORD = re.compile(rf"Train loss (\d{{1,12}}) {_N} Grad Norm {_N} (\d+\.\d\d)s/it\s*\Z")
_CUT = re.compile(r"Train loss \d{1,12} [-\w.]+ Grad Norm [-\w.]*(?: [\d.]*)?\s*\Z")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if not record:
            if cut := _CUT.match(line.text):
                self.rows.problem(line.number, "the record is cut", line.text)
            return bool(cut)
        rows, step, loss, norm = self.rows, int(record[1]), float(record[2]), float(record[3])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=step, step_s=float(record[4]), averaged_steps=1, value_kind="instant",
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
            grad_norm=norm if norm == norm else None,
        )  # fmt: skip
        return True
