"""dcgmi dmon.

Tool: dcgmi dmon -e 155[,156,...]
Versions: DCGM 2 to 4
Yields: power, energy, metrics
Source: dcgmi/DeviceMonitor.cpp

Columns are the short names of the fields that were asked for: POWER, POWR or PWR in watts, TOTEC in millijoules since
the driver was loaded, SMCLK in MHz.  A line of units may follow; both come again every few rows.  There is no time: one that a
script put before each line, as seconds since 1970 or a date, is read; without it the powers have no time, and
a problem says so.  A MIG instance (GPU-I) has no power of its own.

Samples:
    #Entity   POWER   TOTEC            SMCLK
    ID        W       mJ               MHz
    GPU 0     120.5   15152422938      1410
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import first_lines, lines_of
from scalelens.units import factors

VERSION = 5
IN_HEAD = (b"Entity",)

_POWERS = ("POWER", "POWR", "PWR")
_ENERGY = "TOTEC"
_CLOCK = "SMCLK"
_HEADER = re.compile(r"(.{0,40}?)# ?Entity\s+(\S.*)")
_UNITS = re.compile(r"(.{0,40}?)\bI[Dd]\b(.*)")
_ROW = re.compile(r"(.{0,40}?)\b(GPU|CPU|GPU-I|GPU-CI|Switch) (\d{1,4})\s+(\S.*)")
_SCALES = factors("W", "mW", "mJ", "J")
_SCOPES = {"GPU": "gpu", "CPU": "cpu", "Switch": "switch"}


def recognise(head: bytes, name: str) -> bool:
    first = next((match for line in first_lines(head)[:3] if (match := _HEADER.fullmatch(line.rstrip()))), None)
    return bool(first) and bool({*(first[2] if first else "").split()} & {*_POWERS, _ENERGY})


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    header: list[str] = []
    units: dict[str, str] = {}
    timeless = 0
    for number, text, whole in lines_of(source):
        if match := _HEADER.fullmatch(text.rstrip()):
            header = match[2].split()
        elif match := _ROW.fullmatch(text.rstrip()):
            before, kind, device, rest = match.groups()
            values = rest.split()
            if not whole or len(values) != len(header):
                rows.problem(number, "the line is cut, or has other columns than the header", text)
                continue
            stamp = stamp_of(before)
            timeless = timeless or (0 if stamp else number)
            sensor = Sensor(None, device if kind in _SCOPES else f"{kind} {device}", _SCOPES.get(kind))
            for name, value in zip(header, values, strict=True):
                if name in _POWERS:
                    samples.power(number, sensor, value, stamp, _SCALES.get(units.get(name, ""), _SCALES["W"]))
                elif name == _ENERGY:
                    samples.counter(number, sensor, value, stamp, _SCALES.get(units.get(name, ""), _SCALES["mJ"]))
                elif name == _CLOCK:
                    samples.clock(number, sensor, value)
        elif match := _UNITS.fullmatch(text.rstrip()):
            names = match[2].split()
            units = dict(zip(header, names, strict=True)) if len(names) == len(header) else {}
        else:
            rows.problem(number, "the line is neither a header nor a row", text)
    samples.finish(_ENERGY)
    if timeless:
        rows.problem(timeless, "the samples have no time (dcgmi dmon prints none): no energy follows from their powers")
