"""A number as it is printed, and the values that may have been rounded to it.

A printed number is never a point: "0.90" stands for every value from 0.895 to 0.905, whichever way a 5 is rounded.
Two numbers contradict each other only if their bounds do not overlap.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

_GROUPED = re.compile(r"(?<=\d)[,'\u00a0\u2009\u202f ](?=\d{3}(?!\d))")
_PARTS = re.compile(r"([+-]?)(\d+)(?:\.(\d*))?(?:\s*(?:[eE]|(?:\\times|[x×·*])\s*10\s*\^?\s*\{?)([+-]?\d+)\}?)?")
POWERS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "k": 3, "M": 6, "B": 9, "T": 12}
_ROUND_ZEROS = 3


@dataclass(frozen=True)
class Bounds:
    """The values that a printed number, or a formula of printed numbers, may have, both ends included."""

    low: Decimal
    high: Decimal

    def __add__(self, other: "Bounds") -> "Bounds":
        return Bounds(self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Bounds") -> "Bounds":
        return Bounds(self.low - other.high, self.high - other.low)

    def __mul__(self, other: "Bounds") -> "Bounds":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Bounds(min(ends), max(ends))

    def __truediv__(self, other: "Bounds") -> "Bounds":
        """Raises ZeroDivisionError if the divisor may be zero."""
        if other.low <= 0 <= other.high:
            raise ZeroDivisionError("the divisor may be zero")
        return self * Bounds(1 / other.high, 1 / other.low)

    def apart(self, other: "Bounds") -> bool:
        """Whether no value is in both: only then do two numbers contradict each other."""
        return self.high < other.low or other.high < self.low


@dataclass(frozen=True)
class Number:
    """A number in a text, with its surroundings.

    text    as printed, with a named power of ten: "0.90", "1,024", "2.5e3", "2 130", "1.3 million"
    low     smallest value that is printed so, in `unit`
    high    largest value that is printed so, in `unit`
    unit    canonical, as in units.py of this package; "" without a unit
    line    line of the file, from 1
    column  character of the line at which it begins, from 1
    words   its sentence; in a table, the label of its row and the heading of its column
    table   index of its table in the file; None in prose
    row     row of the table below the headings, from 0
    cell    column of the table, from 0
    hedge   "about" or "bound" if the text says that it is not exact ("around 70,000", "up to 8"); else ""
    """

    text: str
    low: Decimal
    high: Decimal
    unit: str
    line: int
    column: int
    words: str
    table: int | None = None
    row: int | None = None
    cell: int | None = None
    hedge: str = ""

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.low, self.high)


def bounds_of(text: str, count: bool = False) -> Bounds:
    """The values that `text` may stand for: half a unit of its last digit to both sides.

    A count (devices, batch size) is exact.  An integer that ends in three zeros or more, count or not, may be rounded
    to the digit before them: "70,000 images" may be 70,400.  Raises ValueError if `text` is not a number.
    """
    word = re.search(r"([A-Za-z]+)$", text)
    power = POWERS.get(word[1], 0) if word else 0
    found = _PARTS.match(_GROUPED.sub("", text.strip().replace("\u2212", "-")))
    if not found:
        raise ValueError(f"not a number: {text!r}")
    sign, whole, fraction, exponent = found.groups()
    power += int(exponent or 0)
    digits = whole + (fraction or "")
    value = Decimal(int(sign + digits)).scaleb(power - len(fraction or ""))
    zeros = len(digits) - len(digits.rstrip("0")) if not fraction and int(digits) else 0
    if not fraction and zeros >= _ROUND_ZEROS:
        half = Decimal(5).scaleb(power + zeros - 1)
    elif count and not fraction and not power:
        half = Decimal(0)
    else:
        half = Decimal(5).scaleb(power - len(fraction or "") - 1)
    return Bounds(value - half, value + half)
