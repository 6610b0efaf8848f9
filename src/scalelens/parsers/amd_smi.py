"""amd-smi metric and amd-smi monitor, as CSV, JSON or table.

Tool: amd-smi metric -p ... [-w S] --csv|--json, amd-smi monitor -p ... [-w S] [--csv]
Versions: ROCm 5.7 to 7.2
Yields: power, energy, metrics
Source: amdsmi_cli/amdsmi_commands.py, metric_gpu() and monitor(); amdsmi_logger.py

Columns change with each release and are found by name: timestamp (seconds since 1970, with -w alone), gpu,
socket_power, average_socket_power, current_socket_power or power_usage in watts, total_energy_consumption (-E) in joules
since the driver was loaded, gfx_clock in MHz (monitor -c).  Lists are in brackets, with quotation marks or without.  Rows are not in the order of time.
Of JSON the records of all devices are read: in a list, below gpu_data, or in several documents one after the other.

A device is a GPU; where only even ones give power (MI250X), each is a whole OAM.

Samples:
    timestamp,gpu,gfx_activity,socket_power,gfx_voltage,throttle_status
    1795238790,0,97,452,N/A,UNTHROTTLED
"""

import json
from collections.abc import Iterator
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of, watts, whole_packages
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME
from scalelens.tabular.cells import first_lines, lines_of

VERSION = 6
IN_HEAD = (b"socket_power", b"power_usage", b"total_energy_consumption", b"POWER ")

_POWERS = ("socket_power", "current_socket_power", "average_socket_power", "power_usage")
_ENERGY = "total_energy_consumption"
_CLOCKS = ("gfx_clock", "gfx_clk")
_TABLE = re.compile(r"\s*(?:TIMESTAMP +)?GPU +(?:XCP +)?POWER +[A-Z]")
_TABLE_CELL = re.compile(r"\S+(?: (?:W|°?C|%|MHz|[KMGT]?B(?:/s)?|[KMG]b/s)(?!\S))?")
_JSON = re.compile(rb'\s*[\[{].{0,200}?"gpu"\s*:', re.DOTALL)
_CUT = "the line is cut, or has other columns than the header"
_DOCUMENT = re.compile(r"[^\[{]*")
_Record = tuple[int, str, dict[str, str] | None]  # a line, its text, and its values by name where it has as many


def recognise(head: bytes, name: str) -> bool:
    if _JSON.match(head):
        return b'"socket_power"' in head or f'"{_ENERGY}"'.encode() in head
    first = first_lines(head)[:1]
    if not first or len(first[0]) > 20_000:
        return False
    names = {*_cells_of(first[0])} if "gpu" in first[0] else set()
    return bool(_TABLE.match(first[0])) or ("gpu" in names and bool(names & {*_POWERS, _ENERGY}))


def read(source: Source, rows: Rows) -> None:
    devices: set[str] = set()
    powered: set[str] = set()
    for _, _, values in _records(source):
        if values:
            devices.add(values["gpu"])
            if any((watts(values.get(name, "")) or 0) > 0 for name in _POWERS):
                powered.add(values["gpu"])
    packages = whole_packages(devices, powered)
    samples = Samples(rows)
    timeless = 0
    for number, text, values in _records(source):
        if values is None:
            cut = "the JSON is cut, damaged or of no device" if text[:1] in ("[", "{") else _CUT
            rows.problem(number, cut, text)
            continue
        stamp = stamp_of(values["timestamp"]) if "timestamp" in values else None
        if stamp is None and "timestamp" in values:
            rows.problem(number, UNREADABLE_TIME, text)
            continue
        timeless = timeless or (0 if stamp else number)
        sensor = Sensor(None, values["gpu"], "oam" if values["gpu"] in packages else "gpu")
        if power := next((name for name in _POWERS if name in values), None):
            samples.power(number, sensor, values[power], stamp)
        if clock := next((name for name in _CLOCKS if name in values), None):
            samples.clock(number, sensor, values[clock])
        if _ENERGY in values:
            samples.counter(number, sensor, values[_ENERGY].removesuffix(" J"), stamp, 1.0)
    samples.finish(_ENERGY)
    if timeless:
        rows.problem(timeless, "the samples have no time (amd-smi without -w): no energy follows from their powers")


def _records(source: Source) -> Iterator[_Record]:
    """Records of a table, a CSV or JSON; the values are None where the line cannot be read."""
    header: list[str] = []
    in_table = False
    for number, text, whole in lines_of(source):
        if not header and text.lstrip()[:1] in ("[", "{"):
            yield from _of_json(source)
            return
        if _TABLE.match(text):
            header, in_table = ["power_usage" if name == "POWER" else name.lower() for name in text.split()], True
            continue
        cells = _cells_of(text)
        if "gpu" in cells and {*cells} & {*_POWERS, _ENERGY}:
            header, in_table = cells, False
            continue
        cells = _TABLE_CELL.findall(text) if in_table else cells
        fits = whole and len(cells) == len(header)
        yield number, text, dict(zip(header, cells, strict=True)) if fits else None


def _of_json(source: Source) -> Iterator[_Record]:
    text = source.text().decode("utf-8", "replace")
    decoder, end, number = json.JSONDecoder(), 0, 1
    while (start := _DOCUMENT.match(text, end).end()) < len(text):  # type: ignore[union-attr]
        number += text.count("\n", end, start)
        try:
            document, stop = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            yield number, text[start : start + 200], None
            return
        listed = document.get("gpu_data", [document]) if isinstance(document, dict) else document
        for record in listed if isinstance(listed, list) else ():
            values = {name: _text_of(value) for name, value in _inner(record)}
            yield number, json.dumps(record)[:200], values if "gpu" in values else None
        number, end = number + text.count("\n", start, stop), stop


def _inner(record: Any) -> Iterator[tuple[str, Any]]:
    """What a record says of its device, its power and its energy."""
    for name, value in record.items() if isinstance(record, dict) else ():
        if name in ("power", "energy"):
            yield from _inner(value)
        elif name in ("timestamp", "gpu", _ENERGY, *_POWERS):
            yield name, value


def _text_of(value: Any) -> str:
    """A value that may have its unit next to it."""
    if isinstance(value, dict):
        unit = value.get("unit", "")
        return f"{value.get('value')} {unit}".strip()
    return str(value)


def _cells_of(text: str) -> list[str]:
    """Cells of a line; commas within brackets are of the cell."""
    cells: list[list[str]] = []
    inside = 0
    for piece in text.split(","):
        if inside:
            cells[-1].append(piece)
        else:
            cells.append([piece])
        inside = max(0, inside + piece.count("[") - piece.count("]"))
    return [",".join(cell).strip().strip('"') for cell in cells]
