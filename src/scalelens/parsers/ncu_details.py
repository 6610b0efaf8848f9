"""Metrics of kernels by Nsight Compute, as CSV.

Tool: NVIDIA Nsight Compute, ncu --csv [--page details|--metrics ...]
Versions: 2020 to 2026; no real file was at hand: by the headers and lines that scripts which read it quote
Yields: metrics
Source: ncu --csv: a header after lines such as ==PROF==, then a line for each metric of each launch of a kernel

A metric is named `METRIC of KERNEL`, and each launch has its own.  Its unit is that of its line: ncu scales each value by
itself.  ncu locks the clocks and runs a kernel several times, so that a duration is not that of the kernel in its run:
nothing becomes a time of a step or an event.  Lines of rules have no metric; values that are no number are left out.

Numbers are written as the locale has them, 1,234.5 or 1.234,5.  All numbers of the file decide which it is; where none
tells, as with 117.344 alone, those with a point or a comma are a problem.  `--page raw` and the summary of several
launches have other columns: a problem says so.

Samples:
    "ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
    "0","4242","python3","127.0.0.1","gemm(const float *, int)","1","7","GPU Speed Of Light Throughput","Duration","ns","1,853,984"
    "0","4242","python3","127.0.0.1","gemm(const float *, int)","1","7","GPU Speed Of Light Throughput","Memory Throughput","%","87.54"
"""

from collections.abc import Iterator

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_of, head_lines, lines_of

VERSION = 1

_HEADER = re.compile(r'"(?:ID","Process ID|Process ID)",.*"Kernel Name",')
_NEEDED = {"Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}
_NUMBER = re.compile(r"-?(?:\d+(?:[.,]\d+)?|\d{1,3}([.,])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d+)?)")
_OTHER = {".": ",", ",": "."}
_CUT = "the line is cut, or has other columns than the header"


def recognise(head: bytes, name: str) -> bool:
    return b'"Kernel Name",' in head and any(_HEADER.match(line) for line in head_lines(head))


def read(source: Source, rows: Rows) -> None:
    marks = {_decimal_mark(cells.get("Metric Value", "")) for _, _, cells in _records(source)} - {None}
    mark = marks.pop() if len(marks) == 1 else None
    unclear = 0
    for line, text, cells in _records(source):
        if not cells:
            rows.problem(line, _CUT, text)
        elif not cells.keys() >= _NEEDED:
            rows.problem(line, "the table is not of the details page: a line for each metric of a launch is read", text)
            return
        elif _NUMBER.fullmatch(value := cells["Metric Value"]) and cells["Metric Name"]:
            if mark is None and not value.lstrip("-").isdecimal():
                unclear = unclear or line
            else:
                _of_metric(line, cells, _plain(value, mark), rows)
    if unclear:
        rows.problem(unclear, "nothing tells whether '.' or ',' is the decimal mark: numbers with one are not read")


def _of_metric(line: int, cells: dict[str, str], text: str, rows: Rows) -> None:
    value = number(text)
    if value is None:
        rows.problem(line, "the value is not a number that can be read", cells["Metric Value"])
        return
    place = f"device {device}" if (device := cells.get("Device")) else None
    name = f"{cells['Metric Name']} of {cells['Kernel Name']}"
    rows.metric(line, None, place, None, name, value, cells["Metric Unit"] or None)


def _plain(text: str, mark: str | None) -> str:
    """A number as Python writes it."""
    return text.replace(_OTHER[mark], "").replace(mark, ".") if mark else text


def _records(source: Source) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Lines after the header, with their cells by column; without cells where the line is cut."""
    header: list[str] = []
    for line, text, complete in lines_of(source):
        if _HEADER.match(text):
            header = cells_of(text)
        elif header and text.startswith('"'):
            cells = cells_of(text)
            yield line, text, dict(zip(header, cells, strict=True)) if complete and len(cells) == len(header) else {}


def _decimal_mark(text: str) -> str | None:
    """The decimal mark that a number shows; None where its one mark may as well separate thousands."""
    marks = re.findall(r"[.,]", text)
    if not marks or not _NUMBER.fullmatch(text):
        return None
    if len(set(marks)) == 2:
        return str(marks[-1])
    if len(marks) > 1:
        return _OTHER[marks[0]]
    whole, _, fraction = text.lstrip("-").replace(",", ".").partition(".")
    grouped = len(fraction) == 3 and len(whole) <= 3 and not whole.startswith("0")
    return None if grouped else str(marks[0])
