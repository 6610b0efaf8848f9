"""Progress lines of Detectron2, and of maskrcnn-benchmark before it.

Tool: Detectron2 (CommonMetricPrinter), cvpods, D2Go; maskrcnn-benchmark, also as MLPerf's Mask R-CNN
Versions: Detectron2 0.1 to 0.6; maskrcnn-benchmark 0.1
Yields: params, steps, metrics
Source: detectron2/utils/events.py, CommonMetricPrinter.write(); maskrcnn_benchmark/engine/trainer.py, do_train()

`time` is a mean since the start or restart (running_mean), in maskrcnn-benchmark the number in brackets.  From 0.6 on
`last_time` and `last_data_time` are of the last iteration: they are the step's, and `time` is a metric.  Before,
`data_time` is a mean of the last 20.  Losses are medians of 20.  Times are those of one process.  Detectron2 counts
iterations from 0.  Its plain_train_net.py prints no time.

Samples:
    [05/06 07:08:09 d2.utils.events]:  eta: 8:05:12  iter: 1259  total_loss: 1.0125  loss_cls: 0.7125  loss_box_reg: 0.3  time: 0.3125  data_time: 0.0375  lr: 0.010000  max_mem: 3975M
    [05/06 07:08:09] d2.utils.events INFO:  eta: 1 day, 0:11:54  iter: 119  total_loss: 9.25  time: 0.8125  last_time: 0.7875  data_time: 0.0225  last_data_time: 0.0125  lr: 0.00125  max_mem: 28500M
    2024-05-06 07:08:09,125 maskrcnn_benchmark.trainer INFO: eta: 14:30:23  iter: 20  loss: 1.3125 (1.5625)  loss_mask: 0.6875 (0.7500)  time: 0.5625 (0.6250)  data: 0.0075 (0.0250)  lr: 0.007125  max mem: 3250
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("  iter: ",)

_HEAD = re.compile(r"eta: (?:(?:\d+ days?, )?\d+:\d\d:\d\d|N/A)  iter: (\d{1,9})(?:/\d+)?(?=\s|\Z)")
_NUMBER = r"(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)"
_FIELD = re.compile(rf"(\s\s+([A-Za-z][\w/. -]*): {_NUMBER}(?: \({_NUMBER}\))?M?)(?=\s|\Z)")
_COLUMNS = {
    "last_time": "step_s", "last_data_time": "data_s", "total_loss": "loss", "loss": "loss", "lr": "learning_rate",
    "max_mem": "peak_memory_bytes", "max mem": "peak_memory_bytes",
}  # fmt: skip
_MEANS = {"time": "step_s", "data_time": "data_s", "data": "data_s"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        fields = _FIELD.findall(line.text, head.end())
        values = {name: float(mean if mean and name in _MEANS else number) for _, name, number, mean in fields}
        is_whole = sum(len(field[0]) for field in fields) == len(line.text.rstrip()) - head.end()
        if not is_whole or "lr" not in values or not values.keys() & {"loss", "total_loss"}:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            self.record(int(head[1]), values, line)
        return True

    def record(self, step: int, values: dict[str, float], line: Line) -> None:
        attempt = self.rows.attempt_of(line.number, step, line.rank, line.location).attempt
        kind = "instant" if "last_time" in values else "running_mean" if "time" in values else None
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"step": step, "value_kind": kind, "averaged_steps": 1 if kind == "instant" else None}
        names = _COLUMNS if kind == "instant" else _COLUMNS | _MEANS
        row |= {names[name]: values.pop(name) for name in names if name in values}
        if "peak_memory_bytes" in row:
            row["peak_memory_bytes"] *= 2**20
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.put("steps", line.number, row)
        others = [(name, value, "s" if name in _MEANS else None) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, step, others)
