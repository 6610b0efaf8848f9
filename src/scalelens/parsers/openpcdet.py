"""Progress lines of OpenPCDet, and of the detectors of point clouds that were made from it.

Tool: open-mmlab/OpenPCDet tools/train.py; GraphBEV, DSVT, VoxelNeXt and other forks
Versions: 0.6 and later
Yields: params, steps, metrics
Source: OpenPCDet/tools/train_utils/train_utils.py, train_one_epoch()

The times are of the iteration printed last, as means over the ranks; those in brackets are means since the epoch began,
and left out.  `Forward time` ends with the update, and `Batch time` is it and the wait for data.  `Acc_iter` counts the
steps through all epochs, from 1.

Samples:
    2024-05-06 07:08:09,125   INFO  Train:    3/20 ( 15%) [ 249/1250 ( 20%)]  Loss: 1.625 (2.13)  LR: 1.250e-03  Time cost: 04:10/16:40 [45:50/6:15:00]  Acc_iter 2750        Data time: 0.02(0.03)  Forward time: 0.98(1.01)  Batch time: 1.00(1.04)
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import iso_time

VERSION = 1
ANCHORS = ("  Acc_iter ", "  Time cost: ")

_N = r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
_BEGIN = re.compile(r"(?:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) +INFO +)?Train: +(\d{1,9})/\d{1,9} \( *\d+%\) \[")
_RECORD = re.compile(
    rf" *\d{{1,9}}/(\d{{1,9}}) \( *\d+%\)\]  Loss: ({_N}|nan|inf) \(\S+\)  LR: ({_N})  Time cost: \S+ \[\S+\]"
    rf"  Acc_iter (\d{{1,12}}) +Data time: ({_N})\(\S+\)  Forward time: ({_N})\(\S+\)  Batch time: ({_N})\(\S+\)\s*\Z"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        rows = self.rows
        if not (begin := _BEGIN.match(line.text)):
            return False
        if not (record := _RECORD.match(line.text, begin.end())):
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        total, step = int(record[1]), int(record[4])
        loss, rate, data_s, forward_s, step_s = (float(record[k]) for k in (2, 3, 5, 6, 7))
        time = iso_time(begin[1]) if begin[1] else None
        attempt = rows.attempt_of(line.number, step, line.rank, line.location, time, step_s).attempt
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": int(begin[2]), "step": step, "step_s": step_s, "averaged_steps": 1, "value_kind": "instant"}
        row |= {"data_s": data_s, "learning_rate": rate}
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        row |= {"ts": time, "ts_origin": "naive"} if time else {}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.param("iterations_per_epoch", total, line.number)
        rows.attempt = max(rows.attempt, attempt)
        rows.put("steps", line.number, row)
        rows.metrics(line.number, line.rank, line.location, step, [("Forward time", forward_s, "s")])
        return True
