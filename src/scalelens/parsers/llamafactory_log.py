"""LLaMA-Factory's trainer_log.jsonl.

Tool: LLaMA-Factory
Versions: 2023 and later
Yields: steps, metrics, params
Source: llamafactory/train/callbacks.py, LogCallback.on_log()

Times are whole seconds since the start: the time of a step is a mean over ten seconds or more, between two records.  The
record of an evaluation says when it was over, so that it is not in that time; saving a checkpoint is.  The throughput is
the tool's own, tokens per second of all ranks since the start.

Samples:
    {"current_steps": 8, "total_steps": 80, "loss": 0.875, "lr": 3.5e-05, "epoch": 0.2, "percentage": 10.0, "elapsed_time": "0:01:20", "remaining_time": "0:12:00"}
    {"current_steps": 10, "total_steps": 80, "loss": 0.5, "learning_rate": 4.8e-05, "epoch": 0.25, "elapsed_time": "1 day, 0:02:40", "throughput": 6400.5, "total_tokens": 553100800}
    {"current_steps": 10, "total_steps": 80, "eval_loss": 0.5, "epoch": 0.25, "elapsed_time": "0:01:05"}
"""

import json
from typing import Any

from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import clock_span, json_number_or_nan, number

VERSION = 3
ANCHORS = ('"current_steps": ',)

_FINE_S = 10  # seconds of an interval, of which the ends are known to one
_COLUMNS = {"loss": "loss", "lr": "learning_rate", "learning_rate": "learning_rate"}
_UNITS = {"throughput": "tokens/s", "total_tokens": "tokens"}
_NO_VALUE = ("current_steps", "total_steps", "epoch", "percentage", "elapsed_time", "remaining_time")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.start: tuple[int, float] | None = None  # step and seconds at which the next interval begins

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text.startswith('{"current_steps": '):
            return False
        try:
            said = json.loads(text)
            step, of = said["current_steps"], said["total_steps"]
        except (ValueError, LookupError, RecursionError):
            step = of = None
        if not isinstance(step, int) or not isinstance(of, int) or not 0 <= step < 1 << 50:
            self.rows.problem(line.number, "the record is cut, or does not name a step", text)
            return True
        self.record(line, said, step)
        self.rows.param("framework", "transformers", line.number)
        self.rows.param("max_steps", of, line.number)
        if step == of:
            self.rows.param("outcome", "completed", line.number, origin="inferred")
        return True

    def record(self, line: Line, record: dict[str, Any], step: int) -> None:
        rows, values = (
            self.rows,
            {name: _number_or_nan(value) for name, value in record.items() if name not in _NO_VALUE},
        )
        position = rows.attempt_of(line.number, step, line.rank, line.location, once=False)
        if position.begins:
            self.start = None
        elapsed = clock_span(str(record.get("elapsed_time")))
        if values.get("loss") is not None:
            row: dict[str, Any] = {
                "attempt": position.attempt,
                "rank": line.rank,
                "place": line.location,
                "phase": "train",
            }
            row |= {"step": step, "epoch": _number_or_nan(record.get("epoch"))}
            row |= self.time(step, elapsed)
            row |= {column: values.pop(name) for name, column in _COLUMNS.items() if values.get(name) is not None}
            rows.put("steps", line.number, row)
        elif elapsed is not None:  # after an evaluation
            self.start = step, elapsed
        if not values.get("total_tokens"):
            values.pop("throughput", None)  # it did not count them
        named = [(name, value, _UNITS.get(name)) for name, value in values.items() if value is not None]
        rows.metrics(line.number, line.rank, line.location, step, named)

    def time(self, step: int, elapsed: float | None) -> dict[str, Any]:
        """The time of a step since the interval began, once that is long enough."""
        if elapsed is None:
            return {}
        begin = self.start or (step, elapsed)
        steps, span_s = step - begin[0], elapsed - begin[1]
        if steps > 0 and 0 <= span_s < _FINE_S:
            return {}
        self.start = step, elapsed
        if steps <= 0 or span_s < 0:
            return {}
        return {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": "interval_mean"}


def _number_or_nan(value: Any) -> float | None:
    """A number; the throughput is printed as text, and a loss may be NaN."""
    return number(value) if isinstance(value, str) else json_number_or_nan(value)
