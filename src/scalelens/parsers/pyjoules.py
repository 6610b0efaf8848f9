"""Energies of sections of a program, as pyJoules and pyRAPL write them to CSV.

Tool: pyJoules CSVHandler; pyRAPL outputs.CSVOutput
Versions: pyJoules 0.4 to 0.5, pyRAPL 0.2
Yields: energy, params
Source: powerapi-ng/pyJoules pyJoules/handler/csv_handler.py; powerapi-ng/pyRAPL pyRAPL/outputs/csvoutput.py

A row is a section, which begins at its timestamp, in seconds since 1970.  RAPL counts in microjoules, NVML in millijoules;
durations are seconds (pyJoules) or microseconds (pyRAPL).  core and uncore are parts of their package.  pyRAPL writes a
row for each socket.

Samples:
    timestamp;tag;duration;package_0;dram_0;core_0;nvidia_gpu_0
    label,timestamp,duration,pkg,dram,socket
"""

from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.pyjoules_sections import DOMAIN, put_section
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import epoch
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_lines, lines_of

VERSION = 1

_DOMAIN = re.compile(DOMAIN)
_PYRAPL = ["label", "timestamp", "duration", "pkg", "dram", "socket"]
_MICROSECOND = 1e-6


def recognise(head: bytes, name: str) -> bool:
    header = "".join(first_lines(head)[:1])
    return cells_of(header) == _PYRAPL or _domains(cells_of(header, ";")) is not None


def _domains(header: Sequence[str]) -> list[int] | None:
    """The columns of energy in a table of pyJoules."""
    if list(header[:3]) != ["timestamp", "tag", "duration"] or len(header) < 4:
        return None
    return [*range(3, len(header))] if all(map(_DOMAIN.fullmatch, header[3:])) else None


def read(source: Source, rows: Rows) -> None:
    lines = lines_of(source)
    header = cells_of(next(lines)[1], ",")
    is_pyrapl = header == _PYRAPL
    if not is_pyrapl:
        header = cells_of(",".join(header), ";")
    for number, text, whole in lines:
        cells = cells_of(text, "," if is_pyrapl else ";")
        if cells == header:
            continue
        if not whole or len(cells) != len(header):
            rows.problem(number, MAY_BE_CUT if not whole else "the line is cut, or has other columns", text)
            continue
        row = dict(zip(header, cells, strict=True))
        began, span_s = epoch(row["timestamp"])[0], amount(row["duration"])
        if began is None or span_s is None:
            rows.problem(number, "the time or the duration is not a number of seconds", text)
            continue
        span_s *= _MICROSECOND if is_pyrapl else 1.0
        names = (
            {f"{name}_{row['socket']}": name for name in ("pkg", "dram")} if is_pyrapl else {n: n for n in header[3:]}
        )
        put_section(rows, number, began, span_s, {device: row[name] for device, name in names.items()})
