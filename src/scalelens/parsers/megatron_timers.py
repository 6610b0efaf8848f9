"""Megatron's timers: milliseconds per iteration of each part of a step.

Tool: Megatron-LM, Megatron-DeepSpeed, GPT-NeoX, DeepSpeed's wall clock breakdown
Versions: v1.0 to core 0.19
Yields: metrics
Source: megatron/core/timers.py, Timers.log(); v1.0 to v2.6: megatron/global_vars.py; DeepSpeed: utils/timer.py

One line up to v2.6, a block since: least and largest over the ranks, or the largest alone.  Values belong to the
record printed before them.

Samples:
    time (ms) | forward-compute: 306.62 | forward-recv: 527.58 | optimizer: 11.07
    (min, max) time across ranks (ms):
    INFO:megatron.core.timers:(min, max) time across ranks (ms):
    max time across ranks (ms):
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("time (ms) |", "time across ranks (ms):", "times across ranks (ms):")

_BEFORE = re.compile(r"(?:rank=\d+|\[Rank \d+\]|INFO:[\w.]+:)?$")
_INLINE = re.compile(r"([^|:]{1,99}): (-?[\d.]+(?:e[+-]?\d+)?)(?=\s*(?:\||$))")
_PAIR = re.compile(r"\s+(\S[^:]{0,399}): \(([\d.]+), ([\d.]+)\)\s*$")
_SINGLE = re.compile(r"\s+(\S[^:]{0,399}): ([\d.]+)\s*$")
_HEADING = re.compile(r"\s+(\S[^:]*):\s*$")
_EACH_RANK = re.compile(r"rank +(\d+)$")
_BLOCK = re.compile(r"\s+\S[^:|]*:(?: [\d.]+| \([\d.]+, [\d.]+\)|)\s*$")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.stat = "value"
        self.heading = ""

    def take(self, line: Line) -> bool:
        self.claims = None
        if "across ranks (ms):" in line.text:
            if not line.text.rstrip().endswith("ranks (ms):"):
                return False
            self.stat = "max" if "max" in line.text else "value"
            self.claims = _BLOCK
            return True
        before, _, values = line.text.partition("time (ms) |")
        if not _BEFORE.match(before.strip()):
            return False  # another tool's line, or text that quotes one
        timers = _INLINE.findall(values)
        for name, value in timers:
            self.metric(line, name.strip(), value, "value")
        if values.strip() and (not timers or values.count("|") + 1 - values.rstrip().endswith("|") > len(timers)):
            self.rows.problem(line.number, "a timer holds no number, or the line is cut", line.text)
        return True

    def more(self, line: Line) -> None:
        if match := _PAIR.match(line.text):
            name = _undotted(match[1])
            try:
                low, high = float(match[2]), float(match[3])
            except ValueError:
                self.rows.problem(line.number, f"the timer '{name}' holds no number", line.text)
                return
            self.rows.spread(line.number, line.rank, line.location, self.rows.step, name, low, high, "ms")
        elif match := _SINGLE.match(line.text):
            name = _undotted(match[1])
            if each := _EACH_RANK.match(name):
                self.metric(line, self.heading, match[2], "value", int(each[1]))
            else:
                self.metric(line, name, match[2], self.stat)
        elif match := _HEADING.match(line.text):
            self.heading = match[1]

    def metric(self, line: Line, name: str, value: str, stat: str, rank: int | None = None) -> None:
        try:
            number = float(value)
        except ValueError:
            self.rows.problem(line.number, f"the timer '{name}' holds no number", line.text)
            return
        self.rows.metric(
            line.number,
            rank if rank is not None else line.rank,
            line.location,
            self.rows.step,
            name,
            number,
            "ms",
            stat,
        )


def _undotted(name: str) -> str:
    """A timer's name without the dots that fill its column."""
    return name.rstrip(".").removesuffix(" ")
