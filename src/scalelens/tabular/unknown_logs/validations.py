"""Which records of steps come after a validation that their own lines tell of.

    10:00:20 step 100 | train loss 2.1 | val loss 2.2         printed after both: the stamps show the sum

    10:00:20 step 100 | train loss 2.1
    10:00:27 step 100 | val loss 2.2                          one step in two lines, with the validation between

A result that stays what it was is of an earlier validation.
"""

from collections.abc import Mapping
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.tabular.cells import TableRecord

_OF_VALIDATION = re.compile(
    r"(?<![a-z])(?:val|valid|validation|eval|evaluation|test|(?<!std[ _.-])dev)(?![a-z])", re.IGNORECASE
)
_LONG = 0.1  # of the time between two steps


class Validations:
    """The results of validations in the records of each writer, and the time at which each step was last printed."""

    def __init__(self, clock: str) -> None:
        self.clock = clock  # the column of the time by the stamps
        self._results: dict[Any, dict[str, Any]] = {}
        self._printed: dict[Any, float] = {}

    def is_anew(self, cells: Mapping[str, Any]) -> bool:
        """Whether a record has the result of another validation than those before it."""
        found = {name: value for name, value in cells.items() if _OF_VALIDATION.search(name)}
        known = self._results.setdefault(_whose(cells), {})
        is_anew = any(known.get(name) != value for name, value in found.items())
        known |= found
        return is_anew

    def is_long(self, first: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
        """Whether much of the time since the record before lies between two lines of one step."""
        start, end, before = first.get(self.clock), later.get(self.clock), self._printed.get(_whose(later))
        return None not in (start, end, before) and end - start > _LONG * (end - before)  # type: ignore[operator]

    def told(self, record: TableRecord) -> None:
        """Notes when a record was printed."""
        if (at := record.cells.get(self.clock)) is not None:
            self._printed[_whose(record.cells)] = at


def _whose(cells: Mapping[str, Any]) -> tuple[Any, Any]:
    return cells.get("rank"), cells.get("worker")
