"""Do the rows of a table agree on a value that an identity says is the same in all of them?

A heading may be misread, and a paper may measure two columns apart.  So a row is accused only against a clear majority
of rows that agree: where few agree, the identity is not the table's, and nothing is said.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from scalelens.audit.printed import Bounds

LEAST_AGREEING = 3
SHARE_AGREEING = Decimal("0.75")
MEASURED_TWICE = Decimal("0.02")  # a rate and a time, or a power and an energy, may come from two clocks
ALONE = Decimal("0.005")  # a gap that digits do not hide, where all other rows have none


def agreed(shared: Bounds, intervals: Sequence[Bounds]) -> bool:
    """A clear majority of the intervals meets `shared`."""
    inside = sum(not gap(shared, interval) for interval in intervals)
    return inside >= LEAST_AGREEING and inside >= SHARE_AGREEING * len(intervals)


def shared_values(intervals: Sequence[Bounds]) -> Bounds:
    """The values that lie in the most intervals.  There is one interval at least."""
    ends = sorted([(interval.low, 0) for interval in intervals] + [(interval.high, 1) for interval in intervals])
    inside = most = 0
    low = high = ends[0][0]
    for (end, closes), (following, _) in pairwise(ends):
        inside += -1 if closes else 1
        if inside > most:
            most, low, high = inside, end, following
    return Bounds(low, high)


def apart_from_the_others(intervals: Sequence[Bounds]) -> tuple[Bounds, list[int]]:
    """The values that the rows share, and the rows that are apart from them by more than two measurements may be."""
    shared = shared_values(intervals)
    gaps = [gap(shared, interval) for interval in intervals]
    far = [place for place, distance in enumerate(gaps) if distance > MEASURED_TWICE]
    agreeing = len(intervals) - len(far)
    if agreeing < LEAST_AGREEING or agreeing < SHARE_AGREEING * len(intervals):
        return shared, []
    lone = [place for place, distance in enumerate(gaps) if distance > 0]
    if len(lone) == 1 and gaps[lone[0]] > ALONE and len(intervals) > LEAST_AGREEING:
        return shared, lone
    return shared, far


def gap(shared: Bounds, interval: Bounds) -> Decimal:
    """How far two intervals are apart, as a share of the larger end of the first; 0 where they meet."""
    distance = max(interval.low - shared.high, shared.low - interval.high, Decimal(0))
    larger = max(abs(shared.low), abs(shared.high))
    return distance / larger if larger else distance
