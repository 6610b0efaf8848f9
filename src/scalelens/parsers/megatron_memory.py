"""Megatron's memory report of a rank.

Tool: Megatron-LM and its forks
Versions: v1.0 to core 0.19
Yields: metrics
Source: megatron/training/utils.py, report_memory()

Several ranks may print onto one line.

Samples:
    [Rank 0] (after 10 iterations) memory (MB) | allocated: 1464.33154296875 | max allocated: 2000.5 | reserved: 3000.0 | max reserved: 3000.0
    [Rank 1] (before save_checkpoint for iteration 10) memory (MB) | allocated: 4337.30 | max allocated: 5446.25 | reserved: 13180.00 | max reserved: 63166.00
    after 10 iterations memory (MB) | allocated: 9075.26220703125 | max allocated: 14251.189453125 | cached: 16488.0 | max cached: 16488.0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("memory (MB) |",)

_REPORT = re.compile(r" memory \(MB\)((?: \| [a-z ]{1,99}: [\d.]+)+)")
_RANK = re.compile(r"\[Rank (\d+)\]")
_STEP = re.compile(r"after (\d+) iterations|iteration (\d+)")
_LEADING = 120  # characters before a report in which its rank and step are
_VALUE = re.compile(r"\| ([a-z ]+): ([\d.]+)")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        reports = list(_REPORT.finditer(line.text))
        for report in reports:
            before = line.text[max(report.start() - _LEADING, 0) : report.start()].rpartition("|")[2]
            rank, step = _RANK.search(before), _STEP.search(before)
            for name, value in _VALUE.findall(report[1]):
                try:
                    megabytes = float(value)
                except ValueError:
                    self.rows.problem(line.number, f"the memory '{name}' is not a number", line.text)
                    continue
                self.rows.metric(
                    line.number, int(rank[1]) if rank else line.rank, line.location,
                    int(step[1] or step[2]) if step else self.rows.step, f"memory {name}", megabytes * 1024**2, "bytes",
                )  # fmt: skip
        if len(reports) < line.text.count("memory (MB) |"):
            self.rows.problem(line.number, "a memory report is cut", line.text)
        return True
