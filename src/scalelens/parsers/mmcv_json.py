"""JSON log of OpenMMLab's runners, the twin of their text log.

Tool: mmcv (TextLoggerHook), *.log.json; mmengine (LocalVisBackend), vis_data/*.json
Versions: mmcv 1.x; mmengine 0.x
Yields: params, steps, metrics
Source: mmcv/runner/hooks/logger/text.py, _dump_log(); mmengine/visualization/vis_backend.py, add_scalars()

An object per record, with what the text log prints: `time` and `data_time` are means of a process over the iterations
since the record before (mmengine: its window).  mmcv counts iterations from 1 over the run, or anew in each epoch, and
does not say how many an epoch has: `step` then goes on from the last record of the epoch before.  `step` of mmengine is
taken as it is.  `memory` is in MB.  X.log.json next to X.log says the same: one run, its records counted once (members).

Samples:
    {"mode": "train", "epoch": 1, "iter": 50, "lr": 0.00198, "memory": 3378, "data_time": 0.00512, "loss_cls": 1.1023, "loss": 2.1034, "time": 0.19134}
    {"mode": "val", "epoch": 1, "iter": 3125, "lr": 0.0198, "bbox_mAP": 0.1234}
    {"lr": 0.0198, "data_time": 0.00512, "loss": 2.1034, "time": 0.19134, "epoch": 1, "iter": 50, "memory": 3378, "step": 50}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_count, json_number

VERSION = 2
ANCHORS = ('"mode": "train", "epoch": ', '"mode": "val", "epoch": ', '"data_time": ')

_BEGUN = re.compile(r'\{"(?:mode": "(?:train|val)", "epoch": |(?:base_)?lr": )')
_COLUMNS = {"time": "step_s", "data_time": "data_s", "loss": "loss", "lr": "learning_rate", "grad_norm": "grad_norm"}
_NO_VALUE = ("mode", "lr", "epoch", "iter", "step", "time", "data_time", "memory")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch, self.last, self.step = 0, 0, 0  # of the last record
        self.bases: dict[int, int] = {}  # steps before an epoch

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if not text.startswith('{"'):
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            if _BEGUN.match(text):
                self.rows.problem(line.number, "the record is cut, or something else was printed into it", text)
            return bool(_BEGUN.match(text))
        counts = {key: record[key] for key in ("epoch", "iter", "step") if json_count(record.get(key), 51) is not None}
        if record.get("mode") == "val" or not {"time", "iter"} <= record.keys():
            values = [
                (f"val {name}", value, None)
                for name in record
                if name not in _NO_VALUE and (value := json_number(record[name])) is not None
            ]
            ours = bool(values) and (
                "mode" in record or ("data_time" in record and "step" in counts and "loss" not in record)
            )
            if ours:
                self.rows.metrics(line.number, line.rank, line.location, self.rows.step, values)
            return ours
        if not {"data_time", "epoch"} <= record.keys() or "iter" not in counts or "epoch" not in counts:
            return False
        self.train(record, counts, line)
        return True

    def train(self, record: dict[str, Any], counts: dict[str, int], line: Line) -> None:
        rows = self.rows
        steps = self.position(counts, line)
        row: dict[str, Any] = {"attempt": rows.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": counts["epoch"] - 1, "step": self.step, "averaged_steps": steps}
        row |= {"value_kind": "instant" if steps == 1 else "interval_mean"}
        values = {name: value for name, field in record.items() if (value := json_number(field)) is not None}
        row |= {column: values[name] for name, column in _COLUMNS.items() if name in values}
        if "memory" in values:
            row["peak_memory_bytes"] = values["memory"] * 2**20
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.put("steps", line.number, row)
        others = [(name, value, None) for name, value in values.items() if name not in {*_NO_VALUE, *_COLUMNS}]
        rows.metrics(line.number, line.rank, line.location, self.step, others)

    def position(self, counts: dict[str, int], line: Line) -> int | None:
        """Finds the step of a record; gives back the steps since the one before, where that is known."""
        epoch, index = counts["epoch"], counts["iter"]
        before = self.step
        position = self.rows.attempt_of(
            line.number,
            (counts["step"], 0) if "step" in counts else (epoch, index),
            0 if line.rank is None else line.rank,
            line.location,
        )  # fmt: skip (one process writes the file)
        restarted = position.begins and position.attempt > 0
        if "step" in counts:
            self.step = counts["step"]
        else:
            anew = epoch > self.epoch and index <= self.last
            self.step = self.bases.setdefault(epoch, before if anew else self.bases.get(self.epoch, 0)) + index
        first = self.epoch == 0 and epoch > 1
        self.epoch, self.last = epoch, index
        return None if restarted or first or self.step <= before else self.step - before
