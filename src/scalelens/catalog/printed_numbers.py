"""The numbers of published results: what the printed digits and units stand for.

A printed number stays text, because its trailing zeros are digits.  Here it gets a number in a unit of the SI, with the
smallest and the largest value that is printed so, whichever way a 5 is rounded.
"""

from decimal import Decimal

UNITS = {  # unit as printed: (canonical unit, what one of it is there)
    "%": ("", "0.01"), "percent": ("", "0.01"), "x": ("", "1"), "X": ("", "1"), "×": ("", "1"),
    "times": ("times", "1"), "-fold": ("times", "1"),
    "s": ("s", "1"), "sec.": ("s", "1"), "seconds": ("s", "1"), "min": ("s", "60"), "h": ("s", "3600"),
    "W": ("W", "1"), "Wh": ("J", "3600"), "1/Wh": ("1/J", "0.000277777777777777777777777778"), "1/s": ("1/s", "1"),
    "images/s": ("1/s", "1"), "images/sec": ("1/s", "1"), "images/second": ("1/s", "1"), "img/s": ("1/s", "1"),
    "img/sec": ("1/s", "1"), "items/sec": ("1/s", "1"),
    "GHz": ("Hz", "1e9"), "GB": ("bytes", "1e9"), "TB": ("bytes", "1e12"), "GiB": ("bytes", str(2**30)),
    "TiB": ("bytes", str(2**40)), "GB/s": ("bytes/s", "1e9"), "Gbit/s": ("bytes/s", "0.125e9"),
    "Gbps": ("bytes/s", "0.125e9"), "GbE": ("bytes/s", "0.125e9"),
    "TFLOPS": ("FLOP/s", "1e12"), "teraflops": ("FLOP/s", "1e12"), "petaflops": ("FLOP/s", "1e15"),
    "exaflop": ("FLOP/s", "1e18"), "exaflops": ("FLOP/s", "1e18"),
    "M": ("count", "1e6"), "million": ("count", "1e6"), "billion": ("count", "1e9"), "trillion": ("count", "1e12"),
    "million images": ("count", "1e6"), "million tokens": ("count", "1e6"), "trillion tokens": ("count", "1e12"),
}  # fmt: skip
MORE = "% more"  # a gain: 20 % more is a ratio of 1.2
EXACT = ("count", "times")  # whole numbers of things are exact
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def printed_number(text: str, unit: str, relation: str) -> dict[str, str]:
    """Cells `number`, `number_low`, `number_high`, `number_unit` of a printed value; empty for a version.

    `relation` is `=`, `about` (the zeros at the end are no digits), `>=` or `<=` (a bound: one end is open).
    A unit that UNITS does not have is that of a count.  Raises decimal.InvalidOperation where `text` is no number.
    """
    if unit == "version":
        return {"number": "", "number_low": "", "number_high": "", "number_unit": ""}
    printed = Decimal(power_of_ten(text.replace(",", "")))
    canonical, factor, base = ("", "0.01", 1) if unit == MORE else (*UNITS.get(unit, ("count", "1")), 0)
    digit = last_digit(printed, relation)
    half = Decimal(0) if canonical in EXACT and digit == 1 and relation != "about" and factor == "1" else digit / 2
    number, low, high = (base + Decimal(factor) * end for end in (printed, printed - half, printed + half))
    return {
        "number": str(number),
        "number_low": "" if relation == "<=" else str(low),
        "number_high": "" if relation == ">=" else str(high),
        "number_unit": canonical,
    }


def power_of_ten(text: str) -> str:
    """`10⁶` as `1e6`; other text as it is."""
    plain = text.translate(SUPERSCRIPTS)
    return f"1e{plain.removeprefix('10')}" if plain != text else text


def last_digit(printed: Decimal, relation: str) -> Decimal:
    """What one of the last digit stands for: 0.01 of 4.08, 1 of 70000; of about 14000 it is 1000."""
    exponent = printed.normalize().as_tuple().exponent if relation == "about" else printed.as_tuple().exponent
    assert isinstance(exponent, int)  # no printed number is infinite
    return Decimal(1).scaleb(exponent if relation == "about" else min(exponent, 0))
