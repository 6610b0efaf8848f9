"""Energy of packages and memory that perf stat counts (RAPL).

Tool: perf stat -e power/energy-pkg/,power/energy-ram/ [-I MS] [--per-socket]
Versions: Linux 3.14 to 6.12
Yields: energy, metrics
Source: linux tools/perf/util/stat-display.c

Joules with two decimals, in the notation of the caller's language (1,373.00 or 1.373,00).  What a file counts of a
package is added up, intervals (-I) as well as runs of perf behind one another, and so is the time.  Cores, graphics and
the platform are within the package or around it, and metrics.

Samples:
                 25.75 Joules power/energy-pkg/
         1.000746840               8.25 Joules power/energy-ram/
    S0-D0-C0              1               3.75 Joules power/energy-pkg/
"""

import re

from scalelens.lines import Line
from scalelens.rows import Rows

VERSION = 1
ANCHORS = (" Joules power/energy-", " seconds time elapsed")

COUNTED = re.compile(
    r"\s*(?:(\d{1,9}[.,]\d{9})\s+)?(?:(S\d+(?:-[A-Z]+\d+)*)\s+\d+\s+)?([\d.,]+[.,]\d\d|<not counted>|<not supported>)"
    r" +Joules power/energy-(\w+)/"
)
ELAPSED = re.compile(r"\s*(\d{1,9})[.,](\d{9}) seconds time elapsed\s*\Z")
SCOPES = {"pkg": "cpu", "ram": "memory"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.joules: dict[
            tuple[str | None, str, str], tuple[float, int]
        ] = {}  # by node, device and what, with the line
        self.before = self.span_s = 0.0
        self.open = False  # a run of perf whose time is not told yet

    def take(self, line: Line) -> bool:
        if found := ELAPSED.match(line.text):
            if not self.open:
                return False  # perf, but no energy
            self.span_s, self.open, self.before = self.span_s + float(f"{found[1]}.{found[2]}"), False, 0.0
            return True
        found = COUNTED.match(line.text)
        if not found:
            return False
        at, where, text, what = found.groups()
        if at and (now := float(at.replace(",", "."))) != self.before:  # with -I no time is told at the end
            self.span_s, self.before = self.span_s + (now - self.before if now > self.before else now), now
        self.open = not at
        if text[0] != "<":
            key = (line.place, where or "", what)
            joules = int(re.sub(r"[.,]", "", text)) / 100
            self.joules[key] = (self.joules.get(key, (0.0, 0))[0] + joules, line.number)
        return True

    def finish(self) -> None:
        for (node, where, what), (joules, line) in self.joules.items():
            if what in SCOPES:
                self.rows.add(
                    "energy", line, node=node, device=where or what, scope=SCOPES[what], energy_j=joules,
                    span_s=self.span_s or None, method="counter",
                )  # fmt: skip
            else:
                self.rows.metric(line, None, where or None, None, f"energy-{what}", joules, "J")
