"""modded-nanogpt's lines of a step, after the source of the program that the log begins with.

Tool: modded-nanogpt, and the speed runs made from it
Versions: 2024 and later; times in ms, later some in s
Yields: steps, metrics, params
Source: modded-nanogpt/train_gpt.py

train_time is the time since the clock was set to zero (after ten steps, or the warm-up), without validation.  The time
of a step is what it grew by since the line before, of training or validation (`interval_mean`, since the clock does not
wait for the device); where its digits are too few for that, or no line is before, step_avg, a mean since that zero, `nan`
before.  Lines of training have a loss in some versions only.  What Parameter Golf's program prints before them is of the
job: its devices, and the tokens and the length of the sequences of a step.

Samples:
    step:353/1530 train_loss:3.6537 train_time:56329ms step_avg:164.22ms
    step:354/1530 train_time:56494ms step_avg:164.23ms
    step:375/1530 val_loss:3.6021 train_time:60000ms step_avg:164.38ms
    step:0/1530 val_loss:10.8258 train_time:0.001s step_avg:nanms
    peak memory consumption: 33756 MiB
    world_size:8 grad_accum_steps:1
    train_batch_tokens:524288 train_seq_len:1024 iterations:20000 warmup_steps:20 max_wallclock_seconds:600.000
"""

import math
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 4
ANCHORS = (
    " train_time:", " train_loss:", "peak memory consumption: ", "peak memory allocated: ", "world_size:",
    "train_batch_tokens:",
)  # fmt: skip

_FEWEST = 10  # units of the last digit of train_time within a step, for it to show the step's time
_N = r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
_RECORD = re.compile(rf"step:(\d+)/(\d+) ((?:\w+:{_N} )*)train_time:{_N}(ms|s)(?: step_avg:{_N}ms)?(?=\s|$)(.*)$")
_VALUE = re.compile(rf"\b(\w+):{_N}(?= |$)")
_BEGUN = re.compile(r"step:\d+/\d+ (?:train|val)_loss:\d")
_DEVICES = re.compile(r"world_size:(\d{1,6}) grad_accum_steps:(\d{1,6})\s*\Z")
_BATCH = re.compile(r"train_batch_tokens:(\d{1,12}) train_seq_len:(\d{1,9}) iterations:\d")
_MEMORY = re.compile(r"peak memory (?:consumption|allocated): (\d+) MiB")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.before: tuple[int, float] | None = None  # step and train_time of the last line

    def take(self, line: Line) -> bool:
        rows = self.rows
        if memory := _MEMORY.match(line.text):
            rows.metric(
                line.number, line.rank, line.location, rows.step, "peak memory", int(memory[1]) * 2.0**20, "bytes"
            )
            return True
        if stated := _DEVICES.match(line.text):
            rows.param("devices", int(stated[1]), line.number)
            return True
        if stated := _BATCH.match(line.text):
            tokens, length = int(stated[1]), int(stated[2])
            rows.param("seq_length", length, line.number)
            if length and tokens % length == 0:
                rows.param("global_batch_size", tokens // length, line.number)
            return True
        match = _RECORD.match(line.text)
        if not match:
            if not _BEGUN.match(line.text):
                return False  # a line of the program itself
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step, values = int(match[1]), {name: float(value) for name, value in _VALUE.findall(match[3] + match[8])}
        scale = 1000 if match[6] == "ms" else 1
        values["train_time"] = seconds = float(match[5]) / scale
        if "train_loss" in values or "val_loss" not in values:
            digit_s = 10.0 ** -len(match[5].partition(".")[2]) / scale
            self.row(line, step, match[7], values.pop("train_loss", None), self.span(step, seconds, digit_s))
        elif match[7] and match[7] != "nan":
            values["step_avg"] = float(match[7]) / 1000
        self.before = (step, seconds)
        named = [(name, value, "s" if name in ("train_time", "step_avg") else None) for name, value in values.items()]
        rows.metrics(line.number, line.rank, line.location, step, named)
        if step == int(match[2]) and "val_loss" in values:
            rows.param("outcome", "completed", line.number, origin="inferred")
        return True

    def span(self, step: int, seconds: float, digit_s: float) -> dict[str, Any]:
        """Time of a step, by what train_time grew since the line before; nothing where it shows none."""
        if self.before is None or step <= self.before[0] or math.isnan(seconds):
            return {}
        steps, span_s = step - self.before[0], seconds - self.before[1]
        if not span_s >= _FEWEST * digit_s:
            return {}
        return {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": "interval_mean"}

    def row(self, line: Line, step: int, average: str | None, loss: float | None, timed: dict[str, Any]) -> None:
        rows = self.rows
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        if not timed and average not in (None, "nan"):
            timed = {"step_s": float(average or "nan") / 1000, "value_kind": "running_mean"}
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            loss=loss, **timed,
        )  # fmt: skip
        rows.param("framework", "modded-nanogpt", line.number)
