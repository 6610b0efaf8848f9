"""The energy of windows of one sensor: what they cover together, each joule once.

Windows that follow each other add up, and one within another adds nothing.  Where windows overlap in part, only bounds
follow: at least what windows took that do not overlap, at most what those took that cover all.
"""

import bisect
from collections.abc import Sequence
from typing import NamedTuple

_SECOND = 10**9  # nanoseconds
_CLOSE = 0.01  # windows inside may miss the one around them by so much: tools sample
_MOST = 2000  # windows of a tangle for which the least cover is looked for


class Window(NamedTuple):
    begins: int  # ns
    ends: int
    joules: float


class _Covered(NamedTuple):
    """What windows take together."""

    low_j: float
    high_j: float
    span_s: float  # time that any of them covers
    relation: str  # single, in turn, nested, overlapping or contradictory


def covered(windows: Sequence[Window]) -> _Covered:
    """The energy of windows of one sensor and clock, which may be in any order."""
    windows = sorted(set(windows), key=lambda window: (window.begins, -window.ends, -window.joules))
    if len(windows) == 1:
        (only,) = windows
        return _Covered(only.joules, only.joules, (only.ends - only.begins) / _SECOND, "single")
    late = _rounding(windows)
    low = high = span = 0.0
    relations = set()
    for tangle in _tangles(windows, late):
        bounds = _of_tangle(tangle, late)
        low, high = low + bounds.low_j, high + bounds.high_j
        span += bounds.span_s
        relations.add(bounds.relation)
    worst = next(kind for kind in ("contradictory", "overlapping", "nested", "single") if kind in relations)
    return _Covered(low, high, span, "in turn" if worst == "single" else worst)


def _rounding(windows: Sequence[Window]) -> int:
    """By how much ends may be wrong: a second where all are of whole seconds, else a millisecond."""
    return _SECOND if all(window.ends % _SECOND == 0 for window in windows) else _SECOND // 1000


def _late(one: Window, other: Window, late: int) -> int:
    """The overlap that is rounding."""
    return min(late, (one.ends - one.begins) // 2, (other.ends - other.begins) // 2)


def _tangles(windows: Sequence[Window], late: int) -> list[list[Window]]:
    """Windows in groups that do not overlap each other, but for rounding."""
    tangles: list[list[Window]] = []
    last = windows[0]  # the one that ends last
    for window in windows:
        if tangles and window.begins < last.ends - _late(last, window, late):
            tangles[-1].append(window)
            last = max(last, window, key=lambda one: one.ends)
        else:
            tangles.append([window])
            last = window
    return tangles


def _of_tangle(windows: Sequence[Window], late: int) -> _Covered:
    begins, ends = windows[0].begins, max(window.ends for window in windows)
    span = (ends - begins) / _SECOND
    if len(windows) == 1:
        return _Covered(windows[0].joules, windows[0].joules, span, "single")
    least = _most_apart(windows, late)
    around = [w.joules for w in windows if w.begins <= begins + late and w.ends >= ends - late]
    if around:  # the longest is first
        low, high = min(*around, least) if len(around) > 1 else around[0], max(*around, least)
        if high - around[0] <= _CLOSE * high and around[0] - low <= _CLOSE * high:
            return _Covered(around[0], around[0], span, "nested")
        return _Covered(low, high, span, "contradictory")
    most = _least_cover(windows, begins, ends, late)
    if abs(most - least) <= 1e-9 * most:
        return _Covered(most, most, span, "overlapping")
    if most < least:
        close = least - most <= _CLOSE * least
        return _Covered(least, least, span, "nested") if close else _Covered(most, least, span, "contradictory")
    return _Covered(least, most, span, "overlapping")


def _most_apart(windows: Sequence[Window], late: int) -> float:
    """The most that windows took of which no two overlap."""
    by_end = sorted(windows, key=lambda window: window.ends)
    ends = [window.ends for window in by_end]
    best = [0.0]
    for k, window in enumerate(by_end):
        allowed = min(late, (window.ends - window.begins) // 2)
        free = bisect.bisect_right(ends, window.begins + allowed, hi=k)
        best.append(max(best[-1], best[free] + window.joules))
    return best[-1]


def _least_cover(windows: Sequence[Window], begins: int, ends: int, late: int) -> float:
    """The least that windows took which cover the time together."""
    if len(windows) > _MOST:
        return sum(window.joules for window in windows)
    by_end = sorted(windows, key=lambda window: window.ends)
    costs: list[float] = []
    for k, window in enumerate(by_end):
        before = [cost for cost, earlier in zip(costs, by_end[:k], strict=True) if earlier.ends >= window.begins - late]
        start = 0.0 if window.begins <= begins + late else min(before, default=float("inf"))
        costs.append(start + window.joules)
    return min(cost for cost, window in zip(costs, by_end, strict=True) if window.ends >= ends - late)
