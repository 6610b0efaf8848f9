"""Epochs of TensorFlow.js on Node, as its progress bar prints them to a file.

Tool: tfjs-node, LayersModel.fit() and fitDataset() with verbose=1
Versions: 1 to 4
Yields: params, phases, steps, metrics
Source: tfjs-node/src/callbacks.ts, ProgressbarLogger

The first number of a line is the time of the epoch with its validation.  The second is that time over the samples where
these are known, and over the batches where they are not; the line does not say which, so that it is left out.  A line
without its heading (`Epoch 3 / 20`) is of the next epoch.

Samples:
    5125ms 512us/step - acc=0.625 loss=0.938 val_acc=0.594 val_loss=1.06
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number

VERSION = 1
ANCHORS = ("us/step - ", "Epoch ")

_EPOCH = re.compile(r"Epoch (\d{1,9}) / \d{1,9}\s*\Z")
_RECORD = re.compile(r"(\d{1,12})ms \d{1,12}us/step - (?=\w)")
_VALUE = re.compile(r"(?<!\S)(\w{1,80})=(-?\d\S{0,30}|NaN)(?!\S)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: dict[Any, int] = {}

    def take(self, line: Line) -> bool:
        rows, whose = self.rows, (self.rows.part, line.rank, line.location)
        if heading := _EPOCH.match(line.text):
            self.epoch[whose] = int(heading[1])
            return False  # it is one of any script
        record = _RECORD.match(line.text)
        if record is None:
            return False
        epoch = self.epoch.get(whose, 1)
        self.epoch[whose] = epoch + 1
        values = {name: number(text) for name, text in _VALUE.findall(line.text[record.end() :])}
        position = rows.attempt_of(line.number, epoch, line.rank, line.location)
        row: dict[str, Any] = {"attempt": position.attempt, "rank": line.rank, "place": line.location, "epoch": epoch}
        rows.param("framework", "tensorflow.js", line.number, origin="inferred")
        rows.add("phases", line.number, **row, phase="epoch", span_s=int(record[1]) / 1000, origin="logged")
        if (loss := values.pop("loss", None)) is not None:
            rows.add("steps", line.number, **row, phase="train", loss=loss, accuracy=values.pop("acc", None))
        named = [(name, value, None) for name, value in values.items() if value is not None]
        rows.metrics(line.number, line.rank, line.location, epoch, named)
        return True
