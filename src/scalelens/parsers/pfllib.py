"""Rounds of federated learning, as PFLlib prints them.

Tool: PFLlib, and the many repositories made from it
Versions: 2021 to 2026
Yields: steps, metrics
Source: PFLlib/system/flcore/servers/serveravg.py, train(); serverbase.py, evaluate()

A round is a step here: the local trainings of its clients, one after the other, and the evaluation, where the round has one.
Its time has no unit where it is printed; it is a difference of `time.time()`: seconds.  Where only each tenth round is
evaluated, the heading stands above that one alone, and the rounds after it are counted on.  The loss and the accuracies
are means over the clients, from before the round's training.

Samples:
    -------------Round number: 3-------------
    Averaged Train Loss: 2.5625
    Averaged Test Accuracy: 0.1875
    ------------------------- time cost ------------------------- 13.503906250000000
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("---Round number: ", "- time cost -", "- Time cost -", "Averaged Train Loss: ", "Averaged Test ")

_HEAD = re.compile(r"-{5,30}Round number: (\d{1,9})-{5,30}\s*\Z")
_COST = re.compile(r"-{25} [Tt]ime cost -{25} (\d+(?:\.\d+)?(?:e-?\d+)?)\s*\Z")
_MEAN = re.compile(r"(Averaged (?:Train Loss|Test \w{2,20})): (\d+\.\d{4}|nan)\s*\Z")
_LOSS = "Averaged Train Loss"


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.round = 0
        self.loss: float | None = None

    def take(self, line: Line) -> bool:
        rows = self.rows
        if head := _HEAD.match(line.text):
            self.round, self.loss = int(head[1]), None
            return True
        if mean := _MEAN.match(line.text):
            value = float(mean[2])
            if mean[1] == _LOSS:
                self.loss = value
            elif value == value:
                rows.metrics(line.number, line.rank, line.location, self.round, [(mean[1], value, None)])
            return True
        cost = _COST.match(line.text)
        if cost is None:
            return False
        position = rows.attempt_of(line.number, self.round, line.rank, line.location)
        loss = self.loss
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=self.round, step_s=float(cost[1]), averaged_steps=1, value_kind="instant",
            loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None,
        )  # fmt: skip
        self.round, self.loss = self.round + 1, None
        return True
