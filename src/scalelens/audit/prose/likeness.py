"""How much shows that two numbers in two places are one measurement.

Words that both places share count by how rare they are; words next to one number that the other place lacks count
against it.  Between a sentence and a cell it counts how much better its row and its column fit than the others, and
between sentences how many words right before and right after both are the same.  A text with many numbers of the same
kind has more pairs that are alike by chance.

The features of a pair, the weights of weights.py and the limits there say whether both are one: how near the places
are, how rare their common words are, which numbers they share, and whether the difference is one of measurement.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import takewhile
from math import copysign, log2, log10, sqrt

from scalelens.audit.document import Document, TextTable
from scalelens.audit.evidence import needed_of_a_pair
from scalelens.audit.printed import Number
from scalelens.audit.prose.places import Place, digits_of, middle_of
from scalelens.audit.prose.weights import (
    DIGIT,
    IF_ALONE,
    IF_ANOTHER,
    IF_DOUBTFUL,
    IF_GIVEN,
    IF_SHORT,
    LIMITS,
    MIXED,
    POINT,
    SENTENCES,
    SWAPPED,
    TABLES,
    WEIGHTS,
)
from scalelens.audit.tokens import with_characters

_CODED = re.compile(r".*(?:[a-z].*\d|\d.*[a-z])")
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_LEAST_DIGITS, _MANY, _LONG, _VERY_LONG = 3, 4, 5, 6
_AFTER_THE_END = 30  # lines of a sentence that ends a text
_SHORTEST = 5.0  # the texts that this was fitted on are hardly ever shorter
_ALIKE = 0.05  # numbers so near each other are of one kind
_MOST_IN_ORDER, _MOST_IN_COLUMN, _MOST_PEERS = 4, 2, 3
_OF_ROW = 23  # the feature that says how much better a row fits than the others
_BETTER = -1.5  # then another row fits the sentence better
_LEAST_COMMON = 2  # numbers of two tables
_LEAST_OF_OTHERS, _LEAST_OF_POINT = 2, 3  # numbers of each sentence that the other one has not
_TWO_RUNS = 1.01  # two measurements of one thing are within it
_LISTED = 8  # numbers of each of two sentences that the other one has not
_NAME = re.compile(r"(?=\d*[^\W\d])\w+(?:[-.]\w+)*")  # not a number alone
_WORD = re.compile(r"\w+")
_PRINTED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\d|\.\d)")
_FENCE = re.compile(r"\s*```")


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

    def __init__(self, document: Document, places: list[Place]) -> None:
        self.printed = Counter(text.replace(",", "") for line in document.lines for text in _PRINTED.findall(line))
        self._sections = _sections_of(document)
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
        printed = {(place.significant, place.digits.strip("0")) for place in places}
        self._alike = Counter(significant for significant, _ in printed)

    def is_one(self, slip: str, a: Place, b: Place, pairs: int, is_given: Callable[[], bool]) -> bool:
        """Whether two places are of one measurement.

        `pairs` says how many numbers differ from one of them by this slip, and `is_given` whether the numbers around
        one of them give it.
        """
        digits = min(a.significant, b.significant, _MANY)
        tables, many = (a.table is not None) + (b.table is not None), digits == _MANY
        kind = (SENTENCES, MIXED, TABLES)[tables]
        if kind == TABLES and slip != POINT and _common(a, b) < _LEAST_COMMON:
            return False
        alike = self._alike[min(a.significant, b.significant)]
        if slip == POINT and many:
            near = bool((a.near | a.wide) & (b.near | b.wide)) and not (kind == TABLES and _have_other_labels(a, b))
            return near or bool(a.others & b.others)
        if kind == SENTENCES and _unshared(a, b) >= _LISTED:
            return False  # two rows of what was a table
        if kind == TABLES and _are_two_rows(a, b):
            return False
        if slip == SWAPPED and _are_measured_twice(a, b):
            return False
        if slip == DIGIT and _is_rounded(a, b):
            return False
        least = _LEAST_OF_POINT if slip == POINT else _LEAST_OF_OTHERS
        are_cases = kind == SENTENCES and _unshared(a, b) >= least  # two of them, each with numbers of its own
        if are_cases and not many:
            return False
        own = self._features(a, b)
        of_another = kind == MIXED and _tells_of_another(a, b)
        doubtful = of_another or (kind == MIXED and slip != POINT and own[_OF_ROW] < _BETTER)
        if doubtful and slip == DIGIT:
            return False
        features = (*own, *self._surroundings(a, b, pairs, kind))
        shown = sum(weight * each for weight, each in zip(WEIGHTS[slip, digits], features, strict=True))
        is_short = slip != DIGIT and min(a.significant, b.significant) < _VERY_LONG
        enough = LIMITS[slip, kind][many] + (IF_SHORT if is_short else 0.0)
        enough += needed_of_a_pair(slip, min(a.significant, b.significant), alike)
        if kind == TABLES and _common(a, b) < _LEAST_COMMON:
            enough += IF_ALONE
        if of_another and slip == SWAPPED:
            enough += IF_ANOTHER
        elif (doubtful and not many) or (are_cases and slip == DIGIT):
            enough += IF_DOUBTFUL
        return shown >= enough + IF_GIVEN or (shown >= enough and (slip != DIGIT or not is_given()))

    def _surroundings(self, a: Place, b: Place, pairs: int, kind: str) -> tuple[float, ...]:
        """Where both stand, how often, and how they differ."""
        lines = a.number.line, b.number.line
        larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
        is_last = len(a.digits) == len(b.digits) and a.digits[:-1] == b.digits[:-1]
        times = sorted(self.printed[each.plain] for each in (a, b))
        in_section = float(self._sections[lines[0]] == self._sections[lines[1]])
        apart = log2(1 + abs(lines[0] - lines[1]))
        mixed, tables = float(kind == MIXED), float(kind == TABLES)
        return (
            in_section,
            apart,
            float(is_last),
            float(is_last and abs(int(a.digits[-1]) - int(b.digits[-1])) == 1),
            float(larger / smaller > 1 + _ALIKE),
            float(_has_another(a, b)) + float(_has_another(b, a)),
            float(a.number.unit == b.number.unit),
            float("." not in a.number.text + b.number.text and not a.number.unit + b.number.unit),
            float(min(times[0], 2)),
            min(log2(max(times[1], 1)), 3.0),
            log2(1 + pairs),
            float(bool(a.number.hedge or b.number.hedge)),
            float(_is_coded(a, b)) + float(_is_coded(b, a)),
            sqrt(abs(len(a.others) - len(b.others))),
            min(4.0, float(_unshared(a, b))),
            min(4.0, log2(1 + _common(a, b))),
            mixed,
            tables,
            0.0,
            in_section * mixed,
            apart * mixed,
            in_section * tables,
            apart * tables,
        )

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
            float(_has_another(a, b) and _has_another(b, a)),
            float(_is_coded(a, b) and _is_coded(b, a)),
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


def _sections_of(document: Document) -> list[int]:
    """The section of each line, from 1, by the headings of Markdown."""
    sections, is_fenced = [0], False
    for line in document.lines:
        is_fenced ^= bool(_FENCE.match(line))
        sections.append(sections[-1] + (line.startswith("#") and not is_fenced))
    return [*sections, *[sections[-1]] * _AFTER_THE_END]


def _are_two_rows(a: Place, b: Place) -> bool:
    """Whether the label of each cell has a name that the other one has not: "Net-A" and "Net-B + cutout"."""
    labels, names = [], []
    for each in (a, b):
        assert each.table is not None
        label = each.table.texts[each.number.row or 0][0].lower()
        heading = each.table.headings[each.number.cell or 0].lower()
        labels.append({*_NAME.findall(label)})
        names.append({*_NAME.findall(f"{label} {heading}")})
    return bool(labels[0] - names[1] and labels[1] - names[0])


def _have_other_labels(a: Place, b: Place) -> bool:
    """Whether the labels of two rows have no word in common: record 41 and record 11."""
    labels = [{*_WORD.findall(each.table.texts[each.number.row or 0][0].lower())} for each in (a, b) if each.table]
    return len(labels) > 1 and all(labels) and labels[0].isdisjoint(labels[1])


def _unshared(a: Place, b: Place) -> int:
    """How many numbers each of two places has at least that the other one has not."""
    return min(len(a.others - b.others - {b.digits}), len(b.others - a.others - {a.digits}))


def _common(a: Place, b: Place) -> int:
    """How many numbers of three digits two tables have in common."""
    if a.table is None or b.table is None:
        return 0
    return sum(len(digits.strip("0")) >= _LEAST_DIGITS for digits in a.table.digits & b.table.digits)


def _tells_of_another(a: Place, b: Place) -> bool:
    """Whether a sentence has further numbers of the unit, and its table has not even half of them."""
    cell, said = (a, b) if a.table is not None else (b, a)
    inside = len(said.peers & cell.table.digits) if cell.table else 0
    return len(said.peers) - inside > inside


def _are_measured_twice(a: Place, b: Place) -> bool:
    """Whether two numbers are within 1 %, and a place has another one beside it: 21.02 and 21.20 may be two runs.

    Of numbers that are so near each other, one pair in ten has its last two digits swapped by chance.
    """
    larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
    if larger > _TWO_RUNS * smaller:
        return False
    if a.table is not None and b.table is not None:
        return _unshared(a, b) > 0
    if a.table is None and b.table is None:
        return _has_another(a, b) or _has_another(b, a)
    cell, said = (a, b) if a.table is not None else (b, a)
    return bool(cell.table and said.peers - cell.table.digits)


def _is_rounded(a: Place, b: Place) -> bool:
    """Whether two numbers of the same digits differ by one in the last: 0.8182 may be the mean of 0.8181 and 0.8183."""
    same = len(a.digits) == len(b.digits) and a.shape == b.shape and "." in a.number.text
    return same and abs(int(a.digits) - int(b.digits)) == 1


def _is_coded(a: Place, b: Place) -> bool:
    """Whether one has a name near it that the other one has not, such as "fp16" or "a100"."""
    return any(_CODED.match(word) for word in a.near - b.wide)


def _has_another(a: Place, b: Place) -> bool:
    """Whether one has a number of its unit beside it that the other one has not."""
    return bool(a.peers - b.peers - b.others - {b.digits})


def are_beside_one(a: Place, b: Place) -> bool:
    """Whether the same number of three digits stands before both, or after both."""
    return any(x == y and len(x.strip("0")) >= _LEAST_DIGITS for x, y in zip(a.beside, b.beside, strict=True))
