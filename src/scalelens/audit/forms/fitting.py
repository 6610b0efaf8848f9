"""Whether a form holds in a series: how many places agree, which do not, and how likely that is by chance."""

from dataclasses import dataclass
from itertools import pairwise
from math import log

from scalelens.audit.forms.catalog import CONSTANTS
from scalelens.audit.forms.series import Interval

_FIRST = 7  # places that are looked at before all
_MANY, _SOME = 8, 7  # places from which on two may be apart, and if the others leave no doubt
_NO_DOUBT = 1e-5
_RELATED = 0.1  # share within which two unrelated columns of one trend agree anyhow
_SAME_SIZE = 0.25
_LEAST_SPREAD = 0.01
_ANY_SIZE = 1.0  # of a quotient or product, whose size nothing fixes unless it is about 1


@dataclass(frozen=True)
class Fit:
    """factor, places that agree and that do not, and how likely so many agree by chance."""

    factor: Interval
    agreeing: tuple[int, ...]
    apart: tuple[int, ...]
    chance: float
    free: bool


def fit(
    target: dict[int, Interval],
    predicted: dict[int, Interval],
    free: bool,
    bases: tuple[int, ...] = (),
    constants: tuple[float, ...] = (1.0,),
) -> Fit | None:
    """Fits what a form predicts to the target.  None unless all places but one or two agree.

    `bases` are places where the target is 1 or 100 %: a free factor is taken from such a one first.  A factor that is
    not free is one of the constants.
    """
    places = [place for place in target if place in predicted]
    if not free:
        fits = [_held_against(target, predicted, places, (each, each), free) for each in constants]
        return max((each for each in fits if each), key=lambda each: len(each.agreeing), default=None)
    places = [place for place in places if target[place][0] > 0 and predicted[place][0] > 0]
    if len(places) < 3:
        return None
    ratios = {
        place: (target[place][0] / predicted[place][1], target[place][1] / predicted[place][0]) for place in places
    }
    if len(places) > 2 * _FIRST and _shared_by(first := [ratios[place] for place in places[:_FIRST]]) < len(first) - 2:
        return None
    for base in bases:
        if base in ratios:
            middle = sum(target[base]) / 2
            factor = (middle / predicted[base][1], middle / predicted[base][0])
            rest = [place for place in places if place != base]
            if (found := _held_against(target, predicted, rest, factor, False)) and len(found.agreeing) > 1:
                return found
    factor = _most_shared(list(ratios.values()))
    constant = next((each for each in CONSTANTS if factor[0] <= each <= factor[1]), None)
    if constant is not None:
        return _held_against(target, predicted, places, (constant, constant), False)
    return _held_against(target, predicted, places, factor, True)


def _held_against(
    target: dict[int, Interval], predicted: dict[int, Interval], places: list[int], factor: Interval, free: bool
) -> Fit | None:
    """The places that agree with what is predicted, times the factor, and those that do not."""
    most = 2 if len(places) >= _SOME else 1
    agreeing: list[int] = []
    apart: list[int] = []
    for place in places:
        low, high = _scaled(predicted[place], factor)
        (agreeing if low <= target[place][1] and target[place][0] <= high else apart).append(place)
        if len(apart) > most:
            return None
    if len(agreeing) < (3 if free else 2):
        return None
    chance = _chance(target, predicted, agreeing, factor, free)
    if len(apart) > 1 and len(places) < _MANY and chance > _NO_DOUBT:
        return None
    return Fit(factor, tuple(agreeing), tuple(apart), chance, free)


def _shared_by(ratios: list[Interval]) -> int:
    """How many intervals the values within the most of them are in."""
    shared = _most_shared(ratios)
    return sum(low <= shared[1] and shared[0] <= high for low, high in ratios)


def _scaled(interval: Interval, factor: Interval) -> Interval:
    """The interval times a positive factor."""
    ends = [end * size for end in interval for size in factor]
    return min(ends), max(ends)


def _most_shared(ratios: list[Interval]) -> Interval:
    """The values that lie within the most intervals."""
    ends = sorted([(low, 0) for low, _ in ratios] + [(high, 1) for _, high in ratios])
    inside = most = 0
    shared = (ends[0][0], ends[0][0])
    for (end, closes), (following, _) in pairwise(ends):
        inside += -1 if closes else 1
        if inside > most:
            most, shared = inside, (end, following)
    return shared


def _chance(
    target: dict[int, Interval], predicted: dict[int, Interval], agreeing: list[int], factor: Interval, free: bool
) -> float:
    """How likely the places agree by chance: for each, the width of both intervals over the range that values have."""
    middles = [abs(sum(target[place])) / 2 for place in agreeing]
    if min(middles) <= 0:
        signed = [place for place in agreeing if sum(target[place]) != 0]
        middles = [abs(sum(target[place])) / 2 for place in signed]
        agreeing = signed
    if not middles:
        return 1.0
    spread = log(max(middles) / min(middles))
    if free:
        room = min(_RELATED, spread)
    else:
        about_one = sum(0.75 < each < 1.34 or 75 < each < 134 for each in middles) * 2 > len(middles)
        room = min(_SAME_SIZE, max(spread, _LEAST_SPREAD)) if about_one else _ANY_SIZE
    if room <= 0:
        return 1.0
    # one number says how large the rest is: columns of one trend agree anyhow
    rest = min(room, max(spread, _LEAST_SPREAD))
    chances = {}
    for place, middle in zip(agreeing, middles, strict=True):
        low, high = _scaled(predicted[place], factor)
        printed = target[place][1] - target[place][0] or 1.0  # an exact count could have been the next one
        width = (printed + high - low) / middle
        key = (round(middle, 9), round(low + high, 9))
        chances[key] = width
    widths = sorted(chances.values())
    result = 1.0 if free else min(1.0, widths[0] / room)
    for width in widths[1:]:
        result *= min(1.0, width / rest)
    return result
