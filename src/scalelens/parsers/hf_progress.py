"""Hugging Face Trainer's progress bar, and the settings it says before it.

Tool: transformers, Trainer (tqdm's bar)
Versions: 4 and 5
Yields: steps, params
Source: transformers/trainer.py, _inner_training_loop(); transformers/trainer_callback.py, ProgressCallback

The rate of a bar is tqdm's moving average: a running mean.  A bar is the training's where its total is `Total optimization
steps`; where that was not printed, once a dictionary of the trainer came, where its total is that of the bar before it.
In a narrow terminal there is no bar between percent and steps.  Every node draws the same bar: a step counts once, from the first that draws it.

Samples:
    [INFO|trainer.py:1149] 2026-01-02 06:38:26,285 >>   Total optimization steps = 16
    [INFO|trainer.py:1147] 2026-01-02 06:38:26,285 >>   Total train batch size (w. parallel, distributed & accumulation) = 64
      Number of trainable parameters = 124,439,808
"""

import re

from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
_FACTS = {
    "Total optimization steps": "max_steps", "Instantaneous batch size per device": "micro_batch_size",
    "Total train batch size (w. parallel, distributed & accumulation)": "global_batch_size",
    "Gradient Accumulation steps": "gradient_accumulation_steps", "Number of trainable parameters": "parameters",
    "Num Epochs": "num_epochs",
}  # fmt: skip
ANCHORS = ("s/it]", "it/s]", *(f"{key} = " for key in _FACTS))

_BAR = re.compile(r"\s*\d+%(?:\|[^|]*\|)?\s+(\d+)/(\d+) \[[\d:]+<[\d:?]+, +(\d+\.\d+)(s/it|it/s)\]")
_FACT = re.compile(r"  ([A-Z][^=]{5,70}) = ([\d,]+)\s*$")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.total: str | None = None
        self.last: str | None = None  # total of the bar before
        self.top = 0  # the largest step of the attempt
        self.attempt = 0

    def take(self, line: Line) -> bool:
        if match := _BAR.match(line.text):
            return self.bar(line, match)
        fact = _FACT.search(line.text)
        digits = fact[2].replace(",", "") if fact else ""
        if not fact or fact[1] not in _FACTS or not digits.isdigit():
            return False
        self.rows.param(_FACTS[fact[1]], int(digits), line.number)
        if _FACTS[fact[1]] == "max_steps":
            self.total = digits
        return True

    def bar(self, line: Line, match: re.Match[str]) -> bool:
        rows = self.rows
        if self.total is None and rows.params.get("framework") == "transformers":
            self.total = self.last
        self.last = match[2]
        rate = float(match[3])
        if match[2] != self.total or not rate:
            return False
        if self.attempt != rows.attempt:
            self.attempt, self.top = rows.attempt, 0
        step = int(match[1])
        if step <= self.top:
            return True
        self.top = step
        batch = rows.params.get("global_batch_size")
        rows.add(
            "steps", line.number, attempt=rows.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=rate if match[4] == "s/it" else 1 / rate, value_kind="running_mean",
            samples=float(batch) if batch else None,
        )  # fmt: skip
        rows.param("framework", "transformers", line.number)
        return True
