"""Summaries of a recording of Nsight Systems, as CSV.

Tool: NVIDIA Nsight Systems, nsys stats --format csv
Versions: 2021 to 2026 (gpukernsum and cuda_gpu_kern_sum, and their like); no real file was at hand: by the tables that
    others quote
Yields: metrics
Source: nsys stats: a table for each report, after lines of progress, with a blank line behind it

Each row becomes metrics named `WHAT of KIND NAME`.  The kind follows from the columns: kernel, call (of CUDA or of the
operating system), range (NVTX) or operation (copies and fills).  Kernels of older versions have a row for each grid and
block, which then stand behind the name.  Times become seconds, sizes bytes: the header says the unit, MB are 10^6.
Percentages are left out, as they follow from the totals.  A sum over a whole recording is no time of a step.

A file is read as such where nothing but lines of nsys stands before the first table.  Reports of other columns, as traces
are, are a problem: `nsys export --type sqlite` has all of it.

Samples:
    Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
    62.5,5000000,20,250000.0,249000.5,240000,270000,6500.2,"gemm_kernel(float *, int)"
"""

import re

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import cells_of, head_lines, lines_of
from scalelens.units import factors

VERSION = 1

_KINDS = {"Instances": "kernel", "Num Calls": "call", "Calls": "call", "Count": "operation", "Operations": "operation"}
_NAMES = ("Name", "Range", "Operation")
_COLUMN = re.compile(
    r"(Total Time|Total|Avg|Average|Med|Min|Minimum|Max|Maximum|StdDev) \((ns|us|µs|μs|ms|s|B|KB|MB|GB)\)"
)
_SCALES = factors("ns", "us", "µs", "μs", "ms", "s", "B", "KB", "MB", "GB")
_STATS = {"Avg": "mean", "Average": "mean", "Min": "min", "Minimum": "min", "Max": "max", "Maximum": "max"}
_HEADER = re.compile(
    r"(?:Time ?\(%\),)?Total(?: Time)? \((?:ns|us|µs|μs|ms|s|B|KB|MB|GB)\),.*(?:Name|Range|Operation)\s*\Z"
)
_TRACE = re.compile(r"Start \((?:ns|us|ms|s)\),Duration \(")
# What nsys prints before and between the tables.
_PROGRESS = re.compile(
    r"\s*(?:Generating |Processing |Exporting |Using |NOTICE|SKIPPED|WARNING|\*\* |\[=|\.\.\.|Importer|"
    r"The existing export file|Consider |It may |\d+%|Executing )"
)
_NO_TABLE = "the table has no total time or size: only summaries are read; nsys export --type sqlite keeps all"


def recognise(head: bytes, name: str) -> bool:
    first = next((line for line in head_lines(head) if not _PROGRESS.match(line)), "")
    return bool(_HEADER.match(first))


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    for number, text, complete in lines_of(source):
        if _HEADER.match(text):
            header = cells_of(text)
        elif _PROGRESS.match(text):
            header = []
        elif _TRACE.match(text):
            header = []
            rows.problem(number, _NO_TABLE, text)
        elif header:
            cells = cells_of(text)
            if not complete or len(cells) != len(header):
                rows.problem(number, "the line is cut, or has other columns than the header", text)
            else:
                _of_row(number, text, dict(zip(header, cells, strict=True)), rows)


def _of_row(line: int, text: str, cells: dict[str, str], rows: Rows) -> None:
    """Metrics of a row: the total, how often, and how long or large each was."""
    named = next(name for name in reversed(_NAMES) if name in cells)
    counted = next((name for name in _KINDS if name in cells), None)
    kind = "range" if named == "Range" else _KINDS[counted] if counted else "operation"
    shapes = [(name[:-3].lower(), cells[name].split()) for name in ("GridXYZ", "BlockXYZ") if name in cells]
    grid = ", ".join(f"{name} {' '.join(numbers)}" for name, numbers in shapes)
    whose = f"of {kind} {cells[named]}" + (f" [{grid}]" if grid else "")
    values = {
        name: amount(cell) for name, cell in cells.items() if cell and (name == counted or _COLUMN.fullmatch(name))
    }
    if any(value is None for value in values.values()):
        rows.problem(line, "a value is not a number that can be read", text)
        return
    for name, value in values.items():
        if name == counted:
            rows.metric(line, None, None, None, f"instances {whose}", value or 0.0)
        elif column := _COLUMN.fullmatch(name):
            _of_column(line, column, value or 0.0, whose, rows)


def _of_column(line: int, column: re.Match[str], value: float, whose: str, rows: Rows) -> None:
    what, unit = column[1], "bytes" if "B" in column[2] else "s"
    measured = "size" if unit == "bytes" else "time"
    name = {"Total": f"total {measured}", "Total Time": "total time", "Med": f"median {measured}"}.get(
        what, f"standard deviation of {measured}" if what == "StdDev" else measured
    )
    rows.metric(line, None, None, None, f"{name} {whose}", value * _SCALES[column[2]], unit, _STATS.get(what, "value"))
