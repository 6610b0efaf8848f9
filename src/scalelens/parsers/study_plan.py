"""The plan of a study: which runs it shall have, and the line that makes each.

Tool: scalelens bench --study; a table by hand
Versions: 0.1
Yields: planned_runs
Source: src/scalelens/bench/study.py, plan_text()

A CSV whose first column is `planned_run`: the folder or file that the logs of a run go into, relative to the folder of
the plan.  The other columns are optional: nodes, repeat, precision, dataset, and command, the line that makes the run.
The plan belongs to no run, and what it says is not a fact about one.  The query planned_runs says what came back.

Samples:
    planned_run,nodes,repeat,precision,dataset,command
    amp-synthetic-n4-r2,4,2,amp,synthetic,sbatch vision-amp-synthetic-n4-r2.sh
"""

import csv
import io

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import integer

VERSION = 1
IN_HEAD = (b"planned_run",)
_TEXTS, _COUNTS = ("precision", "dataset", "command"), ("nodes", "repeat")
_LARGEST = 2**31 - 1


def recognise(head: bytes, name: str) -> bool:
    first = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].strip()
    return first == b"planned_run" or first.startswith(b"planned_run,")


def read(source: Source, rows: Rows) -> None:
    text = source.text().decode("utf-8", "replace").removeprefix("\ufeff").replace("\0", "")
    if not text.endswith("\n"):
        text, _, cut = text.rpartition("\n")
        rows.problem(text.count("\n") + 2, "the line is cut", cut)
    reader = csv.DictReader(io.StringIO(text), restkey="")
    try:
        unknown = set(reader.fieldnames or ()) - {"planned_run", *_TEXTS, *_COUNTS}
        if unknown:
            rows.problem(1, f"a plan has no column {', '.join(sorted(unknown))}", text.partition("\n")[0])
        for row in reader:
            _take(row, reader.line_num, rows)
    except csv.Error as error:
        rows.problem(reader.line_num, f"the line is not a row of a CSV: {error}", "")


def _take(row: dict[str, str], number: int, rows: Rows) -> None:
    cells = {name: (row.get(name) or "").strip() or None for name in ("planned_run", *_TEXTS, *_COUNTS)}
    counts = {name: integer(cells[name] or "") for name in _COUNTS}
    wrong = [name for name in _COUNTS if cells[name] and not 0 < (counts[name] or 0) <= _LARGEST]
    if cells["planned_run"] is None or wrong or "" in row:
        reason = (
            f"{wrong[0]} is not a count"
            if wrong
            else "no run is planned in this line"
            if "" not in row
            else "more cells"
        )
        rows.problem(number, reason, ",".join(str(cell) for cell in row.values()))
        return
    rows.add("planned_runs", number, **{**cells, **counts})
