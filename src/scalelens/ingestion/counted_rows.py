"""Rows of a file, counted instead of kept: what a look at a file without a warehouse shows."""

from collections.abc import Mapping
from typing import Any

from scalelens.parsing.rows import Rows


class CountedRows(Rows):
    """Rows that are counted by format and table, not kept."""

    def __init__(self, mapping: Mapping[str, tuple[str, str | None]] | None = None) -> None:
        super().__init__(mapping=mapping)
        self.counts: dict[tuple[str, str], list[Any]] = {}  # how many, from which line, to which, an example

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        self.note(table, line, 1)
        super().put(table, line, row)

    def metric(self, line: int | None, *facts: Any, **named: Any) -> None:
        self.note("metrics", line, 1)
        super().metric(line, *facts, **named)

    def metrics(self, line: int | None, *facts: Any, **named: Any) -> None:
        before = self.rows_of.get(self.format, 0)
        super().metrics(line, *facts, **named)
        self.note("metrics", line, self.rows_of.get(self.format, 0) - before)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        self.note("problems", line, 1, reason)
        super().problem(line, reason, text)

    def note(self, table: str, line: int | None, count: int, example: str = "") -> None:
        entry = self.counts.setdefault((self.format or "", table), [0, line, line, example])
        entry[0] += count
        if line is not None:
            entry[1], entry[2] = min(entry[1] or line, line), max(entry[2] or line, line)
