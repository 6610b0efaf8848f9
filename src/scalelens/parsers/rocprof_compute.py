"""Kernels and system of a recording by rocprof-compute (timestamps.csv, sysinfo.csv).

Tool: rocprof-compute, formerly Omniperf (AMD)
Versions: 2.0 to 3.0, with rocprof (`queue-id`) and rocprofv2 (`Queue_ID`)
Yields: events, params
Source: ROCm/rocprofiler-compute, src/utils/utils.py, replace_timestamps() and gen_sysinfo()

The program runs once for its times, and again for each set of counters.  `timestamps.csv` is the run for the times: its
kernels are events, of category kernel.  The tables with counters (`pmc_perf.csv`, `SQ_*.csv`) are not read: their times
are a copy of these, row by row, or means of several runs.  `process` is the device, `thread` and `stream` the queue.
Times count from a clock of the node: `trace_clock` is relative.

Some files were saved anew with times such as 8.1097E+14: nothing shorter than ten seconds is left in them, so each such
row is a problem.  What the system is goes to params `machine.*`; models are the tool's own names (MI300X_A1).

Samples:
    Dispatch_ID,Kernel_Name,GPU_ID,queue-id,queue-index,pid,tid,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,wave_size,sig,obj,DispatchNs,Start_Timestamp,End_Timestamp,CompleteNs
    0,"vecAdd(double*, int) [clone .kd]",2,0,0,3123,3123,1048576,256,0,0,8,8,16,64,0x0,0x7feb0ec0,141007854000,141007859000,141007884000,141007896000
"""

import json
from collections.abc import Sequence

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import integer
from scalelens.tabular.cells import cells_of, first_cells, lines_of

VERSION = 1
IN_HEAD = (b"Dispatch_ID", b"workload_name")

_SPAN = {"Start_Timestamp", "End_Timestamp"}
_OF_DISPATCHES = {"Dispatch_ID", "Kernel_Name", "GPU_ID", "Grid_Size", "Workgroup_Size", *_SPAN}
_ABOUT_DISPATCHES = {  # in lower case; any other column is a counter
    "dispatch_id", "kernel_name", "gpu_id", "grid_size", "workgroup_size", "start_timestamp", "end_timestamp",
    "queue-id", "queue-index", "queue_id", "pid", "tid", "lds_per_workgroup", "scratch_per_workitem", "arch_vgpr",
    "accum_vgpr", "sgpr", "wave_size", "sig", "obj", "dispatchns", "completens", "correlation_id",
}  # fmt: skip
_OF_SYSTEM = {"workload_name", "ip_blocks", "rocm_version", "gpu_model", "gpu_arch"}
_NOT_FACTS = {"workload_name", "command", "ip_blocks", "timestamp", "version"}
_IN_COLUMNS = {"Kernel_Name", "GPU_ID", "queue-id", "Queue_ID", *_SPAN}
_BITS = 18  # digits that a column holds


def recognise(head: bytes, name: str) -> bool:
    header = first_cells(head)
    return {*header} >= _OF_SYSTEM or _is_of_dispatches(header)


def _is_of_dispatches(header: Sequence[str]) -> bool:
    return {*header} >= _OF_DISPATCHES and all(name.lower() in _ABOUT_DISPATCHES for name in header)


def read(source: Source, rows: Rows) -> None:
    header: list[str] = []
    for line, text, complete in lines_of(source):
        cells = cells_of(text)
        if not header:
            header = cells
            if "Dispatch_ID" in header:
                rows.param("trace_clock", "relative", line, origin="inferred")
        elif not complete or len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
        elif "Dispatch_ID" in header:
            _of_dispatch(line, text, dict(zip(header, cells, strict=True)), rows)
        else:
            _of_system(line, dict(zip(header, cells, strict=True)), rows)


def _of_dispatch(line: int, text: str, cells: dict[str, str], rows: Rows) -> None:
    start, end = (integer(cells[name], _BITS) for name in ("Start_Timestamp", "End_Timestamp"))
    if start is None or end is None or end < start:
        rows.problem(
            line, "the start or the end is not a time in whole nanoseconds, or the end is before the start", text
        )
        return
    queue = cells.get("queue-id", cells.get("Queue_ID", ""))
    others = {name: cell for name, cell in cells.items() if name not in _IN_COLUMNS and cell}
    rows.put("events", line, {
        "ph": "X", "name": cells["Kernel_Name"], "category": "kernel", "start_ns": start, "duration_ns": end - start,
        "process": cells["GPU_ID"] or None, "thread": queue or None, "stream": integer(queue, _BITS),
        "args": json.dumps(others) if others else None,
    })  # fmt: skip


def _of_system(line: int, cells: dict[str, str], rows: Rows) -> None:
    for name, cell in cells.items():
        if name not in _NOT_FACTS and cell not in ("", "N/A", "NA"):
            rows.param(name if name == "rocm_version" else f"machine.{name}", cell, line, origin="environment")
