"""The distribution of the times of one run, by its corners."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]


class _Distribution(NamedTuple):
    """Corners of a distribution, from the fastest: so many records took at most that long."""

    step_s: _Values
    n_at_most: npt.NDArray[np.int64]


def distribution(times: _Values, slots: int, marks: _Values) -> _Distribution:
    """Corners of the distribution of times in seconds, shape (n,), n > 0, one for each time that occurs.

    With `slots` the span of the times is cut into as many pieces, of equal steps and of equal ratios: of the corners
    that are in one piece by both, the first and the last stay, with that of the median and those at the `marks`.
    """
    ordered = np.sort(times)
    is_last = np.append(ordered[1:] != ordered[:-1], True)  # of the records that took as long
    found, n_at_most = ordered[is_last], np.flatnonzero(is_last) + 1
    if slots == 0 or len(found) == 1:
        return _Distribution(found, n_at_most)
    piece = _pieces(found, slots)
    is_new = np.any(piece[:, 1:] != piece[:, :-1], axis=0)
    half, n_below = len(times) / 2, np.append(0, n_at_most[:-1])
    stays = np.append(True, is_new) | np.append(is_new, True) | ((n_below <= half) & (half <= n_at_most))
    stays |= np.isin(found, marks)
    return _Distribution(found[stays], n_at_most[stays])


def _pieces(times: _Values, slots: int) -> _Values:
    """In which piece each of several sorted times is, by differences and by ratios, shape (n,) to (2, n)."""
    low, high = times[0], times[-1]
    by_steps = np.floor(slots * (times - low) / (high - low))
    by_ratios = np.floor(slots * np.log(times / low) / np.log(high / low)) if low > 0 else by_steps
    return np.stack([by_steps, by_ratios])
