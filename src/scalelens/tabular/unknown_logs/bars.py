"""Progress bars as tqdm draws them, written out so that their numbers can be read like those of any line.

train:  37%|##7  | 1.21k/5.00k [00:12<00:20, 121it/s]    train: • 1210/5000 [00:12<00:20, 121 it/s]
train: 120it [00:30,  4.01it/s]                           train: • iter 120 [00:30, 4.01 it/s]
"""

from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.progress_bars import BAR, Drawing, drawing_of, in_full

_STEPS = ("it", "iter", "iters", "iteration", "iterations", "step", "steps", "batch", "batches", "update", "updates")
_OF_EPOCHS = re.compile(r"\bepochs?\W*\Z", re.IGNORECASE)  # `Epochs:`, not `Epoch 3:`
_POSTFIX = re.compile(r"(?:[^\[\]]|\[[^\[\]]*\])*\]")


class _Bar(NamedTuple):
    """A line with its bar written out."""

    text: str
    counts_steps: bool  # else epochs, samples or bytes
    drawing: Drawing


def written_out(text: str) -> _Bar | None:
    """A line with its bar written out; None where there is no tqdm bar."""
    bar = BAR.search(text) if " [" in text else None
    if bar is None:
        return None
    before, unit = text[: bar.start()], bar["what"] or bar["each"]
    counts_steps = unit.lower() in _STEPS and not _OF_EPOCHS.search(before)
    unit = "it" if counts_steps else unit
    shown = bar["count"] or bar["alone"]
    count = f"{_digits(shown)}/{_digits(bar['total'])}" if bar["count"] else f"iter {_digits(shown)}"
    pace = f"{_digits(bar['rate'])} {f's/{unit}' if bar['each'] else f'{unit}/s'}"
    whole = f"{before}\u2022 {count} [{bar['times']}, {pace}{text[bar.end() :]}"
    return _Bar(whole, counts_steps, drawing_of(bar))


def divided(text: str) -> list[str]:
    """A line divided after each bar in it: what was printed next follows a bar without a line end."""
    if " [" not in text:
        return [text]
    parts, begin = [], 0
    while (bar := BAR.search(text, begin)) and (end := _POSTFIX.match(text, bar.end())):
        parts.append(text[begin : end.end()])
        begin = end.end()
    return [*parts, text[begin:]] if text[begin:].strip() or not parts else parts


def _digits(number: str) -> str:
    """A number without a suffix: 1.21k is 1210."""
    return f"{in_full(number):.10g}" if number[-1:].isalpha() else number
