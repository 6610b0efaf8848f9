"""A text as the audit sees it: its sentences and tables, with the numbers in them."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from scalelens.audit.headings import ColumnMeaning
from scalelens.audit.printed import Number


@dataclass(frozen=True)
class Sentence:
    """A sentence of the prose, its numbers, and where each stands in it (start, end with its unit)."""

    text: str
    line: int
    numbers: tuple[Number, ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    @cached_property
    def marked(self) -> str:
        """The sentence in lower case with `<0>` for its first number and unit, `<1>` for the second ..."""
        text = self.text
        for index in reversed(range(len(self.places))):
            start, end = self.places[index]
            text = f"{text[:start]}<{index}>{text[end:]}"
        return re.sub(r"[*_$\\~]|\s+", " ", text).lower()


@dataclass(frozen=True)
class TextTable:
    """A table: rows of cells below headings.

    cells     the number of each cell, None where it holds none
    texts     the text of each cell
    bold      (row, column) of the cells that the text marks in bold
    caption   text right before the table
    nearby    the lines around the table, with the caption
    """

    index: int
    line: int
    headings: tuple[str, ...]
    meanings: tuple[ColumnMeaning, ...]
    cells: tuple[tuple[Number | None, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    caption: str = ""
    nearby: str = ""

    def columns(self, kind: str) -> list[int]:
        """Columns of this kind."""
        return [place for place, measure in enumerate(self.meanings) if measure.kind == kind]

    def rows_with(self, *columns: int) -> list[tuple[int, tuple[Number, ...]]]:
        """Rows that have a number in each of these columns, with these numbers.  Hedged numbers are no evidence."""
        found = []
        for row, cells in enumerate(self.cells):
            numbers = [cells[column] for column in columns]
            exact = tuple(number for number in numbers if number is not None and not number.hedge)
            if len(exact) == len(columns):
                found.append((row, exact))
        return found


@dataclass(frozen=True)
class Document:
    """A text that was read: `lines` as they stand in the file, without their ends."""

    path: str
    lines: tuple[str, ...]
    tables: tuple[TextTable, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    numbers: tuple[Number, ...] = field(default=())

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)
