"""Metrics of kernels by Nsight Compute, as CSV.

Tool: NVIDIA Nsight Compute, ncu --csv [--page details|raw|--metrics ...]
Versions: 2020 to 2026
Yields: metrics
Source: ncu --csv: a header after lines such as ==PROF==, then a line for each metric of each launch of a kernel; with
    --page raw a column for each metric, a line of units, and a line for each launch

A metric is named `METRIC of KERNEL`, and each launch has its own.  Its unit is that of its line or column: ncu scales
each value by itself.  ncu locks the clocks and runs a kernel several times, so that a duration is not that of the kernel
in its run: nothing becomes a time of a step or an event.  Lines of rules have no metric; values that are not numbers and
the attributes of the device are left out.  A line may lack the columns of rules at its end.

Numbers are written as the locale has them, 1,234.5 or 1.234,5.  All numbers of the file decide which it is; where none
tells, as with 117.344 alone, those with a point or a comma are a problem.  The summary of several launches
(--print-summary) has other columns: a problem says so.

Samples:
    "ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
    "0","4242","python3","127.0.0.1","gemm(const float *, int)","1","7","GPU Speed Of Light Throughput","Duration","ns","1,853,984"
    "0","4242","python3","127.0.0.1","gemm(const float *, int)","1","7","GPU Speed Of Light Throughput","Memory Throughput","%","87.54"
"""

from collections.abc import Iterator
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.decimal_marks import LOCALE_NUMBER, UNCLEAR, decimal_mark, plain_number
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_of, head_lines, lines_of

VERSION = 2
IN_HEAD = (b'"Kernel Name",',)

_HEADER = re.compile(r'"(?:ID","Process ID|Process ID)",.*"Kernel Name",')
_NEEDED = {"Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}
_OF_LAUNCH = {
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
    "Device", "CC", "Invocations", "Section Name", "Kernel Time", "Device Name", "thread Domain:Push/Pop_Range",
}  # fmt: skip
_OF_DEVICE = "device__attribute_"
_CUT = "the line is cut, or has other columns than the header"


class _Value(NamedTuple):
    """A number of a launch, as it is written."""

    line: int
    device: str | None
    name: str
    text: str
    unit: str | None


def recognise(head: bytes, name: str) -> bool:
    return any(_HEADER.match(line) for line in head_lines(head))


def read(source: Source, rows: Rows) -> None:
    values = (each for each in _values(source) if isinstance(each, _Value))
    mark = decimal_mark(each.text for each in values)
    unclear = 0
    for each in _values(source):
        if not isinstance(each, _Value):
            rows.problem(each[0], each[1], each[2])
            continue
        text = plain_number(each.text, mark)
        value = number(text) if text else None
        if text is None:
            unclear = unclear or each.line
        elif value is None:
            rows.problem(each.line, "the value is not a number that can be read", each.text)
        else:
            place = f"device {each.device}" if each.device else None
            rows.metric(each.line, None, place, None, each.name, value, each.unit)
    if unclear:
        rows.problem(unclear, UNCLEAR)


def _values(source: Source) -> Iterator[_Value | tuple[int, str, str]]:
    """The numbers of all launches; or line, reason and text of what cannot be read."""
    units: dict[str, str] = {}
    for line, text, cells in _records(source):
        if not cells:
            yield line, _CUT, text
        elif cells.keys() >= _NEEDED:
            if LOCALE_NUMBER.fullmatch(cells["Metric Value"]) and cells["Metric Name"]:
                name = f"{cells['Metric Name']} of {cells['Kernel Name']}"
                yield _Value(line, cells.get("Device"), name, cells["Metric Value"], cells["Metric Unit"] or None)
        elif "Metric Name" in cells or not cells.keys() - _OF_LAUNCH:
            yield line, "the table is not of the details or the raw page: a value for each launch is read", text
            return
        elif not cells["Kernel Name"]:
            units = cells
        else:
            for name in cells:
                if name not in _OF_LAUNCH and LOCALE_NUMBER.fullmatch(cells[name]) and not name.startswith(_OF_DEVICE):
                    of = f"{name} of {cells['Kernel Name']}"
                    yield _Value(line, cells.get("Device"), of, cells[name], units.get(name) or None)


def _records(source: Source) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Lines after the header, with their cells by column; without cells where the line is cut."""
    header: list[str] = []
    least = 0
    for line, text, complete in lines_of(source):
        if _HEADER.match(text):
            header = cells_of(text)
            least = header.index("Metric Value") + 1 if "Metric Value" in header else len(header)
        elif header and text.startswith('"'):
            cells = cells_of(text)
            whole = complete and least <= len(cells) <= len(header)
            yield line, text, dict(zip(header, cells + [""] * len(header), strict=False)) if whole else {}
