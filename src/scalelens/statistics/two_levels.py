"""Whether a run had two levels and went from one to the other a few times only.

Such a run has seen too few changes to tell how long it is on each level, and so where its median lies in the long run.
The signs above and below the median do not show it: with one change near an end, nearly all records are on one level,
and look like independent ones.
"""

from math import ceil

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

_LEAST_SHARE, _FEWEST = 0.025, 5  # share and number of the records that a level holds at least
_FAR_APART = 2.0  # gap between the levels over the middle half of each
_SHORTEST_STAY = 3.0  # records, on average, on the level that holds fewer: slow steps here and there are no level
# The 99 % quantile of F with 2 k and 2 k degrees of freedom: by so much may the ratio of two means of k exponential
# stays be off.  From six stays on the intervals cover: tests/test_coverage.py.
_MOST_OFF = (99.0, 15.98, 8.47, 6.03, 4.85)
_HALF = 0.5  # of the time on the one level, on the other: from there on the median is not in the midst of a level


def changes_of_level(values: _Values, ordered: _Values) -> int | None:
    """How often a run went between two levels, if so rarely that each may hold a third of the time; else None.

    Of its values in the order of steps, shape (n,), and the same sorted.  The levels are on the two sides of the widest
    gap between neighbors in size.
    """
    n = len(values)
    least = max(_FEWEST, ceil(_LEAST_SHARE * n))
    if n < 2 * least:
        return None
    gaps = np.diff(ordered[least - 1 : n - least + 1])
    first_high = least + int(np.argmax(gaps))
    low, high = ordered[:first_high], ordered[first_high:]
    widest = max(_middle_half(low), _middle_half(high))
    if high[0] - low[-1] <= _FAR_APART * widest or high[0] <= low[-1]:
        return None
    is_high = values >= high[0]
    begins = np.flatnonzero(is_high[1:] != is_high[:-1]) + 1
    fewer, more = sorted((len(low), len(high)))
    stays = int(np.count_nonzero(is_high[np.append(0, begins)] == (len(high) == fewer)))
    if stays > len(_MOST_OFF) or fewer < _SHORTEST_STAY * stays or fewer * _MOST_OFF[stays - 1] < _HALF * more:
        return None
    return len(begins)


def _middle_half(ordered: _Values) -> float:
    return float(ordered[3 * len(ordered) // 4] - ordered[len(ordered) // 4])
