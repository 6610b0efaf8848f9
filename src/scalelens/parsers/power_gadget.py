"""Intel Power Gadget's log: power and energy of the processor, of its cores, graphics and memory.

Tool: Intel Power Gadget (PowerLog, IntelPowerGadget -end -duration S -log FILE)
Versions: 2.7 to 3.7
Yields: power, energy
Source: Intel Power Gadget; closed, by its output

A row is the mean power since the row before, at seconds since the log began; the time of day has no date and is not
read.  The energy is the tool's own count since the log began: of the lines below the table where they are there, with
six digits, else of its last row.  `IA` are the cores and `GT` the graphics, parts of the processor; DRAM is apart.
A domain that the processor does not count is zero all the time: its energy is unknown.  The tool for macOS writes
DRAM's energy in another unit than its power: where the two do not fit, a domain is not read.

Samples:
    System Time,RDTSC,Elapsed Time (sec),CPU Frequency_0(MHz),Processor Power_0(Watt),Cumulative Processor Energy_0(Joules)
"""

import math
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_lines, lines_of

VERSION = 1
IN_HEAD = (b"RDTSC",)

_SCOPES = {"Processor": "cpu", "Package": "cpu", "IA": "cpu_part", "GT": "cpu_part", "DRAM": "memory"}
_WORDS = "|".join(_SCOPES)
_POWER = re.compile(rf"({_WORDS}) Power_(\d{{1,2}}) ?\(Watt\)")
_ENERGY = re.compile(rf"Cumulative ({_WORDS}) Energy_(\d{{1,2}}) ?\(Joules\)")
_TOTAL = re.compile(rf"Cumulative ({_WORDS}) Energy_(\d{{1,2}}) \(Joules\) = (\d{{1,15}}\.\d{{6}})\s*\Z")
_ELAPSED = re.compile(r"Total Elapsed Time \(sec\) = (\d{1,12}\.\d{6})\s*\Z")
_BELOW = re.compile(r"(?:Total|Measured|Cumulative|Average) ")
_TIME = "Elapsed Time (sec)"
_LOOKED_AT = 5  # lines in which the header must be
_LITTLE_J = 0.5  # below it rounding decides


class _Count(NamedTuple):
    """What a domain has counted since the log began."""

    line: int
    joules: float
    span_s: float | None


class _Powers(NamedTuple):
    """The samples of a domain, and the energy that follows from them: watts times the time since the row before."""

    samples: list[tuple[int, str, int]]  # line, watts as written, nanoseconds
    joules: list[float]


def recognise(head: bytes, name: str) -> bool:
    return any(_is_header(cells_of(line)) for line in first_lines(head)[:_LOOKED_AT])


def _is_header(cells: list[str]) -> bool:
    return "RDTSC" in cells and _TIME in cells and any(map(_POWER.fullmatch, cells))


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    powers: dict[Sensor, _Powers] = {}
    counts: dict[Sensor, _Count] = {}
    elapsed_s: float | None = None
    for number, text, whole in lines_of(source):
        cells = cells_of(text)
        if not header:
            header = cells if _is_header(cells) else []
        elif _BELOW.match(cells[0]):
            if match := _ELAPSED.match(cells[0]):
                elapsed_s = float(match[1])
            elif match := _TOTAL.match(cells[0]):
                counts[_sensor_of(match)] = _Count(number, float(match[3]), elapsed_s)
        elif not whole or len(cells) not in (len(header), len(header) - 1):  # the header ends in a comma
            rows.problem(number, "the line is cut, or has other columns than the header" if whole else MAY_BE_CUT, text)
        else:
            row = dict(zip(header, cells, strict=False))
            now_s = amount(row.get(_TIME, ""))
            if now_s is None:
                rows.problem(number, "the elapsed time is not a number of seconds", text)
                continue
            _take(row, number, now_s, now_s - (elapsed_s or 0.0), powers, counts)
            elapsed_s = now_s
    _write(powers, counts, rows)


def _take(
    row: dict[str, str], number: int, now_s: float, since_s: float,
    powers: dict[Sensor, _Powers], counts: dict[Sensor, _Count],
) -> None:  # fmt: skip
    """A row of the table: powers, and what each domain has counted so far."""
    for name, cell in row.items():
        if match := _POWER.fullmatch(name):
            own = powers.setdefault(_sensor_of(match), _Powers([], []))
            own.samples.append((number, cell, round(now_s * SECOND)))
            own.joules.append((amount(cell) or 0.0) * since_s)
        elif (match := _ENERGY.fullmatch(name)) and (joules := amount(cell)) is not None:
            counts[_sensor_of(match)] = _Count(number, joules, now_s)


def _write(powers: dict[Sensor, _Powers], counts: dict[Sensor, _Count], rows: Rows) -> None:
    samples = Samples(rows)
    for sensor in {**powers, **counts}:
        own, count = powers.get(sensor), counts.get(sensor)
        if own and count and not _agree(math.fsum(own.joules), count.joules):
            why = f"the power and the energy of {sensor.device} differ by a factor: one of them has another unit"
            rows.problem(count.line, f"{why}, and neither is read")
            continue
        for number, text, ns in own.samples if own else []:
            samples.power(number, sensor, text, (ns, "relative"))
        if count:
            rows.add(
                "energy", count.line, device=sensor.device, scope=sensor.scope, energy_j=count.joules or None,
                span_s=count.span_s, method="counter",
            )  # fmt: skip


def _agree(joules: float, counted: float) -> bool:
    """Whether a domain's powers give the energy that it counted, within what rounding and lost rows may do."""
    return max(joules, counted) < _LITTLE_J or 0.5 < (joules + _LITTLE_J) / (counted + _LITTLE_J) < 2


def _sensor_of(match: re.Match[str]) -> Sensor:
    """The domain of a package, by its name and number; the lines below the table may call the processor a package."""
    word = "Processor" if match[1] == "Package" else match[1]
    return Sensor(None, f"{word} {match[2]}", _SCOPES[match[1]])
