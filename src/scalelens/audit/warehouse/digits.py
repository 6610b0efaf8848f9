"""Printed digits against a value: what may be rounded to them, what matches them by chance, how a slip changes them.

Values are in the unit in which the number is printed.
"""

import math
import re
from collections.abc import Iterable

from scalelens.audit.printed import Number, bounds_of
from scalelens.audit.warehouse.measures import Measure
from scalelens.units import factors

_CHANCE = 0.05  # that a value matches, if the values lay anywhere within a decade
_UNNAMED = 0.1  # of that chance, if the words name no row: they may be about anything
_ROUNDING = 1e-9  # relative, of binary fractions
_NEAR = 0.1
_LEAST_DIGITS = 3  # with two digits, one number in five is one digit away from some value
# Units that may be mixed up, by the base unit of each measure, as their sizes in it.
_UNITS = {
    "s": (*factors("ns", "µs", "ms", "s", "min", "h").values(),), "W": (*factors("mW", "W", "kW", "MW").values(),),
    "J": (*factors("J", "kJ", "Wh", "MJ", "kWh").values(),), "share": (*factors("%").values(), 1.0),
}  # fmt: skip
_PREFIXES = (1e-6, 1e-3, 1.0, 1e3, 1e6)

_Ends = tuple[float, float]


def ends_of(number: Number) -> _Ends:
    """The values that may be rounded to the digits.  Unlike a count, a rate or a time is never exact."""
    bounds = number.bounds if number.low != number.high else bounds_of(number.text)
    return float(bounds.low), float(bounds.high)


def widest(number: Number) -> _Ends:
    """The same, if the zeros at the end of an integer may be rounding."""
    low, high = ends_of(number)
    zeros = re.fullmatch(r"[\d,]*[1-9](0+)", number.text)
    more = 5.0 * 10 ** (len(zeros[1]) - 1) if zeros else 0.0
    return min(low, (low + high) / 2 - more), max(high, (low + high) / 2 + more)


def within(value: float, ends: _Ends) -> bool:
    slack = abs(value) * _ROUNDING
    return ends[0] - slack <= value <= ends[1] + slack


def is_chance(ends: _Ends, values: Iterable[float], is_named: bool = True) -> bool:
    """Whether so many values would match the digits by chance in more than one case of twenty."""
    low, high = ends
    share = math.log10(high / low) if low > 0 else 1.0
    return share * len({f"{value:.9g}" for value in values}) > (_CHANCE if is_named else _CHANCE * _UNNAMED)


def slip_between(number: Number, value: float, measure: Measure) -> str | None:
    """How the number may have come from a value; None if the two have nothing in common."""
    ends = ends_of(number)
    printed = sum(ends) / 2
    decimals = _decimals_of(number)
    if abs(printed - value) <= _NEAR * abs(value):
        if number.text == _cut(value, decimals):
            return "cut off, not rounded"
        return f"{abs(printed / value - 1):.1%} {'more' if printed > value else 'less'} is printed"
    if _is_other_unit(ends, value, measure):
        return f"{printed / value:,.3g} times that is printed, which may be a slip of the unit"
    digits, own = re.sub(r"\D", "", number.text).lstrip("0"), f"{value:.{decimals}f}".replace(".", "").lstrip("0")
    if len(digits) < _LEAST_DIGITS:
        return None
    return _digit_slip(digits, own)


def _is_other_unit(ends: _Ends, value: float, measure: Measure) -> bool:
    """Whether the digits are those of the value in another unit, and not by chance."""
    sizes = [size / measure.factor for size in _UNITS[measure.name]] if measure.name in _UNITS else _PREFIXES
    others = [value / size for size in sizes if not math.isclose(size, 1.0)]
    return not is_chance(ends, others) and any(within(other, ends) for other in others)


def _digit_slip(digits: str, own: str) -> str | None:
    """One wrong digit, or two swapped neighbors."""
    wrong = [k for k, (a, b) in enumerate(zip(digits, own, strict=False)) if a != b]
    if len(digits) != len(own) or not wrong:
        return None
    if len(wrong) == 1:
        return "one digit is another one"
    first, last = wrong[0], wrong[-1]
    swapped = len(wrong) == 2 and last == first + 1 and digits[first] + digits[last] == own[last] + own[first]
    return "two digits are swapped" if swapped else None


def _cut(value: float, decimals: int) -> str:
    """A value with further digits cut off, not rounded."""
    scale = 10**decimals
    return f"{math.trunc(value * scale) / scale:.{decimals}f}"


def like(number: Number, value: float) -> str:
    """A value with one digit more than the number, so that a reader sees how it would be rounded."""
    return f"{value:,.{_decimals_of(number) + 1}f} {'times' if number.unit == 'x' else number.unit}".rstrip()


def _decimals_of(number: Number) -> int:
    """The number of printed decimals; 0 for an integer, and for a number in millions."""
    low, high = ends_of(number)
    return max(0, round(-math.log10(high - low)))
