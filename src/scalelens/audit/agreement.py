"""Do the rows of a table agree on a value that should be the same in all of them?

A heading may be misread, and a paper may measure two columns separately.  So a row is accused only against a clear
majority of rows that agree; if only a few agree, the identity does not apply to the table.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from scalelens.audit.printed import Bounds

LEAST_AGREEING = 3
_SHARE_AGREEING = Decimal("0.75")
MEASURED_TWICE = Decimal("0.02")  # a rate and a time, or a power and an energy, may come from two clocks
_ALONE = Decimal("0.005")  # a gap that rounding does not explain, if no other row has one


def agreed(shared: Bounds, bounds: Sequence[Bounds]) -> bool:
    """Whether a clear majority of the bounds overlaps `shared`."""
    inside = sum(not gap(shared, each) for each in bounds)
    return inside >= LEAST_AGREEING and inside >= _SHARE_AGREEING * len(bounds)


def shared_values(bounds: Sequence[Bounds]) -> Bounds:
    """The values that lie within the most bounds, of which there must be at least one."""
    ends = sorted([(each.low, 0) for each in bounds] + [(each.high, 1) for each in bounds])
    inside = most = 0
    low = high = ends[0][0]
    for (end, closes), (following, _) in pairwise(ends):
        inside += -1 if closes else 1
        if inside > most:
            most, low, high = inside, end, following
    return Bounds(low, high)


def apart_from_the_others(bounds: Sequence[Bounds]) -> tuple[Bounds, list[int]]:
    """The values that the rows share, and the rows that differ from them by more than two measurements may."""
    shared = shared_values(bounds)
    gaps = [gap(shared, each) for each in bounds]
    far = [k for k, distance in enumerate(gaps) if distance > MEASURED_TWICE]
    agreeing = len(bounds) - len(far)
    if agreeing < LEAST_AGREEING or agreeing < _SHARE_AGREEING * len(bounds):
        return shared, []
    lone = [k for k, distance in enumerate(gaps) if distance > 0]
    if len(lone) == 1 and gaps[lone[0]] > _ALONE and len(bounds) > LEAST_AGREEING:
        return shared, lone
    return shared, far


def gap(shared: Bounds, bounds: Bounds) -> Decimal:
    """The distance of the bounds, as a share of the larger end of the first; 0 if they overlap."""
    distance = max(bounds.low - shared.high, shared.low - bounds.high, Decimal(0))
    larger = max(abs(shared.low), abs(shared.high))
    return distance / larger if larger else distance
