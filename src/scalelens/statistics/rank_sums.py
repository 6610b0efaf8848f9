"""Rank sums of labels over blocks of jobs, and how large the largest is by chance."""

from typing import NamedTuple

import numpy as np

from scalelens.statistics.labeled_jobs import Indexes, Members, Values

FEWEST = 2  # jobs that had a label, and that had not, for it to be tested
_ROWS = 512  # labels that are permuted at a time


class Scored(NamedTuple):
    """Rank sums of labels."""

    ranks: Values  # of the jobs, less the mean of their block, shape (jobs,)
    scale: Values  # standard deviation of a label's rank sum, shape (labels,); inf where it cannot be tested
    scores: Values  # sums over scale; -inf where a label cannot be tested
    n_with: Indexes  # jobs that had the label, in blocks that have others
    n_without: Indexes


def scored(members: Members, values: Values, block: Indexes) -> Scored:
    """Standardized rank sums of labels, of shape (labels, jobs), for the values of jobs in blocks."""
    ranks = _ranks(values)
    n_blocks = int(block.max(initial=-1)) + 1
    size = np.bincount(block, minlength=n_blocks).astype(float)
    ranks = ranks - (np.bincount(block, ranks, n_blocks) / np.maximum(size, 1))[block]
    spread = np.bincount(block, ranks**2, n_blocks) / np.maximum(size, 1)
    in_block = np.zeros((n_blocks, len(values)), np.float32)
    in_block[block, np.arange(len(values))] = 1
    had = members @ in_block.T  # labels by blocks
    mixed = (had > 0) & (had < size)
    variance = (had * (size - had) * (spread / np.maximum(size - 1, 1))).sum(axis=1)
    scale = np.sqrt(np.maximum(variance, 0)).astype(float)
    n_with = (had * mixed).sum(axis=1).astype(np.int64)
    n_without = ((size - had) * mixed).sum(axis=1).astype(np.int64)
    testable = (n_with >= FEWEST) & (n_without >= FEWEST) & (scale > 1e-9 * max(len(values), 1))
    scores = np.where(testable, (members @ ranks) / np.where(testable, scale, 1), -np.inf)
    return Scored(ranks, np.where(testable, scale, np.inf), scores, n_with, n_without)


def _ranks(values: Values) -> Values:
    """Ranks from 1, the mean rank for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[place])


def largest_scores(members: Members, scored_: Scored, block: Indexes, permutations: int) -> Values:
    """The largest score of all labels, for jobs exchanged within blocks; sorted, shape (permutations,)."""
    random = np.random.default_rng(len(block))
    order = np.argsort(block, kind="stable")
    testable = np.flatnonzero(np.isfinite(scored_.scale))
    largest = np.full(permutations, -np.inf)
    if not len(testable):
        return largest
    step = max(1, min(permutations, 4_000_000 // max(len(block), 1)))
    for first in range(0, permutations, step):
        n = min(step, permutations - first)
        keys = block[order] + random.random((n, len(block)))
        exchanged = np.empty((n, len(block)), np.float32)
        exchanged[:, order] = scored_.ranks[order][np.argsort(keys, axis=1)]
        for row in range(0, len(testable), _ROWS):
            rows = testable[row : row + _ROWS]
            scores = (members[rows] @ exchanged.T) / scored_.scale[rows, None]
            largest[first : first + n] = np.maximum(largest[first : first + n], scores.max(axis=0))
    return np.sort(largest)
