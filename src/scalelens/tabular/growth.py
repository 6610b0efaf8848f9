"""How numbers that never fall grow: a time since the start by about as much all along, other numbers less and less.

step 10 time 0.71 s | step 20 time 0.83 s | step 30 time 0.88 s      no clock: the steps take longer, and then do not
"""

import math

import numpy as np

_LEAST_MARKS = 4  # values 1, 2, 4 and 8
_HALF = 0.5  # of its growth before: what a mean that comes to rest still grows by
_SLOWER = 0.99  # of its growth before, where nothing scatters about it
_ADDED = 0.2  # of its first value, which each value of a sum adds at least
_SCATTER = 0.5  # of the change of its growth: a clock that slows down scatters by more


class Growth:
    """The growth of one column, up to its last value."""

    def __init__(self) -> None:
        self._count, self._last = 0, 0.0
        self._marks: list[float] = []  # the first value, the second, the fourth, the eighth ...
        self._grown = math.inf  # by its last value
        self._jump = 0.0  # the most by which it grew more than by the value before

    def __len__(self) -> int:
        return self._count

    def take(self, value: float) -> None:
        """Takes the next value."""
        grown = value - self._last if self._count else math.inf
        self._jump = max(self._jump, grown - self._grown) if self._grown < math.inf else 0.0
        self._count, self._last, self._grown = self._count + 1, value, grown
        if not self._count & (self._count - 1):
            self._marks.append(value)

    def take_all(self, values: np.ndarray) -> None:
        """Takes the next values."""
        for value in values[:2]:
            self.take(float(value))
        rest = values[2:]
        if not len(rest):
            return
        grown = np.diff(values[1:])
        self._jump = max(self._jump, float(np.diff(grown, prepend=self._grown).max()))
        while (place := 2 ** len(self._marks) - self._count) <= len(rest):
            self._marks.append(float(rest[place - 1]))
        self._count, self._last, self._grown = self._count + len(rest), float(rest[-1]), float(grown[-1])

    def _latest(self) -> tuple[float, float]:
        """By how much it grows from value to value: in its last half or more, and before that."""
        k = len(self._marks) - 1
        k -= 2 * (self._count - 2**k) < 2**k
        late = (self._last - self._marks[k]) / (self._count - 2**k)
        return late, (self._marks[k] - self._marks[k - 1]) / 2 ** (k - 1)

    @property
    def adds_up(self) -> bool:
        """Whether each value adds so much to the first that it may be a sum."""
        return self._last - self._marks[0] >= _ADDED * self._marks[0] * (self._count - 1)

    @property
    def halves(self) -> bool:
        """Whether its growth is less than half of what it was."""
        if len(self._marks) < _LEAST_MARKS:
            return False
        late, before = self._latest()
        return late < _HALF * before

    @property
    def slows_smoothly(self) -> bool:
        """Whether its growth becomes less and less, and scatters by far less than that."""
        if len(self._marks) < _LEAST_MARKS:
            return False
        late, before = self._latest()
        return late < _SLOWER * before and self._jump < _SCATTER * (before - late)
