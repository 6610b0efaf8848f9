"""Bars without a label that fill again and again: what is printed around each shows whether they are the training's.

  100%|####| 1156/1156 [05:18<00:00, 3.66it/s]             which bar is it?
Validating: 100%|####| 289/289 [00:37<00:00, 9.23it/s]     not the validation's, which has a label
Validation loss: 5.87                                      and something is trained

The line before it may announce it, too: `Epoch 3: training`, `Evaluating ...`.

  100%|####| 30/30 [09:37<00:00, 19.26s/it]                of two bars by turns, the first is the training's, if it has
  100%|####| 8/8 [01:16<00:00, 9.52s/it]                   more steps, which take no less time each, and the losses of
loss 0.2018 - val_loss 0.2736                              both come after the second
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import Drawing, is_of_training

_LOSS = re.compile(r"(?<![a-z])loss(?:es)?\b[^\d\n]{0,20}\d", re.IGNORECASE)
_TRAINS = re.compile(r"(?<![a-z])train(?:ing)?(?![a-z])", re.IGNORECASE)
_REPORTS = re.compile(r"\d\.\d|[:=]\s?-?\d|loss|acc|score|error|metric", re.IGNORECASE)  # on what came before
_PHASES = re.compile(rb"train|eval|valid|test", re.IGNORECASE)
_LONGEST = 80  # characters of a line that announces something
_LEAST = 2  # times that it fills, and that something tells
_LEAST_PAIRS, _MOSTLY = 3, 0.9  # of two bars by turns
_MAY_BE_LOSS = re.compile(r"loss", re.IGNORECASE)
_LOSS_OF_VALIDATION = re.compile(
    r"(?<![a-z])(?:val|valid|validation|test|dev|eval)[ _-]{1,2}loss(?:es)?\b[^\d\n]{0,20}\d", re.IGNORECASE
)


class Fills:
    """What stood after each time that a bar was full."""

    def __init__(self, after_loss: bool) -> None:
        self.after_loss = after_loss  # whether a loss was printed before it was drawn first
        self.times = 0
        self.trained = self.validated = 0  # the first loss after it was one of training, of validation
        self.said_trained = self.said_other = 0  # the line before it announced a training, or an evaluation
        self.beside_validation = 0  # a bar of validation, with a label, and a loss came after it
        self.before: set[Fills] = set()  # bars that were full last before it was
        self.of_both = 0  # the losses of a training and of a validation came after it

    @property
    def again(self) -> bool:
        """Whether it fills again and again."""
        return self.times >= _LEAST

    @property
    def of_validation(self) -> bool:
        """Whether what it does is validated at once, so that it is the validation itself."""
        if self.said_other > self.said_trained:
            return True
        return self.validated > self.trained and not self.beside_validation

    @property
    def of_training(self) -> bool:
        """Whether it is the training's, by what comes after it."""
        trained = 0 if self.after_loss or self.validated > self.trained else self.trained
        if self.said_other > self.said_trained:
            return False
        told = max(self.beside_validation, trained, self.said_trained)
        return self.again and told >= _LEAST and 2 * told >= self.times


_BOTH = {"training", "validation"}


def _losses_in(text: str) -> set[str]:
    """Of what a line states a loss."""
    rest = _LOSS_OF_VALIDATION.sub("", text)
    return ({"validation"} if rest != text else set()) | ({"training"} if _LOSS.search(rest) else set())


def are_training_and_validation(one: Fills, other: Fills) -> bool:
    """Whether two bars are drawn by turns, and after the second come the losses of a training and of a validation."""
    by_turns = one.before <= {other} and other.before == {one} and abs(one.times - other.times) <= 1
    announced = any(fills.said_trained or fills.said_other for fills in (one, other))
    told = not one.of_both and other.of_both >= _MOSTLY * other.times
    return by_turns and not announced and told and other.times >= _LEAST_PAIRS


def _announced(text: str) -> str:
    if not is_of_training(text):
        return "other"
    return "training" if _TRAINS.search(text) else ""


class FilledBars:
    """Watches a log for what stands after bars that are full."""

    def __init__(self) -> None:
        self._after: Fills | None = None  # the bar that was full last
        self._loss_seen = self._measured = self._validated = False
        self._said = ""  # by the line before a bar: that something is trained, or evaluated
        self._full: Fills | None = None  # the bar without a label that was full last
        self._losses: set[str] = set()  # of what, since then

    def fills(self) -> Fills:
        """For a bar that is drawn first."""
        return Fills(self._loss_seen)

    def draw(self, fills: Fills, drawing: Drawing) -> None:
        """Notes a drawing of a bar without a label."""
        full = drawing.step == drawing.total
        if full and self._after is fills and not (self._measured or self._said):
            return  # drawn again when it is closed
        fills.said_trained += self._said == "training"
        fills.said_other += self._said == "other"
        self._said = ""
        self._after = None
        if full:
            fills.before |= {self._full} if self._full else set()
            self._full, self._losses = fills, set()
            fills.times += 1
            self._after, self._measured, self._validated = fills, False, False

    def draw_other(self, phase: str) -> None:
        """Notes a drawing of a bar with a label."""
        self._said = ""
        if self._after and not self._validated and phase.startswith(("val", "eval", "test")):
            self._validated = True
            self._after.beside_validation += self._measured

    def look_aside(self, raw: bytes) -> None:
        """Notes a line without a number that may announce a bar: `Training...`, `Evaluating...`."""
        if len(raw) <= _LONGEST and _PHASES.search(raw):
            text = raw.decode("utf-8", "replace")
            self._said = self._said if _REPORTS.search(text) else _announced(text) or self._said

    def look(self, text: str) -> None:
        """Notes a line that is not a bar."""
        self._said = "" if len(text) > _LONGEST or _REPORTS.search(text) else _announced(text)
        if self._after and len(self._losses) < len(_BOTH) and _MAY_BE_LOSS.search(text):
            self._losses |= _losses_in(text)
            self._after.of_both += self._losses == _BOTH
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
