"""Steps of TFLearn, each of two lines that a terminal draws over.

Tool: tflearn
Versions: 0.1 to 0.5
Yields: params, steps
Source: tflearn/callbacks.py, TermLogger

`time` is what the steps of the epoch so far took, from the start of each to its end: what it grew by is the time of the
steps between.  A step that is printed again tells of its validation, and counts once; what the validation took is in the
time of that second line alone.  `iter` counts the samples of the epoch.

Samples:
    Training Step: 31  | total loss: 0.65625 | time: 3.125s
    | Adam | epoch: 001 | loss: 0.65625 - acc: 0.6875 -- iter: 1984/2000
"""

from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

VERSION = 1
ANCHORS = ("  | total loss: ", " -- iter: ")
LATER = ("epoch",)

_STEP = re.compile(
    r"^\s*(?:# )?Training Step: (\d{1,15})  \| total loss: (-?\d{1,15}\.\d{1,9}|nan|inf) \| time: (\d{1,9}\.\d{3})s\s*\Z"
)
_EPOCH = re.compile(r"^\s*(?:# )?\| \w{1,40} \| epoch: (\d{1,9}) \| .* -- iter: (\d{1,15})/(\d{1,15})\s*\Z")
_DIGIT_S = 0.001


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clocks: dict[Any, tuple[int, float, SinceStart]] = {}  # by writer: its last step and seconds
        self.steps: list[tuple[Line, int, float, float]] = []  # the one whose epoch the next line tells

    def take(self, line: Line) -> bool:
        if step := _STEP.match(line.text):
            self.put(None)
            self.steps = [(line, int(step[1]), float(step[2]), float(step[3]))]
            return True
        if epoch := _EPOCH.match(line.text):
            self.put(int(epoch[1]))
            return True
        return False

    def conclude(self) -> None:
        self.put(None)

    def put(self, epoch: int | None) -> None:
        """Writes the step that was printed last."""
        if not self.steps:
            return
        (line, step, loss, seconds), self.steps = self.steps[0], []
        rows, whose = self.rows, (line.rank, line.location)
        last, since, clock = self.clocks.get(whose, (0, 0.0, SinceStart()))
        if step == last:
            self.clocks[whose] = step, since, clock
            return
        attempt = rows.attempt_of(line.number, step, line.rank, line.location).attempt
        if seconds < since or step < last or whose not in self.clocks:
            clock = SinceStart()
            clock.times(step - 1, 0.0, 0.0)
        self.clocks[whose] = step, seconds, clock
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": epoch, "step": step} | clock.times(step, seconds, _DIGIT_S)
        row |= {"loss": loss} if loss == loss else {"nan_steps": 1}
        rows.param("framework", "tensorflow", line.number, origin="inferred")
        rows.put("steps", line.number, row)
