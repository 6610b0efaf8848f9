"""TensorBoard event files: their scalars.

Tool: TensorBoard, tf.summary of TensorFlow 1 and 2, torch.utils.tensorboard, tensorboardX; CatBoost
Versions: brain.Event:2; CatBoost writes no version
Yields: steps, metrics
Source: tensorboard/compat/proto/event.proto, summary.proto, tensor.proto; tensorflow/core/lib/io/record_writer.cc

Frames of length, checksum, event, checksum, of which the length's is verified.  A scalar is a `simple_value`, or a
tensor of one number, mostly of the precision of float32.  Histograms, images, graphs and texts are passed over.  `line`
is the number of the event.  The time at which a step was first written is the metric `wall_time`, in seconds since
1970: whatever lies between two of them, evaluation too, is in their difference.  What a step counts (iterations,
epochs, samples) is not said.  A tag that goes back to a step before its last one is a restart.

Detectron2 and MMEngine write `time` and `data_time`, seconds of an iteration: there steps have a time, a median or
mean over the last of them (running_mean), their loss and their learning rate.  Where one tag says by its name that it is
the time of a step, and its unit (`perf/step_time_s`, `train/step_time_ms`), its values are that; of several such tags
the first counts.  torchtitan's `time_metrics/end_to_end(s)` is the time since the values before, divided by the
interval of logging: that of the first step is left out, and that of the next is over one step less than the interval,
which is told where it is above two.  Its `loss_metrics/global_avg_loss` is the loss of these steps.
"""

import functools
import math
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from scalelens.parsing.protobuf import fields, signed
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import YEARS_2000_TO_2100
from scalelens.tabular.column_names import read_name
from scalelens.units import factors

VERSION = 3

_FRAME = 12  # bytes before an event: its length and that length's checksum
_FORMATS = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}  # of a tensor's content, by its dtype
_OF_A_STEP = {
    "time": "step_s", "data_time": "data_s", "total_loss": "loss", "loss": "loss", "lr": "learning_rate",
}  # fmt: skip
_STEP_TIME = "time of a step"
_BY_TORCHTITAN = "time_metrics/end_to_end(s)"  # torchtitan/components/metrics.py, log()
_LOSS_OF_TORCHTITAN = "loss_metrics/global_avg_loss"
_FIRST_OF_TORCHTITAN = 1  # the step that it logs beside the multiples of its interval
_TIMES = factors("s", "ms", "us", "ns", "min", "h")
_NUMBERS = {5: "<f", 6: "<d"}  # of a tensor's own fields


def recognise(head: bytes, name: str) -> bool:
    if head[12:13] != b"\x09" or len(head) < _FRAME + 10 or not _is_length(head[:_FRAME]):
        return False
    return b"brain.Event:" in head[20:48] or _is_time(struct.unpack_from("<d", head, 13)[0])


def _is_time(wall: float) -> bool:
    """Whether a number is a time in seconds since 1970, with which an event begins."""
    return YEARS_2000_TO_2100[0] < wall < YEARS_2000_TO_2100[1]


def _is_length(frame: bytes) -> bool:
    """Whether a frame's first eight bytes are what their checksum says: CRC-32C, rotated and shifted."""
    crc = 0xFFFFFFFF
    for byte in frame[:8]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF == int.from_bytes(frame[8:], "little")


def read(source: Source, rows: Rows) -> None:
    last: dict[str, tuple[int, int]] = {}  # step and restarts by tag
    written: tuple[int, int] | None = None
    timed = _TimedSteps(rows)
    for number, payload in enumerate(_frames(source, rows), 1):
        try:
            event = {field: value for field, value in fields(payload) if field in (1, 2, 5)}
            wall = struct.unpack("<d", event[1])[0] if 1 in event else math.nan
            values = [_scalar(value) for field, value in fields(event.get(5, b"")) if field == 1]
        except (ValueError, struct.error, TypeError):
            rows.problem(number, "the event is damaged")
            continue
        step = event.get(2, 0)
        step -= 2**64 if isinstance(step, int) and step >= 2**63 else 0
        if not isinstance(step, int) or abs(step) >= 2**63:
            rows.problem(number, "the step of the event is not a number")
            continue
        for tag, value in values:
            if value is None:
                continue
            before, attempt = last.get(tag, (step, rows.attempt))
            if step < before and attempt == rows.attempt:
                rows.attempt += 1
            last[tag] = step, rows.attempt
            if written != (step, rows.attempt) and 0 < wall < 1e11:
                rows.metric(number, None, None, step, "wall_time", wall, "s")
                written = step, rows.attempt
            rows.metric(number, None, None, step, tag, value)
            timed.take(number, step, tag, value)
    timed.finish()


