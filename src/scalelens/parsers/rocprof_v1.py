"""Kernels of rocprof, as CSV (results.csv).

Tool: rocprof, and rocprofv2 --kernel-trace, of ROCm's first profiler
Versions: ROCm 4 to 6: a real file of ROCm 5
Yields: events, params
Source: ROCm/rocprofiler: bin/tblextr.py, dump_csv()

Each row is a kernel, from BeginNs to EndNs.  `process` is the number of the GPU as rocprof counts it, `thread` the queue
and its number `stream`; `correlation` is unknown.  What else the table says, counters among it, is in `args`.
Times count from a clock of the node: `trace_clock` is relative.  The rank is that of the file name (rank0), else NULL.
A table without times, as of counters alone, is a problem.  `results.stats.csv` is read as rocprofv3's statistics.

Samples:
    "Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"
    0,"gemm_kernel(float*, int)",4,0,0,3120,3120,65536,256,900100,900500,904700,905100,4200
"""

import json

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import integer, rank_in_name
from scalelens.tabular.cells import cells_of, first_cells, lines_of

VERSION = 1
IN_HEAD = (b"KernelName",)

_NEEDED = {"Index", "KernelName", "gpu-id", "queue-id"}
_SPAN = {"BeginNs", "EndNs"}
_IN_COLUMNS = {"Index", "KernelName", "gpu-id", "queue-id", *_SPAN}
_DIGITS = 18  # that a column holds


def recognise(head: bytes, name: str) -> bool:
    return {*first_cells(head)} >= _NEEDED


def read(source: Source, rows: Rows) -> None:
    rank = rank_in_name(source.name)
    header: list[str] = []
    for line, text, complete in lines_of(source):
        cells = cells_of(text)
        if not header:
            header = cells
            if not {*header} >= _SPAN:
                rows.problem(line, "the kernels have no times: rocprof writes them with --timestamp on", text)
                return
            rows.param("trace_clock", "relative", line, origin="inferred")
        elif not complete or len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
        else:
            _of_kernel(line, text, dict(zip(header, cells, strict=True)), rank, rows)


def _of_kernel(line: int, text: str, cells: dict[str, str], rank: int | None, rows: Rows) -> None:
    begin, end = integer(cells["BeginNs"], _DIGITS), integer(cells["EndNs"], _DIGITS)
    if begin is None or end is None or end < begin:
        rows.problem(line, "the start or the end is not a time, or the end comes first", text)
        return
    others = {name: cell for name, cell in cells.items() if name not in _IN_COLUMNS and cell}
    event = {
        "rank": rank, "ph": "X", "name": cells["KernelName"].removesuffix(".kd"), "category": "kernel", "start_ns": begin,
        "duration_ns": end - begin, "process": cells["gpu-id"], "thread": cells["queue-id"],
        "stream": integer(cells["queue-id"], _DIGITS), "args": json.dumps(others) if others else None,
    }  # fmt: skip
    rows.put("events", line, event)
