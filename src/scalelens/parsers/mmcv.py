"""Text log of OpenMMLab's runners.

Tool: mmcv (TextLoggerHook) in mmsegmentation, mmdetection, mmpretrain; mmengine (LoggerHook)
Versions: mmcv 1.x; mmengine 0.x
Yields: params, steps, metrics
Source: mmcv/runner/hooks/logger/text.py, _log_info(); mmengine/runner/log_processor.py, get_log_after_iter()

`time` and `data_time` are means of a process over the iterations since the record before (mmengine: its window, by
default as long); a checkpoint in between is in them.  Iterations count from 1, over the run or in their epoch.  `loss`
is a mean over them, too, `memory` (MB) the most that any rank had.  Where a model names no sum of its losses, its first
record is taken for a cut one.  Until 2019 no logger is named; an evaluation may be printed as a record without a time.

Samples:
    2024-05-06 07:08:09,791 - mmseg - INFO - Iter [16/20]	lr: 2.943e-03, eta: 0:00:09, time: 0.630, data_time: 0.014, memory: 18879, decode.loss_ce: 1.8000, decode.acc_seg: 28.0286, loss: 2.9130
    2024-05-06 07:08:09,791 - mmdet - INFO - Epoch [1][50/7330]	lr: 1.978e-03, eta: 1 day, 4:39:41, time: 0.191, data_time: 0.005, memory: 3378, loss_cls: 1.1, loss: 2.1
    05/06 07:08:09 - mmengine - INFO - Epoch(train)  [1][ 50/7330]  lr: 1.9820e-03  eta: 1 day, 5:00:00  time: 0.2330  data_time: 0.0100  memory: 3378  loss: 2.1000
    2024-05-06 07:09:09,791 - mmseg - INFO - Iter(val) [500]	aAcc: 0.8012, mIoU: 0.4123
    2024-05-06 07:09:19,415 - INFO - Epoch [2][150/1250]	lr: 0.02000, time: 0.845, data_time: 0.012, loss_cls: 0.0345, loss: 0.0875
    2024-05-06 07:10:29,016 - mmdet - INFO - Epoch [2][1250/1250]	lr: 6.125e-04, bbox_mAP: 0.0125, bbox_mAP_50: 0.0375
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 4
ANCHORS = (" - INFO - Iter", " - INFO - Epoch", "samples_per_gpu=")

_HEAD = re.compile(
    r"(?:(\d{4})[-/]?)?(?:^|(?<=[-/])|(?<![\d/]))(\d\d)[-/](\d\d) (\d\d:\d\d:\d\d)(?:,(\d{3}))? - (?:[\w.-]+ - )?INFO - "
    r"(?:(?:Iter|Epoch(?! *\[ *\d{1,9}/))(\((?:train|val|test)\))?) *(?:\[ *(\d{1,9})\])?(?:\[ *(\d{1,9})/ *(\d{1,9})\])?(?=\s)"
)
_FIELD = re.compile(r"(?<=[\s,])(?!eta:)([A-Za-z][\w.@/-]*): (-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?=,|\s|\Z)")
_SIZE = re.compile(r"samples_per_gpu=(\d{1,6})\b")
_COLUMNS = {"time": "step_s", "data_time": "data_s", "loss": "loss", "lr": "learning_rate", "grad_norm": "grad_norm"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.start: dict[tuple[int | None, str | None], int] = {}  # the step before the first one of an attempt
        self.lossless: list[str] = []  # what the last record without a loss held

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            size = _SIZE.search(line.text)
            if size and "micro_batch_size" not in self.rows.params:
                self.rows.param("micro_batch_size", int(size[1]), line.number)
            return bool(size)
        values = {name: float(value) for name, value in _FIELD.findall(line.text, head.end())}
        if head[6] in ("(val)", "(test)"):
            named = [(f"{head[6][1:-1]} {name}", value, None) for name, value in values.items() if value == value]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, named)
            return bool(named)
        if not head[9]:
            return False
        if "time" not in values and "eta:" not in line.text and values.keys() - {"lr"}:
            named = [(f"val {name}", value, None) for name, value in values.items() if name != "lr" and value == value]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, named)
            return True
        place = self.position(head, values.get("time"), line)
        # The losses come last, and their sum at the end.
        before, self.lossless = self.lossless, [] if "loss" in values else [*values]
        if "time" not in values or ("loss" not in values and before != self.lossless):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            self.train(head, values, place, line)
        return True

    def position(self, head: re.Match[str], time: float | None, line: Line) -> dict[str, Any]:
        """Where a record is, and how many steps it is a mean of.  Going back is a restart."""
        epoch, index, total = int(head[7]) - 1 if head[7] else None, int(head[8]), int(head[9])
        step = index if epoch is None else epoch * total + index
        ts = iso_time(f"{head[1]}-{head[2]}-{head[3]} {head[4]}.{head[5] or '0'}") if head[1] else None
        attempt, begins, last, _ = self.rows.attempt_of(line.number, step, line.rank, line.location, ts, time)
        if begins:
            self.start[line.rank, line.location] = min(step - index, step - 1) if attempt else 0
        if last is None:
            last = self.start[line.rank, line.location]
        # The buffer is emptied at the end of an epoch.
        steps = min(step - last, index) if last or index else 1
        return {
            "attempt": attempt, "epoch": epoch, "step": step, "averaged_steps": max(steps, 1),
            "value_kind": "interval_mean" if steps > 1 else "instant",
        }  # fmt: skip

    def train(self, head: re.Match[str], values: dict[str, float], place: dict[str, Any], line: Line) -> None:
        row: dict[str, Any] = place | {"rank": line.rank, "place": line.location, "phase": "train"}
        if head[1] and (stamp := iso_time(f"{head[1]}-{head[2]}-{head[3]} {head[4]}.{head[5] or '0'}")):
            row |= {"ts": stamp, "ts_origin": "naive"}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        if "memory" in values:
            row["peak_memory_bytes"] = values.pop("memory") * 2**20
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        if row["epoch"] is not None:
            self.rows.param("iterations_per_epoch", int(head[9]), line.number)
        self.rows.attempt = max(self.rows.attempt, row["attempt"])
        self.rows.put("steps", line.number, row)
        named = [(name, value, None) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, row["step"], named)
