"""Energy of packages and memory that perf stat counts (RAPL).

Tool: perf stat -e power/energy-pkg/,power/energy-ram/ [-I MS] [--per-socket] [-x SEPARATOR | -j]
Versions: Linux 3.14 to 6.12
Yields: energy, power, metrics
Source: linux tools/perf/util/stat-display.c

Joules with two decimals, in the notation of the caller's language (1,373.00 or 1.373,00).  An interval (-I) is a sample
of `power` at its end, the mean over it; its time counts from perf's start, and `energy` has the sum of the intervals,
which is exact.  Energies with a separator (-x) or as JSON (-j) have no duration without -I.  Cores, graphics and the platform are within
the package or around it, and metrics.

Samples:
                 25.75 Joules power/energy-pkg/
         1.000746840               8.25 Joules power/energy-ram/
    S0-D0-C0              1               3.75 Joules power/energy-pkg/
    1.000746840,8.25,Joules,power/energy-ram/,1000746840,100.00,,
    {"interval" : 1.000746840, "counter-value" : "8.250000", "unit" : "Joules", "event" : "power/energy-ram/", "event-runtime" : 1000746840}
"""

import json
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.values import amount

VERSION = 2
LATER = ("span_s",)  # printed after the counters
ANCHORS = (
    " Joules power/energy-", "Joules,power/energy-", "Joules;power/energy-", "Joules|power/energy-",
    "Joules\tpower/energy-", '"event" : "power/energy-', " seconds time elapsed",
)  # fmt: skip

_COUNTED = re.compile(
    r"\s*(?:(\d{1,9}[.,]\d{9})\s+)?(?:(S\d+(?:-[A-Z]+\d+)*)\s+\d+\s+)?([\d.,]+[.,]\d\d|<not counted>|<not supported>)"
    r" +Joules power/energy-(\w+)/"
)
_SEPARATED = re.compile(
    r"\s*(?:(\d{1,9}[.,]\d{9})[,;|\t])?(?:(S\d+(?:-[A-Z]+\d+)*)[,;|\t]\d+[,;|\t])?(\d{1,15}(?:\.\d{1,9})?|<not \w+>)"
    r"[,;|\t]Joules[,;|\t]power/energy-(\w+)/"
)
_ELAPSED = re.compile(r"\s*(\d{1,9})[.,](\d{9}) seconds time elapsed\s*\Z")
_SCOPES = {"pkg": "cpu", "ram": "memory"}


class _Counted(NamedTuple):
    """An energy."""

    at_s: float | None  # the end of its interval
    where: str | None
    joules: float | None  # None: not counted
    what: str

    @property
    def device(self) -> str:
        return self.where or self.what


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.samples = Samples(rows)
        self.began = self.now = 0.0  # of the interval
        self.open: list[dict[str, Any]] = []  # energies whose time is not told yet
        self.sums: dict[Sensor, tuple[float, float, float, int]] = {}  # of intervals: joules, begin, end, line

    def take(self, line: Line) -> bool:
        if match := _ELAPSED.match(line.text):
            for row in self.open:
                row["span_s"] = float(f"{match[1]}.{match[2]}")
            told, self.open = bool(self.open), []
            return told  # else perf without energy
        counted = _counted_in(line.text)
        if counted is None:
            return False
        if counted.joules is None:
            return True
        if counted.what not in _SCOPES:
            place = line.location or counted.where
            self.rows.metric(line.number, line.rank, place, None, f"energy-{counted.what}", counted.joules, "J")
        elif counted.at_s is not None:
            self._interval(line, counted.joules, counted.at_s, Sensor(None, counted.device, _SCOPES[counted.what]))
        else:
            row = {"device": counted.device, "scope": _SCOPES[counted.what], "energy_j": counted.joules}
            self.open.append(row | {"method": "counter", "span_s": None})
            self.rows.put("energy", line.number, self.open[-1])
        return True

    def _interval(self, line: Line, joules: float, now: float, sensor: Sensor) -> None:
        if now != self.now:
            if now < self.now:  # perf was started again
                self.finish()
            self.began, self.now = (self.now if now > self.now else 0.0), now
        stamp = round(now * SECOND), "relative"
        self.samples.power(line.number, sensor, f"{joules / (self.now - self.began):.9g}", stamp)
        total, first, _, _ = self.sums.get(sensor, (0.0, self.began, 0.0, 0))
        self.sums[sensor] = total + joules, first, now, line.number

    def finish(self) -> None:
        """The intervals of each sensor, added up."""
        for sensor, (joules, first, last, number) in self.sums.items():
            self.rows.add(
                "energy", number, device=sensor.device, scope=sensor.scope, energy_j=joules, method="counter",
                span_s=last - first,
            )  # fmt: skip
        self.sums = {}


def _counted_in(text: str) -> _Counted | None:
    """What a line says was counted."""
    if match := _COUNTED.match(text):
        at, where, joules, what = match.groups()
        count = None if joules[0] == "<" else int(re.sub(r"[.,]", "", joules)) / 100
    elif match := _SEPARATED.match(text):
        at, where, joules, what = match.groups()
        count = None if joules[0] == "<" else float(joules)
    elif text.lstrip().startswith("{"):
        return _of_json(text)
    else:
        return None
    return _Counted(float(at.replace(",", ".")) if at else None, where, count, what)


def _of_json(text: str) -> _Counted | None:
    try:
        record = json.loads(text)
        event = re.fullmatch(r"power/energy-(\w+)/.*", record["event"])
        if event is None or record.get("unit") != "Joules":
            return None
        at = record.get("interval")
        return _Counted(
            None if at is None else float(at), record.get("socket"), amount(record["counter-value"]), event[1]
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
