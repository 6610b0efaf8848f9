"""torchtitan's record of a step.

Tool: torchtitan
Versions: 2024 (wps), 2025 (tps, tflops, grad_norm) and later
Yields: steps, metrics, params
Source: torchtitan/components/metrics.py, MetricsProcessor.log() and log_validation(); 2024: train.py

tps is tokens per second of one device, a mean over the steps since the record before; the first step is printed whatever
the interval.  With the batch and the devices known from the log, the time of a step follows as the tool had it before
it divided.  Memory is the largest reserved since the record before.  One rank prints, the last stage's, or all do, with
a label or without.

Samples:
    [rank0]:[titan] 2026-05-03 01:27:07,868 - root - INFO - step:  3  loss:  5.48931  grad_norm:  0.3290  memory:  5.52GiB(17.60%)  tps: 1,201  tflops: 1.22  mfu: 0.39%
    2024-07-03 01:27:07,868 - root - INFO - step: 10  loss:  7.4893  memory: 35.52GiB(37.35%)  wps: 8,201  mfu: 40.39%
    [titan] 2026-05-03 01:27:07,868 - root - INFO - validate step: 20  loss:  5.4893  memory:  5.52GiB(17.60%)  tps: 1,201
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Training starts at step 1, with local batch size 8, global batch size 32, sequence length 2048, total steps 100 (warmup 2)
"""

import math
import re

from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = ("step: ", "-D device mesh with [", "Training starts at step ")

_N = r"(-?(?:\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))"
_RECORD = re.compile(rf"(?:^|- )(validate )?step: +(\d+)  loss: +{_N}  (?=[a-z_]+: )")
_CUT = re.compile(r"- INFO - (?:validate )?step: [\d ]*(?:loss: *[\d.]*|l?o?s?s?) *$")
_FIELD = re.compile(rf"([a-z_]+): +(?:{_N}(%|GiB|s)?|N/A)(?:\({_N}%\))?(?:  |\s*$)")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - ")
_MESH = re.compile(r"Building \d-D device mesh with \[((?:'\w+'(?:, )?)+)\], \[([\d, ]+)\]\s*$")
_START = re.compile(
    r"Training starts at step \d+, with local batch size (\d+), global batch size (\d+), (.*)total steps (\d+)"
)
_SEQUENCE = re.compile(r"sequence length (\d+)")
_COLUMNS = {"grad_norm": "grad_norm", "tflops": "tflops_per_device"}
_UNITS = {"tps": "tokens/s", "wps": "tokens/s", "mfu": "%"}
_DEGREES = {"tp": "tp", "pp": "pp", "cp": "cp"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.attempts: dict[int | None, int] = {}
        self.started: set[int | None] = set()  # ranks that have begun, again or for the first time

    def take(self, line: Line) -> bool:
        if match := _RECORD.search(line.text):
            return self.record(line, match)
        if _CUT.search(line.text):
            self.rows.problem(line.number, "the record is cut", line.text)
            return True
        return self.settings(line)

    def settings(self, line: Line) -> bool:
        rows = self.rows
        if mesh := _MESH.search(line.text):
            names, sizes = re.findall(r"\w+", mesh[1]), [int(size) for size in re.findall(r"\d+", mesh[2])]
            rows.param("devices", math.prod(sizes), line.number)
            for name, size in zip(names, sizes, strict=False):
                rows.param(_DEGREES.get(name, f"{name}_degree"), size, line.number)
        elif start := _START.search(line.text):
            self.started.add(line.rank)
            if line.rank is None:
                rows.launched()
            rows.param("micro_batch_size", int(start[1]), line.number)
            rows.param("global_batch_size", int(start[2]), line.number)
            rows.param("max_steps", int(start[4]), line.number)
            if sequence := _SEQUENCE.search(start[3]):
                rows.param("seq_length", int(sequence[1]), line.number)
        else:
            return False
        return True

    def record(self, line: Line, match: re.Match[str]) -> bool:
        rows, step, values, end = self.rows, int(match[2]), dict[str, float](), match.end()
        while field := _FIELD.match(line.text, end):
            if field[2]:
                values[field[1]] = float(field[2].replace(",", "")) * (1024**3 if field[3] == "GiB" else 1)
            end = field.end()
        speed = values.get("tps", values.get("wps"))
        if end < len(line.text.rstrip()) or speed is None:
            if "memory" not in values and " - INFO - " not in line.text:
                return False
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        stamp = _STAMP.search(line.text, 0, match.start() + 2)
        ts = line_time(stamp[1] if stamp else None, line, rows)
        phase, averaged = "validation" if match[1] else "train", 1 if step == 1 else None
        if phase == "train":
            position = rows.attempt_of(line.number, step, line.rank, line.location, ts, once=line.rank in self.started)
            if position.before is not None:
                averaged = step - position.before
            self.started.discard(line.rank)
            self.attempts[line.rank] = position.attempt
        tokens = _product(rows.params.get("global_batch_size"), rows.params.get("seq_length"))
        whole = _product(speed, rows.params.get("devices"))
        rows.add(
            "steps", line.number, attempt=self.attempts.get(line.rank, 0), rank=line.rank, place=line.location,
            phase=phase, step=step, loss=float(match[3].replace(",", "")), averaged_steps=averaged, rate_scope="rank",
            value_kind="instant" if averaged == 1 else "interval_mean",
            step_s=tokens / whole if tokens and whole and phase == "train" else None,
            tokens=tokens if phase == "train" else None, peak_memory_bytes=values.get("memory"),
            ts=ts, ts_origin="naive" if ts else None,
            **{column: values.get(name) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        others = [(k, v, _UNITS.get(k)) for k, v in values.items() if k not in _COLUMNS and k != "memory"]
        rows.metrics(line.number, line.rank, line.location, step, others)
        rows.param("framework", "torchtitan", line.number)
        return True


def _product(one: float | int | None, other: float | int | None) -> float | None:
    return float(one) * float(other) if one is not None and other is not None else None
