"""Logs of bars that nobody wrote, drawn by a seed: which bar trains, how they are nested, what is printed between them.

tqdm is imitated by a clock of the log's own: source, tqdm/std.py, update(), EMA, format_meter() and close().
"""

import random
import statistics
from typing import NamedTuple

_TRAINS = (
    "", "Train", "Training", "Epoch {epoch}", "Epoch {epoch}/{epochs}", "[Train] Epoch {epoch}", "loss {loss:.4f}",
    "epoch {epoch}: train_loss={loss:.3f}", "Iteration", "Batches", "Steps",
)  # fmt: skip
_VALIDATES = (None, "", "Val", "Validation", "Evaluating", "Epoch {epoch} val", "val_loss {loss:.4f}", "Test")
_COUNTS_EPOCHS = (None, None, "", "Epochs", "Epoch", "Training", "Epoch {epoch}", "Progress")
_PRINTS = (
    "", "Epoch {epoch}/{epochs}: train_loss: {loss:.4f}", "Epoch {epoch}: loss {loss:.4f} time {epoch_s:.1f}s",
    "Train Loss: {loss:.4f}",
)  # fmt: skip
_SMOOTHING, _AT_LEAST_S = 0.3, 0.1


class DrawnBars(NamedTuple):
    """A log, and what its steps and epochs took."""

    text: str
    structure: str
    step_s: tuple[float, ...]  # means and medians, of all epochs and without the first one
    epoch_s: tuple[float, ...]  # with and without the validation


class _Clock:
    now = 0.0


class _Bar:
    """A bar as tqdm draws it to a file."""

    def __init__(self, clock: _Clock, total: int, label: str, kept: bool) -> None:
        self.clock, self.total, self.label, self.kept = clock, total, label, kept
        self.begin = self.last = clock.now
        self.count = self.told = 0
        self.steps_ema = self.seconds_ema = 0.0
        self.lines = [self._text(None)]

    def update(self) -> None:
        self.count += 1
        seconds = self.clock.now - self.last
        if seconds < _AT_LEAST_S:
            return
        self.steps_ema = _SMOOTHING * (self.count - self.told) + (1 - _SMOOTHING) * self.steps_ema
        self.seconds_ema = _SMOOTHING * seconds + (1 - _SMOOTHING) * self.seconds_ema
        self.last, self.told = self.clock.now, self.count
        self.lines.append(self._text(self.steps_ema / self.seconds_ema))

    def closed(self) -> list[str]:
        """All drawings; of one that only its last state is left, that."""
        last = self._text(self.count / (self.clock.now - self.begin))
        return [last] if self.kept else [*self.lines, last]

    def _text(self, rate: float | None) -> str:
        elapsed_s = self.clock.now - self.begin
        pace = "?it/s" if rate is None else f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
        left = _clock("?" if rate is None else (self.total - self.count) / rate)
        share = self.count / self.total
        label = f"{self.label}: " if self.label else ""
        bar = f"{label}{100 * share:3.0f}%|{'#' * int(10 * share):10}| {self.count}/{self.total}"
        return f"{bar} [{_clock(elapsed_s)}<{left}, {pace}]"


def _clock(seconds: float | str) -> str:
    if isinstance(seconds, str):
        return seconds
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60:02}:{rest % 60:02}"


def drawn(seed: int) -> DrawnBars:
    """A log drawn by a seed."""
    chance, clock = random.Random(seed), _Clock()
    train, validate, outer, printed = map(chance.choice, (_TRAINS, _VALIDATES, _COUNTS_EPOCHS, _PRINTS))
    step_s, kept, sign = chance.choice((0.08, 0.31, 1.2, 4.7)), chance.random() < 0.2, chance.choice((1, 1, -1))
    epochs, steps, validated = chance.choice((3, 5, 12)), chance.choice((4, 12, 40)), chance.choice((3, 9, 41))
    lines, all_s, epoch_s, train_s = list[str](), list[float](), list[float](), list[float]()
    above = None if outer is None else _Bar(clock, epochs, outer.format(epoch=0), kept=False)
    lines += above.lines if above else []
    for epoch in range(1, epochs + 1):
        told = {"epoch": epoch, "epochs": epochs, "loss": sign * chance.uniform(1, 3)}
        begin, bar = clock.now, _Bar(clock, steps, train.format(**told), kept)
        for _ in range(steps):
            all_s.append(step_s * chance.uniform(0.9, 1.1) * (1 if all_s else 4))
            clock.now += all_s[-1]
            bar.label = train.format(**told | {"loss": sign * chance.uniform(1, 3)})
            bar.update()
        lines += bar.closed()
        train_s.append(clock.now - begin)
        if validate is not None:
            bar = _Bar(clock, validated, validate.format(**told), kept)
            for _ in range(validated):
                clock.now += chance.uniform(0.2, 0.3)
                bar.update()
            lines += bar.closed()
        epoch_s.append(clock.now - begin)
        lines += [printed.format(**told, epoch_s=epoch_s[-1])] if printed else []
        if above and outer is not None:
            above.label, above.lines = outer.format(epoch=epoch), []
            above.update()
            lines += above.lines
    later = all_s[steps:]
    means = [sum(train_s[k : k + 1]) / steps for k in range(epochs)]
    several = (all_s, later, means, means[1:])
    return DrawnBars(
        "\n".join(lines) + "\n", f"{outer} {train} {validate} {printed} {step_s} {epochs} {steps} {validated}",
        tuple(of(values) for values in several for of in (statistics.fmean, statistics.median)),
        tuple(of(values) for values in (epoch_s, train_s) for of in (statistics.fmean, statistics.median)),
    )  # fmt: skip
