"""Bars without a label that fill again and again: what is printed after each shows whether they are the training's.

  100%|####| 1156/1156 [05:18<00:00, 3.66it/s]             which bar is it?
Validating: 100%|####| 289/289 [00:37<00:00, 9.23it/s]     not the validation's, which has a label
Validation loss: 5.87                                      and something is trained
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import Drawing, is_of_training

_LOSS = re.compile(r"(?<![a-z])loss(?:es)?\b[^\d\n]{0,20}\d", re.IGNORECASE)
_LEAST = 2  # times that it fills, and that something tells


class Fills:
    """What stood after each time that a bar was full."""

    def __init__(self, after_loss: bool) -> None:
        self.after_loss = after_loss  # whether a loss was printed before it was drawn first
        self.times = 0
        self.trained = self.validated = 0  # the first loss after it was one of training, of validation
        self.beside_validation = 0  # a bar of validation, with a label, and a loss came after it

    @property
    def again(self) -> bool:
        """Whether it fills again and again."""
        return self.times >= _LEAST

    @property
    def of_validation(self) -> bool:
        """Whether what it does is validated at once, so that it is the validation itself."""
        return self.validated > self.trained and not self.beside_validation

    @property
    def of_training(self) -> bool:
        """Whether it is the training's, by what comes after it."""
        trained = 0 if self.after_loss or self.validated > self.trained else self.trained
        told = max(self.beside_validation, trained)
        return self.again and told >= _LEAST and 2 * told >= self.times


class FilledBars:
    """Watches a log for what stands after bars that are full."""

    def __init__(self) -> None:
        self._after: Fills | None = None  # the bar that was full last
        self._loss_seen = self._measured = self._validated = False

    def fills(self) -> Fills:
        """For a bar that is drawn first."""
        return Fills(self._loss_seen)

    def draw(self, fills: Fills, drawing: Drawing) -> None:
        """Notes a drawing of a bar without a label."""
        full = drawing.step == drawing.total
        if full and self._after is fills:
            return  # drawn again when it is closed
        self._after = None
        if full:
            fills.times += 1
            self._after, self._measured, self._validated = fills, False, False

    def draw_other(self, phase: str) -> None:
        """Notes a drawing of a bar with a label."""
        if self._after and not self._validated and phase.startswith(("val", "eval", "test")):
            self._validated = True
            self._after.beside_validation += self._measured

    def look(self, text: str) -> None:
        """Notes a line that is not a bar."""
        if (self._after is None and self._loss_seen) or (self._measured and self._after):
            return
        loss = _LOSS.search(text)
        if not loss:
            return
        self._loss_seen = True
        if self._after:
            self._measured = True
            trained = is_of_training(text[: loss.start()])
            self._after.trained += trained
            self._after.validated += not trained
            self._after.beside_validation += self._validated
