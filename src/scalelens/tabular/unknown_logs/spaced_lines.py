"""Lines that count epochs where these begin, and one more where the last one ends.

    09:00:00 Epoch 1/8, best acc 0.00
    09:01:06 Epoch 2/8, best acc 0.31
    ...
    09:08:45 Epoch 8/8, best acc 0.62
    09:10:00 Epoch 8/8, best acc 0.64

The last line says nothing more of what the one before it tells: an epoch lies between them.
"""

import statistics

_LEAST = 3  # epochs
_MOST = 10_000
_MOST_S = 86_400
_AS_LONG = 0.5  # of an epoch
_LEAST_S = 10  # between the two lines


class Spaced:
    """Seconds between lines of one shape that count epochs alone."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._ends = False  # whether the last line counts the epoch of the one before
        self._spans: list[float] = []  # between lines of other epochs
        self._again: list[float] = []  # between those of one

    def take(self, seconds: float, again: bool) -> None:
        """Notes the stamp of a line, and whether it counts the epoch of the line before."""
        spans = self._again if again else self._spans
        if self._last is not None and len(spans) < _MOST:
            spans.append((seconds - self._last) % _MOST_S)
        self._last = seconds
        self._ends = again

    @property
    def end_once(self) -> bool:
        """Whether only the last epoch has two lines, which are as far apart as the epochs are."""
        if not self._ends or len(self._again) != 1 or len(self._spans) < _LEAST:
            return False
        return self._again[0] >= max(_LEAST_S, _AS_LONG * statistics.median(self._spans))
