"""Bars that are full by turns: where every second one is much quicker, these are those of a validation.

100%|####| 100/100 [00:40<00:00, 2.50it/s]
100%|####| 100/100 [00:10<00:00, 10.0it/s]
Epoch 1: train loss 3.0, val loss 3.2
"""

from typing import Any

from scalelens.parsing.progress_bars import Drawing

_LEAST = 6  # bars
_MOST = 1_000
_QUICKER = 1.5  # times


class FullBars:
    """How long the bars of one label and one total took, by one writer."""

    def __init__(self) -> None:
        self.full = 0
        self._seconds: list[int] = []
        self._last: Drawing | None = None
        self._writers: set[Any] = set()

    def take(self, whose: Any, drawing: Drawing) -> None:
        """Notes a drawing.  One that is drawn again when it is closed is full once."""
        is_full = 0 < drawing.step == drawing.total
        again = is_full and self._last is not None and self._last.step == drawing.step
        self._last = drawing
        if not is_full or again:
            return
        self.full += 1
        self._writers |= {whose} if len(self._writers) < 2 else set()
        if len(self._seconds) < _MOST:
            self._seconds.append(drawing.elapsed_s)

    @property
    def by_turns(self) -> bool:
        """Whether each second bar, from the first or from the second on, is quicker than all others."""
        one, other = self._seconds[::2], self._seconds[1::2]
        if len(self._seconds) < _LEAST or len(self._writers) > 1:
            return False
        return min(one) > _QUICKER * max(other) or min(other) > _QUICKER * max(one)
