"""Times of steps from the records of all ranks, and their quantiles."""

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def slowest_by_step(steps: Values | npt.NDArray[np.int64], times: Values) -> Values | None:
    """Largest time of each step, in the order of the steps; `steps` and `times` have shape (n_records,).

    None where a record has no step (NaN), or no time that is a finite number: such records need other rules.
    """
    if not np.isfinite(times).all() or not np.isfinite(steps).all():
        return None
    if np.all(steps[1:] > steps[:-1]):  # records in order, one a step
        return times
    order = np.argsort(steps, kind="stable")
    first = np.flatnonzero(np.concatenate([[True], np.diff(steps[order]) > 0]))
    return np.maximum.reduceat(times[order], first)


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
