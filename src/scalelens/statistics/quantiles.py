"""Interval of any quantile of one run's records, by order statistics."""

from math import ceil, floor, sqrt

import numpy as np

from scalelens.statistics.medians import Interval, Values, median_interval

_NORMAL_95 = 1.96


def quantile_interval(values: Values, quantile: float) -> Interval:
    """95 % interval of a quantile of one run's records, shape (n,), in the order of steps.

    That of the median is `median_interval`.  Of another quantile it is the pair of order statistics that the normal
    approximation of the binomial distribution gives for n_eff observations (Le Boudec, Performance Evaluation of
    Computer and Communication Systems, 2010, section 2.2.2).  n_eff is that of the median: how alike neighbours are is
    estimated in the middle of the distribution, where there are records enough for it.  Without an interval where the
    order statistic lies beyond the records: a p99 wants 400 or more of them.
    """
    around = median_interval(values)
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
