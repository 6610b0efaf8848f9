"""The time between steps that TensorFlow's official models log.

Tool: TensorFlow Model Garden, TimeHistory of official/utils/misc/keras_utils.py, and what was made from it
Versions: 2.1 to 2.16; `BenchmarkMetric` before
Yields: steps, params
Source: official/utils/misc/keras_utils.py: TimeHistory.on_batch_end(); orbit/controller.py: train()

A time is that of all steps between two lines, which hold no evaluation.  The examples are those of all devices: the rate
is the batch of all devices times the steps over the time, so that the batch follows where one whole number alone fits.  A line of
Orbit's controller that follows (`train | step:    200 | steps/sec: ...`) has the loss of the same step.  Of the older lines the time of an epoch is a row of `phases`.

Samples:
    I0102 03:04:05.678901 140123456789012 keras_utils.py:145] TimeHistory: 12.50 seconds, 2048.00 examples/second between steps 100 and 200
    INFO:tensorflow:BenchmarkMetric: {'global step':200, 'time_taken': 12.500000,'examples_per_second': 2048.000000}
    INFO:tensorflow:BenchmarkMetric: {'epoch':1, 'time_taken': 81.250000}
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import half_of_last_digit, only_whole

VERSION = 2
ANCHORS = ("TimeHistory: ", "train | step: ", "BenchmarkMetric: {")

_N = r"(\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)"
_STEPS = re.compile(
    rf"TimeHistory: {_N} seconds, {_N} (?:examples|images)/second between steps (\d{{1,15}}) and (\d{{1,15}})\s*\Z"
)
_OLDER = re.compile(
    rf"BenchmarkMetric: \{{'global step': ?(\d{{1,15}}), 'time_taken': {_N}, ?"
    rf"'examples_per_second': {_N}\}}"
)
_EPOCH = re.compile(rf"BenchmarkMetric: \{{'epoch': ?(\d{{1,9}}), 'time_taken': {_N}\}}")
_CONTROLLER = re.compile(r"train \| step:\s+(\d{1,15}) \| steps/sec:\s+[\d.]+ \| output:")
_LOSS = re.compile(r"'(?:training_loss|train_loss|loss|total_loss)': (-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.kept: tuple[int, dict[str, Any]] | None = None  # the record whose loss may follow

    def finish(self) -> None:
        self.put()

    def take(self, line: Line) -> bool:
        if found := _STEPS.search(line.text):
            self.record(line, int(found[4]), found[1], found[2], int(found[3]))
        elif found := _OLDER.search(line.text):
            self.record(line, int(found[1]), found[2], found[3], None)
        elif found := _EPOCH.search(line.text):
            self.put()
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="epoch",
                epoch=int(found[1]), step=self.rows.step, span_s=float(found[2]), origin="logged",
            )  # fmt: skip
        elif (found := _CONTROLLER.search(line.text)) and self.kept and self.kept[1]["step"] == int(found[1]):
            if loss := _LOSS.search(line.text):
                self.kept[1]["loss"] = float(loss[1])
            self.put()
        else:
            return False
        return True

    def record(self, line: Line, step: int, seconds: str, examples_per_s: str, before: int | None) -> None:
        """Keeps a record.  `before` is the step of the one before, where the line says it."""
        self.put()
        position = self.rows.attempt_of(line.number, step, line.rank, line.location)
        before = position.before if before is None else before
        steps = step - before if before is not None else 0
        span_s, rate = float(seconds), float(examples_per_s)
        self.rows.param("framework", "tensorflow", line.number, origin="inferred")
        self.kept = line.number, {
            "attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train", "step": step,
            "step_s": span_s / steps if steps > 0 else None, "averaged_steps": steps if steps > 0 else None,
            "value_kind": "interval_mean" if steps > 0 else None, "samples_per_s": rate, "rate_scope": "global",
            "samples": _batch(seconds, examples_per_s, steps) if steps > 0 else None,
        }  # fmt: skip

    def put(self) -> None:
        if self.kept:
            self.rows.add("steps", self.kept[0], **self.kept[1])
            self.kept = None


def _batch(seconds: str, examples_per_s: str, steps: int) -> int | None:
    """The only whole number of samples a step that rounds to what was printed."""
    (span_s, time_off), (rate, rate_off) = (
        (float(text), half_of_last_digit(text)) for text in (seconds, examples_per_s)
    )
    return only_whole((span_s - time_off) * (rate - rate_off) / steps, (span_s + time_off) * (rate + rate_off) / steps)
