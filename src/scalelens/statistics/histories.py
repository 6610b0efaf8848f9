"""Where the level of a series of runs changes.  Deterministic: no permutation is drawn."""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values
from scalelens.statistics.plain_median import median

_FEWEST = 2  # runs of the last level: one slow run is an outlier, not a level
_LASTING = 4  # runs of every other level: of runs that are slow one by one, four in a row are too rare to be seen
_FARTHEST = 4.0  # robust sigma that a run counts for at most, so that one of 30 % is no more than a slow one
_LENIENT = 0.2  # p-value at which a part is cut further, before the cuts are judged together: a short bump is two cuts
WEAK, STRICT = 0.05, 0.01  # chance that a series without any change has a point, about
_ALIKE_BY_CHANCE = 0.5  # standard errors of the lag-1 autocorrelation: what is below is not believed
_MOST_ALIKE = 0.95  # lag-1 autocorrelation that is believed at most


class ChangePoint(NamedTuple):
    """A run at which the level changes."""

    position: int  # of the first run of the new level, from 0
    ratio: float  # geometric mean of the new level over that of the old
    p_value: float  # of Student's t-test between the levels, wider by autocorrelation, times the possible positions
    is_weak: float  # 1 where the point would vanish under the strict limit, else 0


def energy_statistics(values: Values) -> Values:
    """The energy distance between both parts of a series, for each place of a cut, shape (n,) to (n - 3,).

    For parts x of k and y of m values it is k m / (k + m) (2 E|x - y| - E|x - x'| - E|y - y'|), the statistic of
    E-divisive with exponent 1 (Matteson and James, J. American Statistical Association 109, 2014).  The first entry is
    the cut behind two values.
    """
    n = len(values)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = np.abs(values[:, None] - values[None, :]).cumsum(0).cumsum(1)
    left = np.arange(_FEWEST, n - _FEWEST + 1)
    right = n - left
    within_left, both = sums[left, left], sums[left, n] - sums[left, left]
    within_right = sums[n, n] - 2 * sums[left, n] + sums[left, left]
    distance = 2 * both / (left * right) - within_left / left**2 - within_right / right**2
    return np.asarray(left * right / n * distance)


def t_test(first: Values, second: Values, widening: float = 1.0) -> float:
    """Two-sided p-value of Student's t-test, with one variance for both: a level of two runs has none of its own.

    With `widening` times the error that independent runs have.
    """
    return _p_value(*_difference(first, second), widening)


def _difference(first: Values, second: Values) -> tuple[float, float, int]:
    """How far the means of two levels are apart, the error of that, of independent runs, and its degrees of freedom."""
    n, m = len(first), len(second)
    means = first.mean(), second.mean()
    squares = float(((first - means[0]) ** 2).sum() + ((second - means[1]) ** 2).sum())
    degrees = n + m - 2
    return abs(float(means[0] - means[1])), float(np.sqrt(squares / degrees * (1 / n + 1 / m))), degrees


def _p_value(difference: float, error: float, degrees: int, widening: float) -> float:
    from scipy.special import stdtr

    if difference == 0:
        return 1.0
    error *= widening
    return float(2 * stdtr(degrees, -difference / error)) if error > 1e-12 * difference else 0.0


def shifts_between_runs(values: Values) -> list[ChangePoint]:
    """Changes of level of a metric over runs in their order, shape (n,), values above 0.

    E-divisive with a t-test instead of permutations (Fleming and others, Hunter, arXiv 2301.03034): the series is cut
    where the energy distance is largest, and each part again, as long as a lenient test sees two levels.  Then the
    least certain cut is taken out and its neighbours' levels are joined, until all that are left pass.  The p-value
    is multiplied by the places where a cut could be, so that a long series has no more false points than a short one.
    The test is one of logarithms: half as fast and twice as slow are changes of one size.

    A level lasts.  Single slow runs are clipped to four robust sigma before they are tested, and two of them side by
    side are no level unless they are the last.

    Where runs are like the one before, the error of a level is wider (`_widening`).  A drift over the whole series, or
    modes that last for days, can still give points that are not events.
    """
    logs = np.log(values)
    cuts = _candidates(logs)
    judged = _Judged(logs)
    while cuts:
        p_values = judged.p_values(cuts)
        brief = _cut_of_a_brief_level(len(logs), cuts, p_values)
        if brief is None and max(p_values) <= WEAK:
            break
        del cuts[int(np.argmax(p_values)) if brief is None else brief]
    if not cuts:
        return []
    ends = [0, *cuts, len(logs)]
    levels = [float(np.mean(logs[ends[k] : ends[k + 1]])) for k in range(len(cuts) + 1)]
    return [
        ChangePoint(cut, float(np.exp(levels[k + 1] - levels[k])), p_value, float(p_value > STRICT))
        for k, (cut, p_value) in enumerate(zip(cuts, judged.p_values(cuts), strict=True))
    ]


