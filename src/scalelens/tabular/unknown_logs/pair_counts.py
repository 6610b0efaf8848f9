"""Counts such as `TRAIN Batch 3/200`, where 3 is the epoch and 200 the batch: what follows `/` is not a total.

    Batch 0/0    Batch 0/100    Batch 0/200    Batch 1/0    Batch 1/100

The second number grows while the first stays, and restarts where that grows by one.
"""

from typing import Any

_MOST_SERIES = 10_000  # ranks and locations
_LEAST, _LEAST_OF_ONE = 4, 10  # times that the second grows, over several epochs and in one


class PairCounts:
    """The pairs that lines of one shape hold."""

    def __init__(self) -> None:
        self.grown = self.restarted = self._others = 0
        self._last: dict[Any, tuple[int, int]] = {}

    def take(self, whose: Any, first: int, second: int) -> None:
        """Notes the two numbers of a line."""
        before = self._last.get(whose)
        if before is None and len(self._last) >= _MOST_SERIES:
            return
        self._last[whose] = first, second
        if before is None or before == (first, second):
            return
        if first == before[0] and second > before[1]:
            self.grown += 1
        elif first == before[0] + 1 and second < before[1]:
            self.restarted += 1
        else:
            self._others += 1

    @property
    def tell(self) -> bool:
        """Whether all lines count so, over two epochs or more."""
        return self.grown >= _LEAST and self.restarted > 0 and not self._others

    @property
    def tell_of_one_epoch(self) -> bool:
        """Whether all lines count so in one epoch: `Batch 0/0`, then 0/100.  A total never grows from line to line."""
        return self.grown >= _LEAST_OF_ONE and not self.restarted and not self._others
