"""Whether the digits of two numbers alone show that one is the other with a slip.

Two numbers of four digits that have nothing to do with each other hardly have the same digits.  So a single word of its
row is enough to name a cell, where the digits are the same but for their order or the place of the point, or where one
digit of several differs by much.  Two measurements may be near each other: then more digits after the one that differs
must be the same.
"""

import re

from scalelens.audit.printed import Number

_LEAST_DIGITS = 3
_MANY = 4
_TELLING = 5
_NEAR = 0.02
_FAR = 0.05
_SURE = 4  # how well a row is named by its label and another number
_UNITS = re.compile(r"factor of (?:60|3,600|a thousand)$")


def is_same_but_for_its_point(number: Number, cell: Number, words: str, column: int) -> bool:
    """Whether a number is ten times or a tenth of a cell, with the same digits."""
    mine, theirs = (_digits(each).strip("0") for each in (number, cell))
    if not words.endswith("factor of ten") or mine != theirs:
        return False
    return len(mine) >= _MANY or (len(mine) >= _LEAST_DIGITS and number.unit == cell.unit and column > 0)


def is_same_but_for_a_slip(number: Number, cell: Number, words: str, row: int, column: int) -> bool:
    """Whether the digits show a slip; `row` and `column` say how well they are named, from 0."""
    mine, theirs = _digits(number), _digits(cell)
    few = min(len(mine.strip("0")), len(theirs.strip("0")))
    away = abs(float(number.low / cell.low) - 1)
    if few < _LEAST_DIGITS or row < 1:
        return False
    if _UNITS.search(words):
        return few >= _MANY and min(row, column) > 1
    if _shape(number) != _shape(cell):
        return False
    in_one_unit = number.unit == cell.unit
    if words.startswith("two digits") and sorted(mine) == sorted(theirs):
        is_named = min(row, column + 1) > 1 or row >= _SURE
        return (few >= _MANY and away > _NEAR) or (is_named and away > _FAR and in_one_unit)
    if words.startswith("one digit") and sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1:
        after = len(mine) - next(k for k, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b) - 1
        return (few >= _MANY and away > _FAR and (in_one_unit or row > 1)) or (
            few >= _TELLING and after > 1 and column > 0
        )
    return False


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _shape(number: Number) -> tuple[int, int]:
    """How many digits a number has before and after its point."""
    whole, _, fraction = re.sub(r"[^\d.]", "", number.text).partition(".")
    return len(whole), len(fraction)
