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
    first, last = steps[begins].astype(np.float64), steps[ends].astype(np.float64)
    has_every_batch = (n_steps >= _FEWEST_BATCHES) & (n_steps == last - first + 1)
    # From a record to the next, where the log prints not every step; of a single one it is not known.
    spacing = np.where(n_steps > 1, np.ceil((last - first) / np.maximum(n_steps - 1, 1)), np.inf)
    gaps = first[1:] - last[:-1]  # from each epoch to the next
    starts_in_log = np.concatenate([[False], gaps <= spacing[1:]]) | (first <= 1)
    is_followed = np.concatenate([gaps <= spacing[:-1], [False]])
    whole = np.where(starts_in_log & is_followed, n_steps, 0)
    longest_before = np.concatenate([[0], np.maximum.accumulate(whole)[:-1]])
    ends_in_log = is_followed | ((longest_before > 0) & (n_steps >= longest_before))
    return np.concatenate([begins[has_every_batch & starts_in_log], ends[has_every_batch & ends_in_log]])
