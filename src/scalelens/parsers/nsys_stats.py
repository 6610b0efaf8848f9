"""Summaries and traces that Nsight Systems prints of a recording, as CSV.

Tool: NVIDIA Nsight Systems, nsys stats --format csv
Versions: 2021 to 2026 (gpukernsum and cuda_gpu_kern_sum, and their like): summaries by the tables that others quote,
    real files of cuda_gpu_trace and nvtx_pushpop_trace
Yields: metrics, events, params
Source: nsys stats: a table for each report, after lines of progress, with a blank line after it

Each row becomes metrics named `WHAT of KIND NAME`.  The kind follows from the columns: kernel, call (of CUDA or of the
operating system), range (NVTX) or operation (copies and fills).  Kernels of older versions have a row for each grid and
block, which then follow the name.  Times become seconds, sizes bytes: the header says the unit, MB are 10^6.
Percentages are left out, as they follow from the totals.  A sum over a whole recording is no time of a step.

Each row of a trace (cuda_gpu_trace, cuda_api_trace, nvtx_pushpop_trace) becomes an event: of category kernel, gpu_memcpy,
gpu_memset, cuda_runtime, cuda_driver or nvtx.  Times are exact, and count from the start of the recording: `trace_clock`
is relative.  Of device work `process` is the number of the device, `thread` and `stream` its stream.  What else the
table says is in `args`.  The rank is that of the file name (rank0), else NULL.

A file is read as such where nothing but lines of nsys comes before the first table.  Reports of other columns are a
problem: `nsys export --type sqlite` has all of it.

Samples:
    Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
    62.5,5000000,20,250000.0,249000.5,240000,270000,6500.2,"gemm_kernel(float *, int)"
    Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
    700100,4200,31,8,1,1,256,1,1,32,0.0,0.0,,,,,NVIDIA A100-SXM4-40GB (0),1,7,gemm_kernel
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.nsys_trace_rows import category_of, device_of, event_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, rank_in_name
from scalelens.tabular.cells import cells_of, head_lines, lines_of
from scalelens.units import factors

VERSION = 2
IN_HEAD = (b"Total (", b"Total Time (", b"Start (", b"NVTX Range,", b"PID,TID,")

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
# Headers of the other reports: traces, projections of ranges, kernels by range.
_OTHER_TABLE = re.compile(
    r"(?:API |Projected |Kernel )?Start \((?:ns|us|µs|μs|ms|s)\),|Name,Projected Start \(|NVTX Range,|PID,TID,.*\((?:ns|us|ms|s)\)"
)
# What nsys prints before and between the tables.
_PROGRESS = re.compile(
    r"\s*(?:Generating |Processing |Exporting |Using |NOTICE|SKIPPED|WARNING|\*\* |\[=|\.\.\.|Importer|"
    r"The existing export file|Consider |It may |\d+%|Executing )"
)
_NO_TABLE = "this report of nsys stats is not read; nsys export --type sqlite keeps all"


def recognise(head: bytes, name: str) -> bool:
    first = next((line for line in head_lines(head) if not _PROGRESS.match(line)), "")
    return bool(_HEADER.match(first) or _OTHER_TABLE.match(first))


def read(source: Source, rows: Rows) -> None:
    rank = rank_in_name(source.name)
    header: list[str] = []
    category: str | None = None
    devices: dict[str, None] = {}
    for number, text, complete in lines_of(source):
        if _HEADER.match(text):
            header, category = cells_of(text), None
        elif _OTHER_TABLE.match(text):
            header, category = cells_of(text), category_of(cells_of(text))
            if category:
                rows.param("trace_clock", "relative", number, origin="inferred")
            else:
                header = []
                rows.problem(number, _NO_TABLE, text)
        elif _PROGRESS.match(text):
            header = []
        elif header:
            cells = cells_of(text)
            if not complete or len(cells) != len(header):
                rows.problem(number, "the line is cut, or has other columns than the header", text)
            elif category:
                _of_event(number, text, category, dict(zip(header, cells, strict=True)), rank, devices, rows)
            else:
                _of_row(number, text, dict(zip(header, cells, strict=True)), rows)
    rows.param("device_model", ", ".join(devices) or None)


def _of_event(
    line: int, text: str, category: str, cells: dict[str, str], rank: int | None, devices: dict[str, None], rows: Rows
) -> None:
    event = event_of(category, cells)
    if event is None:
        rows.problem(line, "the start or the duration is not a time", text)
        return
    if device := device_of(cells):
        devices[device[0]] = None
    rows.put("events", line, event | {"rank": rank})


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
