"""Do the rows of a table agree on a value that an identity says is the same in all of them?

A heading may be misread, and a paper may measure two columns apart.  So a row is accused only against a clear majority
of rows that agree: where few agree, the identity is not the table's, and nothing is said.
"""

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from scalelens.report.audit.printed import Interval

LEAST_AGREEING = 3
SHARE_AGREEING = Decimal("0.75")
MEASURED_TWICE = Decimal("0.02")  # a rate and a time of the same run may come from two clocks
ALONE = Decimal("0.005")  # a gap that digits do not hide, where all other rows have none


def agreed(value: Decimal, intervals: Sequence[Interval]) -> bool:
    """A clear majority of the intervals holds `value`."""
    inside = sum(not gap(value, interval) for interval in intervals)
    return inside >= LEAST_AGREEING and inside >= SHARE_AGREEING * len(intervals)


def shared_value(intervals: Sequence[Interval]) -> Decimal:
    """The value that lies in the most intervals: the middle of where these overlap.  There is one interval at least."""
    ends = sorted([(interval.low, 0) for interval in intervals] + [(interval.high, 1) for interval in intervals])
    inside = most = 0
    low = high = ends[0][0]
    for (end, closes), (following, _) in pairwise(ends):
        inside += -1 if closes else 1
        if inside > most:
            most, low, high = inside, end, following
    return (low + high) / 2


def apart_from_the_others(intervals: Sequence[Interval]) -> tuple[Decimal, list[int]]:
    """The value that the rows share, and the rows that are apart from it by more than two measurements may be."""
    value = shared_value(intervals)
    gaps = [gap(value, interval) for interval in intervals]
    far = [place for place, distance in enumerate(gaps) if distance > MEASURED_TWICE]
    agreeing = len(intervals) - len(far)
    if agreeing < LEAST_AGREEING or agreeing < SHARE_AGREEING * len(intervals):
        return value, []
    lone = [place for place, distance in enumerate(gaps) if distance > 0]
    if len(lone) == 1 and gaps[lone[0]] > ALONE and len(intervals) > LEAST_AGREEING:
        return value, lone
    return value, far


def gap(value: Decimal, interval: Interval) -> Decimal:
    """How far the interval is from the value, as a share of the value; 0 where it holds it."""
    distance = max(interval.low - value, value - interval.high, Decimal(0))
    return distance / abs(value) if value else distance
