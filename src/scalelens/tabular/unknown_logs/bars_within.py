"""Bars that hold others: for each of their counts another bar of training is drawn, so that they count epochs.

Training:   5%|5   | 2/40 [04:12<1:19:50, 126.1s/it]
batches: 100%|####| 400/400 [02:04<00:00, 3.22it/s]
Training:   8%|7   | 3/40 [06:18<1:17:42, 126.0s/it]
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import Drawing, is_of_training

# Within a step, so named, another bar may count its parts.
_STEPS = re.compile(
    r"(?<![a-z])(?:global[ _]|train(?:ing)?[ _])?(?:step|iter(?:ation)?|update|batch)(?:e?s)?(?![a-z])", re.IGNORECASE
)
_LEAST = 2  # counts
_SELDOM = 0.1  # of the counts: the first may be drawn late


class _Bar:
    """What was drawn since the last drawing of a bar."""

    def __init__(self) -> None:
        self.step = self.bars = self.full = 0  # of this one: its last count, how often it began and was full
        self.begun = self.filled = 0  # of all others, until its last drawing
        self.grown = self.held = 0  # its counts, and those for which another bar was drawn


class BarsWithin:
    """Watches the bars of training."""

    def __init__(self) -> None:
        self._bars: dict[Any, _Bar] = {}
        self._begun = self._filled = 0  # by all of them

    def draw(self, key: Any, label: str, begun: int, drawing: Drawing) -> None:
        """Notes a drawing of a bar that began so often."""
        if not is_of_training(label):
            return
        bar = self._bars.setdefault(key, _Bar())
        begins, leap = begun - bar.bars, drawing.step - bar.step
        self._begun, bar.bars = self._begun + begins, begun
        others, filled = self._begun - bar.bars, self._filled - bar.full
        if leap > 0 and not begins:
            bar.grown += 1
            bar.held += others - bar.begun >= leap or (leap == 1 and filled > bar.filled)
        bar.begun, bar.filled, bar.step = others, filled, drawing.step
        full = drawing.step == drawing.total
        self._filled, bar.full = self._filled + full, bar.full + full

    def hold(self, key: Any, label: str) -> bool:
        """Whether a bar counts what other bars fill for."""
        bar = self._bars.get(key)
        if bar is None or _STEPS.search(label):
            return False
        return bar.held >= _LEAST and bar.grown - bar.held <= max(1, _SELDOM * bar.grown)
