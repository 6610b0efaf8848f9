"""Times of steps from the records of all ranks, and their quantiles."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64] | Values  # of steps: with one missing, they are floating-point with NaN


class Records(NamedTuple):
    """Records of one run, one for each step that no rule leaves out, in the order of the steps."""

    times_s: Values
    tflops_per_device: Values | None
    n_excluded: int  # steps that a rule leaves out


def kept_records(
    steps: Numbers, times: Values, epochs: Values | None, tflops: Values | None, left_out: Numbers | None, warmup: int
) -> Records | None:
    """Largest time of each step but the first `warmup` and those `left_out`; of all records the shape is (n_records,).

    `epochs` and `tflops` are those of the same records, or None where the log states none.  None where the numbers of
    the steps do not decide all: a value is missing or not finite, an epoch begins before the one before it has ended,
    or several ranks state TFLOP/s.
    """
    columns = [column for column in (steps, times, epochs, tflops) if column is not None]
    if any(len(column) != len(steps) or not np.isfinite(column).all() for column in columns):
        return None
    if not (steps[1:] > steps[:-1]).all():  # else they are in order, one record a step
        order = np.argsort(steps, kind="stable")
        first = np.flatnonzero(np.concatenate([[True], np.diff(steps[order]) > 0]))
        if tflops is not None and len(first) < len(steps):
            return None
        steps, times = steps[order][first], np.maximum.reduceat(times[order], first)
        epochs, tflops = (column if column is None else column[order] for column in (epochs, tflops))
    if epochs is not None and np.any(epochs[1:] < epochs[:-1]):
        return None
    if left_out is None:
        return Records(times[warmup:], None if tflops is None else tflops[warmup:], min(warmup, len(steps)))
    is_kept = ~np.isin(steps, left_out)
    is_kept[:warmup] = False
    kept = times[is_kept]
    return Records(kept, None if tflops is None else tflops[is_kept], len(steps) - len(kept))


def quantiles(values: Values, shares: Values) -> Values | None:
    """Quantiles of `values`, shape (n,), at `shares` of them, as numpy's and DuckDB's quantile_cont; None of no value.

    DuckDB's own, of a list, takes four times as long.
    """
    if not len(values):
        return None
    places = shares * (len(values) - 1)
    below = places.astype(np.int64)
    ordered = np.sort(values)
    low, high = ordered[below], ordered[np.minimum(below + 1, len(values) - 1)]
    return np.asarray(low + (places - below) * (high - low))
