"""Progress lines of JoeyNMT, and of what was made from it.

Tool: JoeyNMT; progressive transformers and other sign language models
Versions: 0.9 to 2.3
Yields: params, steps, metrics
Source: joeynmt/training.py, train_and_validate(); joeynmt/helpers.py, make_logger()

A step is an update, of `batch_multiplier` batches.  The time of one is what the stamps grew by between two lines of an epoch,
unless the tool printed anything else between: a validation, a checkpoint.  `Tokens per Sec` are tokens of the target since the
line before, without validation, and in versions that train on several nodes of one process: a metric.  Epochs count from 1
there, from 0 here.

Samples:
    2024-03-04 11:20:05,125 - INFO - joeynmt.training - Epoch   2, Step:      300, Batch Loss:     4.125000, Tokens per Sec:     2500, Lr: 0.000300
    2024-03-04 11:20:05,125 - INFO - joeynmt.training - Epoch   2, Step:      300, Batch Loss:     4.125000, Batch Acc: 0.125000, Tokens per Sec:     2500, Lr: 0.000300
    2024-03-04 11:20:05,125 Epoch   2 Step:      300 Batch Loss:     4.125000 Tokens per Sec:     2500, Lr: 0.000300
    2024-03-04 11:20:05,125 - INFO - joeynmt.training - Validation result (greedy) at epoch   2, step      300: bleu:   1.25, loss: 125.0000, ppl:  25.0000, duration: 12.5000s
"""

from datetime import datetime
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 1
ANCHORS = ("Tokens per Sec: ", " - joeynmt.", "Validation result ")

_N = r"-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)|nan"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ")
_RECORD = re.compile(
    rf"Epoch +(\d{{1,9}}),? Step: +(\d{{1,15}}),? Batch Loss: +({_N}),?(?: Batch Acc: +({_N}),)?"
    rf" Tokens per Sec: +({_N}), Lr: ({_N})\s*\Z"
)
_BEGUN = re.compile(r"Epoch +\d{1,9},? Step: +\d{1,15},? Batch Loss: ")
_VALID = re.compile(r"Validation result (?:\(\w+\) )?at epoch +\d{1,9}, step +(\d{1,15}): (?=\w+: )")
_VALUE = re.compile(rf"(?<!\w)([A-Za-z]\w{{0,99}}): +({_N})s?(?:, |\s*\Z)")


class _At(NamedTuple):
    """The record before."""

    epoch: int
    step: int
    ts: datetime | None
    text: str


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.before: dict[tuple[int, int | None, str | None], _At] = {}
        self.paused = False  # since the record before

    def take(self, line: Line) -> bool:
        rows = self.rows
        if record := _RECORD.search(line.text):
            self.record(line, record)
            return True
        if _BEGUN.search(line.text):
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        self.paused = True
        if not (valid := _VALID.search(line.text)):
            return False
        values = [(f"validation/{name}", float(value), None) for name, value in _VALUE.findall(line.text, valid.end())]
        rows.metrics(line.number, line.rank, line.location, int(valid[1]), [v for v in values if v[1] == v[1]])
        return True

    def record(self, line: Line, record: re.Match[str]) -> None:
        rows, whose = self.rows, (self.rows.part, line.rank, line.location)
        before = self.before.get(whose)
        if before and before.text == line.text:
            return  # two handlers of the logger print to the same file
        epoch, step, loss = int(record[1]) - 1, int(record[2]), float(record[3])
        stamp = _STAMP.search(line.text, 0, record.start())
        ts = line_time(stamp[1] if stamp else None, line, rows, "%Y-%m-%d %H:%M:%S,%f")
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        times: dict[str, Any] = {}
        if before and not self.paused and not position.begins and epoch == before.epoch and step > before.step:
            span_s = (ts - before.ts).total_seconds() if ts and before.ts else 0
            if span_s > 0:
                steps = step - before.step
                kind = "instant" if steps == 1 else "interval_mean"
                times = {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": kind}
        self.before[whose], self.paused = _At(epoch, step, ts, line.text), False
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=epoch, step=step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
            accuracy=float(record[4]) if record[4] else None, learning_rate=float(record[6]), ts=ts,
            ts_origin="naive" if ts else None, **times,
        )  # fmt: skip
        rows.param("framework", "joeynmt", line.number)
        rows.metric(line.number, line.rank, line.location, step, "Tokens per Sec", float(record[5]), "tokens/s")
