"""Many series at once: numpy's calls take as long as their work on a series of a thousand values."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

_Series = TypeVar("_Series")
_Answer = TypeVar("_Answer")
_Values = npt.NDArray[np.float64]
Lengths = npt.NDArray[np.int64]

VALUES = 1 << 17  # of a block: more do not fit the cache of a core
_LONGER = 1.25  # the longest series of a block over its shortest


def in_blocks(
    statistic: Callable[[Sequence[_Series]], Sequence[_Answer]],
    series: Sequence[_Series | None],
    kind_of: Callable[[_Series], tuple[int, bool]],
) -> list[_Answer | None]:
    """The statistic of each series, None for None, asked of many series at once that are about as long.

    A kind is the number of values, and whatever else must be alike.
    """
    answers: list[_Answer | None] = [None] * len(series)
    placed = [(kind_of(one), index, one) for index, one in enumerate(series) if one is not None]
    placed.sort(key=lambda one: (one[0][1], one[0][0], one[1]))
    for first, end in _blocks([kind for kind, _, _ in placed]):
        block = placed[first:end]
        for (_, index, _), answer in zip(block, statistic([one for _, _, one in block]), strict=True):
            answers[index] = answer
    return answers


def _blocks(kinds: Sequence[tuple[int, bool]]) -> Iterator[tuple[int, int]]:
    """First and end of each block of sorted kinds.  Fewer than two values are only beside as many."""
    first = 0
    for index, (n, kind) in enumerate(kinds):
        shortest, kind_of_block = kinds[first]
        is_full = (index - first + 1) * n > VALUES
        if index > first and (kind != kind_of_block or is_full or n > _LONGER * shortest or min(n, 2) > shortest):
            yield first, index
            first = index
    if kinds:
        yield first, len(kinds)


def padded(series: Sequence[_Values]) -> tuple[_Values, Lengths | None]:
    """Series as rows of one array, infinity behind the end of each, and their lengths; None where all are as long."""
    lengths = np.array([len(one) for one in series])
    widest = int(lengths.max())
    if (lengths == widest).all():
        return np.concatenate(series).reshape(len(series), widest), None
    rows = np.full((len(series), widest), np.inf)
    for row, one in zip(rows, series, strict=True):
        row[: len(one)] = one
    return rows, lengths
