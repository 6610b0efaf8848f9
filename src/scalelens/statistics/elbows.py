"""Elbows of the distribution of step times: where it leaves the fast mode, and where it bends into its tail."""

from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from scalelens.statistics.level_shifts import long_run_variance
from scalelens.statistics.medians import Values
from scalelens.statistics.smooth_shapes import is_explained

_FEWEST = 80  # records: of fewer, one of twenty series without a tail seems to have one
_FEWEST_DISTINCT = 10  # distinct times: fewer are steps of a clock, and each of them bends the curve
_FEWEST_BEYOND = 3  # records that a tail needs
_START = 0.2  # share of the records that is surely of the fast mode, as the fastest of them
_REACH = 4.0  # robust sigma from the middle of the fast mode to where it ends
_FARTHEST = 6.0  # robust sigma, and
SLOWER = 0.05  # share of the fast mode's time, beyond which a tail must reach
_WINSOR = 0.999  # quantile that stands for all times above it
_NEARLY = 0.8  # the elbow is the first place that is so nearly as far from the chord as the farthest one
_SHARE_OF_MODE = 0.2  # of the records: a mode holds at least as many
_MANY_MODES = 3  # so many do not make one bulk and one tail
_LEFT_SIDE = 0.75  # of the width of its right side: a mode has as much on its left
_MOST_ELBOWS = 4
_Z = 1.96  # standard errors of a 95 % interval


class FastMode(NamedTuple):
    """The fastest of the modes of a distribution, in seconds."""

    median_s: float
    sigma_s: float  # robust, of the mode alone
    end_s: float  # time at which the mode ends: the departure


class Corner(NamedTuple):
    """A place on the distribution, with a 95 % interval."""

    share: float  # of the records took at most `step_s`
    share_low: float
    share_high: float
    step_s: float
    step_s_low: float
    step_s_high: float


class Elbows(NamedTuple):
    """What bends in a distribution.  Without a bend, `reason` says why."""

    fast: FastMode | None
    departure: Corner | None
    elbows: list[Corner]  # the elbow, then further ones inside the tail
    reason: str | None


