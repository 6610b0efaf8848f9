"""Times that DeePMD-kit prints while it trains.

Tool: DeePMD-kit, `dp train`
Versions: 1 and 2 (training time), 2.2 (and the wall time), 3 (the wall time alone, with the losses)
Yields: params, steps, metrics
Source: deepmd/train/trainer.py, and of version 3 deepmd/loggers/training.py, format_training_message()

A time is that of all batches since the line before; of the first line nothing says how many these were.  The training
time is without the tests between, which the wall time holds: where both are there, the first is read.  The losses of
version 1 and 2 are in lcurve.out.  The mean that is printed at the end is a metric.

Samples:
    DEEPMD INFO    batch     200 training time 6.25 s, testing time 0.02 s
    # DEEPMD: batch     200 training time 6.25 s, testing time 0.02 s
    DEEPMD INFO    batch     200 training time 6.25 s, testing time 0.02 s, total wall time 6.50 s
    [2026-01-02 03:04:05,678] DEEPMD INFO    batch     200: total wall time = 6.50 s, eta = 1:02:03
    [2026-01-02 03:04:05,678] DEEPMD INFO    batch     200: trn: rmse = 1.25e-01, rmse_e = 2.50e-03, lr = 1.00e-03
    DEEPMD INFO    average training time: 0.0625 s/batch (exclude first 100 batches)
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" training time ", ": total wall time = ", ": trn: ", "average training time: ")

_N = r"(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"
_TIME = re.compile(
    rf"\bbatch +(\d{{1,9}})(?: training time {_N} s, testing time {_N} s|: total wall time = {_N} s(?=,|\s{{0,9}}\Z))"
)
_LOSSES = re.compile(r"\bbatch +(\d{1,9}): trn: (?=\w+ = )")
_LOSS = re.compile(rf"(?<!\w)(\w{{1,40}}) = {_N}(?=,|\s{{0,9}}\Z)")
_MEAN = re.compile(rf"\baverage training time: {_N} s/batch\b")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.rate: float | None = None  # the learning rate of the losses above a time

    def take(self, line: Line) -> bool:
        rows, whose = self.rows, (line.rank, line.location)
        if losses := _LOSSES.search(line.text):
            values = {name: float(value) for name, value in _LOSS.findall(line.text, losses.end())}
            self.rate = values.pop("lr", None)
            rows.metrics(line.number, *whose, int(losses[1]), [(name, value, None) for name, value in values.items()])
            return True
        if mean := _MEAN.search(line.text):
            rows.metric(line.number, *whose, None, "average training time", float(mean[1]), "s", stat="mean")
            return True
        record = _TIME.search(line.text)
        if not record:
            return False
        step, seconds = int(record[1]), float(record[2] or record[4])
        position = rows.attempt_of(line.number, step, *whose)
        times = {}
        if position.before is not None and step > position.before and not position.begins:
            batches = step - position.before
            times = {"step_s": seconds / batches, "averaged_steps": batches, "value_kind": "interval_mean"}
        if not position.repeated:
            rows.add(
                "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
                step=step, learning_rate=self.rate, **times,
            )  # fmt: skip
        self.rate = None
        rows.param("framework", "deepmd-kit", line.number)
        return True
