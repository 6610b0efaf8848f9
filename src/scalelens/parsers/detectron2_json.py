"""Detectron2's metrics.json: an object in a line for each record.

Tool: Detectron2 (JSONWriter), and trainers built on it
Versions: 0.1 to 0.6
Yields: steps, metrics, params
Source: detectron2/utils/events.py, JSONWriter.write(), and CommonMetricPrinter for what the names mean

`time` and `data_time` are medians of the last 20 iterations of one process (running_mean: not of one step, and not of the
distance of two records).  The first record of a launch has none.  Iterations count from 0.  A restart appends to the
same file: an iteration that comes again is another attempt.  Records without a loss are of an evaluation: metrics.

Samples:
    {"data_time": 0.0125, "eta_seconds": 812.5, "iteration": 39, "loss_cls": 1.25, "lr": 0.00025, "time": 0.3125, "total_loss": 2.5}
    {"bbox/AP": 38.25, "bbox/AP50": 58.75, "iteration": 4999}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_count, json_number

VERSION = 1
ANCHORS = ('"iteration": ',)

_ITERATION = re.compile(r'[{ ]"iteration": \d{1,15}[,}]')
_OWN = re.compile(r'"(?:eta_seconds|total_loss|\w+/AP[\w-]*)": ')
_COLUMNS = {"time": "step_s", "data_time": "data_s", "total_loss": "loss", "lr": "learning_rate"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text.startswith('{"') or not _ITERATION.search(text) or not _OWN.search(text):
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or json_count(record.get("iteration"), 51) is None:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", text)
            return True
        values = {name: value for name, field in record.items() if (value := json_number(field)) is not None}
        step = int(values.pop("iteration"))
        if "total_loss" in values:
            self.train(step, values, line)
        self.rows.metrics(line.number, line.rank, line.location, step, [(*pair, None) for pair in values.items()])
        return True

    def train(self, step: int, values: dict[str, float], line: Line) -> None:
        rows = self.rows
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        kind = "running_mean" if "time" in values else None
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"step": step, "value_kind": kind}
        row |= {_COLUMNS[name]: values.pop(name) for name in _COLUMNS if name in values}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.put("steps", line.number, row)
