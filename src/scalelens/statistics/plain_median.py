"""The median of a plain array."""

from typing import Any

import numpy as np
import numpy.typing as npt


def median(values: npt.ArrayLike) -> Any:
    """The median along the last axis of shape (..., n), shape (...), as `numpy.median` gives it; NaN if one is NaN.

    n is at least 1.  `numpy.median` loads what masked arrays need, which takes as long as a tenth of a small question.
    """
    given = np.asarray(values)
    half, rest = divmod(given.shape[-1], 2)
    before = half if rest else half - 1
    ordered = np.partition(given, [before, half, -1], axis=-1)
    middles = ordered[..., half] if rest else (ordered[..., before] + ordered[..., half]) / 2
    largest = ordered[..., -1]  # NaN comes last
    return np.where(np.isnan(largest), largest, middles)[()]
