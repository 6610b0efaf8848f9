"""nvidia-smi dmon.

Tool: nvidia-smi dmon -s p... [-o DT]
Versions: drivers 384 to 580
Yields: power, metrics
Source: nvidia-smi dmon -h

Columns depend on -s and on the driver, and are found by their names; the second line with a hash has the units.  Both
come again every few rows.  Times are local (--tz) and there are none without -o DT, and no date with -o T: then the
powers have no time, and a problem says so.  A dash stands for no value.  pclk (-s c) is the clock of the compute
units, in MHz.

Samples:
    #Date       Time        gpu    pwr  gtemp  mtemp     sm
    #YYYYMMDD   HH:MM:SS    Idx      W      C      C      %
     20260102   03:04:05      0     37     19      -      0
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME
from scalelens.tabular.cells import first_lines, lines_of
from scalelens.units import factors

VERSION = 4
IN_HEAD = (b"pwr",)

_DATE = re.compile(r"(\d{4})(\d\d)(\d\d)")
_SCALES = factors("W", "mW")


def recognise(head: bytes, name: str) -> bool:
    first = first_lines(head)[:1]
    return bool(first) and first[0].startswith("#") and {"gpu", "pwr"} <= {*_cells_of(first[0])}


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    header: list[str] = []
    unit, timeless = "W", 0
    for number, text, whole in lines_of(source):
        cells = _cells_of(text)
        if text.startswith("#"):
            if {"gpu", "pwr"} <= {*cells}:
                header = cells
            elif header and len(cells) == len(header):
                unit = cells[header.index("pwr")]
            continue
        if not whole or len(cells) != len(header):
            rows.problem(number, "the line is cut, or has other columns than the header", text)
            continue
        if unit not in _SCALES:
            rows.problem(number, f"power in {unit} is not known", text)
            continue
        values = dict(zip(header, cells, strict=True))
        stamp: tuple[Moment, str] | None = None
        if "Date" in values and "Time" in values:
            date = _DATE.sub(r"\1-\2-\3", values["Date"])
            stamp = stamp_of(f"{date} {values['Time']}")
            if stamp is None:
                rows.problem(number, UNREADABLE_TIME, text)
                continue
        else:
            timeless = timeless or number
        sensor = Sensor(None, values["gpu"], "gpu")
        samples.power(number, sensor, values["pwr"], stamp, _SCALES[unit])
        if "pclk" in values:
            samples.clock(number, sensor, values["pclk"])
    if timeless:
        rows.problem(timeless, "the samples have no date and time (dmon without -o DT): no energy follows from them")


def _cells_of(text: str) -> list[str]:
    return re.sub("[#,]", " ", text).split()
