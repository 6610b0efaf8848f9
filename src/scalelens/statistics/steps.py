"""Times of steps from the records of all ranks, and their statistics."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.effective_size import ordered_with_ranks
from scalelens.statistics.epoch_ends import epoch_ends
from scalelens.statistics.medians import Interval, interval_of_ordered

Values = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64] | Values  # of steps: with one missing, they are floating-point with NaN


class Records(NamedTuple):
    """Records of one run, one for each step that no rule leaves out, in the order of the steps."""

    times_s: Values
    tflops: Values | None  # per device
    n_excluded: int  # steps that a rule leaves out


class StepStatistics(NamedTuple):
    """What one run's records say."""

    n_steps: int
    n_excluded: int
    timed_s: float
    around: Interval  # of the median
    percentiles: Values | None
    tflops_per_device: float | None


def kept_records(
    steps: Numbers,
    times: Values,
    epochs: Values | None,
    tflops: Values | None,
    left_out: Numbers | None,
    warmup: int,
    by_epochs: bool = False,
) -> Records | None:
    """Largest time of each step but the first `warmup` and those `left_out`; of all records the shape is (n_records,).

    `epochs` and `tflops` are those of the same records, or None where the log states none.  `by_epochs` leaves out the
    first and last batches of epochs as well.  None where the numbers of the steps do not decide all: a value is missing
    or not finite, an epoch begins before the one before it has ended, or several ranks state TFLOP/s.
    """
    columns = [column for column in (steps, times, epochs, tflops) if column is not None]
    if any(len(column) != len(steps) for column in columns):
        return None
    if not all(column.dtype.kind == "i" or np.isfinite(column).all() for column in columns):
        return None
    if not (steps[1:] > steps[:-1]).all():  # else they are in order, one record a step
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
    if left_out is None and (epochs is None or not by_epochs):
        return Records(times[warmup:], None if tflops is None else tflops[warmup:], min(warmup, len(steps)))
    is_kept = np.ones(len(steps), bool)
    is_kept[:warmup] = False
    if left_out is not None:
        places = np.searchsorted(steps, left_out)
        is_step = steps[np.minimum(places, len(steps) - 1)] == left_out
        is_kept[places[is_step]] = False
    if by_epochs and epochs is not None:
        is_kept[epoch_ends(steps, epochs)] = False
    kept = times[is_kept]
    return Records(kept, None if tflops is None else tflops[is_kept], len(steps) - len(kept))


def step_statistics(records: Records, shares: Values) -> StepStatistics:
    """Statistics of one run's records; `shares` are those of the percentiles, from 0 to 1."""
    times, tflops, n_excluded = records
    ordered, rank_of = ordered_with_ranks(times)
    return StepStatistics(
        len(times),
        n_excluded,
        float(np.cumsum(times)[-1]) if len(times) else 0.0,  # one after the other: the last digit is that of SQL's sum
        interval_of_ordered(times, ordered, rank_of),
        quantiles_of_ordered(ordered, shares),
        None if tflops is None or not len(tflops) else float(np.median(tflops)),
    )


def quantiles(values: Values, shares: Values) -> Values | None:
    """Quantiles of `values`, shape (n,), at `shares` of them, as numpy's and DuckDB's quantile_cont; None of no value.

    DuckDB's own, of a list, takes four times as long.
    """
    return quantiles_of_ordered(np.sort(values), shares)


def quantiles_of_ordered(ordered: Values, shares: Values) -> Values | None:
    """The same of values that are sorted."""
    if not len(ordered):
        return None
    found = np.empty(len(shares))
    for number, share in enumerate(shares.tolist()):  # a tenth of the time of arrays as short as these
        place = share * (len(ordered) - 1)
        below = int(place)
        low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
        found[number] = low + (place - below) * (high - low)
    return found
