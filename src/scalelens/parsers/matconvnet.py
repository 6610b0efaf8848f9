"""Batches of MatConvNet.

Tool: vlfeat/matconvnet, and the scripts made from its examples
Versions: 1.0-beta21 to 1.0-beta25
Yields: steps
Source: matconvnet/examples/cnn_train.m, processEpoch()

`Hz` is a rate of images: first the mean since the epoch began, in brackets that of the batch.  How many images a batch has is
not printed, so that no time of a step follows.  The objective and the errors are means since the epoch began.

Samples:
    train: epoch 03:  12/391: 350.5 (348.2) Hz objective: 0.625 top1err: 0.188 top5err: 0.012
    train: epoch 03:  12/391: 350.5 (348.2) Hz obj:0.625 top1err:0.188
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (") Hz ",)

_RECORD = re.compile(
    r"^(train|val): epoch (\d{1,9}): {1,9}(\d{1,9})/ {0,9}(\d{1,9}): (\d{1,12}\.\d) \((\d{1,12}\.\d)\) Hz"
    r"(?: obj(?:ective)?: ?(-?\d{1,15}\.\d{1,6}|NaN|Inf))?"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if not (record := _RECORD.match(line.text)):
            return False
        if record[1] == "val":
            return True
        rows, epoch, batch, total = self.rows, int(record[2]), int(record[3]), int(record[4])
        step, loss, rate = (epoch - 1) * total + batch, float(record[7] or "nan"), float(record[6])
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step, "samples_per_s": rate or None, "rate_scope": "global"}
        row |= {"value_kind": "instant", "averaged_steps": 1}
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1} if record[7] else {}
        rows.param("framework", "matconvnet", line.number, origin="inferred")
        rows.param("iterations_per_epoch", total, line.number)
        rows.put("steps", line.number, row)
        return True
