"""Times of steps from the records of all ranks, and their statistics."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.blocks import Lengths, padded
from scalelens.statistics.effective_size import at, ordered_with_ranks
from scalelens.statistics.epoch_ends import epoch_ends
from scalelens.statistics.medians import Interval, intervals_of_ordered
from scalelens.statistics.plain_median import median

_Values = npt.NDArray[np.float64]
_Numbers = npt.NDArray[np.int64] | _Values  # of steps: with one missing, they are floating-point with NaN

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)  # of the percentiles


class Records(NamedTuple):
    """Records of one run, one for each step that no rule leaves out, in the order of the steps."""

    times_s: _Values
    tflops: _Values | None  # per device
    n_excluded: int  # steps that a rule leaves out
    first_step: int  # of all steps, also those left out
    last_step: int


class StepStatistics(NamedTuple):
    """What one run's records say."""

    n_steps: int
    n_excluded: int
    first_step: int
    last_step: int
    timed_s: float
    around: Interval  # of the median
    percentiles: _Values | None
    tflops_per_device: float | None


def kept_records(
    steps: _Numbers,
    times: _Values,
    epochs: _Values | None,
    tflops: _Values | None,
    left_out: _Numbers | None,
    warmup: int,
    by_epochs: bool = False,
    is_in_order: bool = False,
) -> Records | None:
    """Largest time of each step but the first `warmup` and those `left_out`; of all records the shape is (n_records,).

    `epochs` and `tflops` are those of the same records, or None where the log states none.  `by_epochs` leaves out the
    first and last batches of epochs as well.  None where the numbers of the steps do not decide all: a value is missing
    or not finite, an epoch begins before the one before it has ended, or several ranks state TFLOP/s.  `is_in_order`
    says that the steps are known to rise and the times to be finite.
    """
    others = [column for column in (epochs, tflops) if column is not None]
    if any(len(column) != len(steps) for column in (times, *others)):
        return None
    if is_in_order and not others and left_out is None:  # most runs: what follows would take ten times as long
        return Records(times[warmup:], None, min(warmup, len(steps)), int(steps[0]), int(steps[-1]))
    if not all(np.isfinite(column).all() for column in (others if is_in_order else [steps, times, *others])):
        return None
    if not (is_in_order or (steps[1:] > steps[:-1]).all()):  # else there is one record a step already
        order = np.argsort(steps, kind="stable")
        first = np.flatnonzero(np.concatenate([[True], np.diff(steps[order]) > 0]))
        if tflops is not None and len(first) < len(steps):
            return None
        steps, times = steps[order][first], np.maximum.reduceat(times[order], first)
        tflops = tflops if tflops is None else tflops[order]
        if epochs is not None:
            if np.any(np.diff(epochs[order]) < 0):  # also between records of one step
                return None
            epochs = epochs[order][first]
    if epochs is not None and np.any(epochs[1:] < epochs[:-1]):
        return None
    if (left_out is None or not len(left_out)) and (epochs is None or not by_epochs):
        tflops = None if tflops is None else tflops[warmup:]
        return Records(times[warmup:], tflops, min(warmup, len(steps)), int(steps[0]), int(steps[-1]))
    is_kept = np.ones(len(steps), bool)
    is_kept[:warmup] = False
    if left_out is not None:
        indexes = np.searchsorted(steps, left_out)
        is_step = steps[np.minimum(indexes, len(steps) - 1)] == left_out
        is_kept[indexes[is_step]] = False
    if by_epochs and epochs is not None:
        is_kept[epoch_ends(steps, epochs)] = False
    kept = times[is_kept]
    tflops = None if tflops is None else tflops[is_kept]
    return Records(kept, tflops, len(steps) - len(kept), int(steps[0]), int(steps[-1]))


def step_statistics(runs: Sequence[Records]) -> list[StepStatistics]:
    """Statistics of each of several runs, all with TFLOP/s or all without."""
    times, n = padded([run.times_s for run in runs])
    ordered, rank_of = ordered_with_ranks(times, n)
    intervals = intervals_of_ordered(times, n, ordered, rank_of)
    if not times.size:
        return [StepStatistics(0, *run[2:], 0.0, intervals[0], None, None) for run in runs]
    lengths = np.array([len(run.times_s) for run in runs])
    timed_s = at(np.cumsum(times, axis=1), lengths - 1).tolist()  # one after the other: SQL's sum has the same digits
    percentiles = quantiles_of_ordered(ordered, _SHARES, lengths)
    tflops = [None if run.tflops is None else float(median(run.tflops)) for run in runs]
    return [
        StepStatistics(length, *run[2:], *of_run)
        for run, length, *of_run in zip(runs, lengths.tolist(), timed_s, intervals, percentiles, tflops, strict=True)
    ]


def quantiles_of_ordered(ordered: _Values, shares: Sequence[float], n: Lengths | None = None) -> _Values:
    """Quantiles of sorted values, shape (..., n) to (..., n_shares), as numpy's and DuckDB's quantile_cont.

    `n` are the numbers of values in each row, which others may follow.
    """
    last = np.asarray(ordered.shape[-1] if n is None else n)[..., None] - 1
    positions = np.asarray(shares) * last
    below = positions.astype(np.int64)
    low = np.take_along_axis(ordered, below, axis=-1)
    high = np.take_along_axis(ordered, np.minimum(below + 1, last), axis=-1)
    return np.asarray(low + (positions - below) * (high - low))
