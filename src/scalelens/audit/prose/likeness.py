"""How much shows that two numbers in two places are one measurement.

Words that both places share count by how rare they are; words next to one number that the other place lacks count
against it.  Between a sentence and a cell it counts how much better its row and its column fit than the others, and
between sentences how many words right before and right after both are the same.  A text with many numbers of the same
kind has more pairs that are alike by chance.

The weights were fitted on 3,100 numbers that stand twice in 4,995 documents of public repositories, after a slip in one
of them, against all pairs in these documents that differ by such a slip.  The limits, for each slip and for two
sentences, two tables, and one of each, lie above what such pairs show to weights fitted on other repositories.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import takewhile
from math import copysign, log2, log10, sqrt

from scalelens.audit.document import TextTable
from scalelens.audit.printed import Number
from scalelens.audit.prose.places import Place, digits_of, middle_of
from scalelens.audit.tokens import with_characters

POINT, SWAPPED, DIGIT = "it is off by a factor of ten", "two digits are swapped", "one digit differs"
_SENTENCES, _MIXED, _TABLES = "two sentences", "a sentence and a table", "two tables"
_CODED = re.compile(r".*(?:[a-z].*\d|\d.*[a-z])")
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_LEAST_DIGITS, _MANY, _LONG = 3, 4, 5
_SHORTEST = 5.0  # the texts that this was fitted on are hardly ever shorter
_ALIKE = 0.05  # numbers so near each other are of one kind
_MOST_IN_ORDER, _MOST_IN_COLUMN, _MOST_PEERS = 4, 2, 3
_BETTER = -1.5  # then another row, or another column, fits the sentence better
# What each of `_features` weighs, by slip and digits.
_WEIGHTS = {
    (POINT, 3): (
        5.06, 0.91, 0.91, -0.24, 0.37, 1.3, 0.66, 0.0, -0.81, 0.28,
        -0.47, -1.53, 0.0, 0.56, 0.0, 0.8, 0.0, -0.55, 0.34, -0.1,
        0.02, -0.26, 1.66, 0.2, 0.49, 1.25, 0.38, -0.34, -0.82,
    ),
    (POINT, 4): (
        7.82, 0.24, 0.2, -0.02, 0.14, 0.51, -0.44, 0.31, -0.6, 0.34,
        -0.73, 0.44, 0.0, -0.73, 0.49, 0.16, 0.0, -0.6, 0.11, 0.11,
        0.24, 0.35, 0.21, 0.03, 0.09, 0.23, 0.14, 0.07, 0.32,
    ),
    (SWAPPED, 3): (
        4.99, 1.05, 1.55, -0.26, 0.37, 2.35, -0.12, 0.0, -1.01, 1.76,
        0.62, 0.0, -0.32, 0.12, 0.0, -0.09, 0.93, -1.1, -0.38, 0.62,
        0.48, -0.38, 1.25, 0.38, 0.21, 1.1, 0.09, -0.26, 0.1,
    ),
    (SWAPPED, 4): (
        5.17, 0.92, 0.51, 0.04, 0.14, 2.09, -0.22, 0.22, -0.77, 1.01,
        -0.31, -0.48, -0.39, 0.55, 1.23, 0.17, 0.3, -1.87, -0.08, 0.01,
        0.92, 0.47, 0.42, 0.19, 0.45, 0.99, 0.41, 0.05, -0.21,
    ),
    (DIGIT, 3): (
        1.84, 1.0, 1.57, -0.29, 0.35, 1.89, 0.21, 0.0, -0.96, 1.68,
        0.87, 0.0, -0.47, -0.35, 0.0, -0.36, 1.22, -0.89, 0.09, -0.27,
        0.66, -1.86, 2.54, 0.94, 0.58, 3.1, 0.22, 0.0, 1.05,
    ),
    (DIGIT, 4): (
        3.69, 0.7, 0.74, -0.01, 0.47, 1.29, -0.48, 0.17, -0.74, 0.75,
        0.32, -0.92, -0.73, 0.42, 1.1, 0.32, 0.68, -2.39, -0.21, -0.28,
        1.01, 1.33, 0.04, 0.69, 0.14, 2.37, 0.77, 0.0, -0.92,
    ),
}  # fmt: skip
# From where words show enough; the second holds where the numbers around give one of the two as well.
_LIMITS = {
    (POINT, 3, _SENTENCES): (1.73, 5.54),
    (POINT, 3, _MIXED): (1.33, 4.19),
    (POINT, 3, _TABLES): (2.67, 2.67),
    (POINT, 4, _SENTENCES): (2.29, 2.73),
    (POINT, 4, _MIXED): (1.80, 5.28),
    (POINT, 4, _TABLES): (3.90, 5.15),
    (SWAPPED, 3, _SENTENCES): (0.90, 1.93),
    (SWAPPED, 3, _MIXED): (1.47, 3.72),
    (SWAPPED, 3, _TABLES): (2.97, 2.97),
    (SWAPPED, 4, _SENTENCES): (2.50, 2.86),
    (SWAPPED, 4, _MIXED): (3.00, 4.34),
    (SWAPPED, 4, _TABLES): (3.60, 4.11),
    (DIGIT, 3, _SENTENCES): (5.58, 5.58),
    (DIGIT, 3, _MIXED): (4.90, 5.71),
    (DIGIT, 3, _TABLES): (2.17, 2.17),
    (DIGIT, 4, _SENTENCES): (4.26, 4.71),
    (DIGIT, 4, _MIXED): (2.80, 3.06),
    (DIGIT, 4, _TABLES): (2.86, 2.86),
}


class _Rows:
    """A table: the words and numbers of its rows, and those of its columns."""

    def __init__(self, table: TextTable) -> None:
        self.labels = [
            frozenset().union(*(with_characters(text) for k, text in enumerate(texts) if k == 0 or cells[k] is None))
            for cells, texts in zip(table.cells, table.texts, strict=True)
        ]
        self.numbers = [frozenset(_telling(cells, 1)) for cells in table.cells]
        self.headings = [with_characters(_UNIT.sub("", heading)) for heading in table.headings]
        self.columns = [frozenset(_telling(column, _LEAST_DIGITS - 1)) for column in zip(*table.cells, strict=True)]
        half = len(table.cells) / 2
        self.numeric = [
            k for k in range(1, len(table.headings)) if sum(row[k] is not None for row in table.cells) > half
        ]


def _telling(numbers: tuple[Number | None, ...], more_than: int) -> list[str]:
    """The digits of the numbers that have some."""
    found = [digits_of(each) for each in numbers if each]
    return [digits for digits in found if len(digits.strip("0")) > more_than]


class Likeness:
    """What a text as a whole says on its words and numbers."""

    def __init__(self, places: list[Place]) -> None:
        sources: dict[int, set[str]] = defaultdict(set)
        for place in places:
            sources[place.source] |= {*place.wide, *place.others, place.digits}
        rarity = Counter(word for words in sources.values() for word in words)
        self._bits = {word: log2(len(sources) / count) for word, count in rarity.items()}
        self._length = log2(max(1, len(sources)))
        self._sizes: dict[str, list[float]] = defaultdict(list)
        for place in places:
            self._sizes[place.shape].append(middle_of(place.number))
        self._rows: dict[int, _Rows] = {}

    def is_one(self, slip: str, a: Place, b: Place, is_given: Callable[[], bool]) -> bool:
        """Whether two places are of one measurement; `is_given` says whether the numbers around one of them give it."""
        digits = min(a.significant, b.significant, _MANY)
        tables = (a.table is not None) + (b.table is not None)
        kind = (_SENTENCES, _MIXED, _TABLES)[tables]
        features = self._features(a, b)
        if kind == _MIXED and _tells_of_another(a, b):
            return False
        if (slip, digits, kind) == (SWAPPED, _LEAST_DIGITS, _MIXED) and min(features[_OF_ROW : _OF_ROW + 2]) < _BETTER:
            return False
        shown = sum(weight * each for weight, each in zip(_WEIGHTS[slip, digits], features, strict=True))
        enough, sure = _LIMITS[slip, digits, kind]
        return shown >= sure or (shown >= enough and not is_given())

    def _known(self, words: frozenset[str]) -> float:
        return sum(self._bits.get(word, 0.0) for word in words)

    def _features(self, a: Place, b: Place) -> tuple[float, ...]:
        near, known = a.near & b.near, self._known
        tables = [(x, y) for x, y in ((a, b), (b, a)) if x.table is not None]
        units = {a.number.unit, b.number.unit}
        larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
        return (
            1.0,
            sqrt(known(near)),
            sqrt(known((a.wide & b.wide) - near)),
            sqrt(min(known(x.near - y.wide - y.near) for x, y in ((a, b), (b, a)))),
            sqrt(known(a.others & b.others)),
            float(are_beside_one(a, b)),
            float(len(units) == 1 and units != {""}),
            float(len(units) > 1),
            max(self._length, _SHORTEST),
            float(len(tables) == 1),
            float(len(tables) > 1),
            float(has_another(a, b) and has_another(b, a)),
            float(is_coded(a, b) and is_coded(b, a)),
            float("." not in a.number.text + b.number.text),
            float(min(a.significant, b.significant) >= _LONG),
            sum(known(x.near & (y.near | y.wide)) / (known(x.near) + 1.0) for x, y in tables),
            log10(larger / smaller - 1 + 1e-4),
            self._density({a.shape, b.shape}, (larger, smaller)),
            *_in_order(a, b),
            *(self._of_cell(*tables[0]) if len(tables) == 1 else (0.0,) * 9),
        )

    def _density(self, shapes: set[str], ends: tuple[float, float]) -> float:
        """How many numbers of the text are printed as these two, and near one of them."""
        sizes = [size for shape in shapes for size in self._sizes[shape]]
        return log10(1 + sum(min(abs(size / end - 1) for end in ends) < _ALIKE for size in sizes))

    def _of_cell(self, cell: Place, said: Place) -> tuple[float, ...]:
        """How well a sentence names the row and the column of a cell, and how much better than the others."""
        assert cell.table is not None
        rows = self._rows.setdefault(id(cell.table), _Rows(cell.table))
        row, column = cell.number.row or 0, cell.number.cell or 0
        label, heading = rows.labels[row], rows.headings[column]
        fits = [
            self._known(words & said.wide) + self._known(numbers & said.others)
            for words, numbers in zip(rows.labels, rows.numbers, strict=True)
        ]
        others = [self._known(rows.headings[k] & said.wide) for k in rows.numeric if k != column]
        inside = len(said.peers & cell.table.digits)
        return (
            float(bool(label) and label <= said.wide),
            float(bool(heading) and heading <= said.wide),
            float(bool(heading) and heading <= said.near),
            _root(fits[row] - max(fits[:row] + fits[row + 1 :], default=0.0)),
            _root(self._known(heading & said.wide) - max(others, default=0.0)),
            float(min(_MOST_IN_COLUMN, len(rows.columns[column] & said.others))),
            float(min(_MOST_PEERS, inside)),
            float(min(_MOST_PEERS, len(said.peers) - inside)),
            float(rows.numeric == [column]),
        )


_OF_ROW = 23  # the feature that says how much better a row fits than the others; the next one does for columns


def _root(size: float) -> float:
    return copysign(sqrt(abs(size)), size)


def _in_order(a: Place, b: Place) -> tuple[float, float]:
    """How many words right before and right after the numbers of two sentences are the same."""
    if a.table is not None or b.table is not None:
        return 0.0, 0.0
    before = zip(reversed(a.around[0]), reversed(b.around[0]), strict=False)
    after = zip(a.around[1], b.around[1], strict=False)
    counts = [sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)) for pairs in (before, after)]
    return float(min(counts[0], _MOST_IN_ORDER)), float(min(counts[1], _MOST_IN_ORDER))


def _tells_of_another(a: Place, b: Place) -> bool:
    """Whether a sentence has further numbers of the unit, and its table has none of them."""
    cell, said = (a, b) if a.table is not None else (b, a)
    return bool(said.peers) and cell.table is not None and said.peers.isdisjoint(cell.table.digits)


def is_coded(a: Place, b: Place) -> bool:
    """Whether one has a name near it that the other one has not, such as "fp16" or "a100"."""
    return any(_CODED.match(word) for word in a.near - b.wide)


def has_another(a: Place, b: Place) -> bool:
    """Whether one has a number of its unit beside it that the other one has not."""
    return bool(a.peers - b.peers - b.others - {b.digits})


def are_beside_one(a: Place, b: Place) -> bool:
    """Whether the same number of three digits stands before both, or after both."""
    return any(x == y and len(x.strip("0")) >= _LEAST_DIGITS for x, y in zip(a.beside, b.beside, strict=True))
