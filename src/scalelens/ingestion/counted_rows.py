"""Counts the rows of a file: `scalelens identify` and the check of formats show them without a warehouse."""

from collections.abc import Mapping
from typing import Any

from scalelens.parsing.rows import Rows


class CountedRows(Rows):
    """Rows that are counted by format and table, and written nowhere."""

    def __init__(self, mapping: Mapping[str, tuple[str, str | None]] | None = None) -> None:
        super().__init__(mapping=mapping)
        # By format and table: how many rows, the first line, the last line, the reason of the first problem.
        self.counts: dict[tuple[str, str], list[Any]] = {}

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        self.note(table, line, 1)
        super().put(table, line, row)

    def metric(self, line: int | None, *facts: Any, **named: Any) -> None:
        self.note("metrics", line, 1)
        super().metric(line, *facts, **named)

    def metrics(self, line: int | None, *facts: Any, **named: Any) -> None:
        before = self.rows_by_format.get(self.format, 0)
        super().metrics(line, *facts, **named)
        self.note("metrics", line, self.rows_by_format.get(self.format, 0) - before)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        self.note("problems", line, 1, reason)
        super().problem(line, reason, text)

    def note(self, table: str, line: int | None, count: int, example: str = "") -> None:
        counted = self.counts.setdefault((self.format or "", table), [0, line, line, example])
        counted[0] += count
        if line is not None:
            counted[1], counted[2] = min(counted[1] or line, line), max(counted[2] or line, line)
