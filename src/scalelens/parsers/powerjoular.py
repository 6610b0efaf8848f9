"""PowerJoular: power of processor and graphics card, a row for each second.

Tool: powerjoular -f FILE
Versions: 0.2 to 1.0
Yields: power
Source: powerjoular src/csv_power.adb, Save_To_CSV_File()

CPU Power is of all packages, with their memory where RAPL's psys is counted; on a Raspberry Pi it is what a model of the
board makes of the load.  GPU Power is the sum over NVIDIA's cards, and 0 where there is none; Total Power is the sum of
both and is not read.  Watts, although the header says no unit.  The file of one program (`-p`, its name ends with the
process id) holds that program's share, and is not read.  Times are local (--tz).

Samples:
    Date,CPU Utilization,Total Power,CPU Power,GPU Power
    2026-01-02 03:04:05.243,0.35101010101010,3.87732219967425,3.87732219967425,0.00000000000000
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME, amount
from scalelens.tabular.cells import MAY_BE_CUT, first_cells, rows_of

VERSION = 1
IN_HEAD = (b"CPU Utilization",)

_HEADER = ("Date", "CPU Utilization", "Total Power", "CPU Power", "GPU Power")
_OF_PROGRAM = ("Date", "CPU Utilization", "CPU Power")
_WITH_PID = re.compile(r"-\d{1,10}\.csv(?:\.\w+)?")


def recognise(head: bytes, name: str) -> bool:
    return first_cells(head) in (_HEADER, _OF_PROGRAM)


def read(source: Source, rows: Rows) -> None:
    if first_cells(source.text_head()) == _OF_PROGRAM or _WITH_PID.search(source.name):
        rows.problem(1, "the powers are one program's share of the processor, which is a part of what it drew")
        return
    samples = Samples(rows)
    has_gpu = any((amount(cells[-1]) or 0) > 0 for _, cells, whole in rows_of(source) if len(cells) == len(_HEADER))
    for line, cells, whole in rows_of(source):
        if tuple(cells) == _HEADER:
            continue
        text = ",".join(cells)
        if not whole or len(cells) != len(_HEADER):
            rows.problem(line, "the line is cut, or has other columns than the header" if whole else MAY_BE_CUT, text)
            continue
        if (stamp := stamp_of(cells[0])) is None:
            rows.problem(line, UNREADABLE_TIME, text)
            continue
        samples.power(line, Sensor(None, "cpu", "cpu"), cells[3], stamp)
        if has_gpu:
            samples.power(line, Sensor(None, "gpu", "gpu"), cells[4], stamp)
