"""Change points of a series of step times: where its level changes permanently, or for some time.

Circular binary segmentation (Olshen et al., Biostatistics 5, 2004) on ranks.  The penalty allows for autocorrelation:
neighbouring steps are alike, and a series that wanders has stretches that look like a new level.  PELT of `ruptures`
with its usual penalty finds changes in 97 % of clean series with phi = 0.6, and takes quadratic time on a series
without a change: hours for a million steps.
"""

import functools
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.effective_size import ranks
from scalelens.statistics.medians import Values
from scalelens.statistics.plain_median import median

FEWEST = 40  # records of a stretch that is searched: fewer do not tell a change from autocorrelation
_SHORTEST = 5  # records of a level
_FARTHEST = 8.0  # robust sigma that a time counts for at most
_BLOCKS = 128  # a stretch is cut into so many blocks to find a level inside of it; its ends are then placed exactly
_PIECES = 8  # equal pieces of a stretch
_WITH_MARGIN = 1 - 1e-9  # for rounding, where a bound spares the exact value
_MOST_ALIKE = 0.995  # lag-1 autocorrelation that is believed at most

Integers = npt.NDArray[np.int64]


class _Split(NamedTuple):
    """Records `first` up to `end`, not included, of a stretch have another level than the rest of it."""

    gain: float  # sum of squares that the two levels explain
    first: int
    end: int


def level_shifts(values: Values) -> list[int]:
    """Places at which another level begins, in order, of times in the order of steps, shape (n,).

    Simulated on clean series (`tests/test_steady.py`): AR(1) with phi up to 0.9 and 100 to 2,000 steps, Pareto tails,
    two modes, rounded times.  A change is found in at most 5 % of them.  O(n log n) for a fixed number of changes.
    """
    warm = _slow_start(values) if len(values) >= FEWEST else 0
    changes = [warm] if warm else []
    stretches = [(0, warm), (warm, len(values))]
    while stretches:
        start, end = stretches.pop()
        cuts = [start + cut for cut in _level_cuts(values[start:end])] if end - start >= FEWEST else []
        if cuts:
            changes += cuts
            bounds = [start, *cuts, end]
            stretches += pairwise(bounds)
    return sorted(changes)


