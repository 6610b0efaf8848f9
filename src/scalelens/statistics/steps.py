"""Times of steps from the records of all ranks."""

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
