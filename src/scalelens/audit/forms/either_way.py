"""Ratios, changes and differences in tables that have one quantity, and so one unit, in each row.

In such a table a latency of 5.9 s that became 6.3 s is "+7.8 %", and 424 tokens/s that became 920 are "2.2 times".  The
direction of a ratio differs from row to row, that of a difference does not.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations

from scalelens.audit.forms.fitting import fit
from scalelens.audit.forms.meaning import is_one_change, may_be_ratio
from scalelens.audit.forms.search import Relation, widened
from scalelens.audit.forms.series import Interval, Series

_LEAST_DIFFERENCES = 4
_DIFFERENCE = "{c} = {0} - {1}"
_Ways = Callable[[Interval, Interval], list[Interval]]


def comparisons(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Series that compare two others in each place, in whichever direction is nearer."""
    for target in series:
        known = {place: widened(interval) for place, interval in target.known(places).items()}
        if len(known) < 3 or not may_be_ratio(target):
            continue
        tried = 0
        found = []
        for a, b in combinations([each for each in series if each.key != target.key], 2):
            own = [place for place in known if _of_one_unit(a, b, place)]
            if len(own) < 3:
                continue
            for text, ways in _CHANGES if target.unit == "%" else _RATIOS:
                tried += 1
                predicted = _nearest(a, b, own, known, ways, lambda x: x)
                result = fit({place: known[place] for place in own}, predicted, free=False)
                if result and len(result.agreeing) > 2 and not is_one_change(text, target, result):
                    most = _nearest(a, b, own, known, ways, widened)
                    found.append((text, (a, b), predicted, result, most))
        for text, operands, predicted, result, most in found:
            doubt = result.chance * tried * 2 ** len(result.agreeing)
            yield Relation(text, target, operands, predicted, result, True, doubt, True, most)


def differences(series: list[Series], places: list[int]) -> Iterator[Relation]:
    """Series that are one other less another in each place, in the unit of the place."""
    for target in series:
        known = {place: widened(interval) for place, interval in target.known(places).items()}
        if len(known) < _LEAST_DIFFERENCES or not target.is_derived:
            continue
        pairs = list(permutations([each for each in series if each.key != target.key], 2))
        for a, b in pairs:
            if "?" not in (a.unit, b.unit):
                continue  # one unit for all: a form of its own
            own = [place for place in known if _of_one_unit(a, b, place) and _is_in_unit_of(target, a, place)]
            predicted = {
                place: (x[0] - y[1], x[1] - y[0])
                for place in own
                if (x := a.intervals[place]) and (y := b.intervals[place])
            }
            if len(predicted) < _LEAST_DIFFERENCES:
                continue
            result = fit({place: known[place] for place in predicted}, predicted, free=False)
            if result and len(result.agreeing) > 2:
                yield Relation(_DIFFERENCE, target, (a, b), predicted, result, True, result.chance * len(pairs))


def _is_in_unit_of(target: Series, other: Series, place: int) -> bool:
    own, theirs = target.numbers[place], other.numbers[place]
    return own is not None and theirs is not None and own.unit in ("", theirs.unit)


def _nearest(
    a: Series,
    b: Series,
    places: list[int],
    shown: dict[int, Interval],
    ways: _Ways,
    change: Callable[[Interval], Interval],
) -> dict[int, Interval]:
    """What the nearest way to compare a and b gives in each place."""
    result = {}
    for place in places:
        x, y = a.intervals[place], b.intervals[place]
        if x and y and min(change(x)[0], change(y)[0]) > 0:
            given = ways(change(x), change(y))
            result[place] = min(given, key=lambda way: _distance(way, shown[place]))
    return result


def _of_one_unit(a: Series, b: Series, place: int) -> bool:
    x, y = a.numbers[place], b.numbers[place]
    return x is not None and y is not None and x.unit == y.unit and x.unit not in ("x",)


def _distance(way: Interval, shown: Interval) -> float:
    apart = max(way[0] - shown[1], shown[0] - way[1])
    return abs(sum(way) - sum(shown)) / 2 if apart > 0 else 0.0


def _quotient(a: Interval, b: Interval, factor: float = 1.0, plus: float = 0.0) -> Interval:
    return factor * a[0] / b[1] + plus, factor * a[1] / b[0] + plus


def _negative(way: Interval) -> Interval:
    return -way[1], -way[0]


def _changed(a: Interval, b: Interval) -> list[Interval]:
    change = _quotient(b, a, 100, -100)
    return [change, _negative(change)]


def _changed_back(a: Interval, b: Interval) -> list[Interval]:
    return _changed(b, a)


_RATIOS = (("{c} = {0} / {1} or {1} / {0}", lambda a, b: [_quotient(a, b), _quotient(b, a)]),)
_CHANGES = (
    ("{c} = ({1} / {0} - 1) × 100, either sign", _changed),
    ("{c} = ({0} / {1} - 1) × 100, either sign", _changed_back),
)
