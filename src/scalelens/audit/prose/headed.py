"""Numbers that a sentence names as the headings of a table do: "MAE 2.9642, WMAPE 27.93 %".

Each number stands right after the words of a heading.  If one of four digits stands in a single row below its own
heading, this row is meant, and another number differs from the cell below its heading by a slip.  If two numbers stand
in the row, no slip has to explain the third.  A sentence may round, or give a number of another kind: both numbers have
as many digits before and after the point otherwise.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.repeated import MEAN, finding_of, of_one_unit
from scalelens.audit.quantities import value
from scalelens.audit.tokens import with_characters

_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_MARKS = re.compile(r"[*_`]")
_CLAUSE = re.compile(r"[.;,](?=\s)|[()/]")
_WORDS_BEFORE = 4
_MOST_NUMBERS, _MOST_ROWS = 16, 80
_LEAST_NAMED = 2
_LEAST_DIGITS, _MANY = 3, 4


@dataclass(frozen=True)
class _Headed:
    """A table with the words of its headings, and the columns that have numbers in most rows."""

    table: TextTable
    headings: tuple[frozenset[str], ...]
    numeric: tuple[int, ...]


def find(document: Document) -> Iterator[Finding]:
    """Numbers that are not those of the row that the others of their sentence name."""
    tables = [_headed(table) for table in document.tables if 1 < len(table.cells) <= _MOST_ROWS]
    seen: set[int] = set()
    for sentences in _groups(document.sentences) if tables else ():
        numbers = [number for sentence in sentences for number in sentence.numbers]
        if not _LEAST_NAMED <= len(numbers) <= _MOST_NUMBERS:
            continue
        before = [_before(sentence, place) for sentence in sentences for place in range(len(sentence.numbers))]
        for each in tables:
            found = _in_table(numbers, before, each)
            if found and id(found[0]) not in seen:
                seen.add(id(found[0]))
                yield finding_of(*found, each.table, "the other numbers are those of this row")
                break


def _groups(sentences: tuple[Sentence, ...]) -> Iterator[list[Sentence]]:
    """Each sentence; then those of a line, or of the lines of a list, together."""
    yield from ([sentence] for sentence in sentences)
    group: list[Sentence] = []
    for sentence in sentences:
        if group and not group[-1].line <= sentence.line <= group[-1].line + 1:
            yield group
            group = []
        group.append(sentence)
    yield group


def _headed(table: TextTable) -> _Headed:
    half = len(table.cells) / 2
    numeric = [k for k in range(1, len(table.headings)) if sum(row[k] is not None for row in table.cells) > half]
    headings = [_words(_UNIT.sub("", heading)) for heading in table.headings]
    return _Headed(table, tuple(headings), tuple(numeric))


def _before(sentence: Sentence, place: int) -> frozenset[str]:
    """The few words right before a number."""
    start = sentence.positions[place][0]
    text = _MARKS.sub("", sentence.text[sentence.positions[place - 1][1] if place else 0 : start])
    return _words(" ".join(_CLAUSE.split(text.rstrip(" (=:~"))[-1].split()[-_WORDS_BEFORE:]))


def _words(text: str) -> frozenset[str]:
    """The words of a text; that it is a mean is said by one of them."""
    return with_characters(text) | ({"mean"} if MEAN.search(text) else frozenset())


def _in_table(numbers: list[Number], before: list[frozenset[str]], headed: _Headed) -> tuple[Number, Number] | None:
    columns = {place: column for place, words in enumerate(before) if (column := _column(words, headed)) is not None}
    if len(columns) < _LEAST_NAMED or len(set(columns.values())) < len(columns):
        return None
    rows = headed.table.cells
    shared = [
        [p for p, k in columns.items() if (cell := row[k]) and _digits(cell) == _digits(numbers[p])] for row in rows
    ]
    most = max(map(len, shared))
    if not most or sum(len(each) == most for each in shared) > 1:
        return None
    row = next(k for k, each in enumerate(shared) if len(each) == most)
    sure = _sure([numbers[place] for place in shared[row]])
    rest = [(numbers[p], cell) for p, k in columns.items() if p not in shared[row] and (cell := rows[row][k])]
    if not sure or len(rest) != 1 or not _are_alike(*rest[0]):
        return None
    number, cell = rest[0]
    if sure == 1 and not _is_slipped(number, cell):
        return None
    if any(_is_same(each, cell) for each in numbers if each is not number):
        return None
    return None if any(each and _is_same(number, each) for each in rows[row]) else rest[0]


def _column(words: frozenset[str], headed: _Headed) -> int | None:
    """The only column of whose heading hardly more than its words stand before a number."""
    found = [k for k in headed.numeric if headed.headings[k] and headed.headings[k] <= words]
    found = [k for k in found if "mean" not in words - headed.headings[k]]
    longest = max((len(headed.headings[k]) for k in found), default=0)
    found = [k for k in found if len(headed.headings[k]) == longest]
    return found[0] if len(found) == 1 and len(words) <= longest + 1 else None


def _sure(numbers: list[Number]) -> int:
    """How many numbers stand in a row not by chance; one must have more digits than two must."""
    digits = [len(_digits(each).strip("0")) for each in numbers]
    several = sum(each >= _LEAST_DIGITS for each in digits)
    return several if several > 1 or max(digits) >= _MANY else 0


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _are_alike(number: Number, cell: Number) -> bool:
    """Whether two numbers are of one kind: in one unit, printed with the same digits."""
    if number.hedge or cell.hedge or min(number.low, cell.low) <= 0 or not of_one_unit(number, cell, frozenset()):
        return False
    shapes = [re.sub(r"\d", "0", each.text.lstrip("+-")) for each in (number, cell)]
    return shapes[0] == shapes[1] and len(_digits(cell)) >= _LEAST_DIGITS


def _is_slipped(number: Number, cell: Number) -> bool:
    """Whether the digits of two numbers of one shape are the same but for their order, or for one."""
    mine, theirs = _digits(number), _digits(cell)
    return sorted(mine) == sorted(theirs) or sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1


def _is_same(number: Number, cell: Number) -> bool:
    return not number.bounds.apart(cell.bounds) or not value(number).apart(value(cell))
