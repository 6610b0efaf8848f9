"""Times of an Ascend device by type of operator (op_statistic.csv).

Tool: torch_npu.profiler, MindSpore's profiler and msprof (Huawei Ascend)
Versions: 2024 to 2026, with and without Device_id, Model Name
Yields: metrics
Source: Ascend/pytorch, torch_npu/profiler/analysis, OpStatisticBean; msprof, op_statistic_TIME.csv

A row is all calls of one type on one kind of core: one type may run on two.  How often, the total, smallest, mean and
largest time are metrics, in seconds; the share is left out, as it follows from the totals.  Collectives are not in the
table.  Device_id is the device in its node and no rank: it goes to `place`.

Samples:
    Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)
    0,MatMulV3,AI_CORE,240,41000.6,70.5,170.836,290.25,21.75
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, integer
from scalelens.tabular.cells import cells_by_column, first_cells

VERSION = 1
IN_HEAD = (b"OP Type",)

_STATS = {
    "Total Time(us)": ("total time of", "value"),
    "Min Time(us)": ("time of", "min"),
    "Avg Time(us)": ("time of", "mean"),
    "Max Time(us)": ("time of", "max"),
}
_NEEDED = {"OP Type", "Core Type", "Count", *_STATS}


def recognise(head: bytes, name: str) -> bool:
    return {*first_cells(head)} >= _NEEDED


def read(source: Source, rows: Rows) -> None:
    for line, text, cells in cells_by_column(source, rows):
        _of_type(line, text, cells, rows)


def _of_type(line: int, text: str, cells: dict[str, str], rows: Rows) -> None:
    count = integer(cells["Count"], 15)
    seconds = {name: us / 1e6 for name in _STATS if (us := amount(cells[name])) is not None}
    if count is None or len(seconds) < len(_STATS):
        rows.problem(line, "a value is not a number that can be read", text)
        return
    place = f"device {cells['Device_id']}" if cells.get("Device_id") else None
    model = cells.get("Model Name", "")
    what = f"{cells['OP Type']} on {cells['Core Type']}" + (f" of {model}" if model not in ("", "N/A") else "")
    rows.metric(line, None, place, None, f"calls of {what}", float(count))
    for name, (of, stat) in _STATS.items():
        rows.metric(line, None, place, None, f"{of} {what}", seconds[name], "s", stat)
