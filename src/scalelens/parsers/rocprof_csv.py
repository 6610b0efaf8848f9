"""Traces and summaries of rocprofv3 as CSV.

Tool: rocprofv3 --output-format csv, rocpd convert --output-format csv (ROCprofiler-SDK)
Versions: ROCm 6.2 to 7: real files of kernels alone were at hand; others by the source and the tables in AMD's documentation
Yields: events, metrics, params
Source: rocprofiler-sdk/source/lib/output/generateCSV.cpp, write_csv_output(): PID_kernel_trace.csv,
    PID_memory_copy_trace.csv, PID_hip_api_trace.csv, PID_marker_api_trace.csv, PID_kernel_stats.csv and their like

Kernels are category kernel, copies gpu_memcpy, API calls and markers of their domain in lower case.  Of device work
`process` is the agent as the table names it, which counts CPUs too, `thread` the queue, `stream` the stream where there
is one, else the queue.  What else the table says is in `args`.  Times count from a clock of the node: `trace_clock` is
relative.  A table of statistics gives metrics: how often, the total, smallest, mean and largest time of each name.
The rank is that of the file name (rank0), else NULL.

Samples:
    "Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
    "KERNEL_DISPATCH","Agent 4",1,15,"transpose(float*, int)",7,500000,742000
"""

import json

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, integer, rank_in_name
from scalelens.tabular.cells import cells_of, first_cells, lines_of

VERSION = 1
IN_HEAD = (b"Start_Timestamp", b"TotalDurationNs")

_SPAN = {"Start_Timestamp", "End_Timestamp"}
_OF_CALLS = {"Domain", "Function", "Process_Id", "Thread_Id", *_SPAN}
_OF_COPIES = {"Kind", "Direction", *_SPAN}
_OF_KERNELS = {"Kind", "Kernel_Name", "Queue_Id", *_SPAN}
_OF_STATISTICS = {"Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"}
_STATS = (("TotalDurationNs", "total time of", "value"), ("AverageNs", "time of", "mean"),
         ("MinNs", "time of", "min"), ("MaxNs", "time of", "max"))  # fmt: skip
_IN_COLUMNS = {
    "Guid", "Kind", "Kernel_Name", "Correlation_Id", "Domain", "Function", "Process_Id", "Direction", *_SPAN,
    "Agent_Id", "Destination_Agent_Id", "Queue_Id", "Stream_Id",
}  # fmt: skip
_BITS = 18  # digits that a column holds


def recognise(head: bytes, name: str) -> bool:
    columns = {*first_cells(head)}
    return any(columns >= needed for needed in (_OF_CALLS, _OF_COPIES, _OF_KERNELS, _OF_STATISTICS))


def read(source: Source, rows: Rows) -> None:
    rank = rank_in_name(source.name)
    header: list[str] = []
    for line, text, complete in lines_of(source):
        cells = cells_of(text)
        if not header:
            header = cells
            if header and {*header} >= _SPAN:
                rows.param("trace_clock", "relative", line, origin="inferred")
        elif not complete or len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
        elif "Calls" in header:
            _of_statistics(line, text, dict(zip(header, cells, strict=True)), rank, rows)
        else:
            _of_event(line, text, dict(zip(header, cells, strict=True)), rank, rows)


def _of_event(line: int, text: str, cells: dict[str, str], rank: int | None, rows: Rows) -> None:
    start, end = (integer(cells[name], _BITS) for name in ("Start_Timestamp", "End_Timestamp"))
    if start is None or end is None or end < start:
        rows.problem(line, "the start or the end is not a time, or the end is before the start", text)
        return
    event: dict[str, object] = {"rank": rank, "ph": "X", "start_ns": start, "duration_ns": end - start}
    event["correlation"] = integer(cells.get("Correlation_Id", ""), _BITS)
    if "Function" in cells:
        event |= {"name": cells["Function"], "category": cells["Domain"].lower()}
        event |= {"process": cells["Process_Id"], "thread": cells["Thread_Id"]}
    elif "Direction" in cells:
        event |= {"name": cells["Direction"], "category": "gpu_memcpy", "process": cells.get("Destination_Agent_Id")}
        event["stream"] = integer(cells.get("Stream_Id", ""), _BITS)
    else:
        event |= {"name": cells["Kernel_Name"], "category": "kernel", "process": cells.get("Agent_Id")}
        event |= {"thread": cells["Queue_Id"], "stream": integer(cells.get("Stream_Id", cells["Queue_Id"]), _BITS)}
    others = {name: cell for name, cell in cells.items() if name not in _IN_COLUMNS and cell}
    rows.put("events", line, event | {"args": json.dumps(others) if others else None})


def _of_statistics(line: int, text: str, cells: dict[str, str], rank: int | None, rows: Rows) -> None:
    values = {name: amount(cells[name]) for name in ("Calls", *(name for name, _, _ in _STATS)) if name in cells}
    if any(value is None for value in values.values()):
        rows.problem(line, "a value is not a number that can be read", text)
        return
    rows.metric(line, rank, None, None, f"calls of {cells['Name']}", values["Calls"] or 0.0)
    for name, what, stat in _STATS:
        if name in values:
            rows.metric(line, rank, None, None, f"{what} {cells['Name']}", (values[name] or 0.0) / 1e9, "s", stat)
