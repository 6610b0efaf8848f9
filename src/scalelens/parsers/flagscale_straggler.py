"""FlagScale's straggler report: the time of each rank in the sections of a step.

Tool: FlagScale
Versions: 2025
Yields: metrics
Source: the straggler detection of FlagScale's training, by a report that it printed

A report names the ranks that it found slow, and below them the sections with the least, largest and mean time over the
ranks, and the time of each rank.

Samples:
    === Straggler Report at Step 10 ===
"""

import json

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("=== Straggler Report at Step ",)

_TITLE = re.compile(r"=== Straggler Report at Step (\d{1,15}) ===\s*$")
_MORE = re.compile(
    r"\s*$|.{0,4}(?:No s|S)tragglers detected|Section Timings \(ms\):|  \S.*:\s*$|    (?:Min: |Rank \d+: )",
    re.IGNORECASE,
)
_NAMED = re.compile(r".{0,4}Stragglers detected: (\[[\d, ]*\])\s*$")
_SECTION = re.compile(r"  (\S.{0,99}):\s*$")
_RANK = re.compile(r"    Rank (\d{1,9}): (\d+(?:\.\d+)?)ms\s*$")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.step = 0
        self.section: str | None = None

    def take(self, line: Line) -> bool:
        title = _TITLE.match(line.text)
        if title:
            self.step, self.section, self.claims = int(title[1]), None, _MORE
            self.metric(line, None, "straggler report", 1.0)
        return bool(title)

    def more(self, line: Line) -> None:
        if named := _NAMED.match(line.text):
            for rank in json.loads(named[1]):
                self.metric(line, rank, "straggler named", 1.0)
        elif section := _SECTION.match(line.text):
            self.section = section[1]
        elif (rank := _RANK.match(line.text)) and self.section:
            self.metric(line, int(rank[1]), f"straggler section {self.section}", float(rank[2]), "ms")
        elif "    Rank " in line.text:
            self.rows.problem(line.number, "the time of a rank is cut, or its section is missing", line.text)

    def metric(self, line: Line, rank: int | None, name: str, value: float, unit: str | None = None) -> None:
        self.rows.metric(line.number, rank, None, self.step, name, value, unit)
