"""Slow steps of a run: which steps are slow, and whether they come one by one, in a rhythm, or for a time."""

from itertools import pairwise
from math import ceil, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.elbows import SLOWER, fast_mode
from scalelens.statistics.level_shifts import Integers, level_shifts
from scalelens.statistics.medians import Values
from scalelens.statistics.plain_median import median
from scalelens.statistics.significance import binomial_tail

_Flags = npt.NDArray[np.bool_]

_FEWEST = 40  # records: fewer do not show a fast mode
_SHORTEST_SHIFT = 10  # records of a slow level; fewer are a stall
_BY_CHANCE = 0.001  # probability that chance makes a run of slow steps, or a rhythm, anywhere in a series
_FEWEST_HITS = 4  # slow steps of one rhythm
_KEPT = 0.6  # share of the steps in a rhythm that are slow
_MOST_PERIODS = 5
_GAPS = 5  # a gap is looked for between a slow step and so many next ones: others may lie between
_CANDIDATES = 20  # gaps that are tried as a period


class _SlowSteps(NamedTuple):
    """The slow records of a series: lists of equal length, an entry for each."""

    fast_s: float | None  # median of the fast mode
    limit_s: float | None  # a record that took longer is slow
    position: list[int]  # among the records, from 0
    kind: list[str]  # `first_of_epoch`, `periodic`, `isolated`, `regime_shift`
    period: list[int | None]  # in steps
    reason: str | None  # why there is no list


class _Rhythm(NamedTuple):
    """Slow steps at an equal distance."""

    hits: int
    period: int
    remainder: int


def slow_classes(
    times: Values, steps: Integers, is_first: _Flags, counts: _Flags, slower_than: float = 0.0
) -> _SlowSteps:
    """Slow records with their class, of series of shape (n,) in the order of steps.

    A record is slow beyond the departure from the fast mode (`elbows.fast_mode`) and beyond 1.05 of its median; the
    mode is that of the records that count.  With `slower_than` above 0 it is slow beyond that many times the median.
    `is_first` marks the first batch of an epoch.
    """
    n = int(np.count_nonzero(counts))
    if n == 0 or (n < _FEWEST and not slower_than):
        return _SlowSteps(None, None, [], [], [], f"few: {n} records, {_FEWEST} are needed")
    median_s, limit = _limit(np.sort(times[counts]), slower_than)
    slow = times > limit
    shifted = slow & ~is_first & _in_shifts(times, slow, limit)
    rest = ~is_first & ~shifted
    period = np.zeros(len(times), np.int64)
    period[rest] = _periods(steps[rest], slow[rest])
    kind = np.select([period > 0, shifted, is_first], ["periodic", "regime_shift", "first_of_epoch"], "isolated")
    position = np.flatnonzero(slow)
    found = [int(steps_apart) or None for steps_apart in period[position]]
    return _SlowSteps(median_s, limit, position.tolist(), kind[position].tolist(), found, None)


def _limit(times: Values, slower_than: float) -> tuple[float, float]:
    """The median of the fast mode (of all records, where they are too few to show it), and what is slow beyond it."""
    if len(times) < _FEWEST:
        median_s = float(median(times))
        return median_s, slower_than * median_s
    fast = fast_mode(times)
    return fast.median_s, slower_than * fast.median_s or max(fast.end_s, (1 + SLOWER) * fast.median_s)


def _in_shifts(times: Values, slow: _Flags, limit: float) -> _Flags:
    """Whether a record lies in a level that is slow, or in a row of slow records that is too long for chance."""
    n = len(times)
    bounds = [0, *level_shifts(times), n]
    inside = np.zeros(n, bool)
    for start, end in pairwise(bounds):
        inside[start:end] = end - start >= _SHORTEST_SHIFT and median(times[start:end]) > limit
    share = np.mean(slow)
    longest = max(_SHORTEST_SHIFT, ceil(log(_BY_CHANCE / n) / log(share))) if 0 < share < 1 else n
    edges = np.flatnonzero(np.diff(np.concatenate([[False], slow, [False]])))
    for start, end in edges.reshape(-1, 2):
        if end - start >= longest:
            inside[start:end] = True
    return inside


def _periods(steps: Integers, slow: _Flags) -> Integers:
    """Period of each record, shape (n,): 0 for those that are in no rhythm.

    The slow steps of the best rhythm are taken away, and what is left is searched again.
    """
    found = np.zeros(len(steps), np.int64)
    left = slow.copy()
    for _ in range(_MOST_PERIODS):
        tried = [_rhythm(steps, left, period) for period in _gaps(np.unique(steps[left]))]
        rhythms = [rhythm for rhythm in tried if rhythm]
        if not rhythms:
            break
        best = max(rhythms, key=lambda rhythm: (rhythm.hits, -rhythm.period))
        found[left & (steps % best.period == best.remainder)] = best.period
        left &= found == 0
    return found


def _gaps(steps: Integers) -> list[int]:
    """The commonest distances of slow steps, in order, to the next ones."""
    gaps = [steps[apart:] - steps[:-apart] for apart in range(1, min(_GAPS, len(steps) - 1) + 1)]
    if not gaps:
        return []
    distances, counts = np.unique(np.concatenate(gaps), return_counts=True)
    common = np.argsort(-counts, kind="stable")[:_CANDIDATES]
    return [int(distances[index]) for index in common if distances[index] > 1 and counts[index] >= _FEWEST_HITS - 1]


def _rhythm(steps: Integers, slow: _Flags, period: int) -> _Rhythm | None:
    """The rhythm of a period, of the remainder with the most slow steps.

    Most of the steps with this remainder must be slow, and more of them than chance makes slow: the binomial tail,
    times the periods and remainders that were tried.
    """
    hits = np.bincount(steps[slow] % period)
    remainder = int(np.argmax(hits))
    there = int(np.count_nonzero(steps % period == remainder))
    most = int(hits[remainder])
    if most < max(_FEWEST_HITS, _KEPT * there):
        return None
    by_chance = binomial_tail(np.array([most]), np.array([there]), np.array([np.mean(slow)]))[0]
    return _Rhythm(most, period, remainder) if by_chance * period * _CANDIDATES <= _BY_CHANCE else None
