"""The table of runs that W&B's page exports: a row for each run, with its settings and its last values.

Tool: Weights & Biases web page, "Export CSV" of a project's runs
Versions: files of 2021 to 2026 were at hand
Yields: params, metrics, phases
Source: the page's table of runs; its own columns are Name, State, Notes, User, Tags, Created, Runtime and Sweep

Each row is a run, a part of the file.  `Runtime` is the time of the run in seconds.  A finished run is taken as
completed, one that crashed or failed as an error, a killed one as cancelled.  Settings and last values stand beside
each other, and only a slash in a name shows a value that was logged: what has none is a fact under its own name and
canonical ones, and each number is a metric without a step.  No row is a step: what was logged last is not the course of
a training.  Where the history of a run is at hand as well, both are runs of their own.

Samples:
    "Name","State","Notes","User","Tags","Created","Runtime","Sweep","lr","micro_batch_size","train/loss"
    "first","finished","-","someone","","2026-03-02T10:38:30.000Z","732","","0.001","8","1.5"
"""

from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_cells, is_blank, lines_of

VERSION = 1

_OWN = ("Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep")
_SURE = {"Name", "State", "Created", "Runtime"}  # of a table that is W&B's
_OUTCOMES = {"finished": "completed", "crashed": "error", "failed": "error", "killed": "cancelled"}
_FACTS = {"Name": "run_name", "Tags": "tags", "Sweep": "sweep_id"}
_LONGEST = 500


def recognise(head: bytes, name: str) -> bool:
    return set(first_cells(head)) >= _SURE


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    first = True
    for line, text, whole in lines_of(source):
        cells = cells_of(text)
        if not names:
            names = cells
        elif len(cells) != len(names) or not whole:
            rows.problem(line, MAY_BE_CUT if not whole else f"the row has {len(cells)} cells, not {len(names)}", text)
        else:
            if not first:
                rows.new_part()
            first = False
            _write_run(rows, line, dict(zip(names, cells, strict=True)))


def _write_run(rows: Rows, line: int, cells: dict[str, str]) -> None:
    rows.param("tracker", "wandb", line)
    for column, fact in _FACTS.items():
        if not is_blank(cells.get(column)):
            rows.param(fact, cells[column][:_LONGEST], line)
    rows.param("outcome", _OUTCOMES.get(cells["State"].lower()), line)
    if (span_s := number(cells["Runtime"])) is not None and span_s >= 0:
        rows.add("phases", line, phase="run", span_s=span_s, origin="logged")
    logged = {name: cell for name, cell in cells.items() if name not in _OWN and not is_blank(cell)}
    write_configuration({name: cell for name, cell in logged.items() if "/" not in name}, rows, line)
    values = {name: number(cell) for name, cell in logged.items()}
    rows.metrics(line, None, None, None, [(name, value, None) for name, value in values.items() if value is not None])
