"""Progress lines of SupContrast, and of the contrastive trainings that were made from it.

Tool: HobbitLong/SupContrast main_supcon.py, main_ce.py and main_linear.py; scripts made from them
Versions: all
Yields: params, steps
Source: main_supcon.py, train()

`BT` is the time of the batch printed last, with its wait for data (`DT`), in seconds; those in brackets are means since
the epoch began, and left out.  The lines of a validation begin with `Test:` and have other names.

Samples:
    Train: [3][40/195]	BT 0.312 (0.330)	DT 0.004 (0.012)	loss 5.625 (5.750)
    Train: [3][40/195]	BT 0.312 (0.330)	DT 0.004 (0.012)	loss 1.625 (1.750)	Acc@1 41.125 (40.500)
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("\tBT ", " BT ")

_BEGIN = re.compile(r"Train: \[(\d{1,9})\]\[(\d{1,9})/(\d{1,9})\]\s{1,8}BT ")
_RECORD = re.compile(
    r"(\d{1,9}\.\d{3}) \(\d{1,9}\.\d{3}\)\s{1,8}DT (\d{1,9}\.\d{3}) \(\d{1,9}\.\d{3}\)\s{1,8}"
    r"loss (-?\d{1,15}\.\d{1,6}|nan|inf) \([^)\s]{1,20}\)(?:\s{1,8}Acc@1 (\d{1,3}\.\d{1,6}))?"
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
        epoch, batch, total = (int(begin[k]) for k in (1, 2, 3))
        step = (epoch - 1) * total + batch
        step_s, data_s, loss = (float(record[k]) for k in (1, 2, 3))
        attempt = rows.attempt_of(line.number, step, line.rank, line.location, None, step_s).attempt
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step, "step_s": step_s, "averaged_steps": 1, "value_kind": "instant"}
        row |= {"data_s": data_s}
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        row |= {"accuracy": float(record[4]) / 100} if record[4] else {}
        rows.param("framework", "pytorch", line.number, origin="inferred")
        rows.param("iterations_per_epoch", total, line.number)
        rows.attempt = max(rows.attempt, attempt)
        rows.put("steps", line.number, row)
        return True
