"""MLPerf's first log lines: `:::MLPv0.5.0` and `:::MLL`.

Tool: MLPerf Training compliance logging (mlperf_compliance.mlperf_log)
Versions: v0.5, v0.6
Yields: phases, metrics, params
Source: mlperf/training_results_v0.5: compliance/mlperf_compliance/mlperf_log.py, _mlperf_print()

Benchmark, seconds since 1970, place in the source, key and value; v0.6 has value and metadata in one object.  A line is
often printed twice, by itself and by Python's logging.  No step is timed.  Of spans the first start and stop count.
An epoch whose time MXNet logs too is one row, the logged one.  An evaluation of which only the score is printed is a row
without a span.

Samples:
    :::MLL 1558640743.483 run_start: {"value": null, "metadata": {"lineno": 77}}
    I0820 18:29:53.357862 1404 mlperf_log.py:134] :::MLPv0.5.0 transformer 1597948381.787289143 (main.py:351) eval_start
    :::MLPv0.5.0 resnet 1538678136.787 (train.py:351) eval_accuracy: {"epoch": 3, "value": 0.31}
"""

import json
from datetime import datetime, timedelta
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.mlperf import DerivedEpochs, Evaluations
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_number
from scalelens.tables import RUN_FACTS

VERSION = 3
ANCHORS = (":::MLL ", ":::MLPv0.5.")

_RECORD = re.compile(
    r":::(?:MLL|MLPv0\.5\.\d)(?: ([a-z]\w*))? (\d{9,10}(?:\.\d+)?) (?:\(([^()]{0,200})\) )?"
    r"(\w{1,100})(?::? (.*\S))?\s*\Z"
)
_FACTS = {
    "submission_benchmark": "model", "input_batch_size": "global_batch_size", "global_batch_size": "global_batch_size",
    "run_set_random_seed": "seed", "max_sequence_length": "seq_length",
}  # fmt: skip
_RESERVED = {fact.name for fact in RUN_FACTS}
_SPANS = {"run": "run", "init": "startup", "epoch": "epoch", "block": "train", "eval": "evaluation"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last = ""
        self.open: dict[str, tuple[datetime, int]] = {}  # spans that have begun: time and line
        self.epochs, self.evaluations = DerivedEpochs(rows), Evaluations(rows)
        self.ended = False

    def take(self, line: Line) -> bool:
        match = _RECORD.search(line.text)
        if not match:
            return False
        if match[0] != self.last:  # else printed twice
            self.last = match[0]
            benchmark, seconds, _, key, text = match.groups()
            try:
                value, about = _parsed(text)
            except (ValueError, RecursionError):
                self.rows.problem(line.number, "the value is cut, or its JSON is damaged", line.text)
                return True
            self.record(key, value, about, datetime(1970, 1, 1) + timedelta(seconds=float(seconds)), line)
            self.rows.param("model", benchmark, line.number)
        return True

    def finish(self) -> None:
        self.epochs.settle()
        self.evaluations.settle()

    def record(self, key: str, value: Any, about: dict[str, Any], ts: datetime, line: Line) -> None:
        name, _, edge = key.rpartition("_")
        epoch = json_number(about.get("epoch_num", about.get("epoch")))
        if name in _SPANS and edge == "start":
            if name == "run" and self.ended:
                self.finish()
                self.rows.new_part()
                self.open, self.ended = {}, False
            self.open.setdefault(name, (ts, line.number))
        elif name in _SPANS and edge == "stop":
            if began := self.open.pop(name, None):
                began_at, began_line = began
                row = {
                    "attempt": self.rows.attempt, "rank": line.rank, "place": line.location, "phase": _SPANS[name],
                    "epoch": epoch, "span_s": (ts - began_at).total_seconds(), "origin": "derived", "ts": ts,
                    "ts_origin": "utc",
                }  # fmt: skip
                if name == "epoch":
                    self.epochs.put(began_line, line.number, row)
                elif name == "eval":
                    self.evaluations.put(line.number, row)
                else:
                    self.rows.put("phases", line.number, row)
            if name == "run" and not self.ended:
                self.ended = True
                if {"success", "status"} & about.keys():
                    good = about.get("success") is True or about.get("status") == "success"
                    self.rows.param("run_status", "success" if good else "aborted", line.number)
                    self.rows.param("outcome", "completed" if good else "error", line.number)
        elif (counted := json_number(value)) is not None and (epoch is not None or key.startswith("eval_")):
            self.rows.metric(line.number, line.rank, line.location, None, key, counted)
            if key == "eval_accuracy":
                row = {"attempt": self.rows.attempt, "rank": line.rank, "place": line.location, "epoch": epoch}
                self.evaluations.put_score(line.number, row | {"ts": ts, "ts_origin": "utc"})
        elif value is not None and not isinstance(value, dict):
            self.rows.param(_FACTS.get(key, f"mllog.{key}" if key in _RESERVED else key), value, line.number)


def _parsed(text: str | None) -> tuple[Any, dict[str, Any]]:
    """Value and metadata.  If it is not JSON, it is plain text or an object that Python printed."""
    if text is None:
        return None, {}
    if not text.startswith("{"):
        try:
            return json.loads(text), {}
        except ValueError:
            return text, {}
    try:
        record = json.loads(text)
    except ValueError:
        record = json.loads(text.replace("'", '"'))
    about = record.get("metadata")
    return record.get("value"), about if isinstance(about, dict) else record
