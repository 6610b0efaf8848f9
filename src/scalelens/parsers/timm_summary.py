"""timm's summary.csv.

Tool: timm (pytorch-image-models), train.py
Versions: 0.1 to 1.0
Yields: metrics
Source: pytorch-image-models/timm/utils/summary.py, update_summary()

A row for each epoch, without times: metrics under the names of the columns, whose `step` is the epoch.  A restart
writes its header again, or goes back to an earlier epoch.

Samples:
    epoch,train_loss,eval_loss,eval_top1,eval_top5,lr
    0,6.9123,6.8012,0.512,2.104,0.0001
"""

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, rows_of

VERSION = 2
IN_HEAD = (b"epoch,train_loss,eval_",)

_START = b"epoch,train_loss,eval_"
_LONGEST_NAME = 100  # letters of a column's name


def recognise(head: bytes, name: str) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").startswith(_START)


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    before = -1
    for number, cells, whole in rows_of(source):
        if cells[:2] == ["epoch", "train_loss"]:
            names = cells if max(map(len, cells)) <= _LONGEST_NAME else []  # a name is looked at in each row
            continue
        if not whole and len(cells) == len(names):
            rows.problem(number, MAY_BE_CUT, ",".join(cells))
            cells, whole = [*cells[:-1], ""], True
        if not whole or len(cells) != len(names) or not cells[0].isdecimal() or len(cells[0]) > 9:
            rows.problem(number, "the row is cut, or its first column is not an epoch", ",".join(cells))
            continue
        epoch = int(cells[0])
        rows.attempt += epoch <= before
        before = epoch
        for name, cell in zip(names[1:], cells[1:], strict=True):
            try:
                value = float(cell or "nan")
            except ValueError:
                rows.problem(number, f"{name} is not a number", ",".join(cells))
                continue
            if value == value:
                rows.metric(number, None, None, epoch, name, value, "%" if "_top" in name else None)
