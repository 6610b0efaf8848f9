"""Progress lines of VietOCR.

Tool: VietOCR (pbcquoc), and the trainers made from it
Versions: 0.2 to 0.3
Yields: params, steps, metrics
Source: vietocr/model/trainer.py, train()

The two times are sums over the iterations since the line before: of the wait for data, and of the training, whose loss is
read in each iteration, so that the device is awaited.  Validation is in neither.  Their sum over the iterations between two
lines is the time of a step; of the first line nothing says how many iterations there were.  A fork prints each iteration,
with sums that go on: where lines are one iteration apart, no time is read.

Samples:
    iter: 000400 - train loss: 1.625 - lr: 1.25e-05 - load time: 0.50 - gpu time: 24.50
    iter: 000400 - valid loss: 1.250 - acc full seq: 0.1250 - acc per char: 0.6250
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" - load time: ", " - acc full seq: ", " - Acc full seq: ")

_N = r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_RECORD = re.compile(
    rf"\biter: (\d{{1,9}}) - train loss: ({_N[1:-1]}|nan|inf) - lr: {_N} - load time: {_N} - gpu time: {_N}\s*\Z",
    re.IGNORECASE,
)
_VALID = re.compile(r"\biter: (\d{1,9}) - (?=(?:valid loss: \S+ - )?acc full seq: )", re.IGNORECASE)
_VALUE = re.compile(rf"(?<!\w)([A-Za-z][\w -]{{0,59}}?): {_N}(?: - |\s*\Z)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.every = dict[int, int]()  # iterations between two lines, by part

    def take(self, line: Line) -> bool:
        rows = self.rows
        if valid := _VALID.search(line.text):
            values = [(name, float(value), None) for name, value in _VALUE.findall(line.text, valid.end())]
            rows.metrics(line.number, line.rank, line.location, int(valid[1]), values)
            return True
        record = _RECORD.search(line.text)
        if not record:
            return False
        step, loss, load_s = int(record[1]), float(record[2]), float(record[4])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        times: dict[str, Any] = {}
        if position.before is not None and not position.repeated:
            # A line may be missing: the sums are over the iterations that always lie between two.
            every = self.every[rows.part] = min(step - position.before, self.every.get(rows.part, step))
            if every > 1:
                step_s = (load_s + float(record[5])) / every
                times = {"step_s": step_s, "data_s": load_s / every, "averaged_steps": every}
                times["value_kind"] = "interval_mean"
        if not position.repeated:
            rows.add(
                "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
                step=step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
                learning_rate=float(record[3]), **times,
            )  # fmt: skip
        rows.param("framework", "vietocr", line.number)
        return True
