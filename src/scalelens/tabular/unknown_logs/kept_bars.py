"""Bars of which only the full drawing is left, one for each epoch, as where the last state of a terminal was kept.

    train loss 1.31: 100%|####| 118/118 [02:17<00:00,  1.16s/batch]
    epoch 5, val_loss 0.47
    train loss 1.25: 100%|####| 118/118 [02:18<00:00,  1.17s/batch]

A full drawing on the same line as the one before, or on the next, is of the bar that was closed.  As several programs
may have drawn the same bar, other lines have to count as many epochs.
"""

from typing import Any

from scalelens.parsing.progress_bars import Drawing

LEAST = 3  # bars
_MOST_SERIES = 10_000  # ranks and locations


def _is_full(drawing: Drawing) -> bool:
    return drawing.step == drawing.total and drawing.pace_s is not None


def is_drawn_again(line: int, now: int) -> bool:
    """Whether a full drawing is of the bar that was drawn full on another line."""
    return line <= now <= line + 1


class KeptBars:
    """The bars of one label, if all of their drawings are full."""

    def __init__(self) -> None:
        self.all_full = True  # but for a last one, in which the training was ended
        self.is_ended = False
        self.bars = 0
        self._lines: dict[Any, int] = {}

    def take(self, whose: Any, line: int, drawing: Drawing) -> None:
        """Notes a drawing.  One without a rate, as at the start, says nothing."""
        if drawing.pace_s is None:
            return
        self.all_full = self.all_full and not self.is_ended
        self.is_ended = not _is_full(drawing)
        if self.is_ended:
            return
        before = self._lines.get(whose)
        self.bars += before is None or not is_drawn_again(before, line)
        if before is not None or len(self._lines) < _MOST_SERIES:
            self._lines[whose] = line

    def are_of(self, epochs: float) -> bool:
        """Whether there is one for each of some epochs; the first or the last may have none."""
        return self.all_full and self.bars >= LEAST and len(self._lines) == 1 and abs(self.bars - epochs) <= 1
