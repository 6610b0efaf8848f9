"""log.txt of build-nanogpt: a loss, a validation or HellaSwag in each line, after the step.

Tool: karpathy/build-nanogpt, and what was made from it
Versions: 2024 and later
Yields: steps, metrics, params
Source: build-nanogpt/train_gpt2.py, where it writes to log_file

The log begins anew with each launch, at step 0, with a validation or HellaSwag before the first step of training.  `12 train
0.512345` could be from any program: it is read only after a line of HellaSwag, or after a validation of step 0 with the
loss of an untrained model, about the logarithm of the size of its vocabulary.  It has no times.

Samples:
    0 hella 0.2482
    0 val 10.9517
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" hella 0.", *(f" {kind} {digit}" for kind in ("train", "val") for digit in range(10)))

_RECORD = re.compile(r"(\d{1,9}) (?:(train) (\d{1,3}\.\d{6})|(val) (\d{1,3}\.\d{4})|(hella) (0\.\d{4}))\s*\Z")
_UNTRAINED = (9.0, 13.0)  # loss of a model of 8,000 to 400,000 tokens that knows nothing


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.begun = False

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if record is None:
            return False
        step, kind = int(record[1]), record[2] or record[4] or record[6]
        value = float(record[3] or record[5] or record[7])
        first = kind == "val" and step == 0 and _UNTRAINED[0] < value < _UNTRAINED[1]
        self.begun = self.begun or kind == "hella" or first
        if not self.begun:
            return False
        if kind == "train":
            self.row(line, step, value)
        else:
            name = "validation loss" if kind == "val" else "HellaSwag accuracy"
            self.rows.metric(line.number, line.rank, line.location, step, name, value)
        return True

    def row(self, line: Line, step: int, loss: float) -> None:
        position = self.rows.attempt_of(line.number, step, line.rank, line.location)
        self.rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=step, loss=loss,
        )  # fmt: skip
        self.rows.param("framework", "build-nanogpt", line.number)