def _candidates(logs: Values) -> list[int]:
    """Places at which the level may change, in order."""
    cuts: list[int] = []
    parts = [(0, len(logs))]
    while parts:
        start, end = parts.pop()
        if end - start < 2 * _FEWEST:
            continue
        part = _clipped(logs[start:end])
        cut = _FEWEST + int(np.argmax(energy_statistics(part)))
        if t_test(part[:cut], part[cut:]) < _LENIENT:
            cuts.append(start + cut)
            parts += [(start, start + cut), (start + cut, end)]
    return sorted(cuts)


def _clipped(logs: Values) -> Values:
    """The values of two levels, none farther than four robust sigma from their median."""
    middle = median(logs)
    sigma = 1.4826 * median(np.abs(logs - middle))
    if sigma == 0:
        return logs
    return np.asarray(np.clip(logs, middle - _FARTHEST * sigma, middle + _FARTHEST * sigma))


def _cut_of_a_brief_level(n: int, cuts: list[int], p_values: list[float]) -> int | None:
    """Which cut to take out, because a level that is not the last has too few runs; None where there is no such level.

    Of the two ends of the briefest level, that with the larger p-value.
    """
    ends = [0, *cuts, n]
    brief = [(ends[k + 1] - ends[k], k) for k in range(len(cuts)) if ends[k + 1] - ends[k] < _LASTING]
    if not brief:
        return None
    level = min(brief)[1]
    return max((k for k in (level - 1, level) if k >= 0), key=lambda k: p_values[k])


class _Judged:
    """Tests of the cuts of a series.  Most stay as they are when one cut is taken out, and are kept."""

    def __init__(self, logs: Values) -> None:
        self._logs = logs
        self._level = cache(self._level_of)
        self._between = cache(self._difference_between)

    def p_values(self, cuts: list[int]) -> list[float]:
        """P-value of each cut, between the levels before and after it."""
        n = len(self._logs)
        ends = [0, *cuts, n]
        widening = _widening(n, [self._level(start, end) for start, end in pairwise(ends)])
        tests = (_p_value(*self._between(*part), widening) for part in zip(ends, cuts, ends[2:], strict=False))
        return [min(1.0, (n - 1) * p_value) for p_value in tests]

    def _difference_between(self, start: int, cut: int, end: int) -> tuple[float, float, int]:
        both = _clipped(self._logs[start:end])
        return _difference(both[: cut - start], both[cut - start :])

    def _level_of(self, start: int, end: int) -> tuple[float, float]:
        """Squares of what a level scatters around its mean, and products of neighbors."""
        level = _clipped(self._logs[start:end])
        rest = level - level.mean()
        return float((rest * rest).sum()), float((rest[1:] * rest[:-1]).sum())


def _widening(n: int, levels: list[tuple[float, float]]) -> float:
    """How many times the error of a level's mean is what it would be of independent runs, 1 or more.

    Of `n` values, by the squares and the products of neighbors of each level.  As of a first-order autoregressive
    series, by the likeness of neighbors within all levels.  To subtract the means of the levels takes likeness away, by
    about (1 + 4 phi) / n for each of them (see `level_shifts.long_run_variance`).
    """
    many, squares = len(levels), sum(square for square, _ in levels)
    if squares == 0:
        return 1.0
    r = sum(products for _, products in levels) / squares
    alike = (r * n + many) / max(n - 4 * many, n / 2) - _ALIKE_BY_CHANCE / np.sqrt(n)
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    return float(np.sqrt((1 + alike) / (1 - alike)))
