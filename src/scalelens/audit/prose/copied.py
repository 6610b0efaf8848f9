"""A number that two sentences give, one of them with two digits swapped, the point elsewhere or one digit wrong.

Cells that hold words beside their numbers are read as sentences, too: "48.6 % of 116 (baseline 52.1 %)".  The two
places are one measurement if they share a number or two telling words, and all numbers but one of either stand in the
other; where one digit differs, they must share a number and three words, and all numbers of either.  Both are printed
once, in one unit.  In 2,812 documents of public repositories no two numbers like these differ by such a slip, unless
one of them is wrong.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log2

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.prose.bound import POINTS
from scalelens.audit.prose.given import given_twice
from scalelens.audit.prose.places import digits_of, middle_of, places_of
from scalelens.audit.prose.repeated import QUOTED
from scalelens.audit.prose.weights import DIGIT, POINT, SWAPPED
from scalelens.audit.tokens import with_characters

_PRINTED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\d|\.\d)")
_POINTS, _INSIDE = re.compile(POINTS), re.compile(r"[\w.,]")
_CODE = re.compile(r"`|(?<=\d)[–~～](?=\d)")
_MOST_ROWS, _MOST_LINES, _MOST_NUMBERS, _MOST_ALIKE = 80, 90, 12, 14
_WORDS_BEFORE, _WORDS_AFTER = 8, 5
_LEAST_DIGITS, _MANY, _TELLING = 3, 4, 2
_OWN = 1  # numbers of each place that the other one lacks
_LEAST_WORDS, _LEAST_BITS = 2, 5.0
_SHORTEST = 32  # sentences and rows of a text; one with fewer is weighed as if it had so many
_WORDS_OF_A_DIGIT = 3
_NEAR = 0.01  # two measurements of one thing may be within it


@dataclass(frozen=True)
class _Place:
    """A number in a sentence or a cell with words, what stands near it, and the other numbers there."""

    number: Number
    source: tuple[int, int]
    table: TextTable | None
    form: str
    near: frozenset[str]
    wide: frozenset[str]
    others: frozenset[str]

    @property
    def plain(self) -> str:
        return _plain(self.number)


def find(document: Document) -> Iterator[Finding]:
    """Numbers that differ by a slip from the same one elsewhere."""
    places = [*_of_sentences(document), *_of_cells(document)]
    printed = Counter(text.replace(",", "") for line in document.lines for text in _PRINTED.findall(line))
    once = [
        each
        for each in places
        if printed[each.plain] <= 1 and _is_measured(each.number) and not document.is_of_a_log(each.number)
    ]
    words: dict[tuple[int, int], frozenset[str]] = defaultdict(frozenset)
    for each in places:
        words[each.source] |= each.wide
    count = Counter(word for own in words.values() for word in own)
    bits = {word: log2(max(len(words), _SHORTEST) / number) for word, number in count.items()}
    seen: set[int] = set()
    for slip, a, b in _alike(once):
        if not {id(a), id(b)} & seen and _are_one(slip, a, b, bits):
            seen |= {id(a), id(b)}
            yield given_twice(b.number, a.number, f"line {a.number.line}", slip)


def _of_sentences(document: Document) -> Iterator[_Place]:
    places = [each for each in places_of(document) if each.table is None]
    told: dict[int, set[str]] = defaultdict(set)
    for each in places:
        if each.significant >= _TELLING:
            told[each.source].add(each.plain)
    for each in places:
        if each.number.hedge != "bound" and not _of_points(each.number) and not QUOTED.search(each.number.words):
            others = frozenset(told[each.source] - {each.plain})
            yield _Place(each.number, (0, each.source), None, each.form, each.near, each.wide, others)


def _of_cells(document: Document) -> Iterator[_Place]:
    """The numbers of cells that have words, or several numbers."""
    for table in document.tables:
        if len(table.cells) > _MOST_ROWS:
            continue
        for row, (texts, cells) in enumerate(zip(table.texts, table.cells, strict=True)):
            wide = with_characters(" ".join(texts))
            for column, text in enumerate(texts):
                if column and cells[column] is None and any(letter.isdigit() for letter in text):
                    names = with_characters(texts[0]) | with_characters(table.headings[column])
                    yield from _of_cell(document, table, (row, column), (names, wide))


def _of_cell(
    document: Document, table: TextTable, at: tuple[int, int], words: tuple[frozenset[str], frozenset[str]]
) -> Iterator[_Place]:
    text = _CODE.sub(lambda found: " " * len(found[0]), table.texts[at[0]][at[1]])
    found = numerals(text)
    if not 0 < len(found) <= _MOST_NUMBERS:
        return
    line = line_of(document, table, at)
    numbers = [
        Number(each.text, span.low, span.high, each.unit, line, 1, text.strip(), hedge=each.hedge)
        for each in found
        if (span := bounds_of(each.text))
    ]
    told = {_plain(each) for each in numbers if _significant(each) >= _TELLING}
    for numeral, number in zip(found, numbers, strict=True):
        if number.hedge == "bound" or _of_points(number):
            continue
        before = text[: numeral.start].split()[-_WORDS_BEFORE:]
        near = with_characters(" ".join([*before, "|", *text[numeral.end :].split()[:_WORDS_AFTER]])) | words[0]
        source = table.line, at[0] + 1
        yield _Place(
            number, source, table, f"{table.line} {at[1]}", near, near | words[1], frozenset(told - {_plain(number)})
        )


def line_of(document: Document, table: TextTable, at: tuple[int, int]) -> int:
    """The line of a cell: the first one of its table with its text and its label."""
    texts = table.texts[at[0]]
    lines = document.lines[table.line - 1 : table.line + _MOST_LINES]
    parts = [re.sub(r"\W", "", each) for each in (texts[at[1]], texts[0])]
    for line, text in enumerate(lines, table.line):
        plain = re.sub(r"\W", "", text)
        if all(part in plain for part in parts):
            return line
    return table.line


def _alike(places: list[_Place]) -> Iterator[tuple[str, _Place, _Place]]:
    """Pairs that have the same digits, but for the point, the order of two, or one of them."""
    groups: dict[tuple[str, ...], list[_Place]] = defaultdict(list)
    for each in places:
        digits = digits_of(each.number)
        groups[POINT, digits.strip("0")].append(each)
        groups[SWAPPED, "".join(sorted(digits)), _shape(each.number)].append(each)
        for k in range(len(digits)):
            groups[DIGIT, f"{digits[:k]}?{digits[k + 1 :]}", _shape(each.number)].append(each)
    for kind, differ in ((POINT, _is_ten_times), (SWAPPED, _is_swapped), (DIGIT, _is_a_digit_off)):
        for (slip, *_), group in groups.items():
            if slip == kind and 1 < len(group) <= _MOST_ALIKE:
                for a, b in combinations(sorted(group, key=lambda each: each.number.line), 2):
                    if differ(a.number, b.number):
                        yield slip, a, b


def _are_one(slip: str, a: _Place, b: _Place, bits: dict[str, float]) -> bool:
    """Whether two places tell of one measurement."""
    if a.source == b.source or a.form == b.form or a.number.unit != b.number.unit or (a.table and b.table):
        return False
    own, shared = min(len(a.others - b.others), len(b.others - a.others)), a.near & b.near
    has_common = bool(a.others & b.others)
    if a.plain in b.others or b.plain in a.others or own > (_OWN if has_common else 0):
        return False
    if slip == DIGIT:
        return not own and has_common and len(shared) >= _WORDS_OF_A_DIGIT
    larger, smaller = sorted((middle_of(a.number), middle_of(b.number)), reverse=True)
    is_near = larger < (1 + _NEAR) * smaller
    if is_near and (own or (not has_common and a.others | b.others)):
        return False  # two measurements of one kind
    is_alike = slip == SWAPPED or ("." in a.number.text) == ("." in b.number.text)
    said = len(shared) >= _LEAST_WORDS and sum(bits[word] for word in shared) >= _LEAST_BITS
    return said or (is_alike and has_common)


def _of_points(number: Number) -> bool:
    """Whether a number says how many points lie between two shares, which give it."""
    start = -1
    while (start := number.words.find(number.text, start + 1)) >= 0:
        if _POINTS.match(number.words, start + len(number.text)) and not _INSIDE.match(number.words[:start][-1:]):
            return True
    return False


def _is_measured(number: Number) -> bool:
    """Whether a number has three significant digits and is not a year, a name or zero."""
    is_written_so = number.unit or not number.text.isdigit()
    return bool(is_written_so) and _significant(number) >= _LEAST_DIGITS and not number.low <= 0 <= number.high


def _is_ten_times(a: Number, b: Number) -> bool:
    larger, smaller = sorted((middle_of(a), middle_of(b)), reverse=True)
    return abs(larger / smaller - 10) < 1e-6 and ("." in a.text + b.text or min(map(_significant, (a, b))) >= _MANY)


def _is_swapped(a: Number, b: Number) -> bool:
    differ = [k for k, (x, y) in enumerate(zip(digits_of(a), digits_of(b), strict=True)) if x != y]
    return len(differ) == 2 and differ[1] == differ[0] + 1 and _is_long(a)


def _is_a_digit_off(a: Number, b: Number) -> bool:
    """Whether one digit differs, not the last one by 1: that may be rounded."""
    mine, theirs = digits_of(a), digits_of(b)
    return (
        mine != theirs
        and _is_long(a)
        and _is_long(b)
        and not (mine[:-1] == theirs[:-1] and abs(int(mine[-1]) - int(theirs[-1])) == 1)
    )


def _plain(number: Number) -> str:
    return re.sub(r"[^\d.]", "", number.text)


def _shape(number: Number) -> str:
    return re.sub(r"\d", "0", number.text)


def _is_long(number: Number) -> bool:
    """Whether a number has a point or four digits: many things are counted with three."""
    return "." in number.text or _significant(number) >= _MANY


def _significant(number: Number) -> int:
    """How many digits say something: 3 of "03.3", which has two swapped, and 2 of "0.045"."""
    plain = _plain(number)
    if "." not in plain:
        return len(plain.strip("0"))
    return len((plain.lstrip("0.") if plain.startswith("0.") else plain).replace(".", ""))
