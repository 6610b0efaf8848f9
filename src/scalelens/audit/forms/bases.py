"""Changes against a base case: by how many per cent, or by how much, each row differs from one row of the table."""

import re
from collections.abc import Callable, Iterator

from scalelens.audit.forms.fitting import Fit, fit
from scalelens.audit.forms.meaning import may_be_ratio
from scalelens.audit.forms.search import Relation, widened
from scalelens.audit.forms.series import Interval, Series
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.units import base as unit_of

_LEAST_ROWS = 4
_LEAST_SPREAD = 0.1  # logarithm: what a base may be that has nothing to do with the changes
_FAR = 0.03
_NEGLIGIBLE = 0.02
_MANY_DIGITS = 5


def changes_from_base(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Series whose numbers are the change of another one since the place where they are empty, zero or the base."""
    for target in series:
        known = {place: widened(interval) for place, interval in target.known(places).items()}
        if len(known) < _LEAST_ROWS - 1 or not (may_be_ratio(target) or _is_signed(target)):
            continue
        tried = 0
        found = []
        for other in series:
            if other.key == target.key or other.is_order_statistic != target.is_order_statistic:
                continue
            values = other.known(places)
            for base in _bases(target, other, places):
                if values[base][0] <= 0 <= values[base][1]:
                    continue
                largest = max(abs(sum(value)) / 2 for value in values.values())
                for words, of in _forms(target, other):
                    if "×" not in words and abs(sum(values[base])) / 2 < _NEGLIGIBLE * largest:
                        continue  # two columns that are alike
                    tried += 1
                    predicted = _predicted(values, base, of)
                    rest = {place: interval for place, interval in known.items() if place != base}
                    if (result := fit(rest, predicted, free=False)) and len(result.agreeing) > 1:
                        number = other.numbers[base]
                        form = words.replace("base", number.text if number else "base")
                        most = _predicted({k: widened(x) for k, x in values.items()}, base, of)
                        found.append((form, other, predicted, result, most))
        for form, other, predicted, result, most in found:
            yield Relation(form, target, (other,), predicted, result, True, result.chance * tried, True, most)


def values_of_base(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Base cases whose number is a slip away from the one that all changes against it imply."""
    for target in series:
        known = target.known(places)
        empty = [
            place for place in places if (number := target.numbers[place]) is None or _is_no_change(target, number)
        ]
        known = {place: interval for place, interval in known.items() if place not in empty}
        if len(known) < _LEAST_ROWS - 1 or len(empty) != 1 or not (may_be_ratio(target) or _is_signed(target)):
            continue
        tried = 0
        for other in series:
            base = other.numbers[empty[0]] if other.key != target.key else None
            if base is None or other.unit in ("?", "%"):
                continue
            values = {place: value for place, value in other.known(places).items() if place in known}
            for words, of in _backwards(target, other):
                tried += 1
                implied = [each for place, value in values.items() if (each := of(value, known[place]))]
                shared = max((low for low, _ in implied), default=0.0), min((high for _, high in implied), default=0.0)
                if len(implied) < _LEAST_ROWS - 1 or not 0 < shared[0] <= shared[1]:
                    continue
                widths = sorted((high - low) / shared[1] / _LEAST_SPREAD for low, high in implied)[1:]
                chance = 1.0
                for width in widths:
                    chance *= min(1.0, width)
                copied = any(n and n.text == base.text and n is not base and _digits(n.text) > 3 for n in other.numbers)
                if _is_slipped(base.text, base.unit, shared) or (copied and _is_far(base.text, base.unit, shared)):
                    result = Fit((1.0, 1.0), tuple(values), (empty[0],), chance, False)
                    predicted = {empty[0]: shared}
                    yield Relation(words, other, (target,), predicted, result, True, chance * tried, True)


def _is_slipped(text: str, unit: str, right: Interval) -> bool:
    """Whether a number is far from the right one, but by a slip."""
    size = float(unit_of(unit)[1])
    found = slip(text, right[0] / size, right[1] / size)
    digits = _digits(text)
    sure = bool(found) and not found.endswith("two") and (found != "one digit differs" or digits >= _MANY_DIGITS)
    return sure and _is_far(text, unit, right)


def _is_far(text: str, unit: str, right: Interval) -> bool:
    shown = float(re.sub(r"[^\d.]", "", text) or 0) * float(unit_of(unit)[1])
    return abs(shown / (sum(right) / 2) - 1) > _FAR


def _digits(text: str) -> int:
    return len(re.sub(r"\D", "", text).strip("0"))


def _is_no_change(target: Series, number: Number) -> bool:
    """Whether a number says that its place is the base itself: a speedup of 1.00."""
    is_factor = target.unit == "x" or (target.kind == "speedup" and target.unit != "%")
    return is_factor and "." in number.text and float(number.text.replace(",", "").strip("+xX ") or 0) == 1


def _backwards(target: Series, other: Series) -> Iterator[tuple[str, Callable[[Interval, Interval], Interval | None]]]:
    """The base that a number and its change imply."""
    if (target.unit == "%" or (target.unit == "" and target.kind != "speedup")) and may_be_ratio(target):
        yield "{c} = the base of {0}", lambda a, c: _over(a, (1 + c[0] / 100, 1 + c[1] / 100))
        yield "{c} = the base of -{0}", lambda a, c: _over(a, (1 - c[1] / 100, 1 - c[0] / 100))
    if target.unit == "x" or (target.kind == "speedup" and target.unit != "%"):
        yield "{c} = the base of {0}", lambda a, c: _over(a, c)
        yield "{c} = the base of 1 / {0}", lambda a, c: (a[0] * c[0], a[1] * c[1]) if c[0] > 0 else None


def _over(a: Interval, b: Interval) -> Interval | None:
    return (a[0] / b[1], a[1] / b[0]) if b[0] > 0 else None


def _is_signed(target: Series) -> bool:
    """Whether the numbers are changes by their signs: where one has a plus, all that are above zero have."""
    numbers = [number for number in target.numbers if number]
    if any(number.text[0] == "+" for number in numbers):
        return all(number.text[0] == "+" for number in numbers if number.low > 0)
    return any(number.text[0] in "-\u2212" for number in numbers)


def _bases(target: Series, other: Series, places: list[int]) -> list[int]:
    """Places that may be the base: those without a change, or a change of zero; else the first and the last one."""
    empty = [
        place
        for place in places
        if other.numbers[place] and ((number := target.numbers[place]) is None or number.low <= 0 <= number.high)
    ]
    return empty if 0 < len(empty) < 3 else [place for place in (places[0], places[-1]) if other.numbers[place]]


def _forms(target: Series, other: Series) -> Iterator[tuple[str, Callable[[Interval, Interval], Interval | None]]]:
    """Changes in per cent, with either sign, and differences of two numbers in one unit."""
    if target.unit in ("%", "") and other.unit != "%" and may_be_ratio(target):
        yield "{c} = ({0} / base - 1) × 100", lambda a, b: _scaled(a, b, 100, -100)
        yield "{c} = (1 - {0} / base) × 100", lambda a, b: _scaled(a, b, -100, 100)
    if target.unit == other.unit or (target.unit == "" and _is_signed(target)):
        yield "{c} = {0} - base", lambda a, b: (a[0] - b[1], a[1] - b[0])
        yield "{c} = base - {0}", lambda a, b: (b[0] - a[1], b[1] - a[0])


def _scaled(a: Interval, b: Interval, factor: float, plus: float) -> Interval | None:
    if b[0] <= 0 or a[0] <= 0:
        return None
    ends = (factor * a[0] / b[1] + plus, factor * a[1] / b[0] + plus)
    return min(ends), max(ends)


def _predicted(
    values: dict[int, Interval], base: int, of: Callable[[Interval, Interval], Interval | None]
) -> dict[int, Interval]:
    changes = {place: of(interval, values[base]) for place, interval in values.items() if place != base}
    return {place: change for place, change in changes.items() if change}
