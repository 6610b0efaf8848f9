"""A number that stands in two places and differs by a slip, where words show that both are one measurement.

How much words show follows from how rare they are: one that stands in two of 200 sentences and rows tells more than
one that stands in all.  Shared numbers tell too.  How much is needed follows from the slip.  Two numbers of four digits
that are the same but for the place of the point hardly ever stand in one text by chance; two that differ in one of
three digits do so in most, and only sentences that are nearly the same prove that they are one.  The limits lie above
whatever 2,800 true documents show.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log2

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.prose.restated import given_twice, is_given
from scalelens.audit.tokens import with_characters

_CODE = re.compile(r"`|\.\.=?(?=\d)|(?<=\d)[–~～](?=\d)")  # numbers in code and in ranges are repeated, too
_CLAUSE = re.compile(r"[;:；。](?=\s)")
_CODED = re.compile(r".*(?:[a-z].*\d|\d.*[a-z])")
_WORDS_BEFORE, _WORDS_AFTER = 8, 5
_MOST_NUMBERS, _MOST_ROWS, _MOST_ALIKE, _MOST_LINES = 20, 80, 12, 12
_FAR = 1.05
_OF_SIZE = 0.7  # in a long text more is alike by chance
_WIDE, _SHARED = 0.5, 0.7  # what a word of the sentence, and a number, show beside a word next to the number
_LITTLE = 0.15  # long sentences have many words in common
_POINT, _SWAPPED, _DIGIT = "it is off by a factor of ten", "two digits are swapped", "one digit differs"
_NEVER = 1e9
_SURELY = 2.0  # one word that is not in every sentence
# What words must show: (slip, digits, whole) -> between sentences, with a table, with a list of names and values,
# between sentences that each have another number of the unit.
_NEEDED = {
    (_POINT, 4, False): (-20.0, -20.0, -20.0, -20.0),
    (_POINT, 4, True): (-20.0, -20.0, -20.0, -20.0),
    (_POINT, 3, False): (7.0, 8.0, 8.0, 28.0),
    (_POINT, 3, True): (2.0, 2.0, 2.0, 34.0),
    (_SWAPPED, 5, False): (2.0, 1.0, 1.0, 12.0),
    (_SWAPPED, 5, True): (_NEVER, 4.0, 4.0, _NEVER),
    (_SWAPPED, 4, False): (2.0, 3.0, 3.0, _NEVER),
    (_SWAPPED, 4, True): (17.0, 3.0, 3.0, _NEVER),
    (_SWAPPED, 3, False): (26.0, 22.0, 4.0, 32.0),
    (_SWAPPED, 3, True): (5.0, 5.0, 5.0, 32.0),
    (_DIGIT, 4, False): (16.0, 16.0, 8.0, 16.0),
    (_DIGIT, 4, True): (10.0, 32.0, 12.0, _NEVER),
    (_DIGIT, 3, False): (38.0, 22.0, 9.0, _NEVER),
    (_DIGIT, 3, True): (28.0, 16.0, 14.0, _NEVER),
}
_MOST_DIGITS = {_POINT: 4, _SWAPPED: 5, _DIGIT: 4}
_OF_SIZES = 6.0  # 2,048 and 20,480
_WITHOUT_A_UNIT = 8.0  # one of the two
_MANY = 4
_LONG = 5
_MUCH = 10.0  # then it does not matter what numbers around may give by chance


@dataclass(frozen=True)
class _Place:
    """A number, the words near it and in its sentence or row, and the other numbers there."""

    number: Number
    digits: str
    source: int  # of its sentence or row
    index: int | None  # of its sentence
    table: TextTable | None
    form: str
    near: frozenset[str]
    wide: frozenset[str]
    others: frozenset[str]
    beside: frozenset[str]
    peers: frozenset[str]  # others of its unit

    @property
    def is_of_list(self) -> bool:
        """Whether it is the value of a name, in a table of two columns."""
        return self.table is not None and len(self.table.headings) == 2


def find(document: Document) -> Iterator[Finding]:
    """Pairs of numbers that should be the same."""
    places = [*_of_sentences(document), *_of_tables(document)]
    times = Counter(_plain(place) for place in places)
    sources: dict[int, set[str]] = defaultdict(set)
    for place in places:
        sources[place.source] |= {*place.wide, *place.others, place.digits}
    rarity = Counter(word for words in sources.values() for word in words)
    seen: set[int] = set()
    for words, a, b in _alike(places):
        if min(times[_plain(a)], times[_plain(b)]) > 1 or {id(a.number), id(b.number)} & seen:
            continue
        more = _shown(words, a, b, rarity, len(sources)) - _needed(words, a, b)
        if more > _MUCH or (more >= 0 and not _follows(document, a, b)):
            seen |= {id(a.number), id(b.number)}
            once, other = sorted((a, b), key=lambda each: times[_plain(each)])
            yield given_twice(once.number, other.number, f"line {other.number.line}", words)


def _of_sentences(document: Document) -> Iterator[_Place]:
    for index, sentence in enumerate(document.sentences):
        text = _CODE.sub(lambda found: " " * len(found[0]), sentence.text)
        found = numerals(text)
        if not 0 < len(found) <= _MOST_NUMBERS:
            continue
        numbers = [_number(document, sentence, each.start, each.text, each.unit, each.hedge) for each in found]
        wide = with_characters(sentence.text)
        for place, each in enumerate(found):
            before = _clause_before(text[: each.start]).split()[-_WORDS_BEFORE:]
            after = _CLAUSE.split(text[each.end :])[0].split()[:_WORDS_AFTER]
            near = with_characters(" ".join([*before, "|", *after]))
            yield _place(numbers, place, index, (index, None), sentence.form, near, wide)


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
            label = frozenset().union(*labels)
            numbers = [cell for cell in row if cell]
            for k, cell in enumerate(row):
                if k and cell:
                    near = label | headings[k]
                    place = next(i for i, each in enumerate(numbers) if each is cell)
                    yield _place(numbers, place, source, (None, table), f"{source} {k}", near, near)


def _place(
    numbers: list[Number],
    place: int,
    source: int,
    of: tuple[int | None, TextTable | None],
    form: str,
    near: frozenset[str],
    wide: frozenset[str],
) -> _Place:
    number = numbers[place]
    others = [(k, each) for k, each in enumerate(numbers) if k != place]
    telling = {k: _digits(each) for k, each in others if len(_digits(each).strip("0")) > 1}
    peers = [_digits(each) for _, each in others if each.unit == number.unit] if of[1] is None else []
    beside = [telling[k] for k in (place - 1, place + 1) if k in telling]
    return _Place(
        number,
        _digits(number),
        source,
        *of,
        form,
        near,
        wide,
        others=frozenset(telling.values()),
        beside=frozenset(beside),
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
        if len(digits.strip("0")) < 3 or place.number.low <= 0:
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
    if a.source == b.source or a.form == b.form or _are_of_tables(a, b):
        return False
    larger, smaller = sorted((_middle(a.number), _middle(b.number)), reverse=True)
    if words == _POINT:
        same = a.digits.lstrip("0") == b.digits.lstrip("0") or "." not in a.number.text + b.number.text
        return same and abs(larger / smaller - 10) < 1e-6
    if a.digits == b.digits:
        return False
    if words == _SWAPPED:
        return sum(x != y for x, y in zip(a.digits, b.digits, strict=True)) == 2
    return larger / smaller > _FAR


def _middle(number: Number) -> float:
    return float(number.low + number.high) / 2


def _are_of_tables(a: _Place, b: _Place) -> bool:
    """Whether both stand in tables; a list of names and values may sum up a table, or another list."""
    return a.table is not None and b.table is not None and (a.table is b.table or not (a.is_of_list or b.is_of_list))


def _needed(words: str, a: _Place, b: _Place) -> float:
    """What the words around two numbers must show."""
    digits = min(len(a.digits.strip("0")), _MOST_DIGITS[words])
    whole = "." not in a.number.text + b.number.text
    is_point = words == _POINT and digits == _MOST_DIGITS[words]
    if len({a.number.unit, b.number.unit} - {""}) > 1:
        return _NEVER
    if whole and words == _POINT and _are_sizes(a, b):
        return _OF_SIZES if is_point else _NEVER
    if not is_point and _is_coded(a, b) and _is_coded(b, a):
        return _NEVER
    alone, in_table, in_list, of_several = _NEEDED[words, digits, whole]
    if a.is_of_list or b.is_of_list:
        needed = in_list
    elif a.table is not None or b.table is not None:
        needed = in_table
    else:
        needed = of_several if _has_another(a, b) and _has_another(b, a) else alone
    if a.number.unit == b.number.unit:
        return needed
    many = digits >= _MANY and words != _DIGIT and (is_point or not whole)
    return max(needed, _WITHOUT_A_UNIT) if many else _NEVER


def _is_coded(a: _Place, b: _Place) -> bool:
    """Whether one has a name near it that the other one has not, such as "fp16" or "a100"."""
    return any(_CODED.match(word) for word in a.near - b.wide)


def _has_another(a: _Place, b: _Place) -> bool:
    """Whether one has a number of its unit beside it that the other one has not."""
    return bool(a.peers - b.peers - b.others - {b.digits})


def _are_sizes(a: _Place, b: _Place) -> bool:
    """Whether one is a power of two: 128 and 1,280 are both usual sizes."""
    return any((size := int(each.digits)) & (size - 1) == 0 for each in (a, b))


def _shown(words: str, a: _Place, b: _Place, rarity: Counter[str], sources: int) -> float:
    """What the words and numbers show that two places have in common, in bits; less in a long text."""

    def bits(common: frozenset[str]) -> float:
        return sum(log2(sources / rarity[word]) for word in common if word in rarity)

    near = a.near & b.near
    shown = bits(near) + (_LITTLE if words == _DIGIT else _WIDE) * bits((a.wide & b.wide) - near)
    shown += _SHARED * (bits(a.others & b.others) + bits(a.beside & b.beside))
    least = 0.0 if words == _POINT and _are_long(a.number, b.number) else _SURELY
    return shown - _OF_SIZE * log2(sources) if shown > least else -2 * _NEVER


def _are_long(a: Number, b: Number) -> bool:
    """Whether both have so many digits that another place for the point is not a coincidence."""
    return len(_digits(a).strip("0")) >= _LONG and ("." in a.text) == ("." in b.text)


def _follows(document: Document, a: _Place, b: _Place) -> bool:
    """Whether what stands around one of them gives it."""
    return any(each.index is not None and is_given(document, each.index, each.number) for each in (a, b))
