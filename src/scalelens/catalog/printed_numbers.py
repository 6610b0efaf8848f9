"""The numbers of published results: what the printed digits and units stand for.

A printed number stays text, because its trailing zeros are digits.  Here it gets a number in a unit of the SI, with the
smallest and the largest value that is printed so, whichever way a 5 is rounded.
"""

import re
from decimal import Decimal

from scalelens.units import base

_SPELLINGS = {  # units as they are printed
    "%": "% percent", "s": "s sec. seconds", "min": "min", "h": "h", "W": "W", "Wh": "Wh", "1/Wh": "1/Wh", "GHz": "GHz",
    "1/s": "1/s images/s images/sec images/second img/s img/sec items/sec",
    "GB": "GB", "TB": "TB", "GiB": "GiB", "TiB": "TiB", "GB/s": "GB/s", "Gbit/s": "Gbit/s Gbps GbE",
    "TFLOP/s": "TFLOPS teraflops", "PFLOP/s": "petaflops", "EFLOP/s": "exaflop exaflops",
}  # fmt: skip
_COUNTS = {
    "M": "1e6", "million": "1e6", "million images": "1e6", "million tokens": "1e6", "billion": "1e9",
    "trillion": "1e12", "trillion tokens": "1e12",
}  # fmt: skip
_UNITS = {  # unit as printed: (canonical unit, what one of it is there)
    **{spelling: base(unit) for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()},
    **{name: ("count", Decimal(factor)) for name, factor in _COUNTS.items()},
    **dict.fromkeys(("x", "X", "×"), ("", Decimal(1))), **dict.fromkeys(("times", "-fold"), ("times", Decimal(1))),
}  # fmt: skip
_MORE = "% more"  # a gain: 20 % more is a ratio of 1.2
_EXACT = ("count", "times")  # whole numbers of things are exact
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def printed_number(text: str, unit: str, relation: str) -> dict[str, str]:
    """Cells `number`, `number_low`, `number_high`, `number_unit`, `unit_size` of a printed value; empty for a version.

    `relation` is `=`, `about` (the zeros at the end are no digits), `>=` or `<=` (a bound: one end is open).
    A unit that UNITS does not have is that of a count.  Raises decimal.InvalidOperation where `text` is no number.
    """
    if unit == "version":
        return dict.fromkeys(("number", "number_low", "number_high", "number_unit", "unit_size"), "")
    printed = Decimal(_power_of_ten(text.replace(",", "")))
    canonical, factor = _UNITS["%"] if unit == _MORE else _UNITS.get(unit, ("count", Decimal(1)))
    zero = 1 if unit == _MORE else 0
    digit = _last_digit(printed, relation)
    half = Decimal(0) if canonical in _EXACT and digit == 1 and relation != "about" and factor == 1 else digit / 2
    number, low, high = (zero + factor * end for end in (printed, printed - half, printed + half))
    return {
        "number": str(number),
        "number_low": "" if relation == "<=" else str(low),
        "number_high": "" if relation == ">=" else str(high),
        "number_unit": re.sub(r"^B\b", "bytes", canonical),
        "unit_size": str(factor),
    }


def _power_of_ten(text: str) -> str:
    """`10⁶` as `1e6`; other text as it is."""
    plain = text.translate(_SUPERSCRIPTS)
    return f"1e{plain.removeprefix('10')}" if plain != text else text


def _last_digit(printed: Decimal, relation: str) -> Decimal:
    """What one of the last digit stands for: 0.01 of 4.08, 1 of 70000; of about 14000 it is 1000."""
    exponent = printed.normalize().as_tuple().exponent if relation == "about" else printed.as_tuple().exponent
    assert isinstance(exponent, int)  # no printed number is infinite
    return Decimal(1).scaleb(exponent if relation == "about" else min(exponent, 0))
