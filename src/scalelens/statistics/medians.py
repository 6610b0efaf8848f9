"""Intervals of medians, of the steps of one run and of repeated runs.  Times are in seconds, in the order of steps."""

from math import comb, floor, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.effective_size import effective_size, ordered_with_ranks, rank_autocorrelation
from scalelens.statistics.rounding import widened

Values = npt.NDArray[np.float64]

FEWEST_STEPS = 80  # below it the interval covers less than 91 % for phi = 0.9: 88 % for n = 60, 74 % for n = 40
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


def median_interval(values: Values) -> Interval:
    """95 % interval of the median of one run's step times, shape (n,), distribution-free, for autocorrelated steps.

    The order statistics j = floor(n (0.5 - 0.98 / sqrt(n_eff)) + 0.5) and n + 1 - j, counted from 1, widened by what
    rounding hides.  For n_eff = n this is the interval that Hoefler and Belli (SC'15, section 3.1) take from Le Boudec;
    n_eff allows for autocorrelation (effective_size.py).  docs/statistics.md says what it covers for which series.

    `range` is from the smallest to the largest value: of few values, and of a run so unsteady that its steps say as
    little as a few.
    """
    return interval_of_ordered(values, *ordered_with_ranks(values))


def interval_of_ordered(values: Values, ordered: Values, rank_of: Values) -> Interval:
    """`median_interval` of values of which `ordered_with_ranks` is known: sorting is a third of its time."""
    n = len(values)
    if n == 0:
        return Interval(None, None, None, None, None, "no record is left")
    if n == 1:
        return Interval(None, None, None, 1.0, None, "one record has no interval")
    r = rank_autocorrelation(rank_of)
    n_eff = effective_size(values, (ordered[(n - 1) // 2] + ordered[n // 2]) / 2, r)
    of_all = Interval(float(ordered[0]), float(ordered[-1]), "range", n_eff, r, None)
    if n < FEWEST_STEPS:
        return of_all._replace(reason=f"{n} records are too few for a 95 % interval: the range of them")
    rank = floor(n * (0.5 - HALF_WIDTH / sqrt(n_eff)) + 0.5) if n_eff > 0 else 0
    if rank < 1:
        reason = f"unsteady: {n} records say as much as {n_eff:.1f} uncorrelated ones: the range of them"
        return of_all._replace(reason=reason)
    ends = widened(float(ordered[rank - 1]), float(ordered[n - rank]), ordered)
    if ends is None:
        return of_all._replace(reason="all records are equal, and nothing shows how coarsely they are rounded")
    return of_all._replace(low=ends[0], high=ends[1], kind="ci95")


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
