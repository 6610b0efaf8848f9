"""Numbers of a sentence that lists what a row or a column of a table has: one that differs from its cell by a slip.

A sentence copies a line of a table if its numbers stand there too.  What stands in place of the one that is missing is
bound to its cell by the order of both ("8.05 / 9.70 / 12.06", as the column), or by the label next to it, where that
of the others stands on the same side ("KIVI=10332, INT8=10073").
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.audit.prose.repeated import finding_of, of_one_unit, stands_elsewhere
from scalelens.audit.prose.restated import is_given
from scalelens.audit.quantities import value
from scalelens.audit.tokens import tokens
from scalelens.units import base

_MOST_NUMBERS = 24
_MOST_ROWS = 60
_LEAST_IN_ORDER = 3
_LEAST_DIGITS = 3
_TELLING = 4  # digits that two numbers hardly share by chance
_NEAR = 0.02
_BETWEEN = re.compile(r"[\s,/|;→>~≈*()%:-]*(?:and|vs\.?|or|to|then)?[\s,/|;→>~≈*(]*")
_ENDS = re.compile(r"[;.:](?=\s)|[(（)）—–]")
_SIDES = (0, 1)
_SURE = 3  # numbers that stand in their order: what else may give another one is chance


@dataclass(frozen=True)
class _Line:
    """A row or a column of a table: its cells with numbers, and the words that each of them has alone."""

    cells: tuple[Number, ...]
    labels: tuple[frozenset[str], ...]
    words: frozenset[str]

    @cached_property
    def by_head(self) -> dict[str, list[int]]:
        """The cells by their first digits."""
        result: dict[str, list[int]] = defaultdict(list)
        for k, cell in enumerate(self.cells):
            result[_head(cell)].append(k)
        return result


def find(document: Document) -> Iterator[Finding]:
    """Numbers that differ by a slip from the cell that the sentence means."""
    tables = [
        (table, lines := _lines_of(table), frozenset(head for line in lines for head in line.by_head))
        for table in document.tables
        if 1 < len(table.cells) <= _MOST_ROWS
    ]
    for index, sentence in enumerate(map(_with_units, document.sentences)):
        if not 1 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        said = {_head(number) for number in sentence.numbers if _is_telling(number)}
        for table, lines, heads in tables:
            if said.isdisjoint(heads):
                continue
            for number, cell, words, sure in _of_table(sentence, lines):
                is_given_here = sure < _SURE and is_given(document, index, number)
                if not is_given_here and not stands_elsewhere(document, number, cell):
                    yield finding_of(number, cell, table, words)


def _with_units(sentence: Sentence) -> Sentence:
    """A sentence in which each number of an enumeration has the unit that the last one has: "8.2 → 2.6 → 1.1x"."""
    numbers = list(sentence.numbers)
    for run in _runs(sentence) if len(numbers) > _LEAST_IN_ORDER - 1 else []:
        unit = numbers[run[-1]].unit
        if unit and not any(numbers[place].unit for place in run[:-1]):
            for place in run:
                numbers[place] = replace(numbers[place], unit=unit)
    return replace(sentence, numbers=tuple(numbers)) if tuple(numbers) != sentence.numbers else sentence


def _lines_of(table: TextTable) -> list[_Line]:
    """Columns with their rows' labels, and rows with their columns' headings."""
    rows = [tokens(texts[0]) for texts in table.texts]
    columns = [tokens(heading) for heading in table.headings]
    own_rows, own_columns = _own(rows), _own(columns)
    lines = []
    for k in range(1, len(columns)):
        found = [(cell, own_rows[r]) for r, row in enumerate(table.cells) if (cell := row[k]) and not cell.hedge]
        lines.append(_Line(tuple(c for c, _ in found), tuple(w for _, w in found), columns[k]))
    for r, row in enumerate(table.cells):
        found = [(cell, own_columns[k]) for k, cell in enumerate(row) if k and cell and not cell.hedge]
        lines.append(_Line(tuple(c for c, _ in found), tuple(w for _, w in found), rows[r]))
    return [line for line in lines if len(line.cells) > 1]


def _own(groups: list[frozenset[str]]) -> list[frozenset[str]]:
    """Of each group the words that no other has."""
    return [frozenset(word for word in words if sum(word in other for other in groups) == 1) for words in groups]


def _of_table(sentence: Sentence, lines: list[_Line]) -> Iterator[tuple[Number, Number, str, int]]:
    seen: set[int] = set()
    said = {_head(number) for number in sentence.numbers if _is_telling(number)}
    for line in lines:
        if said.isdisjoint(line.by_head):
            continue
        matched = _matched(sentence, line)
        if not matched:
            continue
        for place, cell, sure in (*_in_order(sentence, line), *_by_label(sentence, line, matched)):
            number = sentence.numbers[place]
            if place in seen or any(_is_same(each, cell) for each in sentence.numbers):
                continue
            if words := _slip(number, cell, sure):
                seen.add(place)
                yield number, cell, words, sure


def _matched(sentence: Sentence, line: _Line) -> dict[int, int]:
    """Which numbers of the sentence stand in the line, by place, and where."""
    result = {}
    for place, number in enumerate(sentence.numbers):
        if _is_telling(number):
            cells = [k for k in line.by_head.get(_head(number), ()) if _is_same(number, line.cells[k])]
            if len(cells) == 1:
                result[place] = cells[0]
    return result


def _is_same(number: Number, cell: Number) -> bool:
    if not _may_be_of_one_unit(number, cell):
        return False
    apart = value(number).apart(value(cell)) if number.unit and cell.unit else number.bounds.apart(cell.bounds)
    return not apart


def _may_be_of_one_unit(number: Number, cell: Number) -> bool:
    """Whether the units fit; a list of values may leave them out."""
    return of_one_unit(number, cell, frozenset()) or (not number.unit and cell.unit != "x")


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _head(number: Number) -> str:
    return _digits(number).lstrip("0")[:2]


def _is_telling(number: Number) -> bool:
    digits = len(_digits(number).strip("0"))
    return digits >= _LEAST_DIGITS or (digits > 1 and "." in number.text)


def _in_order(sentence: Sentence, line: _Line) -> Iterator[tuple[int, Number, int]]:
    """The one number of an enumeration that is not in the place where the order of the others expects it."""
    for run in _runs(sentence):
        for start in range(len(run)):
            for cells in (line.cells, line.cells[::-1]):
                yield from _aligned(sentence, run[start:], cells)


def _runs(sentence: Sentence) -> list[list[int]]:
    """Places of numbers between which nothing but signs stands."""
    runs: list[list[int]] = [[]]
    for place, (start, _) in enumerate(sentence.positions):
        before = sentence.text[sentence.positions[place - 1][1] : start] if place else "."
        if not _BETWEEN.fullmatch(before):
            runs.append([])
        runs[-1].append(place)
    return [run for run in runs if len(run) >= _LEAST_IN_ORDER]


def _aligned(sentence: Sentence, run: list[int], cells: tuple[Number, ...]) -> Iterator[tuple[int, Number, int]]:
    for offset in range(len(cells) - _LEAST_IN_ORDER + 1):
        pairs = list(zip(run, cells[offset:], strict=False))
        same = [_is_same(sentence.numbers[place], cell) for place, cell in pairs]
        while same and not same[-1] and False in same[:-1]:
            same.pop()
        telling = sum(_is_telling(sentence.numbers[place]) for (place, _), ok in zip(pairs, same, strict=False) if ok)
        if len(same) >= _LEAST_IN_ORDER and same.count(False) == 1 and telling > 1:
            place, cell = pairs[same.index(False)]
            if same.index(False) < len(same) - 1 or len(same) == len(run):
                yield place, cell, telling


def _by_label(sentence: Sentence, line: _Line, matched: dict[int, int]) -> Iterator[tuple[int, Number, int]]:
    """Numbers next to the label of a cell that others of the sentence leave over, each next to its own label."""
    near = [_near(sentence, place) for place in range(len(sentence.numbers))]
    for side in _SIDES:
        named = {place: _named(near[place][side], line) for place in range(len(near))}
        partners = [place for place, k in matched.items() if named[place] == k]
        if not partners:
            continue
        for place, k in named.items():
            others = [each for place_, each in named.items() if place_ != place]
            if k is not None and place not in matched and k not in others and k not in matched.values():
                yield place, line.cells[k], len(partners)


def _named(words: frozenset[str], line: _Line) -> int | None:
    """The only cell of the line whose label the words have."""
    cells = [k for k, label in enumerate(line.labels) if label & words]
    return cells[0] if len(cells) == 1 else None


def _near(sentence: Sentence, place: int) -> tuple[frozenset[str], frozenset[str]]:
    """The words between a number and the one before, and the words between it and the next one."""
    start, end = sentence.positions[place]
    before = sentence.text[sentence.positions[place - 1][1] if place else 0 : start]
    after = sentence.text[end : sentence.positions[place + 1][0] if place + 1 < len(sentence.positions) else None]
    return tokens(_ENDS.split(before.rstrip(" (:"))[-1]), tokens(_ENDS.split(after)[0])


def _slip(number: Number, cell: Number, partners: int) -> str:
    """The slip between a number and its cell, if it is sure enough."""
    if number.hedge or number.low <= 0 or cell.low <= 0 or not _is_telling(number) or not _is_telling(cell):
        return ""
    if not _may_be_of_one_unit(number, cell):
        return ""
    sizes = [base(each.unit)[1] if number.unit and cell.unit else 1 for each in (number, cell)]
    low, high = (float(each * sizes[1] / sizes[0]) for each in (cell.low, cell.high))
    words = slip(number.text, low, high)
    digits = min(len(_digits(each).strip("0")) for each in (number, cell))
    if words.endswith("a hundred") and "%" in (number.unit, cell.unit):
        return ""
    if not words or words.endswith(("two", "60", "sign is wrong")):
        return ""
    away = abs(float(number.low) / low - 1)
    alike = len(_digits(number)) == len(_digits(cell))
    if "factor" not in words and not alike:
        return ""
    if "factor" in words and sorted(_digits(number).strip("0")) != sorted(_digits(cell).strip("0")):
        return ""
    if partners > 1:
        return words
    return words if digits >= _LEAST_DIGITS and (away > _NEAR or (digits >= _TELLING and "swapped" in words)) else ""
