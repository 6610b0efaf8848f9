"""The numbers of a text with what stands around each of them: in sentences, and in the cells of tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scalelens.audit.document import Document, Sentence, TextTable, remembered
from scalelens.audit.numerals import numerals
from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.prose.frames import WHOLE
from scalelens.audit.tokens import in_order, with_characters

_CODE = re.compile(r"`|\.\.=?(?=\d)|(?<=\d)[–~～](?=\d)")  # numbers in code and in ranges are repeated, too
_RANGE = re.compile(r"[–~～]|\.\.=?")
_CLAUSE = re.compile(r"[;:；。](?=\s)")
_AFTER = re.compile(r"[;:。](?=\s)|[()]")
_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?")
_PER = re.compile(r"\s?/\s?[A-Za-z]")
_LETTER = re.compile(r"[A-Za-z]")
_WORDS_BEFORE, _WORDS_AFTER, _IN_ORDER, _NEAR = 8, 5, 6, 80
_MOST_NUMBERS, _MOST_ROWS, _MOST_LINES = 20, 80, 12


@dataclass(frozen=True)
class Place:
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
    whole: str = ""  # the number that it is a part of
    around: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # the words before and after it, in their order

    @property
    def significant(self) -> int:
        """How many digits it has without zeros at both ends; one after a point counts."""
        return len(self.digits.lstrip("0") if "." in self.number.text else self.digits.strip("0"))

    @property
    def plain(self) -> str:
        return re.sub(r"[^\d.]", "", self.number.text)

    @property
    def shape(self) -> str:
        return re.sub(r"\d", "0", self.number.text)


@remembered
def places_of(document: Document) -> list[Place]:
    """Every number of the sentences and the tables that is not part of a long list."""
    return [*_of_sentences(document), *_of_tables(document)]


def digits_of(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def middle_of(number: Number) -> float:
    """How large a number is, without its sign."""
    return abs(float(number.low + number.high)) / 2


def _of_sentences(document: Document) -> Iterator[Place]:
    for index, sentence in enumerate(document.sentences):
        text = _CODE.sub(lambda found: " " * len(found[0]), sentence.text)
        found = numerals(text)
        if not 0 < len(found) <= _MOST_NUMBERS:
            continue
        units = _units_of_ranges([(each.start, each.end, each.unit) for each in found], sentence.text)
        numbers = [
            _number(document, sentence, each.start, each.text, unit, each.hedge)
            for each, unit in zip(found, units, strict=True)
        ]
        wide, printed = with_characters(sentence.text), frozenset(_PLAIN.findall(sentence.text))
        for place, each in enumerate(found):
            rest = text[each.end :]
            if _PER.match(rest) or (not each.unit and _LETTER.match(rest)):
                continue  # "77.1 J/turn", "41897cd"
            before = _clause_before(text[: each.start]).split()[-_WORDS_BEFORE:]
            after = _CLAUSE.split(rest)[0].split()[:_WORDS_AFTER]
            near = with_characters(" ".join([*before, "|", *after]))
            around = (
                in_order(text[max(0, each.start - _NEAR) : each.start])[-_IN_ORDER:],
                in_order(_AFTER.split(rest[:_NEAR])[0])[:_IN_ORDER],
            )
            is_part = WHOLE.match(rest) is not None
            yield _place(numbers, place, index, (index, None), (sentence.form, printed), (near, wide), around, is_part)


def _units_of_ranges(found: list[tuple[int, int, str]], text: str) -> list[str]:
    """The unit of each number; the first one of a range, "129–131 MHz", has that of the other."""
    following = [*found[1:], (0, 0, "")]
    return [
        unit or (after if _RANGE.fullmatch(text[end:start]) else "")
        for (_, end, unit), (start, _, after) in zip(found, following, strict=True)
    ]


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


def _of_tables(document: Document) -> Iterator[Place]:
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
                    yield _place(numbers, place, source, (None, table), (f"{source} {k}", printed), (near, near))


def _are_peers(a: Number, b: Number) -> bool:
    """Whether two numbers are of one unit; of numbers without one, those with as many digits after a point."""
    return a.unit == b.unit and (bool(a.unit) or len(a.text.partition(".")[2]) == len(b.text.partition(".")[2]) > 0)


def _place(
    numbers: list[Number],
    place: int,
    source: int,
    of: tuple[int | None, TextTable | None],
    written: tuple[str, frozenset[str]],
    words: tuple[frozenset[str], frozenset[str]],
    around: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    is_part: bool = False,
) -> Place:
    number = numbers[place]
    others = [(k, each) for k, each in enumerate(numbers) if k != place]
    telling = {k: digits_of(each) for k, each in others if len(digits_of(each).strip("0")) > 1}
    peers = [digits_of(each) for _, each in others if _are_peers(each, number)] if of[1] is None else []
    before, after = telling.get(place - 1, ""), telling.get(place + 1, "")
    return Place(
        number,
        digits_of(number),
        source,
        *of,
        *written,
        *words,
        others=frozenset(telling.values()),
        beside=(before, "" if is_part else after),
        peers=frozenset(peers),
        whole=after if is_part else "",
        around=around,
    )
