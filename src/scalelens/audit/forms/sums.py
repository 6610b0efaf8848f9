"""Totals, means and running sums of neighboring series of a table."""

import re
from collections.abc import Iterator
from itertools import combinations
from math import prod

from scalelens.audit.forms.fitting import Fit, fit
from scalelens.audit.forms.search import Relation, without_double_rounding
from scalelens.audit.forms.series import Interval, Series
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.audit.units import COUNTED

_TOTAL = re.compile(
    r"\b(?:total|sum|overall|all|altogether|gesamt|summe|somme)\b|合计|总计|總計|合計|합계", re.IGNORECASE
)
_MEAN = re.compile(
    r"\b(?:avg|ave|average|mean|overall|score|mittel(?:wert)?|durchschnitt|moyenne|promedio|média|media)\b|"
    r"平均|均值|평균|среднее",
    re.IGNORECASE,
)
IS_SUMMARY = re.compile(rf"{_TOTAL.pattern}|{_MEAN.pattern}", re.IGNORECASE)
_POWER = re.compile(r"\d\s?(?:[kMBT]|thousand|million|billion|trillion)$")  # 117M counts something else
_LEAST = 3  # parts of a sum; a + b is a form
_MOST = 40
_ALIKE = 0.05
_FAR = 0.03
_SWAPPED = "two digits are swapped"
_DIGITS = 2


def sums(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Series that are the sum or the mean of those next to them."""
    for position, target in enumerate(series):
        known = target.known(places)
        is_total, is_mean = bool(_TOTAL.search(target.name)), bool(_MEAN.search(target.name))
        if not (is_total or is_mean):
            continue
        before = [each for each in series[:position] if _may_be_part(each, target)][-_MOST:]
        after = [each for each in series[position + 1 :] if _may_be_part(each, target)][:_MOST]
        runs = [before[-count:] for count in range(_LEAST, len(before) + 1)]
        runs += [after[:count] for count in range(_LEAST, len(after) + 1)]
        for run in runs:
            if any(each.is_order_statistic for each in run):
                continue
            for divide, text in ((1, "sum"),) * is_total + ((len(run), "mean"),) * is_mean:
                yield from _relation(target, run, known, divide, text, len(runs))


def whole_sums(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Counts that are the sum of two others to the last digit: samples of two classes, tests passed and failed."""
    counts = {each.key: each for each in series if all(_is_count(number) for number in each.numbers if number)}
    values = {key: {p: round(sum(i) / 2) for p, i in each.known(places).items()} for key, each in counts.items()}
    tried = len(counts) * max(len(counts) - 1, 0) * max(len(counts) - 2, 0) // 2
    for c, target in counts.items():
        for a, b in combinations([key for key in counts if key != c], 2):
            own = [place for place in values[c] if place in values[a] and place in values[b]]
            predicted = {place: values[a][place] + values[b][place] for place in own}
            apart = [place for place in own if values[c][place] != predicted[place]]
            if len(own) < _LEAST + 1 or len(apart) != 1 or min(predicted.values()) <= 0:
                continue
            agreeing = tuple(place for place in own if place not in apart)
            digits = [max(len(str(values[key][place]).strip("0")) for key in (a, b, c)) for place in agreeing]
            chance = prod(10.0**-each for each in digits)
            printed, right = values[c][apart[0]], predicted[apart[0]]
            is_far = abs(printed - right) > _FAR * max(printed, right)
            if min(digits) < _DIGITS and not target.is_derived:
                continue
            numbers = [(target, right)] + [
                (counts[key], printed - values[other][apart[0]]) for key, other in ((a, b), (b, a))
            ]
            slips = [_slip(each.numbers[apart[0]], other) for each, other in numbers]
            slipped = any(
                each and not (each == "one digit differs" and printed > right) for each in slips
            )  # or a third
            is_far |= _SWAPPED in slips and min(digits) >= _LEAST  # to the last of three digits everywhere else
            if is_far and slipped and _differs_in_both(values, agreeing, a, b):
                result = Fit((1.0, 1.0), agreeing, tuple(apart), chance, False)
                exact = {place: (float(value), float(value)) for place, value in predicted.items()}
                yield Relation("{c} = {0} + {1}", target, (counts[a], counts[b]), exact, result, True, chance * tried)


def _is_count(number: Number) -> bool:
    return number.text.replace(",", "").isdigit() and number.unit in ("", *COUNTED)


def _slip(number: Number | None, right: int) -> str:
    """The slip that would make a count right; twice as many are of something else."""
    found = slip(number.text, right, right) if number and right > 0 else ""
    return "" if found.endswith("two") else found


def _differs_in_both(values: dict[int, dict[int, int]], places: tuple[int, ...], a: int, b: int) -> bool:
    """Whether neither part is nothing, or the same everywhere: a number and the next one add up with 1."""
    return all(min(values[key][p] for p in places) > 0 and len({values[key][p] for p in places}) > 1 for key in (a, b))


def _may_be_part(part: Series, target: Series) -> bool:
    """Whether a series may be a part of a sum or a mean: in its unit, neither one itself nor a size such as 117M."""
    if part.key == target.key or part.unit != target.unit or IS_SUMMARY.search(part.name):
        return False
    return not any(number and _POWER.search(number.text) for number in part.numbers)


def _relation(
    target: Series, run: list[Series], known: dict[int, Interval], divide: int, text: str, tried: int
) -> Iterator[Relation]:
    predicted = {}
    for place in known:
        parts = [each.intervals[place] for each in run]
        if all(part is not None for part in parts):
            predicted[place] = (
                sum(part[0] for part in parts if part) / divide,
                sum(part[1] for part in parts if part) / divide,
            )
    wide = {place: _cut(interval) for place, interval in known.items()}
    if result := fit(wide, predicted, free=False):
        result = without_double_rounding(known, predicted, result) or result
        if text == "mean" and not _differ(run, result.agreeing):
            return
        form = f"{{c}} = {text} of {{0}} ... {{{len(run) - 1}}}"
        yield Relation(form, target, tuple(run), predicted, result, True, result.chance * 2 * tried)


def _differ(run: list[Series], places: tuple[int, ...]) -> bool:
    """Whether the parts of a mean differ, so that their mean is more than one of them."""
    spread = [
        max(sum(part) for part in parts) - min(sum(part) for part in parts) > _ALIKE * abs(sum(parts[0]))
        for place in places
        if (parts := [interval for each in run if (interval := each.intervals[place])])
    ]
    return sum(spread) * 2 > len(spread)


def _cut(interval: Interval) -> Interval:
    half = (interval[1] - interval[0]) / 2
    return interval[0] - half, interval[1] + half
