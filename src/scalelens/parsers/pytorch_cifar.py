"""The progress bar of pytorch-cifar, which many trainings on CIFAR took over.

Tool: kuangliu/pytorch-cifar, utils.py, and scripts made from it
Versions: all
Yields: steps, params
Source: utils.py, progress_bar()

`Tot` is the time since the first batch of the bar, which is not in it; what it grows by is the time of the batches
between.  `Step`, which says the same in fewer digits, is left out.  The first bar below `Epoch: 3` is the training's, and
those after it are of a test; where no line counts epochs, the bars that have the first one's total are the training's.

Samples:
     [>................................................................]  Step: 310ms | Tot: 0ms | Loss: 2.303 | Acc: 10.938% (14/128) 1/391
     [=>...............................................................]  Step: 312ms | Tot: 3s124ms | Loss: 2.105 | Acc: 21.875% (308/1408) 11/391
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.units import factors

VERSION = 1
ANCHORS = (" | Tot: ", "Epoch: ")

_TIME = r"(?:\d{1,9}D)?(?:\d{1,9}h)?(?:\d{1,9}m(?!s))?(?:\d{1,9}s)?(?:\d{1,9}ms)?"
_BAR = re.compile(rf"[ \b]*\[=*>\.*\] +Step: {_TIME} \| Tot: (?=\d)({_TIME})")
_LOSS = re.compile(r" \| Loss: (-?\d+(?:\.\d+)?)")
_COUNT = re.compile(r"[ \b](\d{1,9})/(\d{1,9})[ \b]*\Z")
_EPOCH = re.compile(r"Epoch: (\d{1,9})\s*\Z")
_PART = re.compile(r"(?<!\d)(\d+)(D|h|ms|m|s)")
_UNITS = {"D": "d", "h": "h", "m": "min", "s": "s", "ms": "ms"}
_OF_LAST_DIGIT = {"D": "h", "h": "m", "m": "s", "s": "ms", "ms": "ms"}  # by the first unit: two at most are printed
_SECONDS = {letters: factors(unit)[unit] for letters, unit in _UNITS.items()}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: dict[Any, int] = {}
        self.bars: dict[Any, int] = {}  # since the epoch was counted
        self.at: dict[Any, tuple[int, int]] = {}  # count and total of the last drawing
        self.first_total: dict[Any, int] = {}
        self.clocks: dict[Any, SinceStart] = {}

    def take(self, line: Line) -> bool:
        whose = self.rows.part, line.rank, line.location
        if heading := _EPOCH.match(line.text):
            self.epoch[whose], self.bars[whose] = int(heading[1]), 0
            self.at.pop(whose, None)
            return False  # it is one of any script
        bar = _BAR.match(line.text)
        if bar is None:
            return False
        if (count := _COUNT.search(line.text)) is None:
            self.rows.problem(line.number, "the drawing is cut", line.text)
            return True
        self.draw(line, whose, int(count[1]), int(count[2]), bar[1])
        return True

    def draw(self, line: Line, whose: Any, step: int, total: int, tot: str) -> None:
        before = self.at.get(whose)
        if before is None or step < before[0] or total != before[1]:
            self.bars[whose] = self.bars.get(whose, 0) + 1
            self.clocks[whose] = SinceStart()
        self.at[whose] = step, total
        first_total = self.first_total.setdefault(whose, total)
        epoch = self.epoch.get(whose)
        if total != first_total or (epoch is not None and self.bars[whose] > 1):
            return  # a test
        epochs = self.bars[whose] - 1 if epoch is None else epoch
        parts = _PART.findall(tot)
        seconds = sum(int(number) * _SECONDS[unit] for number, unit in parts)
        digit_s = _SECONDS[_OF_LAST_DIGIT[parts[0][1] if parts else "ms"]]
        loss = _LOSS.search(line.text)
        position = self.rows.attempt_of(line.number, epochs * total + step, line.rank, line.location)
        self.rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=epochs, step=epochs * total + step, loss=float(loss[1]) if loss else None,
            **self.clocks[whose].times(step, seconds, digit_s),
        )  # fmt: skip
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        self.rows.param("iterations_per_epoch", total, line.number)
