"""Searches the forms over all series of a table."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from scalelens.audit.forms.catalog import FORMS, SIGNED, SYMMETRIC, Form
from scalelens.audit.forms.fitting import Fit, fit
from scalelens.audit.forms.meaning import (
    allowed,
    contribute,
    fits_units,
    is_factor,
    is_one_change,
    names_operands,
    quotient_of_equals,
)
from scalelens.audit.forms.series import Interval, Series

_MOST_SERIES = 14
_CERTAIN = 1e-12
_LEAST_CERTAIN = 7
_MOST_FOR_TRIPLES = 9
_WAYS = 2  # to write the form that a heading names


@dataclass(frozen=True)
class Relation:
    """A form that holds between series but for the places in `fit.apart`.

    most      what the form gives if its operands may be cut instead of rounded; None for a sum
    of_equals whether it is the ratio of two measures in one unit
    meant     whether units and headings agree with the form
    doubt     chance that this is a coincidence, times the number of forms tried
    """

    form: str
    target: Series
    operands: tuple[Series, ...]
    predicted: dict[int, Interval]
    fit: Fit
    meant: bool
    doubt: float
    of_equals: bool = False
    most: dict[int, Interval] | None = None


def relations(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """All relations between the series at these places, the ones without exception included."""
    if not 2 <= len(series) <= _MOST_SERIES:
        return
    known = {each.key: each.known(places) for each in series}
    for target in series:
        if len(known[target.key]) < 3:
            continue
        tried: Counter[str] = Counter()
        wide = {place: widened(interval) for place, interval in known[target.key].items()}
        found = []
        for form, operands in _candidates(target, series):
            if not allowed(form, target, operands):
                continue
            meant = fits_units(form, target, operands)
            tried[form.text if meant else ""] += 1
            predicted = _predicted(form, [known[each.key] for each in operands], places)
            bases = _bases(target) if form.operands == 1 else ()
            of_equals = quotient_of_equals(form, operands)
            free = form.free and not target.is_setting and not of_equals
            result = fit(wide, predicted, free, bases, (1.0, 100.0) if of_equals else (1.0,))
            if result and contribute(form, target, operands, result) and not is_one_change(form.text, target, result):
                most: dict[int, Interval] | None
                most = _predicted(form, [_cut(known[each.key]) for each in operands], places)
                if strict := without_double_rounding(known[target.key], predicted, result):
                    result, most = strict, None
                found.append((form, operands, predicted, result, meant, most))
        for form, operands, predicted, result, meant, most in found:
            is_written = names_operands(form, target, operands)
            doubt = result.chance * (_WAYS if is_written else tried[form.text] if meant else tried.total())
            equals = quotient_of_equals(form, operands)
            yield Relation(form.text, target, operands, predicted, result, meant or is_written, doubt, equals, most)


def without_double_rounding(target: dict[int, Interval], predicted: dict[int, Interval], result: Fit) -> Fit | None:
    """The fit without room for numbers that were cut, if so many places need none that no number was."""
    if result.free or result.chance > _CERTAIN or len(result.agreeing) < _LEAST_CERTAIN:
        return None
    exact = {place: _with_room(interval) for place, interval in target.items()}
    strict = fit(exact, predicted, False, (), result.factor[:1])
    return strict if strict and len(strict.apart) == 1 and not strict.free else None


def _with_room(interval: Interval) -> Interval:
    room = (interval[1] - interval[0]) / 10
    return interval[0] - room, interval[1] + room


def _bases(target: Series) -> tuple[int, ...]:
    """Places where the target is 1 or 100: those of base cases."""
    return tuple(
        place
        for place, number in enumerate(target.numbers)
        if number and re.fullmatch(r"1(?:00)?(?:\.0+)?", number.text)
    )


def widened(interval: Interval) -> Interval:
    """A target may be cut instead of rounded, or come from numbers that were rounded before."""
    half = (interval[1] - interval[0]) / 2
    return interval[0] - half, interval[1] + half


def _cut(known: dict[int, Interval]) -> dict[int, Interval]:
    return {place: widened(interval) for place, interval in known.items()}


def _candidates(target: Series, series: list[Series]) -> Iterator[tuple[Form, tuple[Series, ...]]]:
    others = [each for each in series if each.key != target.key]
    if target.is_setting:
        others = [each for each in others if is_factor(each)]
    for form in FORMS:
        if form.operands < 3 or (target.is_setting and len(others) <= _MOST_FOR_TRIPLES):
            choose = combinations if form.text in SYMMETRIC else permutations
            for operands in choose(others, form.operands):
                yield form, operands


def _predicted(form: Form, known: list[dict[int, Interval]], places: list[int]) -> dict[int, Interval]:
    result = {}
    for place in places:
        values = [each.get(place) for each in known]
        if any(value is None or (value[0] <= 0 and form.text not in SIGNED) for value in values):
            continue
        interval = form.of([value for value in values if value is not None])
        if interval is not None:
            result[place] = interval
    return result
