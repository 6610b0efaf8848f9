"""Rows of steps whose columns come in several records: the loss in one, the time in the next."""

from typing import Any

from scalelens.parsing.attempts import Position
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

_Writer = tuple[int | None, str | None]  # rank and location of the lines


class OpenSteps:
    """The row of each writer that may still get columns.  Its next step, or another value of a column, ends a row.

    A column that comes again with the same value is the same record, printed twice.
    """

    def __init__(self, rows: Rows, framework: str, origin: str = "log") -> None:
        self.rows = rows
        self.framework = framework, origin
        self.open: dict[_Writer, tuple[int, int, dict[str, Any]]] = {}  # part, line and row

    def fill(self, columns: dict[str, Any], step: int, line: Line) -> tuple[dict[str, Any], Position | None]:
        """The row of a step with further columns, and where it stands, if it is a new one."""
        whose = line.rank, line.location
        part, _, row = self.open.get(whose, (self.rows.part, 0, dict[str, Any]()))
        position = None
        if part != self.rows.part or row.get("step") != step or any(row.get(k, v) != v for k, v in columns.items()):
            self.hand_over(whose)
            position = self.rows.attempt_of(line.number, step, *whose)
            row = {
                "attempt": position.attempt,
                "rank": line.rank,
                "place": line.location,
                "phase": "train",
                "step": step,
            }
            self.open[whose] = self.rows.part, line.number, row
            framework, origin = self.framework
            self.rows.reached(line.number, step)
            self.rows.param("framework", framework, line.number, origin=origin)
        row |= columns
        return row, position

    def hand_over(self, whose: _Writer) -> None:
        if whose in self.open:
            part, number, row = self.open.pop(whose)
            now, self.rows.part = self.rows.part, part  # another job may have begun since the row was opened
            self.rows.put("steps", number, row)
            self.rows.part = now

    def finish(self) -> None:
        for whose in [*self.open]:
            self.hand_over(whose)
