"""rocm-smi --showpower, as CSV.

Tool: rocm-smi --showpower [...] --csv, alone or in a loop
Versions: ROCm 5 to 7
Yields: power
Source: rocm_smi.py, showPower() and printCSV()

A row for each card; the column is `Average Graphics Package Power (W)` (to MI200), `Current Socket Graphics Package
Power (W)` (MI300) or both.  There is no time but that of a column timestamp which a script put before the others, or
that of a line with nothing but a time, as `date +%s` prints it, which holds for the rows behind it.  Without one the
powers stand without a time, and a problem says so.  `N/A (Secondary die)`: the other card of an MI250 has the power of
both, so it is a whole OAM.

Samples:
    device,Average Graphics Package Power (W)
    card0,237.0
    card1,N/A (Secondary die)
"""

import re

from scalelens.records import cells_of, head_lines, lines_of
from scalelens.rows import Rows
from scalelens.sensors import Samples, Sensor, stamp_of, watts, whole_packages
from scalelens.source import Source

VERSION = 1

POWER = re.compile(r"(?:Average|Current Socket) Graphics Package Power \((m?W)\)")
HEADER = re.compile(r"(?:[\w ]{1,20},)?device,.*Graphics Package Power \(m?W\)")
SCALES = {"W": 1.0, "mW": 1e-3}
LOOKED_AT = 5  # lines in which a header must stand


def recognise(head: bytes, name: str) -> bool:
    return any(HEADER.match(line) for line in head_lines(head)[:LOOKED_AT])


def read(source: Source, rows: Rows) -> None:
    packages = whole_packages(*devices(source))
    samples = Samples(rows)
    header: list[str] = []
    said = None
    timeless = 0
    for number, text, whole in lines_of(source):
        row = cells_of(text)
        if "device" in row:
            header = row
        elif len(row) == 1 and (alone := stamp_of(row[0])):
            said = alone
        elif not whole or len(row) != len(header):
            rows.problem(number, "the line is cut, or has other columns than the header", text)
        else:
            values = dict(zip(header, row, strict=True))
            stamp = said if header[0] == "device" else stamp_of(row[0])
            timeless = timeless or (0 if stamp else number)
            powers = [(values[name], SCALES[found[1]]) for name in header if (found := POWER.fullmatch(name))]
            known = [(text, scale) for text, scale in powers if watts(text) == watts(text)]
            sensor = Sensor(None, values["device"], "oam" if values["device"] in packages else "gpu")
            for power, scale in known[:1] or powers[:1]:
                samples.power(number, sensor, power, stamp, scale)
    if timeless:
        rows.problem(timeless, "the samples have no time (rocm-smi prints none): no energy follows from them")


def devices(source: Source) -> tuple[set[str], set[str]]:
    """All devices, and those that give power."""
    header: list[str] = []
    found: set[str] = set()
    powered: set[str] = set()
    for _, text, _ in lines_of(source):
        row = cells_of(text)
        if "device" in row:
            header = row
        elif len(row) == len(header):
            values = dict(zip(header, row, strict=True))
            found.add(values["device"])
            if any((watts(value) or 0) > 0 for name, value in values.items() if POWER.fullmatch(name)):
                powered.add(values["device"])
    return found, powered
