"""Intervals of medians, of the steps of one run and of repeated runs.  Times are in seconds, in the order of steps."""

from math import ceil, comb, floor, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

FEWEST_STEPS = 40  # below it the order statistics do not cover 95 %: 78 % for n = 6 and phi = 0.5
FEWEST_RUNS = 6  # the range of 5 runs covers their median in 93.8 % of cases, that of 6 in 96.9 %
HALF_WIDTH = 0.98  # 1.96 / 2: standard deviation of the share of n values below the median is 1 / (2 sqrt(n))


class Interval(NamedTuple):
    """Interval of a median.  Without one `kind` is None and `reason` says why."""

    low: float | None
    high: float | None
    kind: str | None  # `ci95`, or `range` where a confidence cannot be claimed
    n_eff: float | None  # values of an uncorrelated series that would say as much
    autocorrelation: float | None  # lag-1, of the ranks
    reason: str | None


def ranks(values: Values) -> Values:
    """Rank of each value from 1, shape (n,) to (n,); values that tie share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def rank_autocorrelation(values: Values) -> float:
    """Lag-1 autocorrelation of the ranks: Pearson's r of each rank with the one before it, -1 to 1.

    By ranks, so that a single stall of a minute does not hide the correlation of all other steps.  A constant series
    has none: 0.
    """
    rank = ranks(values)
    before, after = rank[:-1], rank[1:]
    if len(rank) < 3 or np.ptp(before) == 0 or np.ptp(after) == 0:
        return 0.0
    return float(np.corrcoef(before, after)[0, 1])


def median_interval(values: Values) -> Interval:
    """95 % interval of the median of one run's step times, shape (n,), distribution-free, for autocorrelated steps.

    The order statistics floor(n (0.5 - 0.98 / sqrt(n_eff))) and ceil(n (0.5 + 0.98 / sqrt(n_eff))) + 1, counted from
    1, with n_eff = n (1 - r) / (1 + r) and r the lag-1 rank autocorrelation, not below 0.  For n_eff = n this is the
    interval that Hoefler and Belli (SC'15, section 3.1) take from Le Boudec; n_eff is the number of independent
    observations that a first-order autoregressive series is worth (Bayley and Hammersley, J. R. Stat. Soc. 8, 1946).
    """
    n = len(values)
    if n == 0:
        return Interval(None, None, None, None, None, "no record is left")
    if n == 1:
        return Interval(None, None, None, 1.0, None, "one record has no interval")
    r = rank_autocorrelation(values)
    likeness = max(r, 0.0)
    n_eff = n * (1 - likeness) / (1 + likeness)
    if n < FEWEST_STEPS:
        reason = f"{n} records are too few for a 95 % interval: the range of them"
        return Interval(float(np.min(values)), float(np.max(values)), "range", n_eff, r, reason)
    half = HALF_WIDTH / sqrt(n_eff) if n_eff > 0 else float("inf")
    if half >= 0.5 or floor(n * (0.5 - half)) < 1 or ceil(n * (0.5 + half)) + 1 > n:
        reason = f"neighbours are too alike (r = {r:.2f}): {n} records say as much as {n_eff:.1f}"
        return Interval(None, None, None, n_eff, r, reason)
    ordered = np.sort(values)
    low, high = floor(n * (0.5 - half)), ceil(n * (0.5 + half)) + 1
    return Interval(float(ordered[low - 1]), float(ordered[high - 1]), "ci95", n_eff, r, None)


def median_interval_between_runs(medians: Values) -> Interval:
    """Interval of the median over runs, shape (n_runs,): the run is the unit.

    From six runs on the narrowest symmetric pair of order statistics that covers 95 %, exact by the binomial
    distribution of the number of runs below the median; with fewer the range.
    """
    n = len(medians)
    if n < 2:
        return Interval(None, None, None, None, None, "one run has no interval between runs")
    ordered = np.sort(medians)
    if n < FEWEST_RUNS:
        reason = f"{n} runs are too few for a 95 % interval: the range of them"
        return Interval(float(ordered[0]), float(ordered[-1]), "range", float(n), None, reason)
    outside, rank = 0, 0
    while outside + comb(n, rank) <= 0.025 * 2**n:  # values below the median: binomial (n, 1/2)
        outside += comb(n, rank)
        rank += 1
    return Interval(float(ordered[rank - 1]), float(ordered[n - rank]), "ci95", float(n), None, None)
