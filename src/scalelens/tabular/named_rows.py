"""Tables whose rows say by name which run they are of: the last values of each run, or the histories of several."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from scalelens.parsing.values import number
from scalelens.tabular.cells import cells_of, head_lines

_SURE = ("run_id", "run_name", "run")
_NAMES = (*_SURE, "id", "name")  # without regard to case
_LEAST_ROWS = 2


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


def is_of_runs(head: bytes, count: str) -> bool:
    """Whether each row of a CSV is another run, by the rows in the first bytes of a file.

    Each has another name, and `count`, which grows within a history, does not.  Where it does grow, nothing tells.
    """
    names, *rows = (cells_of(line) for line in [*head_lines(head)])
    whole = [cells for cells in rows if len(cells) == len(names)]
    column = naming_column(names, whole[0]) if whole and count in names else None
    if column is None or len(whole) < _LEAST_ROWS:
        return False
    counts = [number(cells[names.index(count)]) for cells in whole]
    known = [value for value in counts if value is not None]
    grows = all(a < b for a, b in itertools.pairwise(known))
    return len({cells[column] for cells in whole}) == len(whole) and not grows
