"""Progress bars as tqdm draws them, written out so that their numbers can be read like those of any line.

    train:  37%|##7  | 1.21k/5.00k [00:12<00:20, 121it/s]    train: • 1210/5000 [00:12<00:20, 121 it/s]
    train: 120it [00:30,  4.01it/s]                           train: • iter 120 [00:30, 4.01 it/s]

Source: tqdm/std.py, format_meter() and format_sizeof(): with `unit_scale` a count has three digits.
"""

import re
from typing import NamedTuple

_NUMBER = r"\d+(?:\.\d+)?[kMGT]?"
_TQDM = re.compile(
    rf"(?:\d{{1,3}}(?:\.\d+)?%(?:\|[^|]{{0,500}}\|)?\s+(?P<count>{_NUMBER})/(?P<total>{_NUMBER})"
    rf"|(?<![\w./%|])(?P<alone>{_NUMBER}) ?[A-Za-z]{{1,12}})"
    rf" \[(?P<times>[\d:]+(?:<[\d:?]+)?),\s*(?P<rate>{_NUMBER}|\?) ?"
    r"(?:(?P<what>[A-Za-z]{1,12})/s|s/(?P<each>[A-Za-z]{1,12}))(?=[\],])"
)
_SCALES = {"k": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
_STEPS = ("it", "iter", "iters", "iteration", "iterations", "step", "steps", "batch", "batches")
_OF_EPOCHS = re.compile(r"\bepochs?\W*\Z", re.IGNORECASE)  # `Epochs:`, not `Epoch 3:`


class _Bar(NamedTuple):
    """A line with its bar written out."""

    text: str
    counts_steps: bool  # else epochs, samples or bytes
    rounding: int  # the count is a multiple of it: 10 for 1.21k


def written_out(text: str) -> _Bar | None:
    """A line with its bar written out; None where there is no tqdm bar."""
    bar = _TQDM.search(text)
    if bar is None:
        return None
    before, unit = text[: bar.start()], bar["what"] or bar["each"]
    counts_steps = unit.lower() in _STEPS and not _OF_EPOCHS.search(before)
    unit = "it" if counts_steps else unit
    shown = bar["count"] or bar["alone"]
    count = f"{_in_full(shown)}/{_in_full(bar['total'])}" if bar["count"] else f"iter {_in_full(shown)}"
    pace = f"{_in_full(bar['rate'])} {f's/{unit}' if bar['each'] else f'{unit}/s'}"
    whole = f"{before}\u2022 {count} [{bar['times']}, {pace}{text[bar.end() :]}"
    return _Bar(whole, counts_steps, _rounding_of(shown))


def _in_full(number: str) -> str:
    """A number without a suffix: 1.21k is 1210."""
    scale = _SCALES.get(number[-1:])
    return f"{float(number[:-1]) * scale:.10g}" if scale else number


def _rounding_of(number: str) -> int:
    """What a number with a suffix is a multiple of; 1 for one without."""
    scale = _SCALES.get(number[-1:], 1)
    decimals = len(number[:-1].partition(".")[2])
    return max(scale // int("1" + "0" * decimals), 1)
