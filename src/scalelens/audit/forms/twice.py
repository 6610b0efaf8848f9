"""Tables that give the same numbers: a summary and what it sums up.

Cells of two tables are the same if their rows and columns have the same names, exchanged or not; lines (rows or
columns) without common names, if their numbers agree in order.  Where three others agree at least and one alone does
not, which a slip would make right, that one is accused.  So is one of a row that two tables have, if three results of
that row agree.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import combinations

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import REPEATED, slip
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import matters, table_name, with_unit
from scalelens.units import base

_LEAST_DIGITS = 3
_NEAR = Decimal("0.02")
_LEAST_SHARED = 2
_LEAST_SAME, _LEAST_IN_ORDER = 3, 4
_SURELY_SAME = 6  # then no slip need explain the one that is not
_MOST_LINES = 6  # lines with one number; more say nothing
_MOST_ROWS, _MOST_TABLES = 80, 40
_SIZES = re.compile(
    r"\b(?:params?|parameters?|flops|macs|size|resolution|batch|layers?|dim|epochs?|tokens?|memory|gb|mb|steps?|n)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\W_]+")
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")


@dataclass(frozen=True)
class _Line:
    """A row or a column: its table and its numbers."""

    table: TextTable
    cells: tuple[Number, ...]


def find(document: Document) -> Iterator[Finding]:
    """Numbers that differ by a slip from the same number of another table."""
    tables = [table for table in document.tables if len(table.cells) <= _MOST_ROWS]
    if len(tables) < 2:
        return
    lines = [line for table in tables for line in _lines_of(table)]
    texts = Counter(number.text for number in document.numbers)
    accused: set[int] = set()
    for a, b in _pairs(lines):
        if found := _apart(lines[a], lines[b]):
            number, other, words = found
            if texts[number.text] > 1 and texts[other.text] > 1:
                continue
            if id(number) not in accused and id(other) not in accused:
                accused |= {id(number), id(other)}
                yield _finding(number, other, lines[a].table, words)
    for one, two in combinations(tables[:_MOST_TABLES], 2):
        for number, other, words in _of_one_row(one, two):
            if not {id(number), id(other)} & accused and min(texts[number.text], texts[other.text]) == 1:
                accused |= {id(number), id(other)}
                yield _finding(number, other, one, words)


def _of_one_row(a: TextTable, b: TextTable) -> Iterator[tuple[Number, Number, str]]:
    """The only results of a row that differ, where the row of the same name in another table has three of the same."""
    columns = [
        (k, other)
        for k, other in _of_one_heading(a, b)
        if k and other and not _SIZES.search(a.headings[k].replace("_", " "))
    ]
    if len(columns) <= _LEAST_SAME:
        return
    labels = [[_label(*row) for row in zip(table.texts, table.cells, strict=True)] for table in (a, b)]
    for row, label in enumerate(labels[0]):
        if not label or labels[0].count(label) > 1 or labels[1].count(label) != 1:
            continue
        theirs = b.cells[labels[1].index(label)]
        pairs = [(x, y) for k, other in columns if (x := a.cells[row][k]) and (y := theirs[other])]
        apart = [(x, y) for x, y in pairs if not _is_same(x, y)]
        same = sum(_is_telling(x, y) for x, y in pairs)
        if len(apart) == 1 and same >= _LEAST_SAME:
            words = _slip(*apart[0])
            if not words and not _are_near(*apart[0]) and _is_of_a_neighbor(apart[0], columns, (a, b)):
                words = REPEATED
            if words:
                yield *apart[0], words


def _of_one_heading(a: TextTable, b: TextTable) -> list[tuple[int, int]]:
    """Columns of two tables that have the same heading, which none has twice."""
    own, others = ([_NAME.sub(" ", each.lower()).strip() for each in table.headings] for table in (a, b))
    return [
        (k, others.index(name))
        for k, name in enumerate(own)
        if name and own.count(name) == 1 and others.count(name) == 1
    ]


def _is_of_a_neighbor(
    pair: tuple[Number, Number], columns: list[tuple[int, int]], tables: tuple[TextTable, ...]
) -> bool:
    """Whether one of two numbers is also that of another row of its column, and has three digits."""
    for side, number in enumerate(pair):
        column = next((each[side] for each in columns if each[side] == number.cell), None)
        cells = [row[column] for row in tables[side].cells] if column else []
        if sum(each is not None and each.text == number.text for each in cells) > 1:
            return len(_digits(number).strip("0")) >= _LEAST_DIGITS
    return False


def _plain(text: str) -> str:
    return _NAME.sub(" ", _UNIT.sub("", text).lower()).strip()


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _lines_of(table: TextTable) -> Iterator[_Line]:
    for cells in (*(row[1:] for row in table.cells), *list(zip(*table.cells, strict=True))[1:]):
        yield _Line(table, tuple(cell for cell in cells if cell and not cell.hedge))


def _pairs(lines: list[_Line]) -> list[tuple[int, int]]:
    """Lines of different tables with two numbers or more that are the same."""
    places: dict[str, set[int]] = defaultdict(set)
    for k, line in enumerate(lines):
        for cell in line.cells:
            if len(_digits(cell).strip("0")) >= _LEAST_DIGITS:
                places[_digits(cell)].add(k)
    shared: Counter[tuple[int, int]] = Counter()
    for own in places.values():
        if len(own) <= _MOST_LINES:
            for a, b in combinations(sorted(own), 2):
                if lines[a].table is not lines[b].table:
                    shared[a, b] += 1
    return [pair for pair, count in shared.items() if count >= _LEAST_SHARED]


def _apart(a: _Line, b: _Line) -> tuple[Number, Number, str] | None:
    """The only two numbers that should be the same and are not, and the slip between them."""
    named = cells_of_one_name(a.table, b.table)
    pairs = named or _by_order(a, b)
    apart = [pair for pair in pairs if not _is_same(*pair)]
    same = sum(_is_telling(*pair) for pair in pairs if pair not in apart)
    if len(apart) != 1 or same < (_LEAST_SAME if named else _LEAST_IN_ORDER):
        return None
    words = _slip(*apart[0])
    if not words and named and same >= _SURELY_SAME and not _are_near(*apart[0]):
        words = "another number"
    return (*apart[0], words) if words else None


def _is_telling(a: Number, b: Number) -> bool:
    return _digits(a) == _digits(b) and len(_digits(a).strip("0")) >= _LEAST_DIGITS


@lru_cache(maxsize=256)
def cells_of_one_name(a: TextTable, b: TextTable) -> list[tuple[Number, Number]]:
    """Cells of two tables whose rows and columns have the same two names."""
    own, others = _named(a), _named(b)
    return [(cell, others[names]) for names, cell in own.items() if names in others]


def _named(table: TextTable) -> dict[frozenset[str], Number]:
    """The numbers of a table by the names of row and column; not those whose names stand twice."""
    found: dict[frozenset[str], list[Number]] = defaultdict(list)
    labels = [_label(texts, cells) for texts, cells in zip(table.texts, table.cells, strict=True)]
    for row, cells in enumerate(table.cells):
        for k, cell in enumerate(cells):
            names = frozenset((labels[row], _plain(table.headings[k])))
            if k and cell and not cell.hedge and "" not in names:
                found[names].append(cell)
    return {names: cells[0] for names, cells in found.items() if len(cells) == 1}


def _label(texts: tuple[str, ...], cells: tuple[Number | None, ...]) -> str:
    """The cells of a row that are words; the first one, if there are none."""
    words = [_plain(text) for text, cell in zip(texts, cells, strict=True) if cell is None and text]
    return " ".join(words) or _plain(texts[0])


def _by_order(a: _Line, b: _Line) -> list[tuple[Number, Number]]:
    if len(a.cells) != len(b.cells):
        return []
    return list(zip(a.cells, b.cells, strict=True))


def _is_same(a: Number, b: Number) -> bool:
    if a.unit and b.unit:
        return base(a.unit)[0] == base(b.unit)[0] and not value(a).apart(value(b))
    return not a.bounds.apart(b.bounds)


def _slip(a: Number, b: Number) -> str:
    if a.low <= 0 or b.low <= 0 or (a.unit and b.unit and a.unit != b.unit):
        return ""
    if min(len(_digits(each).strip("0")) for each in (a, b)) < _LEAST_DIGITS:
        return ""
    words = slip(a.text, float(b.low), float(b.high))
    if words.endswith(("two", "60", "3,600", "sign is wrong")):
        return ""
    alike = sorted(_digits(a).strip("0")) == sorted(_digits(b).strip("0"))
    differs = words == "one digit differs" and len(_digits(a)) == len(_digits(b)) and not _are_near(a, b)
    return words if alike or differs else ""


def _are_near(a: Number, b: Number) -> bool:
    """Whether two runs that end alike may have given both."""
    return b.low > 0 and abs(a.low / b.low - 1) < _NEAR


def _finding(number: Number, other: Number, table: TextTable, words: str) -> Finding:
    return Finding(
        "inconsistent",
        (number, other),
        f"{with_unit(number)} is {with_unit(other)} in line {other.line}; the other numbers of {table_name(table)} "
        f"agree ({words}).",
        matters(value(number), value(other) if number.unit and other.unit else other.bounds),
        "a number that is given twice",
    )
