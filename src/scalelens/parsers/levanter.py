"""Records of Levanter's tracker that logs.

Tool: Levanter, Marin
Versions: 2025 and later, with the tracker json_logger
Yields: steps, metrics, params
Source: src/levanter/tracker/json_logger.py, JsonLoggerTracker; src/levanter/callbacks/_metrics.py, log_step_info() and
    log_performance_stats()

Several records hold what is known of a step: they become one row.  Its time is `throughput/duration`, without the hooks
that follow it; whether it holds the wait for data, `throughput/loading_time`, depends on the version and the program.
Rates are of the whole job, and the batch is a rate times the time.  The hooks run once more after the last step: what
they print again gives no second row of steps.  Written after the source and after scripts that read such logs: no log
was found.

Samples:
    2026-03-04T10:15:27 - 0 - levanter.json_logger - json_logger.py:64 - INFO :: {"tracker": "json_logger", "event": "log", "step": 12, "metrics": {"train/loss": 8.5, "global_step": 12}}
    {"tracker": "json_logger", "event": "log", "step": 12, "metrics": {"throughput/duration": 0.25, "throughput/examples_per_second": 128.0}}
    {"tracker": "json_logger", "event": "summary", "metrics": {"num_devices": 8, "parameter_count": 124000000}}
"""

import json
import math
from typing import Any

from scalelens.parsing.dispatch import Line
from scalelens.parsing.open_steps import OpenSteps
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_number

VERSION = 1
ANCHORS = ('{"tracker": "json_logger", ',)
LATER = ("step_s", "samples", "tokens", "samples_per_s", "rate_scope", "loss", "learning_rate", "grad_norm")

_COLUMNS = {"train/loss": "loss", "optim/learning_rate": "learning_rate", "grad/norm/total": "grad_norm"}
_RATES = {"throughput/examples_per_second": "samples", "throughput/tokens_per_second": "tokens"}  # the count per step
_FACTS = {"num_devices": "devices", "parameter_count": "parameters", "throughput/device_kind": "device_model"}
_UNITS = {
    "throughput/loading_time": "s", "throughput/hook_time": "s", "throughput/mfu": "%",
    "throughput/tokens_per_second": "tokens/s", "throughput/total_tokens": "tokens",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.steps = OpenSteps(rows, "levanter")

    def take(self, line: Line) -> bool:
        begin = line.text.find(ANCHORS[0])
        if begin < 0:
            return False
        try:
            record = json.loads(line.text[begin:])
        except (ValueError, RecursionError):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        event, step, metrics = record.get("event"), record.get("step"), record.get("metrics")
        if not isinstance(metrics, dict):  # of events other than these two nothing is kept
            return True
        if event == "log" and isinstance(step, int):
            self.logged(metrics, step, line)
        elif event == "summary":
            for name, fact in _FACTS.items():
                if isinstance(value := metrics.get(name), str | int):
                    self.rows.param(fact, value, line.number)
        return True

    def logged(self, metrics: dict[str, Any], step: int, line: Line) -> None:
        values = {name: number for name, value in metrics.items() if (number := json_number(value)) is not None}
        columns: dict[str, Any] = {column: values.pop(name) for name, column in _COLUMNS.items() if name in values}
        if 0 < values.get("throughput/duration", 0) < math.inf:
            columns |= _timed(values)
        if columns:
            self.steps.fill(columns, step, line)
        left = [(name, value, _UNITS.get(name)) for name, value in values.items() if name != "global_step"]
        self.rows.metrics(line.number, line.rank, line.location, step, left)

    def finish(self) -> None:
        self.steps.finish()


def _timed(values: dict[str, float]) -> dict[str, Any]:
    """The columns of a step's time, and of what it processed in it."""
    step_s = values.pop("throughput/duration")
    columns: dict[str, Any] = {"step_s": step_s, "averaged_steps": 1, "value_kind": "instant"}
    for name, column in _RATES.items():
        if math.isfinite(count := values.get(name, math.nan) * step_s):
            columns[column] = float(round(count))
    if "throughput/examples_per_second" in values:
        columns |= {"samples_per_s": values.pop("throughput/examples_per_second"), "rate_scope": "global"}
    return columns
