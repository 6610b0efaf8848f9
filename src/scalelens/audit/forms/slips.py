"""Whether a printed number is another one with a slip: digits swapped, one digit wrong, a power of ten, a unit."""

import re
from decimal import Decimal
from functools import lru_cache
from itertools import combinations

_NAMED = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_LEAST_DIGITS = 3
_WHOLE = 1e-9
REPEATED = "another value of the column is repeated"  # a slip that only a column shows
FACTORS = {2: "two", 10: "ten", 100: "a hundred", 1000: "a thousand", 1_000_000: "a million", 60: "60", 3600: "3,600"}


# How often two unrelated numbers differ by such a slip.
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

    of_swaps, of_digits = _values(plain)
    if any(map(fits, of_swaps)):
        return "two digits are swapped"
    if fits(-float(plain)):
        return "the sign is wrong"
    if any(map(fits, of_digits)):
        return "one digit differs"
    room = _half_of_shorter(plain, half)
    for factor, words in FACTORS.items():
        for value, size in ((float(plain) * factor, half * factor), (float(plain) / factor, room / factor)):
            if low - size <= value <= high + size:
                return f"it is off by a factor of {words}"
    return ""


@lru_cache(maxsize=16384)
def _values(plain: str) -> tuple[list[float], list[float]]:
    """What a number may be with two digits swapped, and, if it has three or more, with one replaced."""
    of_digits = replaced(plain) if len(plain.replace(".", "")) >= _LEAST_DIGITS else []
    return [float(each) for each in swapped(plain)], [float(each) for each in of_digits]


def _half_of_shorter(plain: str, half: float) -> float:
    """Half of the last digit without zeros after the point: 158.0 may be ten times 15.8."""
    shorter = plain.rstrip("0").removesuffix(".") if "." in plain else plain
    if shorter == plain or len(re.sub(r"\D", "", shorter)) < _LEAST_DIGITS:
        return half
    return float(Decimal(5).scaleb(-len(shorter.partition(".")[2]) - 1))


def swapped(plain: str) -> list[str]:
    """The number with two of its digits swapped."""
    places = [k for k, character in enumerate(plain) if character.isdigit()]
    result = set()
    for first, second in combinations(places, 2):
        digits = list(plain)
        digits[first], digits[second] = digits[second], digits[first]
        result.add("".join(digits))
    return sorted(result - {plain})


def replaced(plain: str) -> list[str]:
    """The number with one digit replaced, but not by zeros alone."""
    found = [
        plain[:k] + digit + plain[k + 1 :]
        for k, character in enumerate(plain)
        if character.isdigit()
        for digit in "0123456789"
        if digit != character
    ]
    return [each for each in found if each.strip("0.")]


def candidates(text: str, has_unit: bool) -> list[tuple[float, float, str]]:
    """What a printed number may have been before a slip: value, half of its last digit, and the slip in words."""
    named = re.fullmatch(r"([\d.,]+) (thousand|million|billion)", text)
    if named:
        size = _NAMED[named[2]]
        return [(value * size, half * size, words) for value, half, words in candidates(named[1], has_unit)]
    plain = re.sub(r"[^\d.]", "", text)
    if not re.fullmatch(r"\d+(?:\.\d+)?", plain) or re.search(r"[a-zA-Z×^]", text):
        return []
    half = float(Decimal(5).scaleb(-len(plain.partition(".")[2]) - 1))
    digits = len(plain.replace(".", "").strip("0"))
    result = [(float(each), half, "two digits are swapped") for each in swapped(plain) if float(each) != float(plain)]
    if digits > 4:
        result += [
            (float(each), half, "one digit differs")
            for each in replaced(plain)
            if not (plain.startswith("0.") and each[0] != "0")
        ]
    if not has_unit:
        return result
    for factor in (1000, 60, 3600):
        words = f"it is off by a factor of {FACTORS[factor]}"
        result += [(float(plain) * factor, half * factor, words), (float(plain) / factor, half / factor, words)]
    words = "it is off by a factor of ten"
    return (
        result
        if digits < 3
        else [*result, (float(plain) * 10, half * 10, words), (float(plain) / 10, half / 10, words)]
    )


def is_short_slip(text: str, low: float, high: float) -> bool:
    """Whether another digit would make a number of one or two digits right; whole numbers give whole ones."""
    if not re.fullmatch(r"\d\d?|\d\.\d", text) or (low == high and abs(low - round(low)) > _WHOLE):
        return False
    half = 0.05 if "." in text else 0.5 if low != high else _WHOLE
    others = [text[:k] + digit + text[k + 1 :] for k, old in enumerate(text) if old != "." for digit in "0123456789"]
    return any(low - half <= float(other) <= high + half for other in others)
