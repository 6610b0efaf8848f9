"""Intel Power Gadget's log: power and energy of the processor, of its cores, graphics and memory.

Tool: Intel Power Gadget (PowerLog, IntelPowerGadget -end -duration S -log FILE)
Versions: 2.7 to 3.7
Yields: power, energy
Source: Intel Power Gadget; closed, by its output

A row is the mean power since the row before, at seconds since the log began; the time of day has no date and is not
read.  The energy is the tool's own count since the log began: of the lines below the table where they are there, with
six digits, else of its last row.  `IA` are the cores and `GT` the graphics, parts of the processor; DRAM is beside it.
A domain that the processor does not count is zero all the time: its energy is unknown.

Samples:
    System Time,RDTSC,Elapsed Time (sec),CPU Frequency_0(MHz),Processor Power_0(Watt),Cumulative Processor Energy_0(Joules)
"""

import re
from typing import NamedTuple

from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_lines, lines_of

VERSION = 1

_SCOPES = {"Processor": "cpu", "Package": "cpu", "IA": "cpu_part", "GT": "cpu_part", "DRAM": "memory"}
_WORDS = "|".join(_SCOPES)
_POWER = re.compile(rf"({_WORDS}) Power_(\d{{1,2}}) ?\(Watt\)")
_ENERGY = re.compile(rf"Cumulative ({_WORDS}) Energy_(\d{{1,2}}) ?\(Joules\)")
_TOTAL = re.compile(rf"Cumulative ({_WORDS}) Energy_(\d{{1,2}}) \(Joules\) = (\d{{1,15}}\.\d{{6}})\s*\Z")
_ELAPSED = re.compile(r"Total Elapsed Time \(sec\) = (\d{1,12}\.\d{6})\s*\Z")
_BELOW = re.compile(r"(?:Total|Measured|Cumulative|Average) ")
_TIME = "Elapsed Time (sec)"


class _Count(NamedTuple):
    """What a domain has counted since the log began."""

    line: int
    joules: float
    span_s: float | None


def recognise(head: bytes, name: str) -> bool:
    first = first_lines(head)
    header = cells_of(first[0]) if first else []
    return "RDTSC" in header and _TIME in header and any(map(_POWER.fullmatch, header))


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    samples = Samples(rows)
    counts: dict[Sensor, _Count] = {}
    elapsed_s: float | None = None
    for number, text, whole in lines_of(source):
        if not header:
            header = cells_of(text)
            continue
        if _BELOW.match(text):
            if match := _ELAPSED.match(text):
                elapsed_s = float(match[1])
            elif match := _TOTAL.match(text):
                counts[_sensor_of(match)] = _Count(number, float(match[3]), elapsed_s)
            continue
        cells = cells_of(text)
        if not whole or len(cells) not in (len(header), len(header) - 1):  # the header ends in a comma
            rows.problem(
                number, MAY_BE_CUT if not whole else "the line is cut, or has other columns than the header", text
            )
            continue
        row = dict(zip(header, cells, strict=False))
        elapsed_s = amount(row.get(_TIME, ""))
        if elapsed_s is None:
            rows.problem(number, "the elapsed time is not a number of seconds", text)
            continue
        _take(row, number, elapsed_s, samples, counts)
    for sensor, count in counts.items():
        rows.add(
            "energy", count.line, device=sensor.device, scope=sensor.scope, energy_j=count.joules or None,
            span_s=count.span_s, method="counter",
        )  # fmt: skip


def _take(row: dict[str, str], number: int, elapsed_s: float, samples: Samples, counts: dict[Sensor, _Count]) -> None:
    """A row of the table: powers, and what each domain has counted so far."""
    stamp = round(elapsed_s * SECOND), "relative"
    for name, cell in row.items():
        if match := _POWER.fullmatch(name):
            samples.power(number, _sensor_of(match), cell, stamp)
        elif (match := _ENERGY.fullmatch(name)) and (joules := amount(cell)) is not None:
            counts[_sensor_of(match)] = _Count(number, joules, elapsed_s)


def _sensor_of(match: re.Match[str]) -> Sensor:
    """The domain of a package, by its name and number."""
    return Sensor(None, f"{match[1]} {match[2]}", _SCOPES[match[1]])
