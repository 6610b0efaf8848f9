"""Many series at once: numpy's calls take as long as their work on a series of a thousand values."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeVar

Series = TypeVar("Series")
Answer = TypeVar("Answer")

VALUES = 1 << 16  # of a block: more do not fit the cache of a core


def in_blocks(
    statistic: Callable[[Sequence[Series]], Sequence[Answer]],
    series: Sequence[Series | None],
    shape_of: Callable[[Series], tuple[int, ...]],
) -> list[Answer | None]:
    """The statistic of each series, None for None, asked of many series of one shape at once.

    A shape is the number of values, and what else must be alike.
    """
    alike = defaultdict(list)
    for place, one in enumerate(series):
        if one is not None:
            alike[shape_of(one)].append((place, one))
    answers: list[Answer | None] = [None] * len(series)
    for shape, placed in alike.items():
        rows = max(VALUES // max(shape[0], 1), 1)
        for first in range(0, len(placed), rows):
            places, block = zip(*placed[first : first + rows], strict=True)
            for place, answer in zip(places, statistic(block), strict=True):
                answers[place] = answer
    return answers