def fast_mode(ordered: Values) -> FastMode:
    """The fastest mode of times in order of size, shape (n,): the records up to `end` determine it, and it ends there.

    The fastest fifth of the records is a first guess; median and interquartile range of the records up to the end
    give the next end, median + 4 sigma, until it stays.  A half-sample mode with its left side would be the densest
    mode instead, which is not the fast one where most records are slow, and it takes the right side of a skewed mode
    for a tail.
    """
    n = len(ordered)
    distinct = np.diff(ordered)
    resolution = float(np.min(distinct[distinct > 0], initial=np.inf))
    resolution = 0.0 if resolution == np.inf else resolution
    count, seen = max(int(_START * n), 2), set[int]()
    while True:
        median = float(ordered[count // 2])
        sigma = max(float(ordered[3 * count // 4] - ordered[count // 4]) / 1.349, resolution / 2)
        end = _end_of_mode(ordered, median, sigma)
        seen.add(count)
        count = max(int(np.searchsorted(ordered, end, "right")), 2)
        if count in seen:
            return FastMode(median, sigma, end)


def _end_of_mode(ordered: Values, median: float, sigma: float) -> float:
    """Median + 4 sigma, or the gap before it where another mode begins beyond.

    Records are counted in bins of half a sigma.  Between 2 and 4 sigma they get fewer; where they are then many more
    than in the emptiest bin, there is another mode, which 4 sigma would cut.
    """
    if sigma == 0:
        return median
    edges = median + sigma * np.arange(2.0, 8.01, 0.5)
    counts = np.diff(np.searchsorted(ordered, edges, "right"))
    least = int(np.min(counts[:4]))
    indexes = np.flatnonzero(counts[:4] == least)
    if np.max(counts[indexes[-1] :]) < max(8, 5 * least):
        return float(median + _REACH * sigma)
    return float((edges[indexes[0]] + edges[indexes[-1] + 1]) / 2)


def elbows(values: Values) -> Elbows:
    """Departure and elbows of step times, shape (n,), in the order of steps.

    The departure is where records leave the fast mode; its share may lie below 0.5.  The elbow is the largest distance
    between the distribution and its chord (see `_bend`).  In a tail with a mode of its own the search goes on.
    Simulated in `tests/test_elbows.py`: what is found of tails that were planted, what of shapes without one.
    """
    n = len(values)
    if n < _FEWEST:
        return Elbows(None, None, [], f"few: {n} record{'s' * (n != 1)}, {_FEWEST} are needed")
    ordered = np.sort(values)
    distinct = int(np.count_nonzero(np.diff(ordered))) + 1
    if distinct < _FEWEST_DISTINCT:
        return Elbows(
            None, None, [], f"quantized: {distinct} distinct time{'s' * (distinct != 1)}, {_FEWEST_DISTINCT} are needed"
        )
    fast = fast_mode(ordered)
    if not _has_tail(ordered, fast):
        limit = max(_FARTHEST * fast.sigma_s, SLOWER * fast.median_s)
        reason = f"no tail: the slowest records are not {limit:.2g} s slower than the fast mode"
        return Elbows(fast, None, [], reason)
    departure = _corner(values, ordered, fast.end_s)
    modes = _modes(ordered)
    if len(modes) >= _MANY_MODES:
        times = ", ".join(f"{mode:.4g}" for mode in modes)
        return Elbows(fast, departure, [], f"several modes: at {times} s, each with a fifth of the records or more")
    if is_explained(ordered, fast.end_s):
        return Elbows(fast, departure, [], "one smooth distribution: it explains body and tail together")
    found: list[Corner] = []
    tail, mode = ordered, fast
    while len(found) < _MOST_ELBOWS:
        time = _bend(tail, mode)
        found.append(_corner(values, ordered, time))
        tail = tail[np.searchsorted(tail, time, "right") :]
        if len(tail) < _FEWEST:
            break
        mode = fast_mode(tail)
        if not (_is_peak(tail, mode) and _has_tail(tail, mode)):
            break
    return Elbows(fast, departure, found, None)


def _has_tail(ordered: Values, fast: FastMode) -> bool:
    """Whether three records are beyond the fast mode, and the 0.999 quantile is so by 6 sigma and 5 %."""
    limit = fast.median_s + max(_FARTHEST * fast.sigma_s, SLOWER * fast.median_s)
    return bool(ordered[-_FEWEST_BEYOND] > fast.end_s and _slowest(ordered) > limit)


def _slowest(ordered: Values) -> float:
    """The time at which slower ones are counted: the 0.999 quantile."""
    return float(ordered[ceil(_WINSOR * len(ordered)) - 1])


def _bend(ordered: Values, fast: FastMode) -> float:
    """Time of the last record before the place that is farthest from the chord, winsorised at the 0.999 quantile.

    Distribution and chord are taken from the end of the fast mode on.  Its own rounded shoulder would be the place
    otherwise: too low by 0.04 where another mode begins 6 sigma away.  A tail without a mode of its own bends
    everywhere, and the place that is farthest depends on its slowest record.  Then the end of the fast mode is the
    elbow, as where its distance is nearly the largest one.
    """
    n = len(ordered)
    count = int(np.searchsorted(ordered, fast.end_s, "right"))
    last = ceil(_WINSOR * n)
    share = np.arange(count + 1, last + 1) / n
    distance = share - (ordered[count:last] - fast.end_s) / (_slowest(ordered) - fast.end_s)
    beyond = ordered[count:]
    if count / n >= _NEARLY * np.max(distance) or not _is_peak(beyond, fast_mode(beyond)):
        return float(ordered[count - 1])
    return float(ordered[count + np.argmax(distance)])


def _is_peak(ordered: Values, mode: FastMode) -> bool:
    """Whether records get more before they get fewer: an exponential tail begins with its peak and is no mode."""
    count = int(np.searchsorted(ordered, mode.end_s, "right"))
    low, middle, high = (ordered[int(share * (count - 1))] for share in (0.1, 0.5, 0.9))
    return bool(middle - low >= _LEFT_SIDE * (high - middle))


def _modes(ordered: Values) -> list[float]:
    """Medians of the modes, from the fastest, that each hold a fifth of the records or more."""
    medians: list[float] = []
    rest = ordered
    while len(rest) >= _SHARE_OF_MODE * len(ordered):
        mode = fast_mode(rest)
        count = int(np.searchsorted(rest, mode.end_s, "right"))
        if count < _SHARE_OF_MODE * len(ordered) or (medians and not _is_peak(rest, mode)):
            break
        medians.append(mode.median_s)
        rest = rest[count:]
    return medians


def _corner(values: Values, ordered: Values, time: float) -> Corner:
    """The place of a time on the distribution.

    Wilson's interval of the share, with as many records as the series of faster and slower ones is worth (stalls come
    in bursts); the interval of the time is that of the records in these places.
    """
    n = len(values)
    share = float(np.searchsorted(ordered, time, "right")) / n
    long_run, _ = long_run_variance((values <= time).astype(np.float64) - share, levels=1)
    n_eff = min(n * share * (1 - share) / long_run, n) if long_run > 0 else n
    middle = (share + _Z * _Z / (2 * n_eff)) / (1 + _Z * _Z / n_eff)
    half = _Z * sqrt(share * (1 - share) / n_eff + _Z * _Z / (4 * n_eff * n_eff)) / (1 + _Z * _Z / n_eff)
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    time_low, time_high = ordered[max(ceil(low * n) - 1, 0)], ordered[min(ceil(high * n), n) - 1]
    return Corner(share, low, high, time, min(float(time_low), time), max(float(time_high), time))
