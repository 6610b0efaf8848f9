"""amd-smi metric, as CSV.

Tool: amd-smi metric -p ... [-w S] --csv
Versions: ROCm 5.7 to 7.2
Yields: power, energy
Source: amdsmi_cli/amdsmi_commands.py, metric_gpu(); amdsmi_logger.py

Columns change with each release and are found by name: timestamp (seconds since 1970, with -w alone), gpu,
socket_power, average_socket_power or current_socket_power in watts, total_energy_consumption (-E) in joules since the
driver was loaded.  Lists stand in brackets, with quotation marks or without.  Rows are not in the order of time.

A device is a GPU; where only even ones give power (MI250X), each is a whole OAM.

Samples:
    timestamp,gpu,gfx_activity,socket_power,gfx_voltage,throttle_status
    1795238790,0,97,452,N/A,UNTHROTTLED
"""

from scalelens.records import head_lines, lines_of
from scalelens.rows import Rows
from scalelens.sensors import Samples, Sensor, stamp_of, watts, whole_packages
from scalelens.source import Source

VERSION = 1

POWERS = ("socket_power", "current_socket_power", "average_socket_power")
ENERGY = "total_energy_consumption"


def recognise(head: bytes, name: str) -> bool:
    first = head_lines(head)[:1]
    names = {*cells_of(first[0])} if first and "gpu" in first[0] and len(first[0]) < 20_000 else set()
    return "gpu" in names and bool(names & {*POWERS, ENERGY})


def read(source: Source, rows: Rows) -> None:
    packages = whole_packages(*devices(source))
    samples = Samples(rows)
    header: list[str] = []
    timeless = 0
    for number, text, whole in lines_of(source):
        cells = cells_of(text)
        if "gpu" in cells and {*cells} & {*POWERS, ENERGY}:
            header = cells
            continue
        if not whole or len(cells) != len(header):
            rows.problem(number, "the line is cut, or has other columns than the header", text)
            continue
        values = dict(zip(header, cells, strict=True))
        stamp = stamp_of(values["timestamp"]) if "timestamp" in values else None
        if stamp is None and "timestamp" in values:
            rows.problem(number, "the time is none", text)
            continue
        timeless = timeless or (0 if stamp else number)
        sensor = Sensor(None, values["gpu"], "oam" if values["gpu"] in packages else "gpu")
        if power := next((name for name in POWERS if name in values), None):
            samples.power(number, sensor, values[power], stamp)
        if ENERGY in values:
            samples.counter(number, sensor, values[ENERGY].removesuffix(" J"), stamp, 1.0)
    samples.finish(ENERGY)
    if timeless:
        rows.problem(timeless, "the samples have no time (amd-smi without -w): no energy follows from their powers")


def devices(source: Source) -> tuple[set[str], set[str]]:
    """All devices, and those that give power."""
    header: list[str] = []
    found: set[str] = set()
    powered: set[str] = set()
    for _, text, _ in lines_of(source):
        cells = cells_of(text)
        if "gpu" in cells:
            header = cells
        elif len(cells) == len(header):
            values = dict(zip(header, cells, strict=True))
            found.add(values["gpu"])
            if any((watts(values.get(name, "")) or 0) > 0 for name in POWERS):
                powered.add(values["gpu"])
    return found, powered


def cells_of(text: str) -> list[str]:
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
