"""The table of runs that W&B's page exports: a row for each run, with its settings and its last values.

Tool: Weights & Biases web page, "Export CSV" of a project's runs; wandb.Api().runs(), written by whoever exports
Versions: files of 2020 to 2026 were at hand
Yields: params, metrics, phases
Source: the page's table of runs; its own columns are Name, State, Notes, User, Tags, Created, Runtime and Sweep

Which columns the page exports is the user's choice: it is known by `Name` with `Created` and `Runtime`, with the ID that
W&B gives a run, or with names that W&B gave all of them (`bright-sweep-3`).  A table by the API has a name and the last
`_step` and `_runtime` in each row; the names all differ, and `_step` does not grow from row to row, or each row has the
state of its run.  Settings and last values may have names that begin with `config.` and `summary.`, or are objects
in columns `config` and `summary`, as the script of W&B's documentation writes them.

Each row is a run, a part of the file.  `Runtime` is the time of the run in seconds.  A finished run is taken as
completed, one that crashed or failed as an error, a killed one as cancelled.  Settings and last values are next to
each other, and only a slash in a name shows a value that was logged: what has none is a fact under its own name and
canonical ones, and each number is a metric without a step.  No row is a step: what was logged last is not the course of
a training.  Where the history of a run is at hand as well, both are runs of their own.

Samples:
    "Name","State","Notes","User","Tags","Created","Runtime","Sweep","lr","micro_batch_size","train/loss"
    "first","finished","-","someone","","2026-03-02T10:38:30.000Z","732","","0.001","8","1.5"
"""

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import write_configuration
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_number, number
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_cells, head_lines, is_blank, lines_of, nested_values
from scalelens.tabular.named_rows import have_states, is_index, is_of_runs, rows_in

VERSION = 2

_OWN = {
    "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "ID", "End Time", "Updated",
    "_runtime", "_timestamp", "_wandb", "state",
}  # fmt: skip
_TELLING = {"Name", "Created", "_runtime", "state", "config", "summary"}
_OUTCOMES = {"finished": "completed", "crashed": "error", "failed": "error", "killed": "cancelled"}
_FACTS = {"Name": "run_name", "ID": "wandb_id", "Tags": "tags", "Sweep": "sweep_id"}
_NAMING = {"Name": ("Name", "run_name", "name", "run"), "ID": ("ID", "run_id", "id")}  # the first of them that is there
_ID = re.compile(r"(?=[a-z0-9]*\d)[a-z0-9]{8}")
_CREATED = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")
_GIVEN_NAME = re.compile(r"[a-z]+-[a-z]+-\d+")  # bright-sweep-3
_SETTING, _LAST = "config", "summary"  # objects, or what names begin with
_NOT_JSON = re.compile(r"(?<=[\s:,\[(])(?:nan|-?inf)(?=[,\]})])")
_LONGEST = 500


def recognise(head: bytes, name: str) -> bool:
    if not _may_name_runs(first_cells(head)):
        return False
    names, found = rows_in(head)
    known = set(names)
    if {_LAST, _SETTING} <= known and known & {*_NAMING["Name"], *_NAMING["ID"]}:
        first = next(iter([*head_lines(head)][1:]), "")
        return '{"' in first.replace('""', '"') or "{'" in first
    if not found:
        return False
    row = dict(zip(names, found[0], strict=True))
    if {"Created", "Runtime"} <= known:
        return "State" in known or bool(_CREATED.fullmatch(row["Created"]) and number(row["Runtime"]) is not None)
    run_id = next((row[column] for column in _NAMING["ID"] if column in row), "")
    called = [cells[names.index(column)] for column in _NAMING["Name"][:3] if column in known for cells in found]
    are_named = bool(called) and all(map(_GIVEN_NAME.fullmatch, called)) and len(set(called)) == len(found)
    if "Name" in known and (_ID.fullmatch(run_id) or (are_named and len(found) > 1 and names[0] == "Name")):
        return True
    if have_states(names, found) and (_ID.fullmatch(run_id) or are_named or known & {"_runtime", "_step", "_wandb"}):
        return len({tuple(cells) for cells in found}) == len(found)
    if _by_prefix(names) and called:
        return len(set(called)) == len(found)
    return "Name" not in known and {"_step", "_runtime"} <= known and is_of_runs(head, "_step")


