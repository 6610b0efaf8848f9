"""How far identical runs lie apart, and which difference so many runs a side can show."""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, comb, expm1, log1p, sqrt
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Values
from scalelens.statistics.plain_median import median
from scalelens.statistics.significance import student_t

RUNS_A_SIDE = (1, 3, 5, 10)
FEWEST = 10  # repeats that calibrate by themselves: their 45 pairs show what one of twenty is
_FALSE_ALARMS = 0.05
_PAIRS = 4000  # resampled pairs of groups
_POWER = (
    1.6  # smallest difference that is found in 80 %, over the limit: 1.43 of normal values, more where they are skewed
)
_MOST = 200  # runs a side; nobody makes more
_SLOWER = 0.02  # share, and
_FARTHEST = 5.0  # robust sigma, beyond which a run is one of a slow mode
_FEWEST_SLOW = 2


class Noise(NamedTuple):
    """Scatter of the values of identical runs.  Differences and scatter are shares, 0.02 for 2 %."""

    scatter: float | None  # standard deviation of the logarithm
    largest_ratio: float | None  # of two of the runs
    least_1: float | None  # smallest difference that one run a side shows, at 5 % false alarms; NULL for few repeats
    least_3: float | None  # three runs a side
    least_5: float | None
    least_10: float | None
    slow_share: float | None  # share of the runs in a slow mode; NULL where there is none
    slow_by: float | None  # median of the slow runs over that of the others, less 1
    slow_p: float | None  # chance that slow runs follow each other as much where they come independently


def noise(values: Values) -> Noise:
    """Noise of values above 0 of identical runs in the order of time, shape (n,)."""
    n = len(values)
    if n < 2 or np.min(values) <= 0:
        return Noise(None, None, None, None, None, None, None, None, None)
    logs = np.log(values)
    one, three, five, ten = (smallest_difference(logs, k) if n >= FEWEST else None for k in RUNS_A_SIDE)
    return Noise(float(np.std(logs, ddof=1)), float(np.exp(np.ptp(logs))), one, three, five, ten, *_slow_mode(logs))


def smallest_difference(logs: Values, runs: int) -> float:
    """The difference beyond which 5 % of pairs of groups of so many runs lie, as a share.

    `logs` are the logarithms of the values of identical runs, shape (n,).  One run a side: of all pairs of the runs.
    More: of means over runs drawn with replacement, the same draws each time, widened by sqrt(n / (n - 1)) because runs
    around their own mean scatter by less, and by Student's t because the scatter of few runs is itself uncertain: with
    a heavy tail it has few degrees of freedom.
    """
    n = len(logs)
    if runs == 1:
        apart = np.abs(logs[:, None] - logs[None, :])[np.triu_indices(n, 1)]
    else:
        drawn = np.random.default_rng(20261126).integers(n, size=(2, _PAIRS, runs))
        first, second = logs[drawn].mean(axis=2)
        apart = np.abs(first - second) * sqrt(n / (n - 1)) * _widening(logs)
    return float(np.expm1(np.quantile(apart, 1 - _FALSE_ALARMS)))


def _widening(logs: Values) -> float:
    """Half-width of a 95 % interval by Student's t over that of the normal distribution.

    The degrees of freedom are half of those of a variance that is as uncertain as that of the values, which are
    2 n / (kurtosis - 1): the kurtosis of few values is too small where the tail is heavy.
    """
    squares = (logs - np.mean(logs)) ** 2
    if not np.any(squares > 0):
        return 1.0
    kurtosis = float(np.mean(squares**2) / np.mean(squares) ** 2)
    freedom = len(logs) / max(kurtosis - 1, 1.0)
    return float(student_t(np.array([freedom]))[0]) / 1.96


def runs_to_see(difference: float, least: Sequence[float]) -> int | None:
    """Runs a side with which a difference is found in 80 % of cases; None where 200 are too few.

    `difference` is a share, `least` are the smallest differences of 1, 3, 5 and 10 runs a side.  Between and beyond
    these the limit falls with the root of the runs.
    """
    size = log1p(abs(difference)) if difference > -1 else 0.0
    if size == 0:
        return None
    for (fewer, limit), (more, next_limit) in pairwise(
        [*zip(RUNS_A_SIDE, map(log1p, least), strict=True), (_MOST + 1, 0.0)]
    ):
        needed = max(fewer, ceil(fewer * (_POWER * limit / size) ** 2))
        if needed < more:
            return needed
        if _POWER * next_limit <= size and more <= _MOST:
            return more
    return None


def _slow_mode(logs: Values) -> tuple[float | None, float | None, float | None]:
    """Share and size of a slow mode, and whether its runs follow each other; None without one."""
    middle = median(logs)
    sigma = 1.4826 * float(median(np.abs(logs - middle)))
    slow = logs > middle + max(log1p(_SLOWER), _FARTHEST * sigma)
    count = int(np.count_nonzero(slow))
    if count < _FEWEST_SLOW:
        return None, None, None
    apart = expm1(float(median(logs[slow]) - median(logs[~slow])))
    return count / len(logs), apart, _chance_of_so_few_stretches(slow.tolist())


def _chance_of_so_few_stretches(slow: Sequence[bool]) -> float:
    """Chance of so few stretches of slow runs, or fewer, in a random order (Wald and Wolfowitz, 1940)."""
    n, count = len(slow), sum(slow)
    stretches = sum(after and not before for before, after in pairwise([False, *slow]))
    ways = sum(comb(count - 1, k - 1) * comb(n - count + 1, k) for k in range(1, stretches + 1))
    return ways / comb(n, count)
