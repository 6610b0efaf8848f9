"""A number that stands in two places and differs by a slip, where words show that both are one measurement.

How much words show follows from how rare they are: one that stands in two of 200 sentences and rows tells more than
one that stands in all.  Words next to one number that the other place lacks speak against it.  Shared numbers tell too,
most of all a number of three digits that both have before them or after them.

How all this is weighed was fitted on 2,500 numbers that stand twice in 3,183 true documents, after a slip in one of
them, against all pairs in these documents that differ by such a slip.  How much is needed follows from the slip: two
numbers of four digits that are the same but for the place of the point hardly ever stand in one text by chance; two
that differ in one of three digits do so in most.  The limits lie above whatever the true documents show.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log2, log10, sqrt

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.prose.restated import given_twice, is_given
from scalelens.audit.tokens import with_characters

_CODE = re.compile(r"`|\.\.=?(?=\d)|(?<=\d)[–~～](?=\d)")  # numbers in code and in ranges are repeated, too
_CLAUSE = re.compile(r"[;:；。](?=\s)")
_CODED = re.compile(r".*(?:[a-z].*\d|\d.*[a-z])")
_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PER = re.compile(r"\s?/\s?[A-Za-z]")
_WORDS_BEFORE, _WORDS_AFTER = 8, 5
_MOST_NUMBERS, _MOST_ROWS, _MOST_ALIKE, _MOST_LINES = 20, 80, 12, 12
_POINT, _SWAPPED, _DIGIT = "it is off by a factor of ten", "two digits are swapped", "one digit differs"
_COMMON_NAMES, _FAR = 2, 1.05
_LEAST_DIGITS, _MANY, _LONG = 3, 4, 5
# What each of `_features` weighs, by slip and digits: fitted, then lowered by what the true documents reach.
_WEIGHTS = {
    (_POINT, 3): (
        3.89, 1.21, 1.01, -0.42, 0.22, 1.51, 0.44, -1.33, -0.98,
        1.26, -1.37, -0.84, 0.06, 0.30, 0.0, 0.0, 0.0,
    ),
    (_POINT, 4): (
        3.30, 0.59, 0.52, 0.11, 0.07, 1.11, -0.14, -1.20, -0.49,
        0.69, -3.31, -0.96, -0.65, -0.28, 0.39, 0.76, 0.0,
    ),
    (_SWAPPED, 3): (
        0.82, 1.42, 1.55, -0.26, 0.24, 1.51, 0.40, 0.08, -1.24,
        1.89, -1.54, -2.35, -0.59, 0.80, 0.0, -0.62, 0.58,
    ),
    (_SWAPPED, 4): (
        1.86, 1.35, 0.96, -0.13, 0.07, 2.50, 0.05, -0.05, -1.32,
        1.93, -2.82, -1.10, -0.27, 0.55, 1.20, 0.12, 0.36,
    ),
    (_DIGIT, 3): (
        -1.33, 0.89, 0.74, -0.04, 0.39, 1.67, 0.28, -0.75, -0.98,
        1.29, -2.71, -2.27, -0.98, 0.52, 0.0, -0.01, 0.61,
    ),
    (_DIGIT, 4): (
        2.16, 0.91, 0.71, 0.02, 0.57, 1.36, -0.34, -0.05, -1.45,
        1.66, -3.18, -1.36, -0.45, 0.75, 1.17, 1.09, 0.77,
    ),
}  # fmt: skip
_SHORTEST = 5.0  # the texts that this was fitted on are hardly ever shorter
_MUCH = 3.0  # then it does not matter what numbers around may give by chance


@dataclass(frozen=True)
class _Place:
    """A number, the words near it and in its sentence or row, and the other numbers there."""

    number: Number
    digits: str
    source: int  # of its sentence or row
    index: int | None  # of its sentence
    table: TextTable | None
    form: str
    printed: frozenset[str]  # every number of its sentence or row, read or not
    near: frozenset[str]
    wide: frozenset[str]
    others: frozenset[str]
    beside: tuple[str, str]  # before and after it
    peers: frozenset[str]  # others of its unit

    @property
    def significant(self) -> int:
        """How many digits it has without zeros at both ends."""
        return len(self.digits.strip("0"))


def find(document: Document) -> Iterator[Finding]:
    """Pairs of numbers that should be the same."""
    places = [*_of_sentences(document), *_of_tables(document)]
    times = Counter(_plain(place) for place in places)
    sources: dict[int, set[str]] = defaultdict(set)
    for place in places:
        sources[place.source] |= {*place.wide, *place.others, place.digits}
    rarity = Counter(word for words in sources.values() for word in words)
    bits = {word: log2(len(sources) / count) for word, count in rarity.items()}
    seen: set[int] = set()
    for words, a, b in _alike(places):
        if min(times[_plain(a)], times[_plain(b)]) > 1 or {id(a.number), id(b.number)} & seen:
            continue
        shown = _shown(words, a, b, bits, log2(len(sources)))
        if shown > _MUCH or (shown >= 0 and not _follows(document, a, b)):
            seen |= {id(a.number), id(b.number)}
            once, other = sorted((a, b), key=lambda each: (times[_plain(each)], -each.number.line))
            yield given_twice(once.number, other.number, f"line {other.number.line}", words)


def _of_sentences(document: Document) -> Iterator[_Place]:
    for index, sentence in enumerate(document.sentences):
        text = _CODE.sub(lambda found: " " * len(found[0]), sentence.text)
        found = numerals(text)
        if not 0 < len(found) <= _MOST_NUMBERS:
            continue
        numbers = [_number(document, sentence, each.start, each.text, each.unit, each.hedge) for each in found]
        wide, printed = with_characters(sentence.text), frozenset(_PLAIN.findall(sentence.text))
        for place, each in enumerate(found):
            before = _clause_before(text[: each.start]).split()[-_WORDS_BEFORE:]
            after = _CLAUSE.split(text[each.end :])[0].split()[:_WORDS_AFTER]
            near = with_characters(" ".join([*before, "|", *after]))
            if _PER.match(text[each.end :]):
                continue  # "77.1 J/turn"
            yield _place(numbers, place, index, (index, None), (sentence.form, printed), near, wide)


def _clause_before(text: str) -> str:
    """The words of a clause before its number; of a name with its value ("loss: 0.95"), the name."""
    clauses = _CLAUSE.split(text)
    return clauses[-1] if clauses[-1].strip(" *_(") or len(clauses) == 1 else clauses[-2]


def _number(document: Document, sentence: Sentence, start: int, text: str, unit: str, hedge: str) -> Number:
    for number, (begin, _) in zip(sentence.numbers, sentence.positions, strict=True):
        if begin == start:
            return number
    lines = document.lines[sentence.line - 1 : sentence.line + _MOST_LINES]
    line = next((k for k, each in enumerate(lines, sentence.line) if text in each), sentence.line)
    span = bounds_of(text)
    return Number(text, span.low, span.high, unit, line, 1, sentence.text.strip(), hedge=hedge)


def _of_tables(document: Document) -> Iterator[_Place]:
    source = len(document.sentences)
    for table in document.tables:
        if len(table.cells) > _MOST_ROWS:
            continue
        headings = [with_characters(heading) for heading in table.headings]
        for row, texts in zip(table.cells, table.texts, strict=True):
            source += 1
            labels = [with_characters(text) for k, text in enumerate(texts) if k == 0 or row[k] is None]
            label, printed = frozenset().union(*labels), frozenset(_PLAIN.findall(" ".join(texts)))
            numbers = [cell for cell in row if cell]
            for k, cell in enumerate(row):
                if k and cell:
                    near = label | headings[k]
                    place = next(i for i, each in enumerate(numbers) if each is cell)
                    yield _place(numbers, place, source, (None, table), (f"{source} {k}", printed), near, near)


def _place(
    numbers: list[Number],
    place: int,
    source: int,
    of: tuple[int | None, TextTable | None],
    written: tuple[str, frozenset[str]],
    near: frozenset[str],
    wide: frozenset[str],
) -> _Place:
    number = numbers[place]
    others = [(k, each) for k, each in enumerate(numbers) if k != place]
    telling = {k: _digits(each) for k, each in others if len(_digits(each).strip("0")) > 1}
    peers = [_digits(each) for _, each in others if each.unit == number.unit] if of[1] is None else []
    beside = telling.get(place - 1, ""), telling.get(place + 1, "")
    return _Place(
        number,
        _digits(number),
        source,
        *of,
        *written,
        near,
        wide,
        others=frozenset(telling.values()),
        beside=beside,
        peers=frozenset(peers),
    )


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _plain(place: _Place) -> str:
    return re.sub(r"[^\d.]", "", place.number.text)


def _alike(places: list[_Place]) -> Iterator[tuple[str, _Place, _Place]]:
    """Pairs of places whose numbers a slip turns into each other, the surest slips first."""
    groups: dict[tuple[str, ...], list[_Place]] = defaultdict(list)
    for place in places:
        digits, shape = place.digits, re.sub(r"\d", "0", place.number.text)
        if place.significant < _LEAST_DIGITS or place.number.low <= 0 or not _PLAIN.fullmatch(place.number.text):
            continue
        groups[_POINT, digits.strip("0")].append(place)
        groups[_SWAPPED, "".join(sorted(digits)), shape].append(place)
        for k in range(len(digits)):
            groups[_DIGIT, f"{digits[:k]}?{digits[k + 1 :]}", shape].append(place)
    for slip in (_POINT, _SWAPPED, _DIGIT):
        for (words, *_), group in groups.items():
            if words == slip and 1 < len(group) <= _MOST_ALIKE:
                yield from ((words, a, b) for a, b in combinations(group, 2) if _may_be_one(words, a, b))


def _may_be_one(words: str, a: _Place, b: _Place) -> bool:
    """Whether two numbers may be of one measurement, and differ by just this slip."""
    if a.source == b.source or a.form == b.form or len({a.number.unit, b.number.unit} - {""}) > 1:
        return False
    if a.table is not None and b.table is not None and (a.table is b.table or len(a.near & b.near) < _COMMON_NAMES):
        return False
    if a.number.text in b.printed or b.number.text in a.printed:
        return False  # there they are two
    if _is_coded(a, b) and _is_coded(b, a) and words == _POINT:
        return False
    larger, smaller = sorted((_middle(a.number), _middle(b.number)), reverse=True)
    few, has_units = min(a.significant, b.significant) < _MANY, a.number.unit == b.number.unit
    if words == _POINT:
        whole = "." not in a.number.text + b.number.text
        same = whole or a.digits.lstrip("0") == b.digits.lstrip("0")
        is_sure = (has_units or min(a.significant, b.significant) >= _LONG) and not _are_scaled(a, b)
        return same and is_sure and abs(larger / smaller - 10) < 1e-6 and not (whole and _are_sizes(a, b))
    if a.digits == b.digits or (few and (not has_units or not _is_far(a, b, larger / smaller))):
        return False
    if words == _DIGIT:
        counts = few and not a.number.unit and "." not in a.number.text
        return not counts and not any(
            x.table is None and y.table is not None and _has_another(x, y) for x, y in ((a, b), (b, a))
        )
    return sum(x != y for x, y in zip(a.digits, b.digits, strict=True)) == 2


def _are_scaled(a: _Place, b: _Place) -> bool:
    """Whether another number differs by a factor of ten as well: "50 of them in 13.6 days, 500 in 136 days"."""
    less, more = sorted((a, b), key=lambda each: _middle(each.number))
    scaled = {f"{text}0" for text in less.printed - {less.number.text} if "." not in text}
    return not scaled.isdisjoint(more.printed - {more.number.text})


def _is_far(a: _Place, b: _Place, ratio: float) -> bool:
    """Whether two measurements of one kind would hardly differ so; a number beside both that is the same shows more."""
    if _has_another(a, b) and _has_another(b, a):
        return False
    return ratio > _FAR or _are_beside_one(a, b)


def _middle(number: Number) -> float:
    return float(number.low + number.high) / 2


def _is_coded(a: _Place, b: _Place) -> bool:
    """Whether one has a name near it that the other one has not, such as "fp16" or "a100"."""
    return any(_CODED.match(word) for word in a.near - b.wide)


def _has_another(a: _Place, b: _Place) -> bool:
    """Whether one has a number of its unit beside it that the other one has not."""
    return bool(a.peers - b.peers - b.others - {b.digits})


def _are_beside_one(a: _Place, b: _Place) -> bool:
    """Whether the same number of three digits stands before both, or after both."""
    return any(x == y and len(x.strip("0")) >= _LEAST_DIGITS for x, y in zip(a.beside, b.beside, strict=True))


def _are_sizes(a: _Place, b: _Place) -> bool:
    """Whether one is a power of two: 128 and 1,280 are both usual sizes."""
    return any((size := int(each.digits)) & (size - 1) == 0 for each in (a, b))


def _shown(words: str, a: _Place, b: _Place, bits: dict[str, float], length: float) -> float:
    """What words and numbers show for two places being one measurement; from 0 it is enough."""
    weights = _WEIGHTS[words, min(a.significant, b.significant, _MANY)]
    return sum(weight * each for weight, each in zip(weights, _features(a, b, bits, length), strict=True))


def _features(a: _Place, b: _Place, bits: dict[str, float], length: float) -> tuple[float, ...]:
    """What is weighed, `bits` is how rare a word is, `length` that of the text."""

    def known(words: frozenset[str]) -> float:
        return sum(bits.get(word, 0.0) for word in words)

    near = a.near & b.near
    tables = [(x, y) for x, y in ((a, b), (b, a)) if x.table is not None]
    units = {a.number.unit, b.number.unit}
    larger, smaller = sorted((_middle(a.number), _middle(b.number)), reverse=True)
    return (
        1.0,
        sqrt(known(near)),
        sqrt(known((a.wide & b.wide) - near)),
        sqrt(min(known(x.near - y.wide - y.near) for x, y in ((a, b), (b, a)))),
        sqrt(known(a.others & b.others)),
        float(_are_beside_one(a, b)),
        float(len(units) == 1 and units != {""}),
        float(len(units) > 1),
        max(length, _SHORTEST),
        float(len(tables) == 1),
        float(len(tables) > 1),
        float(_has_another(a, b) and _has_another(b, a)),
        float(_is_coded(a, b) and _is_coded(b, a)),
        float("." not in a.number.text + b.number.text),
        float(min(a.significant, b.significant) >= _LONG),
        sum(known(x.near & (y.near | y.wide)) / (known(x.near) + 1.0) for x, y in tables),
        log10(larger / smaller - 1 + 1e-4),
    )


def _follows(document: Document, a: _Place, b: _Place) -> bool:
    """Whether what stands around one of them gives it."""
    return any(each.index is not None and is_given(document, each.index, each.number) for each in (a, b))
