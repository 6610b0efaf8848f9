"""Every number of a sentence or a table with what it is: an amount of a known type, a share, a factor, or bare.

types.py knows what counts and measures something; here the numbers are added that only compare others.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from scalelens.audit.document import Sentence, TextTable
from scalelens.audit.printed import Number
from scalelens.audit.prose.types import Nouns, Type, Typed, columns_of, rows_of, typed_of, with_places
from scalelens.units import base

SHARE: Type = (("%", 1),)
FACTOR: Type = (("x", 1),)
BARE: Type = (("", 1),)
_MARKS = r"[\s$~*]*"
_BEFORE_FACTOR = re.compile(rf"(?i)\bfactor of{_MARKS}$")
_AFTER_FACTOR = re.compile(rf"{_MARKS}(?:times (?:as|more|less|faster|slower|higher|lower|the)\b|-?fold\b)")
_AFTER_DECIMAL = re.compile(rf"{_MARKS}times\b")
_COUNT = re.compile(r"[\d,]+|[A-Za-z-]+")


def numbers_of(sentence: Sentence, nouns: Nouns) -> list[Typed]:
    """The numbers of a sentence above zero that are not bounds, in order; "5 h 40 min" is one."""
    typed = {(each.number.text, each.number.column): each for each in typed_of(sentence, nouns)}
    places = list(with_places(sentence))
    found = [typed.get((number.text, number.column)) for number, _ in places]
    parts = {k + 1 for k, each in enumerate(found) if each and not each.is_whole}
    result = []
    for k, (number, start) in enumerate(places):
        each = found[k] or _of_unit(number)
        if k in parts or not each:
            continue
        if each.type == BARE and _is_factor(sentence.text[:start], number.text, sentence.text[start:]):
            each = replace(each, low=float(number.low), high=float(number.high), type=FACTOR)
        result.append(each)
    return result


def cells_of(table: TextTable, nouns: Nouns) -> list[list[Typed | None]]:
    """The cells of a table, row by row; None for one without a number that is exact and above zero."""
    typed: dict[tuple[int | None, int | None], Typed] = {}
    for column in (*columns_of(table, nouns), *rows_of(table, nouns)):
        for each in column:
            if each:
                typed.setdefault((each.number.row, each.number.cell), each)
    return [
        [typed.get((r, c)) or (_of_unit(cell) if cell and not cell.hedge else None) for c, cell in enumerate(row)]
        for r, row in enumerate(table.cells)
    ]


def is_amount(each: Typed) -> bool:
    """Whether a number counts or measures something that is known."""
    return each.type not in (SHARE, FACTOR, BARE)


def total_of(each: Iterable[Typed]) -> tuple[float, float]:
    """The ends of a sum."""
    parts = list(each)
    return sum(part.low for part in parts), sum(part.high for part in parts)


def _is_factor(before: str, text: str, rest: str) -> bool:
    """ "a factor of 3", "3 times as many", "3.4 times"; "12 times one stack" multiplies."""
    after = rest[len(text) :]
    is_said = _BEFORE_FACTOR.search(before) or _AFTER_FACTOR.match(after)
    return bool(is_said or ("." in text and _AFTER_DECIMAL.match(after)))


def _of_unit(number: Number) -> Typed | None:
    """A number by its unit alone; None for a bound, or one that is not above zero."""
    if number.hedge == "bound" or number.low <= 0:
        return None
    low, high = float(number.low), float(number.high)
    if number.unit in ("%", "x"):
        return Typed(number, low, high, SHARE if number.unit == "%" else FACTOR, 1.0)
    if number.unit:
        name, size = base(number.unit)
        return Typed(number, low * float(size), high * float(size), ((name, 1),), float(size))
    if _COUNT.fullmatch(number.text):
        low = high = (low + high) / 2
    return Typed(number, low, high, BARE, 1.0)
