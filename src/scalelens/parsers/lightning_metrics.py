"""metrics.csv of Lightning's CSVLogger.

Tool: Lightning (pytorch_lightning, lightning.pytorch, Fabric), CSVLogger
Versions: 1.0 to 2.x
Yields: metrics, steps
Source: lightning/fabric/loggers/csv_logs.py, _ExperimentWriter.save(); lightning/pytorch/callbacks/throughput_monitor.py

The columns are whatever was logged, with `epoch` and `step`, in order of name (before 2.0: of appearance); cells of
what was not logged at that step are empty.  There is no time, unless somebody logged one.  ThroughputMonitor does:
`train/time` are seconds of training since its start, without validation, and `train/batches` those done by then.  What
passes between two such rows is the mean of the steps between them; a count that falls begins anew, and what came before
the first row of a resumed run is not known.  A resumed run writes another file.  A table with a column of times, or
without empty cells or that order, is left to others.

Samples:
    epoch,lr-SGD,step,train_loss,val_acc,val_loss
    0,0.1,49,6.9012,,
    0,,49,,0.125,6.8012
"""

import math
from itertools import islice
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, head_lines, rows_of

VERSION = 3

_NAME = re.compile(r"[A-Za-z_][\w./|@ -]*\Z")
_TIME = re.compile(r"(?:^|_)(?:time|elapsed|duration|timestamp|seconds|ms|wall)(?:_|$)", re.IGNORECASE)


def recognise(head: bytes, name: str) -> bool:
    names = "".join(first_lines(head)[:1]).split(",")
    if not {"epoch", "step"} < set(names) or len(set(names)) < len(names):
        return False
    if not all(_NAME.match(column) and not _TIME.search(column) for column in names):
        return False
    sparse = any(",," in line or line.endswith(",") or line.startswith(",") for line in islice(head_lines(head), 1, 50))
    return sparse and (names == sorted(names) or names[-2:] == ["epoch", "step"] or names[:2] == ["epoch", "step"])


class _Done(NamedTuple):
    """How far the training was at a row of ThroughputMonitor."""

    steps: int
    batches: float
    time_s: float


_START = _Done(0, 0, 0.0)


def _timed(rows: Rows, number: int, step: int | None, values: dict[str, float], before: _Done) -> _Done:
    """Adds the mean step time since the row before, where a row has ThroughputMonitor's; returns how far it is."""
    separator = next((mark for mark in "/|-_." if f"train{mark}batches" in values), "")
    time_s = values.get(f"train{separator}time")
    if not separator or time_s is None or step is None:
        return before
    now = _Done(step + 1, values[f"train{separator}batches"], time_s)
    before = _START if now.batches <= before.batches or now.steps <= before.steps else before
    steps, passed_s = now.steps - before.steps, now.time_s - before.time_s
    if 0 < passed_s < math.inf and (before != _START or now.batches >= now.steps):
        row = {"attempt": 0, "phase": "train", "step": step, "step_s": passed_s / steps, "averaged_steps": steps}
        row |= {"epoch": _whole(values.get("epoch")), "value_kind": "instant" if steps == 1 else "interval_mean"}
        rows.put("steps", number, row)
    return now


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and 0 <= value < 1 << 31 and value.is_integer() else None


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    before = _START
    for number, cells, whole in rows_of(source):
        if not names:
            names = cells
            continue
        if not whole and len(cells) == len(names) and names[-1] != "step":
            rows.problem(number, MAY_BE_CUT, ",".join(cells))
            cells, whole = [*cells[:-1], ""], True
        named_cells = dict(zip(names, cells, strict=False))
        text = named_cells.get("step", "")
        step = int(text) if text.isdecimal() and len(text) < 16 else None
        if not whole or len(cells) != len(names) or (step is None and text):
            rows.problem(number, "the row is cut, or its step is not a number", ",".join(cells))
            continue
        values = []
        for name, cell in named_cells.items():
            try:
                value = float(cell or "nan")
            except ValueError:
                rows.problem(number, f"{name} is not a number", ",".join(cells))
                continue
            if name != "step" and value == value:
                values.append((name, value, None))
        before = _timed(rows, number, step, {name: value for name, value, _ in values}, before)
        rows.metrics(number, None, None, step, values)
