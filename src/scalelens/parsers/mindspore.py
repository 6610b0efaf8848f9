"""Losses and times that MindSpore's callbacks print.

Tool: MindSpore (Huawei Ascend, GPU, CPU), LossMonitor and TimeMonitor
Versions: 1.0 to 2.6
Yields: steps, phases, params
Source: mindspore/train/callback/_loss_monitor.py, LossMonitor.step_end(); _time_monitor.py, TimeMonitor.epoch_end()

LossMonitor counts steps within the epoch; they are counted on by the steps of an epoch, where TimeMonitor says them, or
else by the last one that was printed of the epoch before.  TimeMonitor says the time of each epoch and its mean per step, after the
epoch: its quotient is the number of steps.  Where data sinks to the device, one loss is printed for each epoch.  The
waiting for data, the callbacks before this one and, in the first epoch, the compilation are in the time.

Samples:
    epoch: 1 step: 100, loss is 2.3125
    Train epoch time: 12350.000 ms, per step time: 123.500 ms
    epoch time: 12350.000 ms, per step time: 123.500 ms
"""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (", loss is ", "per step time: ")

_LOSS = re.compile(
    r"epoch: *(\d{1,9}),? step: *(\d{1,12}), loss is *\[?(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))\]?(?!\S)"
)
_TIME = re.compile(r"epoch time: (\d+(?:\.\d+)?) ?ms, per step time: (\d+(?:\.\d+)?) ?ms\b")


class _Epoch(NamedTuple):
    """The last loss of a writer: its epoch, its step in it, the steps before that epoch, and its attempt."""

    number: int
    step: int
    before: int
    attempt: int


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[tuple[int, int | None, str | None], _Epoch] = {}

    def take(self, line: Line) -> bool:
        if loss := _LOSS.search(line.text):
            self.loss(int(loss[1]), int(loss[2]), float(loss[3]), line)
        elif time := _TIME.search(line.text):
            self.time(float(time[1]) / 1000, float(time[2]) / 1000, line)
        else:
            return False
        self.rows.param("framework", "mindspore", line.number, origin="inferred")
        return True

    def loss(self, epoch: int, step: int, loss: float, line: Line) -> None:
        whose = (self.rows.part, line.rank, line.location)
        last = self.last.get(whose)
        steps = self.rows.params.get("iterations_per_epoch")
        before = (epoch - 1) * steps if steps else last.before if last else 0
        if last and not steps and epoch > last.number:
            before += last.step
        elif last and not steps and epoch < last.number:
            before = 0
        position = self.rows.attempt_of(line.number, (epoch, step), line.rank, line.location)
        self.last[whose] = _Epoch(epoch, step, before, position.attempt)
        self.rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=epoch, step=before + step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip

    def time(self, epoch_s: float, step_s: float, line: Line) -> None:
        last = self.last.get((self.rows.part, line.rank, line.location))
        steps = round(epoch_s / step_s) if step_s > 0 else None
        row = {"attempt": last.attempt if last else 0, "rank": line.rank, "place": line.location}
        row |= {"epoch": last.number if last else None, "step": last.number * steps if last and steps else None}
        self.rows.add("phases", line.number, **row, phase="epoch", span_s=epoch_s, origin="logged")
        self.rows.param("iterations_per_epoch", steps, line.number, origin="inferred")
        self.rows.add(
            "steps", line.number, **row, phase="train", step_s=step_s, averaged_steps=steps, value_kind="epoch_mean"
        )
