"""Where the level of a series of runs changes.  Deterministic: no permutation is drawn."""

from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values

_FEWEST = 2  # runs on each side of a change: one slow run is an outlier, not a level
_LENIENT = 0.2  # p-value at which a part is cut further, before the cuts are judged together: a short bump is two cuts
WEAK, STRICT = 0.05, 0.01  # chance that a series without any change has a point, about


class ChangePoint(NamedTuple):
    """A run at which the level changes."""

    position: int  # of the first run of the new level, from 0
    ratio: float  # geometric mean of the new level over that of the old
    p_value: float  # of Student's t-test between the two levels, times the number of possible positions
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


def t_test(first: Values, second: Values) -> float:
    """Two-sided p-value of Student's t-test, with one variance for both: a level of two runs has none of its own."""
    from scipy.special import stdtr

    n, m = len(first), len(second)
    difference = abs(float(np.mean(first) - np.mean(second)))
    if difference == 0:
        return 1.0
    squares = float(np.sum((first - np.mean(first)) ** 2) + np.sum((second - np.mean(second)) ** 2))
    error = np.sqrt(squares / (n + m - 2) * (1 / n + 1 / m))
    return float(2 * stdtr(n + m - 2, -difference / error)) if error > 1e-12 * difference else 0.0


def shifts_between_runs(values: Values) -> list[ChangePoint]:
    """Changes of level of a metric over runs in their order, shape (n,), values above 0.

    E-divisive with a t-test instead of permutations (Fleming and others, Hunter, arXiv 2301.03034): the series is cut
    where the energy distance is largest, and each part again, as long as a lenient test sees two levels.  Then the
    least certain cut is taken out and its neighbours' levels are joined, until all that are left pass.  The p-value
    is multiplied by the places where a cut could be, so that a long series has no more false points than a short one.
    The test is one of logarithms: half as fast and twice as slow are changes of one size.

    Runs are taken as independent.  What drifts, or alternates between modes for days, has points that are no events.
    """
    logs = np.log(values)
    cuts: list[int] = []
    parts = [(0, len(logs))]
    while parts:
        start, end = parts.pop()
        if end - start < 2 * _FEWEST:
            continue
        cut = start + _FEWEST + int(np.argmax(energy_statistics(logs[start:end])))
        if t_test(logs[start:cut], logs[cut:end]) < _LENIENT:
            cuts.append(cut)
            parts += [(start, cut), (cut, end)]
    cuts.sort()
    while cuts:
        p_values = _p_values(logs, cuts)
        if max(p_values) <= WEAK:
            break
        del cuts[int(np.argmax(p_values))]
    if not cuts:
        return []
    ends = [0, *cuts, len(logs)]
    levels = [float(np.mean(logs[ends[k] : ends[k + 1]])) for k in range(len(cuts) + 1)]
    return [
        ChangePoint(cut, float(np.exp(levels[k + 1] - levels[k])), p_value, float(p_value > STRICT))
        for k, (cut, p_value) in enumerate(zip(cuts, _p_values(logs, cuts), strict=True))
    ]


def _p_values(logs: Values, cuts: list[int]) -> list[float]:
    """P-value of each cut, between the levels before and after it."""
    positions = len(logs) - 1
    ends = [0, *cuts, len(logs)]
    tests = [t_test(logs[ends[k] : cut], logs[cut : ends[k + 2]]) for k, cut in enumerate(cuts)]
    return [min(1.0, positions * p_value) for p_value in tests]
