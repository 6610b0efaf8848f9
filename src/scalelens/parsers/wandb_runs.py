"""The table of runs that W&B's page exports: a row for each run, with its settings and its last values.

Tool: Weights & Biases web page, "Export CSV" of a project's runs; wandb.Api().runs(), written by whoever exports
Versions: files of 2020 to 2026 were at hand
Yields: params, metrics, phases
Source: the page's table of runs; its own columns are Name, State, Notes, User, Tags, Created, Runtime and Sweep

Which columns the page exports is the user's choice: it is known by `Name` with `Created` and `Runtime`, or with the ID
that W&B gives a run.  A table by the API has a name and the last `_step` and `_runtime` in each row; the names all
differ, and `_step` does not grow from row to row.

Each row is a run, a part of the file.  `Runtime` is the time of the run in seconds.  A finished run is taken as
completed, one that crashed or failed as an error, a killed one as cancelled.  Settings and last values stand beside
each other, and only a slash in a name shows a value that was logged: what has none is a fact under its own name and
canonical ones, and each number is a metric without a step.  No row is a step: what was logged last is not the course of
a training.  Where the history of a run is at hand as well, both are runs of their own.

Samples:
    "Name","State","Notes","User","Tags","Created","Runtime","Sweep","lr","micro_batch_size","train/loss"
    "first","finished","-","someone","","2026-03-02T10:38:30.000Z","732","","0.001","8","1.5"
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_cells, first_lines, is_blank, lines_of
from scalelens.tabular.named_rows import is_of_runs, naming_column

VERSION = 1

_OWN = {
    "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "End Time", "Updated",
    "_runtime", "_timestamp",
}  # fmt: skip
_OUTCOMES = {"finished": "completed", "crashed": "error", "failed": "error", "killed": "cancelled"}
_FACTS = {"Name": "run_name", "ID": "wandb_id", "Tags": "tags", "Sweep": "sweep_id"}
_ID = re.compile(r"(?=[a-z0-9]*\d)[a-z0-9]{8}")
_CREATED = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")
_INDEX = "Unnamed: "  # what pandas calls an index that was written and read again
_LONGEST = 500


def recognise(head: bytes, name: str) -> bool:
    names = first_cells(head)
    if "Name" not in names:
        return "_step" in names and "_runtime" in names and is_of_runs(head, "_step")
    first = "".join(first_lines(head)[1:2])
    row = dict(zip(names, cells_of(first), strict=False))
    if {"Created", "Runtime"} <= row.keys():
        return "State" in row or bool(_CREATED.fullmatch(row["Created"]) and number(row["Runtime"]) is not None)
    return bool(_ID.fullmatch(row.get("ID", "")))


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    named_by: int | None = None
    first = True
    for line, text, whole in lines_of(source):
        cells = cells_of(text)
        if not names:
            names = cells
        elif len(cells) != len(names):
            rows.problem(line, f"the row has {len(cells)} cells, not {len(names)}" if whole else MAY_BE_CUT, text)
        else:
            if not whole:
                rows.problem(line, MAY_BE_CUT, text)
                cells[-1] = ""
            if first and "Name" not in names:
                named_by = naming_column(names, cells)
            elif not first:
                rows.new_part()
            first = False
            named = {"Name": cells[named_by]} if named_by is not None else {}
            rest = {name: cell for k, (name, cell) in enumerate(zip(names, cells, strict=True)) if k != named_by}
            _write_run(rows, line, named | rest)


def _write_run(rows: Rows, line: int, cells: dict[str, str]) -> None:
    rows.param("tracker", "wandb", line)
    for column, fact in _FACTS.items():
        if not is_blank(cells.get(column)):
            rows.param(fact, cells[column][:_LONGEST], line)
    rows.param("outcome", _OUTCOMES.get(cells.get("State", "").lower()), line)
    span_s = number(cells.get("Runtime", cells.get("_runtime")))
    if span_s is not None and span_s >= 0:
        rows.add("phases", line, phase="run", span_s=span_s, origin="logged")
    logged = {
        name: cell for name, cell in cells.items()
        if name not in _OWN and name and not name.startswith(_INDEX) and not is_blank(cell)
    }  # fmt: skip
    write_configuration({name: cell for name, cell in logged.items() if "/" not in name and name[0] != "_"}, rows, line)
    values = {name: number(cell) for name, cell in logged.items()}
    rows.metrics(line, None, None, None, [(name, value, None) for name, value in values.items() if value is not None])
