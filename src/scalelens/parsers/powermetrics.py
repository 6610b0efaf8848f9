"""macOS's powermetrics: power of a Mac's processor and graphics, interval by interval.

Tool: powermetrics [-i MS] [-n N] [--samplers cpu_power,gpu_power]
Versions: macOS 10.11 to 15
Yields: power, energy
Source: macOS; closed, by its output

A sample is the mean over the milliseconds that its heading says, and ends at the time there: its energy is exact, and
`energy` has the sum of those that follow each other.  On Apple silicon `Combined Power` is CPU, GPU and ANE together
(scope `total`); on Intel `package power` is the processor with its graphics.  The activity since the start of the
machine, and powers of clusters and processes, are not read.

Samples:
    *** Sampled system activity (Fri Jan  2 03:04:06 2026 +0100) (1003.42ms elapsed) ***
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import as_utc
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1

_HEADER = re.compile(
    r"\s*\*\*\* Sampled system activity \((.{10,40}?)\) \((\d{1,9}(?:\.\d{1,6})?)ms elapsed\) \*\*\*\s*\Z"
)
_LIFETIME = re.compile(r"\s*\*\*\* Lifetime system activity \(")
_POWER = re.compile(
    r"(?:(CPU|GPU|ANE|Package|DRAM) Power|Combined Power \((CPU \+ GPU(?: \+ ANE)?)\)"
    r"|Intel energy model derived (package) power \(CPUs\+GT\+SA\)): (\d{1,9}(?:\.\d{1,6})? ?m?W)\s*\Z"
)
_SCOPES = {"CPU": "cpu", "GPU": "gpu", "ANE": "other", "Package": "total", "DRAM": "memory", "package": "cpu"}
_TIME = "%a %b %d %H:%M:%S %Y %z"


def recognise(head: bytes, name: str) -> bool:
    return b" system activity (" in head and any(
        _HEADER.match(line) or _LIFETIME.match(line) for line in head_lines(head)
    )


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    stamp: tuple[datetime, str] | None = None
    span_s: float | None = None  # of the sample that is open
    seen: set[Sensor] = set()
    energies: dict[Sensor, tuple[float, float, int]] = {}
    for number, text, whole in lines_of(source):
        if match := _HEADER.match(text):
            stamp, span_s, seen = _time_of(match[1]), float(match[2]) / 1e3, set()
            if stamp is None:
                rows.problem(number, "the time of the sample cannot be read", text)
        elif _LIFETIME.match(text):
            span_s = None
        elif span_s is not None and (match := _POWER.match(text)):
            word = match[1] or match[3]
            sensor = Sensor(None, word or match[2], _SCOPES[word] if word else "total")
            if not whole:
                rows.problem(number, MAY_BE_CUT, text)
            elif sensor not in seen:  # a second sampler prints the same again
                seen.add(sensor)
                power_w = samples.power(number, sensor, match[4], stamp)
                joules, seconds, _ = energies.get(sensor, (0.0, 0.0, 0))
                energies[sensor] = joules + (power_w or 0.0) * span_s, seconds + span_s, number
    ts, origin = stamp or (None, None)
    for sensor, (joules, seconds, line) in energies.items():
        rows.add(
            "energy", line, device=sensor.device, scope=sensor.scope, energy_j=joules or None, span_s=seconds,
            method="powermetrics", ts=ts, ts_origin=origin,
        )  # fmt: skip


def _time_of(text: str) -> tuple[datetime, str] | None:
    try:
        time = as_utc(datetime.strptime(text, _TIME), None)
    except ValueError:
        return None
    return (time, "utc") if time else None
