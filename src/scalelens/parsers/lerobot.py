"""Lines of LeRobot's training.

Tool: huggingface/lerobot, lerobot/scripts/train.py
Versions: 0.1 to 0.6
Yields: steps
Source: lerobot/utils/logging_utils.py, MetricsTracker; lerobot/utils/utils.py, format_big_number()

`updt_s` and `data_s` are means over the steps since the line before, in seconds: a step is both of them, one after the other.
From a thousand on steps are rounded (`1K`, later `1.0K`), and counted on by what lies between two lines: `log_freq` of the configuration, or
what lay between the first ones.  `ep` counts the episodes that were seen, and `epch` is a part of an epoch.

Samples:
     'log_freq': 200,
    INFO 2026-01-02 03:04:05 ts/train.py:232 step:200 smpl:13K ep:63 epch:0.31 loss:6.625 grdn:154.125 lr:1.0e-05 updt_s:0.125 data_s:0.025
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 1
ANCHORS = (" updt_s:", "'log_freq': ")

_RECORD = re.compile(
    r"step:(\d{1,6}(?:\.\d)?)([KMB]?) smpl:\S{1,12}(?: ep:\S{1,12})?(?: epch:\d{1,9}\.\d\d)? loss:(-?\d{1,15}\.\d{2,3}|nan|inf) .{0,400}?"
    r"updt_s:(\d{1,9}\.\d{2,3}) data_s:(\d{1,9}\.\d{2,3})(?=\s|\Z)"
)
_BETWEEN = re.compile(r"\s*\{? ?'log_freq': (\d{1,6}),?\s*\Z")
_LR = re.compile(r" lr:(\d\.\d{1,3}e[-+]\d\d)(?= )")
_STAMP = re.compile(r"(?:INFO )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ")
_SCALES = {"": 1, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.between = 0  # steps between two lines, by the configuration
        self.steps: dict[Any, tuple[int, int]] = {}  # by writer: the step of its last line, and steps between two lines

    def take(self, line: Line) -> bool:
        if stated := _BETWEEN.match(line.text):
            self.between = int(stated[1])
            return True
        if not (record := _RECORD.search(line.text)):
            return False
        rows, loss = self.rows, float(record[3])
        step, between = self.step((line.rank, line.location), float(record[1]), record[2])
        if step is None:
            rows.problem(
                line.number, "its step is rounded, and nothing tells how many lie between two lines", line.text
            )
            return True
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        update_s, data_s = float(record[4]), float(record[5])
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"step": step, "step_s": round(update_s + data_s, 3) or None, "data_s": data_s}
        row |= {"value_kind": "instant" if between == 1 else "interval_mean", "averaged_steps": between}
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        row |= {"learning_rate": float(rate[1])} if (rate := _LR.search(line.text)) else {}
        if (stamp := _STAMP.match(line.text)) and (time := iso_time(stamp[1])):
            row |= {"ts": time, "ts_origin": "naive"}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.put("steps", line.number, row)
        return True

    def step(self, whose: Any, printed: float, scale: str) -> tuple[int | None, int]:
        """The step of a line, and how many its means are of; a rounded one is counted on from the line before."""
        shown = round(printed * _SCALES[scale])
        before, between = self.steps.get(whose, (None, self.between))
        step: int | None = shown
        if not scale:
            between = shown - before if before is not None and shown > before else between or shown
        elif not between:
            return None, 0
        elif before is not None and abs(before + between - shown) <= _SCALES[scale]:
            step = before + between
        self.steps[whose] = shown if step is None else step, between
        return step, between
