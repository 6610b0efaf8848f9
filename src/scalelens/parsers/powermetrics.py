"""macOS's powermetrics: power of a Mac's processor and graphics, interval by interval.

Tool: powermetrics [-i MS] [-n N] [--samplers cpu_power,gpu_power] [--format plist]
Versions: macOS 10.11 to 15
Yields: power, energy
Source: macOS; closed, by its output

A sample is the mean over the milliseconds that its heading says, and ends at the time there: its energy is exact, and
`energy` has the sum of those that follow each other.  On Apple silicon `Combined Power` is CPU, GPU and ANE together
(scope `total`); on Intel `package power` is the processor with its graphics.  The activity since the start of the
machine, and powers of clusters and processes, are not read.  Property lists (-f plist) follow each other, each with
milliwatts (Apple) or watts of the package (Intel) and its time in UTC.

Samples:
    *** Sampled system activity (Fri Jan  2 03:04:06 2026 +0100) (1003.42ms elapsed) ***
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from xml.parsers.expat import ExpatError

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import as_utc
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1
IN_HEAD = (b"<plist", b" system activity (")

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


_DICTIONARY = b"<plist"
_ELAPSED = b"<key>elapsed_ns</key>"
_IN_PLIST = {  # the sensor of a key of `processor`, and its unit in watts
    "cpu_power": ("CPU", 1e-3), "gpu_power": ("GPU", 1e-3), "ane_power": ("ANE", 1e-3),
    "combined_power": ("CPU + GPU + ANE", 1e-3), "package_watts": ("package", 1.0),
}  # fmt: skip
_MOST_BYTES = 64 << 20


def recognise(head: bytes, name: str) -> bool:
    if _DICTIONARY in head[:400] and _ELAPSED in head:
        return True
    return any(_HEADER.match(line) or _LIFETIME.match(line) for line in head_lines(head))


def read(source: Source, rows: Rows) -> str | None:
    if _DICTIONARY in source.text_head()[:400]:
        return _read_plists(source, rows)
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
    _add(rows, energies, stamp)
    return None


def _add(rows: Rows, energies: dict[Sensor, tuple[float, float, int]], stamp: tuple[datetime, str] | None) -> None:
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


def _read_plists(source: Source, rows: Rows) -> str | None:
    """Samples as property lists, which a NUL divides."""
    if source.size_bytes > _MOST_BYTES:
        return "property lists of powermetrics of more than 64 MB, which are not read"
    samples = Samples(rows)
    energies: dict[Sensor, tuple[float, float, int]] = {}
    stamp: tuple[datetime, str] | None = None
    for record, line in _plists(source.text(), rows):
        time, elapsed, processor = (record.get(name) for name in ("timestamp", "elapsed_ns", "processor"))
        if not isinstance(elapsed, int) or not isinstance(processor, dict):
            rows.problem(line, "a sample without powers of a processor, or without its duration")
            continue
        utc = as_utc(time.replace(tzinfo=None), UTC) if isinstance(time, datetime) else None
        stamp = (utc, "utc") if utc else None
        for key, (word, scale) in _IN_PLIST.items():
            value = processor.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                sensor = Sensor(None, word, _SCOPES.get(word, "total"))
                power_w = samples.power(line, sensor, str(value), stamp, scale)
                joules, seconds, _ = energies.get(sensor, (0.0, 0.0, 0))
                span_s = elapsed / SECOND
                energies[sensor] = joules + (power_w or 0.0) * span_s, seconds + span_s, line
    _add(rows, energies, stamp)
    return None


def _plists(content: bytes, rows: Rows) -> Iterator[tuple[dict[str, Any], int]]:
    import plistlib  # with a parser of XML, which few files need

    line = 1
    for part in content.split(b"\0"):
        if part.strip():
            try:
                record = plistlib.loads(part.strip(), fmt=plistlib.FMT_XML)
            except (ExpatError, ValueError, TypeError, AttributeError, LookupError, RecursionError, OverflowError):
                record = None
            if isinstance(record, dict):
                yield record, line
            else:
                rows.problem(line, "the property list is cut or damaged", part[:200].decode("utf-8", "replace"))
        line += part.count(b"\n")
