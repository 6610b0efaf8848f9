"""DeepSpeed's wall clock breakdown, with the logger's prefix before it.

Tool: DeepSpeed, wall_clock_breakdown
Versions: 0.3 (rank=0, forward_microstep), 0.9 and later (fwd_microstep)
Yields: metrics
Source: deepspeed/utils/timer.py, SynchronizedWallClockTimer.log(); deepspeed/utils/logging.py, log_dist()

Milliseconds of rank 0.  The parts nest: bwd_inner and bwd_allreduce are parts of bwd.  Without the logger's prefix it is
the line that Megatron-LM prints, and read as that.  No line says its step.

Samples:
    [2026-01-02 03:04:05,123] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 112.50 | bwd: 230.25 | bwd_inner: 200.10 | bwd_allreduce: 30.05 | step: 12.75
    [2026-01-02 03:04:05,123] [INFO] [logging.py:68:log_dist] [Rank 0] rank=0 time (ms) | forward_microstep: 112.50 | backward_microstep: 230.25
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("time (ms) |",)

_HEAD = re.compile(r"\[[\d :,-]{19,30}\] \[[A-Z]+\] \[\w+\.py:\d+:\w+\] \[Rank (\d+)\] (?:rank=\d+ )?time \(ms\) \|")
_TIMER = re.compile(r" ([A-Za-z_][\w ./-]{0,99}): (\d+\.\d+(?:e[-+]?\d+)?)\s*(?:\||$)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.search(line.text)
        if not head:
            return False
        timers, end = [], head.end()
        while match := _TIMER.match(line.text, end):
            timers.append((match[1], float(match[2]), "ms"))
            end = match.end()
        self.rows.metrics(line.number, int(head[1]), line.location, None, timers)
        if line.text[end:].strip() or not timers:
            self.rows.problem(line.number, "a timer holds no number, or the line is cut", line.text)
        return True