class _Timing(NamedTuple):
    """The tag of the time of a step."""

    tag: str
    unit_s: float
    is_mean: bool  # over the steps since the value before


class _TimedSteps:
    """Rows of steps of trainers that write the time of one."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at: tuple[int, int] | None = None  # step and attempt
        self.values: dict[str, float] = {}
        self.line = 0
        self.timing: _Timing | None = None
        self.before: tuple[int, int] | None = None  # step and attempt of the time before

    def take(self, line: int, step: int, tag: str, value: float) -> None:
        if self.at != (step, self.rows.attempt):
            self.finish()
            self.at, self.line, self.values = (step, self.rows.attempt), line, {}
        if tag in _OF_A_STEP:
            self.values[tag] = value
        elif tag == _LOSS_OF_TORCHTITAN:
            self.values["loss"] = value
        elif self.timing is None or tag == self.timing.tag:
            self.timing = self.timing or _timing_of(tag)
            if self.timing:
                self.values[_STEP_TIME] = value * self.timing.unit_s

    def finish(self) -> None:
        """Ends the step that the last scalars were of."""
        if self.at and {"time", "data_time"} <= self.values.keys():
            step, attempt = self.at
            row: dict[str, Any] = {_OF_A_STEP[tag]: value for tag, value in sorted(self.values.items())}
            row |= {"attempt": attempt, "phase": "train", "step": step, "value_kind": "running_mean"}
            self.rows.put("steps", self.line, row)
        elif self.at and self.timing and _STEP_TIME in self.values:
            before, self.before = self.before, self.at
            steps = self.at[0] - before[0] if before and before[1] == self.at[1] else 0
            if self.timing.is_mean and before and before[0] == _FIRST_OF_TORCHTITAN and steps > 1:
                self.values[_STEP_TIME] *= self.at[0] / steps
            if steps or not self.timing.is_mean:
                self.rows.add(
                    "steps", self.line, attempt=self.at[1], phase="train", step=self.at[0],
                    step_s=self.values[_STEP_TIME], averaged_steps=steps if self.timing.is_mean else 1,
                    value_kind="interval_mean" if self.timing.is_mean else "instant", loss=self.values.get("loss"),
                )  # fmt: skip
        self.at = None


@functools.lru_cache
def _timing_of(tag: str) -> _Timing | None:
    """What a tag says that is the time of a step, with its unit; None for others."""
    role, unit = read_name(tag)
    if tag == _BY_TORCHTITAN:
        return _Timing(tag, 1.0, is_mean=True)
    return _Timing(tag, _TIMES[unit], is_mean=False) if role == "batch_time" and unit in _TIMES else None


def _frames(source: Source, rows: Rows) -> Iterator[bytes]:
    """The events of a file, as bytes."""
    rest, count = b"", 0
    for block in source.chunks():
        rest += block
        at = 0
        while len(rest) - at >= _FRAME:
            if not _is_length(rest[at : at + _FRAME]):
                rows.problem(
                    count + 1, "the length of the event does not agree with its checksum: nothing more is read"
                )
                return
            end = at + _FRAME + int.from_bytes(rest[at : at + 8], "little") + 4
            if end > len(rest):
                break
            count += 1
            yield rest[at + _FRAME : end - 4]
            at = end
        rest = rest[at:]
    if rest:
        rows.problem(count + 1, "the file is cut within an event")


def _scalar(message: bytes) -> tuple[str, float | None]:
    """Tag and number of a summary's value; None for a value that is not a scalar."""
    value = {field: content for field, content in fields(message) if field in (1, 2, 8)}
    tag = value.get(1, b"").decode("utf-8", "replace")
    if 2 in value:
        return tag, float(struct.unpack("<f", value[2])[0])
    numbers: list[float] = []
    dtype = 0
    for field, content in fields(value.get(8, b"")):
        if field == 1:
            dtype = content
        elif field == 4 and dtype in _FORMATS and len(content) == struct.calcsize(_FORMATS[dtype]):
            numbers += struct.unpack(_FORMATS[dtype], content)
        elif field in _NUMBERS and len(content) == struct.calcsize(_NUMBERS[field]):
            numbers += struct.unpack(_NUMBERS[field], content)
        elif field in (7, 10) and isinstance(content, int):
            numbers.append(signed(content))
    return tag, float(numbers[0]) if len(numbers) == 1 else None
