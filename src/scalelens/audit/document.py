"""A text as the audit sees it: its sentences and tables, with their numbers."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TypeVar

from scalelens.audit.headings import ColumnMeaning
from scalelens.audit.numerals import number_words
from scalelens.audit.printed import Number

_Of = TypeVar("_Of")
_Result = TypeVar("_Result")
_TIMES = re.compile(r"(?<=> )\*(?= [<(])")  # between two numbers: elsewhere it is a bullet or bold
_SPACED = re.compile(r" (?=[,;:.)\]](?![\d<]))|(?<=\() ")  # what bold leaves: "**5 s** , " and "( 5 s )"
_STAR = re.compile(r"(?<=\s)\*(?=\s)|\\times\b")
_MARKS = re.compile(r"[*_$\\~\s]+")
_NUMBERS = re.compile(r"<\d+>|\d+")
_IN_CODE = re.compile(r"`(<\d+>(?: ?(?:→|->) ?<\d+>)?)`")
_KEY = re.compile(r"[^\w:=]*([A-Za-z][\w ./%()-]{0,40}?[:=])\s*[\d.,]+\W*\S{0,8}\s*$")
_LOG = 4
_MARK = re.compile(r"<(?=\d+>)")  # in the text itself, where it marks nothing


def remembered(function: Callable[[_Of], _Result]) -> Callable[[_Of], _Result]:
    """A function of a document, a sentence or a table that computes its result once, as long as that lives."""
    key = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def known(of: _Of) -> _Result:
        memory = vars(of)
        if key not in memory:
            memory[key] = function(of)
        result: _Result = memory[key]
        return result

    return known


def _without_marks(text: str) -> str:
    """A text of the same length in which only the marks of numbers look like `<0>`."""
    return _MARK.sub(" ", text)


@dataclass(frozen=True)
class Sentence:
    """A sentence of the prose, its numbers, and the position of each (start, end with its unit)."""

    text: str
    line: int
    numbers: tuple[Number, ...] = ()
    positions: tuple[tuple[int, int], ...] = ()

    @cached_property
    def marked(self) -> str:
        """The sentence in lower case, with `<0>` for its first number and unit, `<1>` for the second, and so on."""
        text = _without_marks(self.text)
        for index in reversed(range(len(self.positions))):
            start, end = self.positions[index]
            text = f"{text[:start]}<{index}>{text[end:]}"
        text = _IN_CODE.sub(r"\1", text)
        return _SPACED.sub("", _MARKS.sub(" ", _TIMES.sub("×", text))).lower()

    @cached_property
    def spelled(self) -> tuple[tuple[Number, int], ...]:
        """The numbers that it spells out, and where each begins."""
        return tuple(number_words(self.text, self.line))

    @cached_property
    def with_spelled(self) -> tuple[str, list[Number]]:
        """The marked sentence, in which spelled numbers are marked too and units are kept, and all its numbers."""
        text, spans = _without_marks(self.text), set()
        for number, (start, _) in zip(self.numbers, self.positions, strict=True):
            spans.add((start, start + len(number.text), self.numbers.index(number)))
        for index, (number, start) in enumerate(self.spelled, len(self.numbers)):
            spans.add((start, start + len(number.text), index))
        for start, end, index in sorted(spans, reverse=True):
            text = f"{text[:start]}<{index}>{text[end:]}"
        text = _STAR.sub("×", text)
        return _MARKS.sub(" ", text).lower(), [*self.numbers, *(number for number, _ in self.spelled)]

    @cached_property
    def form(self) -> str:
        """What it has besides numbers: the same in all records of a log."""
        return _NUMBERS.sub("#", self.marked)


@dataclass(frozen=True)
class TextTable:
    """A table: rows of cells below headings.

    cells     the number of each cell, None if it has none
    texts     the text of each cell
    bold      (row, column) of the cells in bold
    caption   the text right before the table
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

    @cached_property
    def digits(self) -> frozenset[str]:
        """The digits of each of its numbers."""
        return frozenset(re.sub(r"\D", "", cell.text) for row in self.cells for cell in row if cell)

    def columns(self, kind: str) -> list[int]:
        """Columns of this kind, by index."""
        return [k for k, meaning in enumerate(self.meanings) if meaning.kind == kind]

    def rows_with(self, *columns: int) -> list[tuple[int, tuple[Number, ...]]]:
        """Rows that have a number in each of these columns, with these numbers.  Hedged numbers do not count."""
        rows = []
        for row, cells in enumerate(self.cells):
            numbers = [cells[column] for column in columns]
            exact = tuple(number for number in numbers if number is not None and not number.hedge)
            if len(exact) == len(columns):
                rows.append((row, exact))
        return rows


@dataclass(frozen=True)
class Document:
    """A text that was read; `lines` are those of the file, without line ends."""

    path: str
    lines: tuple[str, ...]
    tables: tuple[TextTable, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    numbers: tuple[Number, ...] = field(default=())

    @cached_property
    def text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def _keys(self) -> Counter[str]:
        return Counter(key[1] for line in self.lines if (key := _KEY.match(line)))

    def is_of_a_log(self, number: Number) -> bool:
        """Whether the line of a number is a name and its value, as in four lines or more: each run has its own."""
        key = _KEY.match(self.lines[number.line - 1]) if number.table is None else None
        return key is not None and self._keys[key[1]] >= _LOG

    @cached_property
    def times(self) -> Counter[tuple[str, str]]:
        """How often each number stands in the text, by its digits and its unit."""
        return Counter((number.text, number.unit) for number in self.numbers)
