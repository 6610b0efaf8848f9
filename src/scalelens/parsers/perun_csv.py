"""perun's samples (CSV).

Tool: perun monitor, perun export ... csv
Versions: 0.6 to 1.0
Yields: power
Source: perun/io/pandas.py

A row is a sample of a sensor; those in watts are read, times `magnitude`.  `timestep` is in seconds since the run began,
whose time is not in the file (ts_origin `relative`).  Of a CPU and of memory perun makes the powers out of counters.
Where the file has several runs, one after the other, each begins at its own zero: then the file is refused, and perun's
HDF5 beside it has the energies.

Samples:
    ,run id,hostname,device_group,sensor,unit,magnitude,timestep,value
    357,0,node-7,gpu,CUDA:0_POWER,W,0.001,0.0,71230.0
"""

from scalelens.parsing.perun_sensors import perun_sensor
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Samples
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import cells_by_column, first_cells, rows_of

VERSION = 1
IN_HEAD = (b"device_group",)

_COLUMNS = ["run id", "hostname", "device_group", "sensor", "unit", "magnitude", "timestep", "value"]


def recognise(head: bytes, name: str) -> bool:
    return [*first_cells(head)][-len(_COLUMNS) :] == _COLUMNS


def read(source: Source, rows: Rows) -> None:
    runs = {cells[-len(_COLUMNS)] for _, cells, _ in rows_of(source) if len(cells) >= len(_COLUMNS)} - {"run id"}
    if len(runs) > 1:
        rows.problem(1, f"{len(runs)} runs follow each other, and the time between them is not known")
        return
    samples = Samples(rows)
    for number, text, cells in cells_by_column(source, rows):
        if cells["unit"] != "W":
            continue
        seconds, scale = amount(cells["timestep"]), amount(cells["magnitude"])
        if seconds is None or scale is None:
            rows.problem(number, "the time or the magnitude is not a number", text)
            continue
        sensor = perun_sensor(cells["hostname"], cells["device_group"], cells["sensor"])
        samples.power(number, sensor, cells["value"], (round(seconds * SECOND), "relative"), scale)
