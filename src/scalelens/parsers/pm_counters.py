"""HPE Cray EX power monitoring counters.

Tool: the node controller of HPE Cray EX, read as /sys/cray/pm_counters/*, copied or appended to a file for each counter
Versions: as on LUMI, ARCHER2, Frontier, Alps
Yields: power, energy
Source: /sys/cray/pm_counters of the node; HPE Cray EX power management

A line holds a value, its unit and the time of the node's clock in microseconds, which is not always that since 1970:
else `ts` counts from a zero of its own (ts_origin `relative`) and only differences of times mean something.  What is
counted is told by the path before the value (`grep . /sys/cray/pm_counters/*`), else by the end of the file's name.
A line read twice within the node's tenth of a second is flagged `stale`.  One reading of a counter is not an energy but a
metric.  Limits of power (power_cap) are metrics.

accelK is a slot: on LUMI-G one MI250X, which is a whole OAM; on others a GPU or a superchip, so that its scope is told
by no file and NULL.  `power` and `energy` are of the node behind its power supply.

Samples:
    /sys/cray/pm_counters/accel0_power:312 W 1795238790307355 us
    724 W 7810213855886 us
    12044825101 J 7810213855886 us
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import YEARS_2000_TO_2100
from scalelens.tabular.cells import first_lines, lines_of

VERSION = 3

_EARLIEST, _LATEST = (seconds * 10**6 for seconds in YEARS_2000_TO_2100)  # microseconds since 1970
_LINE = re.compile(r"(?:(\S{1,200}): ?)?(\d{1,18}) (W|J) (\d{1,18}) us")
_COUNTER = re.compile(r"(?:^|[_./-])((?:cpu\d?|memory|accel\d|gpu\d)?_?(?:power|energy)(?:_cap)?)(?:\.\w+)?$")
_SCOPES = {"": "node_dc", "cpu": "cpu", "memory": "memory"}
_JOINED = re.compile(r"([a-z]*)(\d?)_?(power_cap|power|energy)")


def recognise(head: bytes, name: str) -> bool:
    lines = first_lines(head)
    matches = [_LINE.fullmatch(text) if (text := line.strip()).endswith(" us") else None for line in lines]
    return bool(lines) and any(matches) and (any(match and match[1] for match in matches) or all(matches))


def read(source: Source, rows: Rows) -> None:
    named = _COUNTER.search(source.name)
    samples = Samples(rows)
    last: dict[str, int] = {}
    nameless = 0
    for number, text, whole in lines_of(source):
        match = _LINE.fullmatch(text.strip())
        if not match or not whole:
            if not re.match(r"\S*(?:freshness|generation|raw_scan_hz|startup|version)\b", text):
                rows.problem(number, "the line is cut, or does not hold a value and its time", text)
            continue
        counter_name = _COUNTER.search(match[1]) if match[1] else named
        if match[1] and not counter_name:
            rows.problem(number, f"{match[1]} is not a known counter", text)
            continue
        counter = counter_name[1] if counter_name else "power" if match[3] == "W" else "energy"
        nameless = nameless or (0 if counter_name else number)
        part = _JOINED.fullmatch(counter.lower())
        value, unit, us = match[2], match[3], int(match[4])
        if not part or (part[3] == "energy") != (unit == "J"):
            rows.problem(number, f"{counter} in {unit} is not a known counter", text)
            continue
        scope = _SCOPES.get(part[1]) if counter_name else None
        sensor = Sensor(None, (part[1] + part[2] or "node") if counter_name else None, scope)
        stamp: tuple[Moment, str] = us * 1000, "utc" if _EARLIEST < us < _LATEST else "relative"
        if part[3] == "power_cap":
            rows.metric(number, None, None, None, counter, float(value), "W")
        elif unit == "J":
            samples.counter(number, sensor, value, stamp, 1.0)
        elif last.get(counter) == us:
            rows.add(
                "power", number, device=sensor.device, scope=scope, ts=stamp[0], ts_origin=stamp[1],
                power_w=float(value), flag="stale",
            )  # fmt: skip
        else:
            samples.power(number, sensor, value, stamp)
        last[counter] = us
    samples.finish("energy")
    if nameless:
        rows.problem(nameless, "neither the line nor the name of the file says which counter it is")
