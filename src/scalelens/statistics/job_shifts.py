"""By which share the jobs with a label are slower than the others."""

from typing import NamedTuple

import numpy as np

from scalelens.statistics.labeled_jobs import Indexes, Mask, Values
from scalelens.statistics.plain_median import median

_FEWEST_FOR_INTERVAL = 6
_NORMAL_95 = 1.96
_OF_NEIGHBORS = 1.25  # variance, as the medians that are taken off scatter too; by simulation


class _Shift(NamedTuple):
    """By which share jobs are slower than others."""

    slowdown: float | None
    low: float | None
    high: float | None
    kind: str | None
    n_slower: int
    n_jobs: int
    n_others: int


NO_SHIFT = _Shift(None, None, None, None, 0, 0, 0)


def _shift(pairs: Values, of_jobs: Values, n_others: int, variance: float) -> _Shift:
    """Hodges and Lehmann's median of the differences of all pairs, and the interval that inverts the rank sum.

    For fewer than six jobs the range of their differences from the median of the others.
    """
    pairs = np.sort(pairs)
    n_slower = int((of_jobs > 0).sum())
    middle = float(np.expm1(median(pairs)))
    if len(of_jobs) < _FEWEST_FOR_INTERVAL:
        low, high = (float(np.expm1(end)) for end in (of_jobs.min(), of_jobs.max()))
        return _Shift(middle, low, high, "range", n_slower, len(of_jobs), n_others)
    first = max(0, int(np.floor(len(pairs) / 2 - _NORMAL_95 * np.sqrt(_OF_NEIGHBORS * variance))))
    low, high = (float(np.expm1(pairs[index])) for index in (first, len(pairs) - 1 - first))
    return _Shift(middle, low, high, "ci95", n_slower, len(of_jobs), n_others)


def shift_of(values: Values, block: Indexes, had: Mask) -> _Shift:
    """How much slower the jobs with a label are than the others of their blocks."""
    pairs, of_jobs, n_others, variance = [], [], 0, 0.0
    for one in np.unique(block[had]):
        its = block == one
        slow, others = values[its & had], values[its & ~had]
        if len(others):
            pairs.append((slow[:, None] - others).ravel())
            of_jobs.append(slow - median(others))
            n_others += len(others)
            variance += len(slow) * len(others) * (len(slow) + len(others) + 1) / 12
    return _shift(np.concatenate(pairs), np.concatenate(of_jobs), n_others, variance) if pairs else NO_SHIFT