def _may_name_runs(names: Sequence[str]) -> bool:
    """Whether a first line has a column without which no table is of runs: most files are told apart by it alone."""
    columns = {name.lower() if name.lower() == "state" else name for name in names}
    return not columns.isdisjoint(_TELLING) or _by_prefix(names)


def _by_prefix(names: Sequence[str]) -> bool:
    """Whether the names of settings and of last values begin with what they are."""
    return all(any(name.startswith((f"{of}.", f"{of}/")) for name in names) for of in (_SETTING, _LAST))


def read(source: Source, rows: Rows) -> None:
    names: list[str] = []
    first = True
    for line, text, whole in lines_of(source):
        cells = cells_of(text)
        if not names:
            names = cells
            own = {kind: next((c for c in _NAMING[kind] if c in names), None) for kind in _NAMING}
        elif len(cells) != len(names):
            rows.problem(line, f"the row has {len(cells)} cells, not {len(names)}" if whole else MAY_BE_CUT, text)
        else:
            if not whole:
                rows.problem(line, MAY_BE_CUT, text)
                cells[-1] = ""
            if not first:
                rows.new_part()
            first = False
            row = {name: cell for name, cell in zip(names, cells, strict=True) if not is_index(name)}
            named = {kind: row.pop(column) for kind, column in own.items() if column is not None}
            _write_run(rows, line, row | named, text, _by_prefix(names))


def _write_run(rows: Rows, line: int, cells: dict[str, str], text: str, by_prefix: bool) -> None:
    rows.param("tracker", "wandb", line)
    for column, fact in _FACTS.items():
        if not is_blank(cells.get(column)):
            rows.param(fact, cells[column][:_LONGEST], line)
    rows.param("outcome", _OUTCOMES.get(cells.get("State", cells.get("state", "")).lower()), line)
    settings, last = _told_apart(cells, by_prefix)
    for column, into in ((_SETTING, settings), (_LAST, last)):
        if (cell := cells.get(column, "")).startswith("{"):
            found = _object_in(cell)
            if found is None:
                rows.problem(line, f"the {column} is not a whole object of JSON or Python", text)
            else:
                into |= found
    values = dict(_numbers(last))
    span_s = number(cells.get("Runtime", cells.get("_runtime", values.get("_runtime"))))
    if span_s is not None and span_s >= 0:
        rows.add("phases", line, phase="run", span_s=span_s, origin="logged")
    plain = {name: value for name, value in settings.items() if name[0] != "_"}
    write_configuration(plain, rows, line, known=_FACTS.values())
    logged = ((name, value) for name, value in values.items() if name not in _OWN and not name.startswith("_wandb"))
    rows.metrics(line, None, None, None, [(name, value, None) for name, value in logged])


def _told_apart(cells: Mapping[str, str], by_prefix: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings and last values: by what their names begin with, else whatever has no slash may be a setting."""
    settings: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for name, cell in cells.items():
        if name in _OWN or is_blank(cell) or (name in (_SETTING, _LAST) and cell.startswith("{")):
            continue
        kind, rest = name[: len(_LAST)], name[len(_LAST) + 1 :]
        if by_prefix and kind == _LAST and rest:
            last[rest] = cell
        elif by_prefix and name.startswith((f"{_SETTING}.", f"{_SETTING}/")):
            settings[name[len(_SETTING) + 1 :] or name] = cell
        else:
            last[name] = cell
            settings |= {} if "/" in name else {name: cell}
    return settings, last


def _numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in nested_values(values, marker="_type"):  # of a table or a picture
        found = number(value) if isinstance(value, str) else json_number(value)
        if found is not None:
            yield name, found


def _object_in(cell: str) -> dict[str, Any] | None:
    """An object as Python or JSON writes it; None where it is damaged."""
    for read_value in (json.loads, ast.literal_eval, lambda text: ast.literal_eval(_NOT_JSON.sub("None", text))):
        try:
            found = read_value(cell)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return found if isinstance(found, dict) and all(isinstance(name, str) for name in found) else None
    return None
