"""Which of the ways to give a number a slip away from it shows, and whether so rare a slip can be chance.

The one place where prose/ and rows/ choose: nothing is accused that one of the ways gives, the rarest slip is taken,
and a digit that differs by little may be another measurement.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from scalelens.audit.evidence import by_chance, digits_of
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import POWERS, Number

_NEARLY = 0.006  # by which rounded operands may miss
_MEASURED = 0.1  # a number so near, of which only a digit differs, may be another measurement
_DECADE = 10
_TENS = 6  # factors that would do as well
_CONFIRMED = 0.1  # of the chance, where two ways without a number in common give the same
_SLIPS = ("swapped", "ten", "a thousand", "60", "3,600", "differs")  # the rarest first
_NAMED = re.compile(rf"([\d.,]+) ?({'|'.join(POWERS)})")


@dataclass(frozen=True)
class Way:
    """What some numbers give, in the unit of the number that is looked at, by the formula `text`."""

    low: float
    high: float
    text: str
    operands: tuple[Number, ...]


def is_given(number: Number, own: tuple[float, float], ways: Iterable[Way]) -> bool:
    """Whether one of the ways gives the number, whose values are `own`; its last digit may be cut."""
    half = float(number.high - number.low) / 2
    low, high = own[0] - half, own[1] + half
    return any(way.low * (1 - _NEARLY) <= high and low <= way.high * (1 + _NEARLY) for way in ways)


def rarest(
    number: Number, own: tuple[float, float], ways: Sequence[Way], must_agree: bool = False
) -> tuple[Way, str, float] | None:
    """The narrowest way that the rarest slip turns the number into, the slip, and how many would fit by chance.

    None if a way gives the number, or if only a digit differs by as much as measurements do.
    """
    if is_given(number, own, ways):
        return None
    found = [(way, words) for way in ways if (words := rarest_slip(number.text, way.low, way.high))]
    found = [pair for words in _SLIPS for pair in found if pair[1].endswith(words)]
    found = [pair for pair in found if pair[1] == found[0][1]]
    if not found or (must_agree and max(way.low for way, _ in found) > min(way.high for way, _ in found)):
        return None
    way, words = min(found, key=lambda pair: pair[0].high - pair[0].low)
    half = float(number.high - number.low) / 2
    if is_measured_twice(words, (own[0] - half, own[1] + half) if must_agree else own, (way.low, way.high)):
        return None
    near = [one for one in ways if own[0] <= _DECADE * one.high and one.low <= _DECADE * own[1]]
    many = distinct((one.low, one.high) for one in (near if words.endswith("differs") else ways))
    is_ten, is_factor = words.endswith(" ten"), words.startswith("it is off")
    scale = (_TENS if is_ten else 1.0) * (own[0] + own[1]) / (way.low + way.high) if is_factor else 1.0
    width = max(1.0, scale * (way.high - way.low) / (2 * half)) if half else 1.0
    sources = [{id(operand) for operand in pair[0].operands} for pair in found]
    chance = many * by_chance(words, digits_of(number.text)) * width
    return way, words, chance * (_CONFIRMED if any(not (a & b) for a, b in combinations(sources, 2)) else 1.0)


def rarest_slip(text: str, low: float, high: float) -> str:
    """The slip between a printed number, which may end in "million", and the values that it should have; "" without."""
    named = _NAMED.fullmatch(text)
    size = 10.0 ** POWERS[named[2]] if named else 1.0
    words = slip(named[1] if named else text, low / size, high / size)
    return words if words.endswith(_SLIPS) else ""


def is_measured_twice(words: str, own: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether only a digit differs, and so little that the number may be another measurement."""
    return words.endswith("differs") and right[0] * (1 - _MEASURED) <= own[1] and own[0] <= right[1] * (1 + _MEASURED)


def distinct(intervals: Iterable[tuple[float, float]]) -> int:
    """How many values there are, those that are the same within their digits counted once."""
    number, end = 0, float("-inf")
    for low, high in sorted(intervals):
        number += low > end
        end = max(end, high)
    return number
