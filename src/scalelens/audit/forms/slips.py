"""Whether a printed number is another one with a slip: digits swapped, one digit wrong, a power of ten, a unit."""

import re
from decimal import Decimal

_FACTORS = {10: "ten", 100: "a hundred", 1000: "a thousand", 1_000_000: "a million", 60: "60", 3600: "3,600"}


# How often two numbers that have nothing to do with each other differ by such a slip.
BY_CHANCE = {"two digits are swapped": 0.01, "the sign is wrong": 0.01, "one digit differs": 0.05}
OTHER_BY_CHANCE = 0.02


def slip(text: str, low: float, high: float) -> str:
    """What would turn `text` into a value from `low` to `high`, in the unit of the text; "" if no simple slip does."""
    found = re.fullmatch(r"[-+\u2212]?([\d,' \u2009\u202f\u00a0]*\d(?:\.\d+)?)(.*)", text)
    if not found or not re.fullmatch(r"\s*", found[2]) or low > high:
        return ""
    plain = re.sub(r"[^\d.]", "", found[1])
    negative = text[0] in "-\u2212"
    low, high = (-high, -low) if negative else (low, high)
    half = float(Decimal(5).scaleb(-len(plain.partition(".")[2]) - 1))

    def fits(value: float) -> bool:
        return low - half <= value <= high + half

    if any(fits(float(each)) for each in _swapped(plain)):
        return "two digits are swapped"
    if fits(-float(plain)):
        return "the sign is wrong"
    if len(re.sub(r"\D", "", plain)) > 2 and any(fits(float(each)) for each in _replaced(plain)):
        return "one digit differs"
    for factor, words in _FACTORS.items():
        for value, size in ((float(plain) * factor, half * factor), (float(plain) / factor, half / factor)):
            if low - size <= value <= high + size:
                return f"it is off by a factor of {words}"
    return ""


def _swapped(plain: str) -> list[str]:
    """The number with two neighboring digits swapped, or the digits of both sides of its point turned around."""
    places = [k for k, character in enumerate(plain) if character.isdigit()]
    result = []
    for first, second in zip(places, places[1:], strict=False):
        digits = list(plain)
        digits[first], digits[second] = digits[second], digits[first]
        result.append("".join(digits))
    return result


def _replaced(plain: str) -> list[str]:
    """The number with one digit replaced."""
    return [
        plain[:k] + digit + plain[k + 1 :]
        for k, character in enumerate(plain)
        if character.isdigit()
        for digit in "0123456789"
        if digit != character
    ]
