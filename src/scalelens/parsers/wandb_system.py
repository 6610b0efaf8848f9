"""What W&B measured of the machine during a run, as CSV: use, memory and power of its devices.

Tool: Weights & Biases, `run.history(stream="system")` or `stream="events"`, written by whoever exports
Versions: 0.12 to 0.31
Yields: power, metrics
Source: wandb/apis/public/runs.py, history(); names as in wandb/sdk/internal/system/assets

A row for each sample, with its time in `_timestamp`, and columns whose names begin with `system.`.  Power of a GPU
(`system.gpu.0.powerWatts`) is `power`; use and memory are metrics with their device.  The power of one process is that
of the GPU once more, and stays a metric.  Clients before 0.18 average over 30 s.

Samples:
    ,system.gpu.0.gpu,system.gpu.0.powerWatts,_runtime,_timestamp
    0,97.0,305.25,15.5,1788269015.5
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.system_metrics import SystemMetrics
from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_by_column, first_cells, time_stamp

VERSION = 1
IN_HEAD = (b"_timestamp",)

_OF_SYSTEM = "system."
_TIME = "_timestamp"


def recognise(head: bytes, name: str) -> bool:
    names = first_cells(head)
    return _TIME in names and "_step" not in names and any(name.startswith(_OF_SYSTEM) for name in names)


def read(source: Source, rows: Rows) -> None:
    rows.param("tracker", "wandb")
    system = SystemMetrics(rows)
    for line, text, cells in cells_by_column(source, rows):
        stamp = time_stamp(cells[_TIME])
        if stamp is None:
            rows.problem(line, f"the sample has no time: {_TIME} is not a time stamp", text)
            continue
        for name, cell in cells.items():
            value = number(cell) if name.startswith(_OF_SYSTEM) else None
            if value is not None:
                system.take(line, name.removeprefix(_OF_SYSTEM), value, stamp)
