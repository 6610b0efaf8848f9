"""turbostat: power or energy of a node's processors, interval by interval.

Tool: turbostat [--Summary] [--Joules] [--interval S] [--show ...] [--out FILE] [command]
Versions: Linux 3.8 to 6.12
Yields: power, energy
Source: linux tools/power/x86/turbostat/turbostat.c, print_header(), format_counters(), fork_it()

Of each interval the row for all processors is read (`-`, or each row of --Summary): PkgWatt is the sum of the packages, CorWatt and GFXWatt are parts of it, RAMWatt the memory, SysWatt the platform.  A row is the mean over the
interval before it; Time_Of_Day_Seconds is its end.  Without that column there are no times, and powers give no energy.
Where turbostat ran a command it prints how long that took: its one row times that time is the energy.  With --Joules
each row is the energy of its interval, and all of them follow each other.

Samples:
    Core	CPU	Avg_MHz	Busy%	Bzy_MHz	TSC_MHz	IRQ	PkgTmp	PkgWatt	CorWatt	RAMWatt
    -	-	1203	43.10	2791	2394	90412	61	152.31	130.02	21.87
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Moment, Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import head_lines, lines_of

VERSION = 1

_SENSORS = {
    "Pkg": Sensor(None, "packages", "cpu"),
    "Cor": Sensor(None, "cores", "cpu_part"),
    "GFX": Sensor(None, "graphics", "cpu_part"),
    "RAM": Sensor(None, "memory", "memory"),
    "Sys": Sensor(None, "platform", "platform"),
}
IN_HEAD = tuple(f"{name}{unit}".encode() for name in _SENSORS for unit in ("Watt", "_J"))
_VALUE = re.compile(rf"({'|'.join(_SENSORS)})(Watt|_J)")
_OF_TURBOSTAT = {"Avg_MHz", "Busy%", "%Busy", "Bzy_MHz", "TSC_MHz", "Time_Of_Day_Seconds", "PkgTmp", "CorWatt", "Cor_J"}
_OF_ONE = ("Package", "Pkg", "pk", "Die", "Node", "Core", "cor", "CPU", "Module")  # columns that number a processor
_ELAPSED = re.compile(r"(\d{1,9}\.\d{6}) sec\s*\Z")


def recognise(head: bytes, name: str) -> bool:
    return any(_is_header(line.split()) for line in head_lines(head) if "Watt" in line or "_J" in line)


def _is_header(cells: list[str]) -> bool:
    return bool(_OF_TURBOSTAT.intersection(cells)) and any(map(_VALUE.fullmatch, cells))


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    samples = Samples(rows)
    powers: list[tuple[int, Sensor, str]] = []
    joules: dict[Sensor, tuple[float, int]] = {}
    stamp: tuple[Moment, str] | None = None
    elapsed_s: float | None = None
    for number, text, whole in lines_of(source):
        cells = text.split()
        if match := _ELAPSED.match(text):
            elapsed_s = float(match[1])
        if _is_header(cells):
            header = cells
        if cells == header or not header or not _is_summary(header, cells):
            continue
        if not whole or len(cells) != len(header):
            rows.problem(number, "the line is cut, or has other columns than the header", text)
            continue
        row = dict(zip(header, cells, strict=True))
        stamp = stamp_of(row["Time_Of_Day_Seconds"]) if "Time_Of_Day_Seconds" in row else None
        for name, cell in row.items():
            match = _VALUE.fullmatch(name)
            if match and match[2] == "Watt":
                samples.power(number, _SENSORS[match[1]], cell, stamp)
                powers.append((number, _SENSORS[match[1]], cell))
            elif match and (value := amount(cell)) is not None:
                joules[_SENSORS[match[1]]] = joules.get(_SENSORS[match[1]], (0.0, 0))[0] + value, number
    for sensor, (value, line) in joules.items():
        _add(rows, line, sensor, value, elapsed_s, stamp)
    if elapsed_s is not None and len({line for line, _, _ in powers}) == 1:
        for line, sensor, cell in powers:
            if (watts := amount(cell)) is not None:
                _add(rows, line, sensor, watts * elapsed_s, elapsed_s, stamp)


def _is_summary(header: list[str], cells: list[str]) -> bool:
    """Whether a row is of all processors: its numbers of processors are dashes, or there are no such columns."""
    ids = [k for k, name in enumerate(header) if name in _OF_ONE]
    if any(k >= len(cells) or cells[k] != "-" for k in ids):
        return False
    return bool(cells) and all(re.fullmatch(r"-|\d[\d.]*%?|0x[0-9a-f]+", cell) for cell in cells)


def _add(
    rows: Rows, line: int, sensor: Sensor, joules: float, span_s: float | None, stamp: tuple[Moment, str] | None
) -> None:
    ts, origin = stamp or (None, None)
    rows.add(
        "energy", line, device=sensor.device, scope=sensor.scope, energy_j=joules or None, span_s=span_s,
        method="turbostat", ts=ts, ts_origin=origin,
    )  # fmt: skip
