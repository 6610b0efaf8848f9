"""Bars without a label that count epochs, as lines between their drawings count epochs and the batches in these.

  5%|5         | 1/20 [00:59<18:41, 59.03s/it]
Epoch 1, Batch: 0, Loss: 2.41
Epoch 1, Batch: 10, Loss: 2.18
 10%|#         | 2/20 [01:56<17:30, 58.38s/it]
Epoch 2, Batch: 0, Loss: 0.92

What is printed to a buffer may come later than the drawings, but before another training draws its bar.
"""

from collections import Counter
from typing import Any, NamedTuple

from scalelens.parsing.progress_bars import Drawing

_LEAST = 3  # epochs
_SEVERAL = 2  # bars that agree, for each that does not


class _Bar(NamedTuple):
    """A bar since it was drawn from its start."""

    begun: int  # which of its kind it is
    top: int
    epochs: Counter[Any]  # that lines of each shape had counted before


class EpochsWithin:
    """Watches which bars grow with the epochs that lines count."""

    def __init__(self) -> None:
        self._epochs = Counter[Any]()  # by shape of line: how often another epoch began
        self._last: dict[Any, float | None] = {}
        self._bars: dict[Any, _Bar] = {}
        self._agreed, self._differed = Counter[Any](), Counter[Any]()  # bars
        self._most = 0  # epochs of a bar that counts them

    def count(self, shape: Any, epoch: float | None) -> None:
        """Notes a line that counts an epoch, and a batch of it."""
        if self._last.get(shape) != epoch:
            self._epochs[shape] += 1
            self._last[shape] = epoch

    def draw(self, key: Any, begun: int, drawing: Drawing) -> None:
        """Notes a drawing of a bar without a label that began so often."""
        bar = self._bars.get(key)
        if bar is None or bar.begun != begun:
            self._end(key)
            bar = _Bar(begun, 0, self._epochs.copy())
        self._bars[key] = bar._replace(top=max(bar.top, drawing.step))

    def _end(self, key: Any) -> None:
        bar = self._bars.pop(key, None)
        if bar is None or bar.top < _LEAST:
            return
        counted = [epochs for shape, now in self._epochs.items() if (epochs := now - bar.epochs[shape])]
        agreed = any(abs(epochs - bar.top) <= 1 for epochs in counted)
        self._agreed[key] += agreed
        self._differed[key] += not agreed
        self._most = max(self._most, bar.top if agreed else 0)

    def grows_with_epochs(self, key: Any) -> bool:
        """Whether a bar grows with the epochs of lines, where the log is over."""
        self._end(key)
        return self._agreed[key] > _SEVERAL * self._differed[key]

    def may_count_epochs(self, total: int) -> bool:
        """Whether a bar of so many counts no more than another one that grows with the epochs of lines.

        All bars have to be looked at before.
        """
        return total <= self._most
