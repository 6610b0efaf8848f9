"""Kernels of a recording by Ascend's profiler (kernel_details.csv).

Tool: torch_npu.profiler and MindSpore's profiler (Huawei Ascend)
Versions: 2023 to 2026: levels 0 to 2, with and without Device_id and counters, `Block Dim` or `Block Num`
Yields: events, params
Source: Ascend/pytorch, torch_npu/profiler/analysis, KernelViewParser; msprof's op_summary, of which it is a part

Every row is a task of the device, of category kernel, whether its cores, its CPUs or its random numbers do it; collectives
are rows too, whose accelerator is HCCL or COMMUNICATION.  Real files held: the durations of all others add up to
Computing of step_trace_time.csv, and those of the collectives to Communication.

Times are microseconds since 1970, with a tab after them, so that spreadsheets keep them as text; they become whole nanoseconds, exactly.
`train_step` is Step Id, `stream` the stream where the level tells it, `process` Device_id, the device in its node.  No
rank is in the file: it is that of the file's name (rank0), else NULL.  What else a row says is in `args`.  A
collective whose name is not known as one gets the category communication, counts nowhere, and is a problem.

Samples:
    Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim
    7,0,4294967295,411,2,aclnnMm_MatMulCommon_MatMulV2,MatMulV2,dynamic,AI_CORE,1790857026000120.240	,312.060,91.100,24
"""

import json

from scalelens.parsing.kernel_classes import kernel_class
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import decimal_nanoseconds
from scalelens.parsing.values import integer, rank_in_name
from scalelens.tabular.cells import cells_by_column, first_cells

VERSION = 1
IN_HEAD = (b"Accelerator Core",)

_NEEDED = {"Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)"}
_IN_COLUMNS = {"Step Id", "Device_id", "Stream ID", "Name", "Start Time(us)", "Duration(us)"}
_OF_COLLECTIVES = {"HCCL", "COMMUNICATION"}
_SINCE_1970 = 10**18  # nanoseconds; a clock that began with the node is below it for thirty years
_BITS = 18  # digits that a column holds


def recognise(head: bytes, name: str) -> bool:
    return {*first_cells(head)} >= _NEEDED


def read(source: Source, rows: Rows) -> None:
    rank = rank_in_name(source.name)
    for line, text, cells in cells_by_column(source, rows):
        _of_task(line, text, cells, rank, rows)


def _of_task(line: int, text: str, cells: dict[str, str], rank: int | None, rows: Rows) -> None:
    start, duration = (decimal_nanoseconds(cells[name]) for name in ("Start Time(us)", "Duration(us)"))
    if start is None or duration is None or min(start, duration) < 0 or not cells["Name"]:
        rows.problem(line, "the start or the duration is not a time, or the name is missing", text)
        return
    rows.param("trace_clock", "unix" if start > _SINCE_1970 else "relative", line, origin="inferred")
    category = "kernel"
    if cells["Accelerator Core"] in _OF_COLLECTIVES and kernel_class(cells["Name"], category) != "communication":
        rows.problem(line, "a collective by its accelerator, with a name that is not known as one: not counted", text)
        category = "communication"
    others = {
        name: cell.strip('"') for name, cell in cells.items() if name not in _IN_COLUMNS and cell not in ("", "N/A")
    }
    rows.put("events", line, {
        "rank": rank, "ph": "X", "name": cells["Name"], "category": category, "start_ns": start,
        "duration_ns": duration, "process": cells.get("Device_id") or None,
        "stream": integer(cells.get("Stream ID", ""), _BITS), "train_step": integer(cells.get("Step Id", ""), _BITS),
        "args": json.dumps(others) if others else None,
    })  # fmt: skip
