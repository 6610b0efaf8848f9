"""Tables whose rows say by name which run they are of: the last values of each run, or the histories of several."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_of, head_lines

_SURE = ("run_id", "run_name", "run")
_NAMES = (*_SURE, "id", "name")  # without regard to case
_LEAST_ROWS = 2
_STATES = {"finished", "running", "crashed", "failed", "killed", "preempting", "preempted", "pending"}


def naming_column(names: Sequence[str], cells: Sequence[str]) -> int | None:
    """The column that names a run, by its name and by a first cell that is not a number."""
    by_name = {name.lower(): k for k, name in reversed([*enumerate(names)])}
    found = (by_name[name] for name in _NAMES if name in by_name)
    return next((k for k in found if k < len(cells) and cells[k] and number(cells[k]) is None), None)


def naming_key(record: Mapping[str, Any]) -> str | None:
    """The same for an object of JSON lines."""
    return next((name for name in _NAMES if isinstance(record.get(name), str) and record[name]), None)


def is_sure(name: str) -> bool:
    """Whether such a column names runs and nothing else."""
    return name.lower() in _SURE


def is_index(name: str) -> bool:
    """Whether a column is one that pandas adds: without a name, or one that it gives to such a column later."""
    return not name or name.startswith("Unnamed: ")


def rows_in(head: bytes) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, and the cells of the whole rows, in the first bytes of a CSV."""
    names, *rows = (cells_of(line) for line in [*head_lines(head)] or [""])
    return names, [cells for cells in rows if len(cells) == len(names)]


def is_of_runs(head: bytes, count: str) -> bool:
    """Whether each row of a CSV is another run, by the rows in the first bytes of a file.

    Each has another name, and `count`, which grows within a history, does not.  Where it does grow, only the state of
    each run shows it.
    """
    names, whole = rows_in(head)
    column = naming_column(names, whole[0]) if whole and count in names else None
    if column is None or len(whole) < _LEAST_ROWS or len({cells[column] for cells in whole}) < len(whole):
        return False
    counts = [number(cells[names.index(count)]) for cells in whole]
    known = [value for value in counts if value is not None]
    return not all(a < b for a, b in itertools.pairwise(known)) or have_states(names, whole)


def have_states(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether each row says how a run ended, or that it is running."""
    column = next((k for k, name in enumerate(names) if name.lower() == "state"), None)
    return column is not None and bool(rows) and all(cells[column] in _STATES for cells in rows)
