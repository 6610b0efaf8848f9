"""Ticks of StyleGAN, EDM and what was made from them: objects of stats.jsonl, and lines of log.txt.

Tool: StyleGAN2-ADA, StyleGAN3, EDM, EDM2 (NVlabs)
Versions: PyTorch, 2020 and later
Yields: steps, metrics, params
Source: edm/training/training_loop.py, stylegan3/training/training_loop.py; torch_utils/training_stats.py

A tick is a number of images, not a step: it has no time of a step, but a rate, images of all ranks per second, which is
what `Timing/sec_per_kimg` says, a mean over the tick.  Each value is there as number, mean and deviation over what
was collected: the mean is the value.  `step` of a row is the tick.  A tick that comes again is a restart.
A logger's `[15:19:58 - training_loop - INFO]` may come before the line.

Samples:
    tick 2     kimg 8.0      time 16m 40s      sec/tick 151.9   sec/kimg 37.97   maintenance 0.2    cpumem 3.15   gpumem 6.34   augment 0.067
    {"Loss/loss": {"num": 64, "mean": 0.25, "std": 0.5}, "Progress/tick": {"num": 1, "mean": 1.0, "std": 0.0}, "Progress/kimg": {"num": 1, "mean": 4.0, "std": 0.0}, "Timing/sec_per_tick": {"num": 1, "mean": 37.5, "std": 0.0}, "Timing/sec_per_kimg": {"num": 1, "mean": 9.375, "std": 0.0}, "timestamp": 1772409600.5}
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import json_number
from scalelens.tabular.cells import time_stamp
from scalelens.units import UNITS

VERSION = 2
ANCHORS = ('"Timing/sec_per_kimg": {', '"Progress/tick": {', "sec/kimg ")

_UNITS = {
    "Timing/sec_per_kimg": "s",
    "Timing/sec_per_tick": "s",
    "Timing/total_sec": "s",
    "Timing/maintenance_sec": "s",
}
_N = r"(\d+(?:\.\d+)?)"
_LINE = re.compile(
    rf"(?:\[[^\[\]]{{1,80}}\] )?tick (\d{{1,9}}) +kimg {_N} .{{0,99}}\bsec/tick {_N} +sec/kimg {_N} +maintenance {_N}(?: +cpumem {_N})?"
    rf"(?: +gpumem {_N})?\b"
)
_NAMES = (
    "Progress/kimg", "Timing/sec_per_tick", "Timing/sec_per_kimg", "Timing/maintenance_sec", "Resources/cpu_mem_gb",
    "Resources/peak_gpu_mem_gb",
)  # fmt: skip
_GB = float(UNITS["GiB"].factor)  # as torch counts
_COLUMNS = {"Loss/loss": ("loss", 1.0), "Resources/peak_gpu_mem_gb": ("peak_memory_bytes", _GB)}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        text = line.text.strip()
        if match := _LINE.match(text):
            values = {name: float(part) for name, part in zip(_NAMES, match.groups()[1:], strict=True) if part}
            self.tick(line, int(match[1]), values, None)
            return True
        if not text.startswith("{"):
            return False
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        values = _means_of(record) if isinstance(record, dict) else {}
        tick = values.pop("Progress/tick", None)
        if tick is None or not tick.is_integer() or abs(tick) >= 2**31:
            self.rows.problem(line.number, "the record is cut, or does not name its tick", text)
            return True
        self.tick(line, int(tick), values, time_stamp(record.get("timestamp")))
        return True

    def tick(self, line: Line, tick: int, values: dict[str, float], stamp: tuple[Any, str] | None) -> None:
        rows = self.rows
        ts, ts_origin = stamp or (None, None)
        position = rows.attempt_of(line.number, tick, line.rank, line.location, ts)
        row: dict[str, Any] = {"attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"step": tick, "ts": ts, "ts_origin": ts_origin}
        if (seconds := values.get("Timing/sec_per_kimg", 0.0)) > 0:
            row |= {"samples_per_s": 1000 / seconds, "rate_scope": "global", "value_kind": "interval_mean"}
        row |= {column: values[name] * scale for name, (column, scale) in _COLUMNS.items() if name in values}
        rows.put("steps", line.number, row)
        named = [(name, value, _UNITS.get(name)) for name, value in values.items() if name not in _COLUMNS]
        rows.metrics(line.number, line.rank, line.location, tick, named)
        rows.param("framework", "pytorch", line.number, origin="inferred")


def _means_of(record: dict[str, Any]) -> dict[str, float]:
    """The mean of each value, by its name."""
    means = {name: json_number(value.get("mean")) for name, value in record.items() if isinstance(value, dict)}
    return {name: value for name, value in means.items() if value is not None}
