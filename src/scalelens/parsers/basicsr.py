"""Progress lines of BasicSR, and of what was built on it.

Tool: BasicSR; Real-ESRGAN, GFPGAN, HAT, PyIQA, NAFNet, Restormer and other forks
Versions: 1.0 to 1.4
Yields: params, steps, metrics
Source: basicsr/utils/logger.py, MessageLogger and AvgTimer; basicsr/train.py

The printed time is one iteration of the first versions, later a mean over up to 200 iterations that is not begun anew with
each line, and in both with the wait for data: a running mean here.  Lines carry stamps, with milliseconds: the time of a
step is what these grew by between two lines, the turn of an epoch included, unless a validation or the saving of a model
lies between.  Lines show that, and `val_freq` and `save_checkpoint_freq` of the options.  An `iter` is an update of all
ranks; epochs count from 0.

Samples:
    2026-03-04 11:20:05,125 INFO: [small..][epoch:  3, iter:  12,300, lr:(2.000e-04,)] [eta: 1 day, 2:03:04, time (data): 0.512 (0.003)] l_pix: 1.2500e-02
    2026-03-04 11:20:05,125 INFO: [small..][epoch:  3, iter:  12,300, lr:(1.000e-04,1.000e-04,)] [eta: 12:03:04, time (data): 0.512 (0.003)] l_g_pix: 1.2500e-02 l_d_real: 6.2500e-01
"""

from datetime import datetime
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time
from scalelens.parsing.values import integer_valued

VERSION = 1
ANCHORS = (
    ", time (data): ", " INFO: Saving ", " INFO: Validation ", " val_freq: ", " save_checkpoint_freq: ",
    "Batch size per gpu: ", "World size (gpu number): ", "Require iter number per epoch: ",
)  # fmt: skip

_STAMP = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) INFO: "
_RECORD = re.compile(
    rf"(?:{_STAMP})?\[[^\]]{{1,200}}\]\[epoch: *(\d{{1,9}}), iter: *([\d,]{{1,15}}), lr:\(([^)]{{0,2000}})\)\] "
    r"\[eta: [^,\]]*(?:, [\d:]+)?, time \(data\): (\d+\.\d+) \((\d+\.\d+)\)\] ?"
)
_VALUE = re.compile(r"([^\s:]{1,99}): (-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)|nan)(?:\s+|\Z)")
_PAUSE = re.compile(rf"{_STAMP}(Saving|Validation) ")
_SETTING = re.compile(r"\s+(val_freq|save_checkpoint_freq): ([\d.e+]+)\s*\Z")
_STATISTIC = re.compile(
    r"\s+(Batch size per gpu|World size \(gpu number\)|Require iter number per epoch): (\d{1,9})\s*\Z"
)
_FACTS = {"Batch size per gpu": "micro_batch_size", "Require iter number per epoch": "iterations_per_epoch"}


class _At(NamedTuple):
    """The record before."""

    step: int
    ts: datetime | None
    text: str


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.every: dict[str, int] = {}  # iterations after which a validation or a checkpoint follows
        self.world = 0
        self.before: dict[tuple[int, int | None, str | None], _At] = {}
        self.paused = False  # since the record before

    def take(self, line: Line) -> bool:
        if ", time (data): " in line.text:
            return self.record(line)
        if setting := _SETTING.match(line.text):
            self.every[setting[1]] = integer_valued(setting[2]) or 0
        elif statistic := _STATISTIC.match(line.text):
            self.statistic(line, statistic[1], int(statistic[2]))
            return True
        self.paused |= bool(_PAUSE.match(line.text))
        return False

    def statistic(self, line: Line, name: str, value: int) -> None:
        if name in _FACTS:
            self.rows.param(_FACTS[name], value, line.number)
        elif value > 1:  # 1 may stand for one process with all GPUs
            self.rows.param("devices", value, line.number)
            batch = self.rows.params.get("micro_batch_size")
            self.rows.param("global_batch_size", batch and batch * value, line.number, origin="inferred")

    def record(self, line: Line) -> bool:
        rows, record = self.rows, _RECORD.match(line.text)
        if not record:
            return False
        values, end = dict[str, float](), record.end()
        while value := _VALUE.match(line.text, end):
            values[value[1]], end = float(value[2]), value.end()
        digits = record[3].replace(",", "")
        if end < len(line.text.rstrip()) or not digits or not values:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step, ts = int(digits), line_time(record[1], line, rows, "%Y-%m-%d %H:%M:%S,%f")
        whose = rows.part, line.rank, line.location
        before = self.before.get(whose)
        if before and before.text == line.text:
            return True  # two handlers of the logger print to the same file
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        self.before[whose] = _At(step, ts, line.text)
        printed = float(record[5])
        times: dict[str, Any] = {"step_s": printed, "value_kind": "running_mean"}
        if not position.begins and before and self.uninterrupted(before.step, step) and ts and before.ts:
            steps, span_s = step - before.step, (ts - before.ts).total_seconds()
            if span_s > 0:
                kind = "instant" if steps == 1 else "interval_mean"
                times = {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": kind}
        self.paused = False
        losses = [name for name in values if name.startswith("l_")]
        loss = values.pop(losses[0]) if len(losses) == 1 else None
        rates = [float(rate) for rate in record[4].split(",") if re.fullmatch(r"\d+\.\d+e[-+]\d+", rate)]
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=int(record[2]), step=step, loss=loss if loss == loss else None,
            nan_steps=1 if loss != loss else None, learning_rate=rates[0] if rates else None, ts=ts,
            data_s=float(record[6]), ts_origin="naive" if ts else None, samples=rows.params.get("global_batch_size"),
            **times,
        )  # fmt: skip
        rows.param("framework", "basicsr", line.number)
        named = [("time", printed, "s"), *((name, value, None) for name, value in values.items())]
        rows.metrics(line.number, line.rank, line.location, step, named)
        return True

    def uninterrupted(self, before: int, step: int) -> bool:
        """Whether nothing but training lies between two records.  What follows a record is in the next interval."""
        if self.paused or step <= before:
            return False
        return all(not every or (step - 1) // every == (before - 1) // every for every in self.every.values())
