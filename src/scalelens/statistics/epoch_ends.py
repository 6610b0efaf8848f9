"""First and last batches of epochs, from the numbers of steps and epochs of one run."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

_FEWEST_BATCHES = 3  # of an epoch that is taken as logged batch by batch


def epoch_ends(steps: npt.NDArray[Any], epochs: _Values) -> npt.NDArray[np.int64]:
    """Places of the records that the rules first_of_epoch and last_of_epoch leave out, in any order.

    The records are those of one attempt, one for each step, shape (n,): `steps` and `epochs` rise.
    queries/steps/epochs_logged.sql has the definition; with it, millions of records take several times as long.
    """
    is_new = epochs[1:] != epochs[:-1]
    begins: npt.NDArray[np.int64] = np.concatenate([[0], np.flatnonzero(is_new) + 1])
    ends = np.concatenate([begins[1:], [len(epochs)]]) - 1
    is_whole = epochs[begins] == np.floor(epochs[begins])
    begins, ends = begins[is_whole], ends[is_whole]
    if not len(begins):
        return begins
    n_steps = ends - begins + 1
    has_every_batch = (n_steps >= _FEWEST_BATCHES) & (n_steps == steps[ends] - steps[begins] + 1)
    starts_in_log = np.ones(len(begins), bool)
    starts_in_log[0] = steps[begins[0]] <= 1
    ends_in_log = np.ones(len(begins), bool)
    earlier = n_steps[:-1][starts_in_log[:-1]]
    ends_in_log[-1] = len(earlier) > 0 and n_steps[-1] >= earlier.max()
    return np.concatenate([begins[has_every_batch & starts_in_log], ends[has_every_batch & ends_in_log]])