def _slow_start(values: Values) -> int:
    """Records at the start that are far slower or faster than the others; 0 where they are not.

    Twenty steps of warm-up among thousands are few for ranks, however slow they are.  Here sizes count, up to 8 sigma,
    so that one stall is not taken for a level.
    """
    size = _sizes(values)
    sums = np.concatenate([[0.0], np.cumsum(size)])
    split = _one_change(sums[: len(values) // 2 + 1], len(values))
    return split.end if _gain_over_penalty(size, split.end) > 1 else 0


def _sizes(values: Values) -> Values:
    """The values in robust sigma around their mean, each cut off at `_FARTHEST`; zeros where most are equal."""
    middle = median(values)
    sigma = 1.4826 * median(np.abs(values - middle))
    if sigma == 0:
        return np.zeros(len(values))
    size = np.clip((values - middle) / sigma, -_FARTHEST, _FARTHEST)
    return np.asarray(size - np.mean(size))


def _gain_over_penalty(centered: Values, cut: int) -> float:
    """What two levels that meet at `cut` explain of a series of mean 0, over what is asked of a change."""
    n = len(centered)
    total = float(centered[:cut].sum())
    rest = centered + total / (n - cut)
    rest[:cut] = centered[:cut] - total / cut
    variance, n_eff = long_run_variance(rest, levels=2)
    gain = total * total * n / (cut * (n - cut))
    return gain / (_penalty(n, n_eff) * variance) if variance > 0 else float(np.inf if gain > 0 else 0)


def evidence_of_change(values: Values, cut: int) -> float:
    """How many times what is asked of a change one at `cut` explains, by ranks or by sizes, whichever say more.

    Values of shape (n,) in the order of steps.  Most changes that are none, of runs that wander or have modes, explain
    little more than is asked, a lasting change of three sigma several times as much.
    """
    of_ranks = ranks(values) - (len(values) + 1) / 2
    return max(_gain_over_penalty(of_ranks, cut), _gain_over_penalty(_sizes(values), cut))


def _penalty(n: int, n_eff: float) -> float:
    """Gain that is asked of a split, in units of the long-run variance.

    2 log n is the price of the search; the rest was found by simulation, with a margin (see level_shifts).
    """
    return float(2 * np.log(n) + 7 + 450 / n_eff + 3000 / n_eff**2)


def _level_cuts(values: Values) -> list[int]:
    """The one or two places that set a level of a stretch apart from the rest of it; none where it has one level."""
    n = len(values)
    rank = ranks(values) - (n + 1) / 2
    if np.ptp(rank) == 0:
        return []
    sums = np.concatenate([[0.0], np.cumsum(rank)])
    split = max(_one_change(sums, n), _two_changes(sums))
    length = split.end - split.first
    inside = (sums[split.end] - sums[split.first]) / length
    rest = rank + inside * length / (n - length)
    rest[split.first : split.end] = rank[split.first : split.end] - inside
    # A trend is no level: what three levels leave of it is alike over the whole length.  Equal pieces take it away.
    pieces = _less_pieces(rank)
    least = min(_variance(rest, 3), _variance(pieces, _PIECES))  # the long-run variance is not smaller
    if split.gain <= _WITH_MARGIN * _penalty(n, n) * least:
        return []
    variance, n_eff = min(long_run_variance(rest, levels=3), long_run_variance(pieces, levels=_PIECES))
    if split.gain <= _penalty(n, n_eff) * variance:
        return []
    return [cut for cut in (split.first, split.end) if _SHORTEST <= cut <= n - _SHORTEST]


def _less_pieces(rank: Values) -> Values:
    """Ranks less the mean of their piece, of `_PIECES` pieces of equal length."""
    edges = np.linspace(0, len(rank), _PIECES + 1).astype(np.int64)
    lengths = np.diff(edges)
    return rank - np.repeat(np.add.reduceat(rank, edges[:-1]) / lengths, lengths)


def long_run_variance(rest: Values, levels: int) -> tuple[float, float]:
    """n times the variance of the mean of an autocorrelated series, and the uncorrelated records it is worth.

    `rest` is the series less its fitted levels, shape (n,).  The larger of two estimates: from lag 1, as of a
    first-order autoregressive series, and from the initial positive sequence (Geyer, Stat. Sci. 7, 1992).  Lag 1 is
    corrected for its bias: to fit levels removes correlation, by about (1 + 4 phi) / n for each of them.
    """
    n = len(rest)
    variance = _variance(rest, levels)
    if variance == 0:
        return 0.0, float(n)
    r = float(np.mean(rest[1:] * rest[:-1])) * n / (n - levels) / variance
    alike = min(max((r * n + levels) / (n - 4 * levels), 0.0), _MOST_ALIKE)
    long_run = max(variance * (1 + alike) / (1 - alike), _initial_positive_sequence(rest))
    return long_run, n * (1 - alike) / (1 + alike)


def _variance(rest: Values, levels: int) -> float:
    n = len(rest)
    return float(np.mean(rest * rest)) * n / (n - levels)


def _initial_positive_sequence(rest: Values) -> float:
    """The long-run variance as the sum of autocovariances, in pairs, up to the first pair that is not positive."""
    n = len(rest)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(rest, size)
    covariances = np.fft.irfft(spectrum * np.conj(spectrum), size)[:n] / n
    pairs = covariances[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    return float(2 * pairs[: ends[0] if len(ends) else None].sum() - covariances[0])


def _gain(inside: Values, length: Values | Integers, n: int) -> Values:
    """Sum of squares explained by a level of `length` records whose ranks, less their mean, sum to `inside`."""
    return inside * inside * n / (length * (n - length))


def _one_change(sums: Values, n: int) -> _Split:
    """The best split of n records in two; `sums` are the sums of the first 0, 1, ... ranks."""
    ends = np.arange(_SHORTEST, min(len(sums), n - _SHORTEST + 1))
    gains = _gain(sums[ends], ends, n)
    best = int(np.argmax(gains))
    return _Split(float(gains[best]), 0, int(ends[best]))


@functools.lru_cache(maxsize=32)
def _blocks_of(n: int) -> tuple[Integers, npt.NDArray[np.bool_], Integers]:
    """Ends of the blocks of n records; which two of them may bound a level, and its length, else 1."""
    edges = np.linspace(0, n, min(_BLOCKS, n // _SHORTEST) + 1).astype(np.int64)  # at least _SHORTEST apart
    length = edges[None, :] - edges[:, None]
    fits = (length >= _SHORTEST) & (length <= n - _SHORTEST)
    return edges, fits, np.where(fits, length, 1)


def _two_changes(sums: Values) -> _Split:
    """The best level inside of a stretch: found between the ends of blocks, then placed exactly."""
    n = len(sums) - 1
    edges, fits, length = _blocks_of(n)
    at_edges = sums[edges]
    gains = np.where(fits, _gain(at_edges[None, :] - at_edges[:, None], length, n), 0.0)
    first, end = (int(edges[index]) for index in np.unravel_index(np.argmax(gains), gains.shape))
    block = max(n // _BLOCKS, _SHORTEST)
    gain = 0.0
    for _ in range(2):  # each end in turn, the other fixed
        ends = np.arange(max(first + _SHORTEST, end - block), min(n, end + block, first + n - _SHORTEST) + 1)
        end = int(ends[np.argmax(_gain(sums[ends] - sums[first], ends - first, n))])
        firsts = np.arange(max(0, first - block, end - n + _SHORTEST), min(first + block, end - _SHORTEST) + 1)
        around = _gain(sums[end] - sums[firsts], end - firsts, n)
        gain, first = float(np.max(around)), int(firsts[np.argmax(around)])
    return _Split(gain, first, end)
