"""rocm-smi --showpower, as CSV or JSON.

Tool: rocm-smi --showpower [...] --csv|--json, alone or in a loop
Versions: ROCm 5 to 7
Yields: power
Source: rocm_smi.py, showPower() and printCSV()

A row for each card, or a line of JSON for all of them; the column is `Average Graphics Package Power (W)` (to MI200), `Current Socket Graphics Package
Power (W)` (MI300) or both.  The only time is that of a column which a script put before the others, or called timestamp, time or date, or
that of a line with nothing but a time, as `date +%s` prints it, which holds for the rows after it.  Without one the
powers have no time, and a problem says so.  `N/A (Secondary die)`: the other card of an MI250 has the power of
both, so it is a whole OAM.

Samples:
    device,Average Graphics Package Power (W)
    card0,237.0
    card1,N/A (Secondary die)
"""

import json
from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of, watts, whole_packages
from scalelens.parsing.source import Source
from scalelens.tabular.cells import cells_of, first_lines, lines_of
from scalelens.units import factors

VERSION = 4
IN_HEAD = (b"Graphics Package Power (",)

_POWER = re.compile(r"(?:Average|Current Socket) Graphics Package Power \((m?W)\)")
_OBJECT = re.compile(r'\s*\{"card\d+": \{.*Graphics Package Power \(m?W\)"')
_HEADER = re.compile(r"(?:[\w ]{1,20},)?device,.*Graphics Package Power \(m?W\)")
_SCALES = factors("W", "mW")
_TIMES = ("timestamp", "time", "date", "datetime")
_LOOKED_AT = 5  # lines in which a header must be


def recognise(head: bytes, name: str) -> bool:
    return any(_HEADER.match(line) or _OBJECT.match(line) for line in first_lines(head)[:_LOOKED_AT])


def read(source: Source, rows: Rows) -> None:
    devices: set[str] = set()
    powered: set[str] = set()
    for _, _, values in _records(source):
        if values and "device" in values:
            devices.add(values["device"])
            if any((watts(value) or 0) > 0 for name, value in values.items() if _POWER.fullmatch(name)):
                powered.add(values["device"])
    packages = whole_packages(devices, powered)
    samples = Samples(rows)
    line_stamp = None
    timeless = 0
    for number, text, values in _records(source):
        if values is None:
            rows.problem(number, "the line is cut, or has other columns than the header", text)
        elif "device" not in values:
            line_stamp = stamp_of(text)
        else:
            column = next((name for name in values if name.lower() in _TIMES), next(iter(values)))
            stamp = line_stamp if column == "device" else stamp_of(values[column])
            timeless = timeless or (0 if stamp else number)
            powers = [(value, _SCALES[named[1]]) for name, value in values.items() if (named := _POWER.fullmatch(name))]
            known = [(power, scale) for power, scale in powers if watts(power) == watts(power)]
            sensor = Sensor(None, values["device"], "oam" if values["device"] in packages else "gpu")
            for power, scale in known[:1] or powers[:1]:
                samples.power(number, sensor, power, stamp, scale)
    if timeless:
        rows.problem(timeless, "the samples have no time (rocm-smi prints none): no energy follows from them")


def _records(source: Source) -> Iterator[tuple[int, str, dict[str, str] | None]]:
    """Values of each card by name; an empty dict for a line that only holds a time, None for a line that is cut."""
    header: list[str] = []
    for number, text, whole in lines_of(source):
        row = cells_of(text)
        if text.lstrip().startswith('{"'):
            yield from _of_json(number, text)
        elif "device" in row:
            header = row
        elif len(row) == 1 and stamp_of(row[0]):
            yield number, row[0], {}
        else:
            yield number, text, dict(zip(header, row, strict=True)) if whole and len(row) == len(header) else None


def _of_json(number: int, text: str) -> Iterator[tuple[int, str, dict[str, str] | None]]:
    try:
        cards = json.loads(text)
        for card, fields in cards.items():
            if card.startswith("card"):
                yield number, text, {"device": card} | {name: str(value) for name, value in fields.items()}
    except (ValueError, AttributeError, RecursionError):
        yield number, text, None
