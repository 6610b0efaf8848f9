"""Energy of packages and memory that perf stat counts (RAPL).

Tool: perf stat -e power/energy-pkg/,power/energy-ram/ [-I MS] [--per-socket]
Versions: Linux 3.14 to 6.12
Yields: energy, power, metrics
Source: linux tools/perf/util/stat-display.c

Joules with two decimals, in the notation of the caller's language (1,373.00 or 1.373,00).  An interval (-I) is a sample
of `power` at its end, the mean over it; its time counts from perf's start.  Cores, graphics and the platform are within
the package or around it, and metrics.

Samples:
                 25.75 Joules power/energy-pkg/
         1.000746840               8.25 Joules power/energy-ram/
    S0-D0-C0              1               3.75 Joules power/energy-pkg/
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor

VERSION = 1
LATER = ("span_s",)  # printed after the counters
ANCHORS = (" Joules power/energy-", " seconds time elapsed")

_COUNTED = re.compile(
    r"\s*(?:(\d{1,9}[.,]\d{9})\s+)?(?:(S\d+(?:-[A-Z]+\d+)*)\s+\d+\s+)?([\d.,]+[.,]\d\d|<not counted>|<not supported>)"
    r" +Joules power/energy-(\w+)/"
)
_ELAPSED = re.compile(r"\s*(\d{1,9})[.,](\d{9}) seconds time elapsed\s*\Z")
_SCOPES = {"pkg": "cpu", "ram": "memory"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.began = self.now = 0.0  # of the interval
        self.open: list[dict[str, Any]] = []  # energies whose time is not told yet

    def take(self, line: Line) -> bool:
        if match := _ELAPSED.match(line.text):
            for row in self.open:
                row["span_s"] = float(f"{match[1]}.{match[2]}")
            told, self.open = bool(self.open), []
            return told  # else perf without energy
        match = _COUNTED.match(line.text)
        if not match:
            return False
        at, where, text, what = match.groups()
        if text[0] == "<":
            return True
        joules = int(re.sub(r"[.,]", "", text)) / 100
        if what not in _SCOPES:
            self.rows.metric(line.number, line.rank, line.location or where, None, f"energy-{what}", joules, "J")
        elif at:
            now = float(at.replace(",", "."))
            if now != self.now:
                self.began, self.now = (self.now if now > self.now else 0.0), now
            sensor = Sensor(None, where or what, _SCOPES[what])
            stamp = round(now * SECOND), "relative"
            self.samples.power(line.number, sensor, f"{joules / (self.now - self.began):.9g}", stamp)
        else:
            row = {"device": where or what, "scope": _SCOPES[what], "energy_j": joules}
            self.open.append(row | {"method": "counter", "span_s": None})
            self.rows.put("energy", line.number, self.open[-1])
        return True
