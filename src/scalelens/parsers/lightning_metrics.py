"""metrics.csv of Lightning's CSVLogger.

Tool: Lightning (pytorch_lightning, lightning.pytorch, Fabric), CSVLogger
Versions: 1.0 to 2.x
Yields: metrics
Source: lightning/fabric/loggers/csv_logs.py, _ExperimentWriter.save()

The columns are whatever was logged, with `epoch` and `step`, in order of name (before 2.0: of appearance); cells of
what was not logged at that step are empty.  There is no time, unless somebody logged one: nothing here is a step's
time.  A resumed run writes another file.  A table with a column of times, or without empty cells or that order, is left
to others.

Samples:
    epoch,lr-SGD,step,train_loss,val_acc,val_loss
    0,0.1,49,6.9012,,
    0,,49,,0.125,6.8012
"""

import re
from itertools import islice

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, first_lines, head_lines, rows_of

VERSION = 2

_NAME = re.compile(r"[A-Za-z_][\w./|@ -]*\Z")
_TIME = re.compile(r"(?:^|_)(?:time|elapsed|duration|timestamp|seconds|ms|wall)(?:_|$)", re.IGNORECASE)


def recognise(head: bytes, name: str) -> bool:
    names = "".join(first_lines(head)[:1]).split(",")
    if not {"epoch", "step"} < set(names) or len(set(names)) < len(names):
        return False
    if not all(_NAME.match(column) and not _TIME.search(column) for column in names):
        return False
    sparse = any(",," in line or line.endswith(",") or line.startswith(",") for line in islice(head_lines(head), 1, 50))
    return sparse and (names == sorted(names) or names[-2:] == ["epoch", "step"] or names[:2] == ["epoch", "step"])


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    for number, cells, whole in rows_of(source):
        if not names:
            names = cells
            continue
        if not whole and len(cells) == len(names) and names[-1] != "step":
            rows.problem(number, MAY_BE_CUT, ",".join(cells))
            cells, whole = [*cells[:-1], ""], True
        named_cells = dict(zip(names, cells, strict=False))
        text = named_cells.get("step", "")
        step = int(text) if text.isdecimal() and len(text) < 16 else None
        if not whole or len(cells) != len(names) or (step is None and text):
            rows.problem(number, "the row is cut, or its step is not a number", ",".join(cells))
            continue
        values = []
        for name, cell in named_cells.items():
            try:
                value = float(cell or "nan")
            except ValueError:
                rows.problem(number, f"{name} is not a number", ",".join(cells))
                continue
            if name != "step" and value == value:
                values.append((name, value, None))
        rows.metrics(number, None, None, step, values)
