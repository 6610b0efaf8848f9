"""Tables that share some of their numbers: which row is which, which column is which, and the cell that differs.

Two tables are laid over each other, as they are or with rows and columns exchanged.  A row belongs to the row of the
other table with which it shares numbers or its name, and a column to its column in the same way.  Where both are found,
each by one only, and what else they have in common agrees, the cells where they cross are one number: it is accused if
it differs, and a slip or the number of a neighbor would explain that.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.tokens import tokens
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import matters, table_name, with_unit
from scalelens.units import base

_LEAST_DIGITS = 3
_LEAST_SHARED = 2
_LEAST_SUPPORT, _MUCH_SUPPORT = 4, 5
_LEAST_NAMED = 2  # a name of both lines, or the same one of one
_FAR = 0.05
_MOST_APART = 4  # one crossing of so many may differ
_MOST_ROWS, _MOST_TABLES = 80, 60
_MOST_PLACES = 2  # of a number in a table: its own, and one where it stands for another
_NUMBER = re.compile(r"(?<![\w.])[-+\u2212]?\d[\d,]*(?:\.\d+)?")
_BRACKETS = re.compile(r"[(\[][^()\[\]]*[)\]]")
_PLAIN = re.compile(r"[\W_]+")
_Place = tuple[int, int]


@dataclass(frozen=True)
class _Grid:
    """A table, or a table with rows and columns exchanged."""

    table: TextTable
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[_Place, Number]
    places: dict[str, tuple[_Place, ...]]  # of the numbers that stand once or twice

    @cached_property
    def turned(self) -> "_Grid":
        cells = {(column, row): cell for (row, column), cell in self.cells.items()}
        places = {digits: tuple((column, row) for row, column in found) for digits, found in self.places.items()}
        return _Grid(self.table, self.columns, self.rows, cells, places)


@dataclass(frozen=True)
class _Lines:
    """Which lines of two grids belong together: how many numbers they share, and whether their names agree."""

    shared: Counter[_Place]
    names: dict[_Place, int]

    def of(self, own: int, other: int) -> tuple[int, int]:
        """Numbers that two lines share, and 2 for the same name, 1 for one that contains the other; 0 for others."""
        shared, name = self.shared[own, other], self.names.get((own, other), 0)
        for (a, b), count in self.shared.items():
            if (a == own) != (b == other) and count >= shared:
                return 0, 0
        if not shared:
            for (a, b), score in self.names.items():
                if (a == own) != (b == other) and score >= name:
                    return 0, 0
        return shared, name


def find(document: Document) -> Iterator[Finding]:
    """Numbers of two tables that are the same measurement and differ."""
    tables = [table for table in document.tables if len(table.cells) <= _MOST_ROWS][:_MOST_TABLES]
    grids = [_grid_of(table) for table in tables]
    texts = Counter(number.text for number in document.numbers)
    accused: set[int] = set()
    for a, b in combinations(grids, 2):
        if len(a.places.keys() & b.places.keys()) < _LEAST_SHARED:
            continue
        found = [each for other in (b, b.turned) for each in _apart(a, other)]
        if len(found) != 1:
            continue
        number, other, words = found[0]
        if (texts[number.text] > 1 and texts[other.text] > 1) or {id(number), id(other)} & accused:
            continue
        accused |= {id(number), id(other)}
        yield _finding(number, other, a.table, words)


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _plain(text: str) -> str:
    return _PLAIN.sub(" ", _BRACKETS.sub("", text).lower()).strip()


def _grid_of(table: TextTable) -> _Grid:
    cells, places = {}, defaultdict(set)
    for row, (numbers, texts) in enumerate(zip(table.cells, table.texts, strict=True)):
        for column, (number, text) in enumerate(zip(numbers, texts, strict=True)):
            if column and number and not number.hedge:
                cells[row, column] = number
            for each in _NUMBER.findall(text):
                plain = re.sub(r"[^\d.]", "", each)
                if len(plain.replace(".", "").strip("0")) >= _LEAST_DIGITS:
                    places[plain].add((row, column))
    labels = tuple(_plain(texts[0]) for texts in table.texts)
    headings = tuple(_plain(heading) for heading in table.headings)
    few = {digits: tuple(sorted(found)) for digits, found in places.items() if len(found) <= _MOST_PLACES}
    return _Grid(table, labels, headings, cells, few)


def _names(own: tuple[str, ...], others: tuple[str, ...]) -> dict[_Place, int]:
    scores = {}
    mine, theirs = [tokens(name) for name in own], [tokens(name) for name in others]
    for a, name in enumerate(own):
        for b, other in enumerate(others):
            if name and name == other:
                scores[a, b] = 2
            elif mine[a] and theirs[b] and (mine[a] <= theirs[b] or theirs[b] <= mine[a]):
                scores[a, b] = 1
    return scores


def _common(a: _Grid, b: _Grid, rows: dict[_Place, int], columns: dict[_Place, int]) -> Iterator[tuple[_Place, _Place]]:
    """Where both have the same number; of one that stands twice in one of them, where names agree best."""
    for digits in a.places.keys() & b.places.keys():
        pairs = [
            (rows.get((mine[0], other[0]), 0) + columns.get((mine[1], other[1]), 0), mine, other)
            for mine in a.places[digits]
            for other in b.places[digits]
        ]
        best = max(pairs)
        if len(pairs) == 1 or (len(pairs) <= _MOST_PLACES and sum(each[0] == best[0] for each in pairs) == 1):
            yield best[1:]


def _apart(a: _Grid, b: _Grid) -> list[tuple[Number, Number, str]]:
    """The cells of two grids that should be the same and are not, with what explains it."""
    row_names, column_names = _names(a.rows, b.rows), _names(a.columns, b.columns)
    common = list(_common(a, b, row_names, column_names))
    rows = _Lines(Counter((mine[0], other[0]) for mine, other in common), row_names)
    columns = _Lines(Counter((mine[1], other[1]) for mine, other in common), column_names)
    row_pairs = {pair: rows.of(*pair) for pair in rows.shared.keys() | rows.names.keys()}
    column_pairs = {pair: columns.of(*pair) for pair in columns.shared.keys() | columns.names.keys()}
    crossings = {
        (*row, *column): (mine, other)
        for row, by_row in row_pairs.items()
        for column, by_column in column_pairs.items()
        if any(by_row) and any(by_column)
        if (mine := a.cells.get((row[0], column[0]))) and (other := b.cells.get((row[1], column[1])))
    }
    apart = {place: cells for place, cells in crossings.items() if not _is_same(*cells)}
    found = []
    for place, (mine, other) in apart.items():
        by_row, by_column = row_pairs[place[:2]], column_pairs[place[2:]]
        alone = not any(each != place and (each[:2] == place[:2] or each[2:] == place[2:]) for each in apart)
        support, named = sum(by_row) + sum(by_column), by_row[1] + by_column[1] >= _LEAST_NAMED
        if alone and support >= _LEAST_SUPPORT and by_row[0] + by_column[0] >= _LEAST_SHARED:
            found.append((mine, other, _why(mine, other, support if named else 0, (a, b))))
    return [each for each in found if each[2]] if len(apart) == 1 or _MOST_APART * len(apart) < len(crossings) else []


def _are_in_units(a: Number, b: Number) -> bool:
    """Whether both have a unit; below "Image" stands the score of a task, which counts no images."""
    return bool(a.unit and b.unit) and (a.unit == b.unit or not {a.unit, b.unit} & {*COUNTED})


def _is_same(a: Number, b: Number) -> bool:
    if _are_in_units(a, b):
        return base(a.unit)[0] == base(b.unit)[0] and not value(a).apart(value(b))
    return not a.bounds.apart(b.bounds)


def _why(a: Number, b: Number, named_support: int, grids: tuple[_Grid, _Grid]) -> str:
    """What explains that two numbers differ: a slip, or the number of a neighbor.

    `named_support` is 0 if the names do not agree: then only the same digits in another order or size explain it.
    """
    if a.low <= 0 or b.low <= 0 or (_are_in_units(a, b) and a.unit != b.unit):
        return ""
    mine, theirs = _digits(a), _digits(b)
    if max(len(each.strip("0")) for each in (mine, theirs)) < _LEAST_DIGITS:
        return ""
    words = slip(a.text, float(b.low), float(b.high))
    if words.endswith(("swapped", "ten", "thousand")) and sorted(mine.strip("0")) == sorted(theirs.strip("0")):
        return words
    if words == "two digits are swapped" and sorted(mine) == sorted(theirs):
        return words
    if not named_support or abs(float(a.low / b.low) - 1) < _FAR:
        return ""
    if words == "one digit differs" and len(mine) == len(theirs):
        return "" if _are_of_two_names(a, b, grids) else words
    if named_support >= _MUCH_SUPPORT and any(
        _is_a_neighbor(each, grid) for each, grid in zip((a, b), grids, strict=True)
    ):
        return "it is the number of a neighbor"
    return ""


def _are_of_two_names(a: Number, b: Number, grids: tuple[_Grid, _Grid]) -> bool:
    """Whether the heading of each number is a name that the row and the column of the other one have not."""
    names = []
    for number, grid in zip((a, b), grids, strict=True):
        row, column = next(place for place, cell in grid.cells.items() if cell is number)
        names.append((grid.columns[column], {grid.columns[column], grid.rows[row]}))
    (mine, own), (theirs, others) = names
    return bool(mine and theirs) and mine not in others and theirs not in own


def _is_a_neighbor(number: Number, grid: _Grid) -> bool:
    """Whether another cell of the same row or column has the number."""
    row, column = next(place for place, cell in grid.cells.items() if cell is number)
    return any(
        cell.text == number.text and ((place[0] == row) != (place[1] == column)) for place, cell in grid.cells.items()
    )


def _finding(number: Number, other: Number, table: TextTable, words: str) -> Finding:
    return Finding(
        "inconsistent",
        (number, other),
        f"{with_unit(number)} is {with_unit(other)} in line {other.line}; the other numbers that {table_name(table)} "
        f"shares with that table agree ({words}).",
        matters(value(number), value(other) if number.unit and other.unit else other.bounds),
        "a number that is given twice",
    )
