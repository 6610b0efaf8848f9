"""powerstat: power of a machine, from its battery or from RAPL, sample by sample.

Tool: powerstat [-R] [-d delay] [interval [count]]
Versions: 0.02 to 0.04
Yields: power
Source: powerstat.c, print_heading() and the line of each sample

The watts are what the whole machine draws from its battery.  Where the file names RAPL or its packages (pkg-0) they are
those of the processors; a sum that includes memory or other domains is not read.  A sample has a time of day without a
date, so it has no time here, and no energy follows.  The rows Average, GeoMean, StdDev, Minimum and Maximum are not samples.

Samples:
      Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s Fork Exec Exit  Watts
    12:05:13   1.0   0.0   0.5  98.4   0.1    1   1234    567    0    0    0  10.23
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor
from scalelens.parsing.source import Source
from scalelens.tabular.cells import head_lines, lines_of

VERSION = 1
IN_HEAD = (b"Watts",)

_RAPL = re.compile(r"\bRAPL\b|pkg-\d")
_NOT_OF_CPUS = re.compile(r"\b(?:dram|psys|uncore|core)\b", re.IGNORECASE)  # -D shows them too
_SAMPLE = re.compile(r"\s*(\d\d:\d\d:\d\d)\s")


def recognise(head: bytes, name: str) -> bool:
    return any(_is_header(line.split()) for line in head_lines(head))


def _is_header(cells: list[str]) -> bool:
    return cells[:1] == ["Time"] and {"User", "Idle", "Watts"} <= {*cells}


def read(source: Source, rows: Rows) -> None:
    samples = Samples(rows)
    header: list[str] = []
    of_rapl = any(_RAPL.search(text) for _, text, _ in lines_of(source))
    sensor = Sensor(None, "rapl", "cpu") if of_rapl else Sensor(None, "battery", "node_dc")
    first = 0
    for number, text, whole in lines_of(source):
        cells = text.split()
        if _is_header(cells):
            header = cells
            if _NOT_OF_CPUS.search(text):
                rows.problem(number, "its watts are the sum of processors and other domains, and are not read", text)
                return
        elif header and _SAMPLE.match(text):
            if not whole or len(cells) != len(header):
                rows.problem(number, "the line is cut, or has other columns than the header", text)
                continue
            first = first or number
            samples.power(number, sensor, cells[header.index("Watts")], None)
    if first:
        rows.problem(first, "the samples have a time of day without a date: no energy follows from their powers")
