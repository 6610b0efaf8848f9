"""Counts the rows of a file: `scalelens identify` and the check of formats show them without a warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scalelens.inert import visible
from scalelens.parsing.rows import Rows


@dataclass
class _RowCount:
    """Rows of one format for one table."""

    rows: int
    first_line: int | None
    last_line: int | None
    example: str  # reason of the first problem


class CountedRows(Rows):
    """Rows that are counted by format and table, and written nowhere."""

    def __init__(self, mapping: Mapping[str, tuple[str, str | None]] | None = None) -> None:
        super().__init__(mapping=mapping)
        self.counts: dict[tuple[str, str], _RowCount] = {}

    def put(self, table: str, line: int | None, row: dict[str, Any]) -> None:
        self.note(table, line, 1)
        super().put(table, line, row)

    def metric(self, line: int | None, *args: Any, **options: Any) -> None:
        self.note("metrics", line, 1)
        super().metric(line, *args, **options)

    def metrics(self, line: int | None, *args: Any, **options: Any) -> None:
        before = self.rows_by_format.get(self.format, 0)
        super().metrics(line, *args, **options)
        self.note("metrics", line, self.rows_by_format.get(self.format, 0) - before)

    def problem(self, line: int | None, reason: str, text: str = "") -> None:
        self.note("problems", line, 1, visible(reason))
        super().problem(line, reason, text)

    def note(self, table: str, line: int | None, rows: int, example: str = "") -> None:
        """Adds rows to the count of the format that reads now."""
        count = self.counts.setdefault((self.format or "", table), _RowCount(0, line, line, example))
        count.rows += rows
        if line is not None:
            count.first_line = min(count.first_line or line, line)
            count.last_line = max(count.last_line or line, line)
