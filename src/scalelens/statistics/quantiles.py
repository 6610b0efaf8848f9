"""Interval of any quantile of one run's records, by order statistics."""

from collections.abc import Sequence
from math import ceil, floor, sqrt
from typing import NamedTuple

import numpy as np

from scalelens.statistics.medians import Interval, Values, median_intervals

_NORMAL_95 = 1.96


class Wanted(NamedTuple):
    """The records of one run, shape (n,), in the order of steps, and the quantile that is asked for."""

    values: Values
    quantile: float


def quantile_interval(values: Values, quantile: float) -> Interval:
    """95 % interval of a quantile of one run's records, shape (n,), in the order of steps.

    That of the median is `median_interval`.  Of another quantile it is the pair of order statistics that the normal
    approximation of the binomial distribution gives for n_eff observations (Le Boudec, Performance Evaluation of
    Computer and Communication Systems, 2010, section 2.2.2).  n_eff is that of the median: how alike neighbours are is
    estimated in the middle of the distribution, where there are records enough for it.  Without an interval where the
    order statistic lies beyond the records: a p99 wants 400 or more of them.
    """
    return quantile_intervals([Wanted(values, quantile)])[0]


def quantile_intervals(runs: Sequence[Wanted]) -> list[Interval]:
    """`quantile_interval` of each of several runs."""
    around = median_intervals([run.values for run in runs])
    return [_interval_of(*run, interval) for run, interval in zip(runs, around, strict=True)]


def _interval_of(values: Values, quantile: float, around: Interval) -> Interval:
    """The interval of a quantile; `around` is that of the median."""
    if quantile == 0.5 or around.n_eff is None:
        return around
    n, n_eff = len(values), max(around.n_eff, 1e-9)
    half = _NORMAL_95 * sqrt(quantile * (1 - quantile) / n_eff)
    low, high = floor(n * (quantile - half)), ceil(n * (quantile + half)) + 1
    if low < 1 or high > n:
        reason = f"{n} records (n_eff {n_eff:.0f}) are too few for an interval of the quantile {quantile}"
        return Interval(None, None, None, around.n_eff, around.autocorrelation, reason)
    ordered = np.sort(values)
    ends = float(ordered[low - 1]), float(ordered[high - 1])
    return Interval(*ends, "ci95", around.n_eff, around.autocorrelation, None)
