"""Hugging Face Trainer's progress bar, and the settings it says before it.

Tool: transformers, Trainer (tqdm's bar)
Versions: 4 and 5
Yields: steps, params
Source: transformers/trainer.py, _inner_training_loop(); transformers/trainer_callback.py, ProgressCallback

The time of each step follows from the smoothed rate that the bar draws and from its elapsed seconds.  A bar belongs to
the training if its total is `Total optimization steps`.  Where that was not printed, it is the bar that is not yet full
when the trainer's first dictionary comes, or else the one drawn last, unless a bar with a label counts further beside it; its
earlier drawings count, too.  In a narrow
terminal tqdm draws the steps right after the percentage.  Every node draws the same bar: a step counts once, from the
first node that draws it.  A step during which another bar was drawn, such as that of an evaluation, is an
`interval_mean`, because its time includes more than the step.  In a mean over several steps, what passed between the
drawings of one count before and after the other bar is left out.  Where no other bar was drawn, an evaluation is left out
by its dictionary.  If another format gives the times of
steps, the bar gives none.

Samples:
    [INFO|trainer.py:1149] 2026-01-02 06:38:26,285 >>   Total optimization steps = 16
    [INFO|trainer.py:1147] 2026-01-02 06:38:26,285 >>   Total train batch size (w. parallel, distributed & accumulation) = 64
      Number of trainable parameters = 124,439,808
      Num update steps per epoch = 60
"""

import bisect
import math
from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.bar_times import BarTime, times_of
from scalelens.parsing.dispatch import Line
from scalelens.parsing.progress_bars import BAR, Drawing, begins, drawing_of, is_of_training, label_of
from scalelens.parsing.rows import Rows

VERSION = 5
_FACTS = {
    "Total optimization steps": "max_steps", "Instantaneous batch size per device": "micro_batch_size",
    "Total train batch size (w. parallel, distributed & accumulation)": "global_batch_size",
    "Gradient Accumulation steps": "gradient_accumulation_steps", "Number of trainable parameters": "parameters",
    "Num Epochs": "num_epochs", "Num update steps per epoch": "steps_per_epoch",
}  # fmt: skip
_EXAMPLES = "Num examples"  # of the training, where its epochs follow, else of an evaluation
ANCHORS = ("s/it]", "it/s]", "'loss': ", *(f"{key} = " for key in (*_FACTS, _EXAMPLES)))

_MOST_BARS = 100  # kept until it is known which of them is the training's
_FACT = re.compile(r"  ([A-Z][^=]{5,70}) = ([\d,]+)\s*$")
_Whose = tuple[int | None, str | None, int | None]  # rank, location and total


class _Bar:
    """The drawings of one bar."""

    def __init__(self, rows: Rows, line: Line) -> None:
        self.part, self.attempt, self.line = rows.part, rows.attempt, line
        self.batch = rows.params.get("global_batch_size")
        self.drawings: list[Drawing] = []
        self.first: dict[int, int] = {}  # line in which a count was drawn first
        self.interrupted: set[int] = set()  # counts before which another bar was drawn
        self.top = 0
        self.pending = False  # another bar was drawn since
        self.left = False  # the same, and this one was not drawn again since
        # Seconds by the count at which another bar was drawn, and then this one again.
        self.pauses: dict[int, float] = {}

    @property
    def last(self) -> Drawing:
        return self.drawings[-1]

    def leave(self, other: Drawing) -> None:
        """Notes that another bar is drawn; one of as many steps may be the same, as another node draws it."""
        self.pending = True
        self.left |= other.total != self.last.total

    def add(self, drawing: Drawing, line: Line) -> None:
        if self.left and drawing.step == self.top and self.last.step == self.top:
            passed_s = drawing.elapsed_s - self.last.elapsed_s
            self.pauses[self.top] = self.pauses.get(self.top, 0.0) + passed_s
        self.left = False
        if drawing.step > self.top and self.pending:
            self.interrupted.add(drawing.step)
            self.pending = False
        self.top = max(self.top, drawing.step)
        self.first.setdefault(drawing.step, line.number)
        self.drawings.append(drawing)

    def evaluated_s(self, count: int, steps: int, evaluations: Sequence[tuple[int, float]]) -> float:
        """Seconds of the evaluations (line and seconds of each) that were printed during the steps up to a count."""
        begin, end = self.first.get(count - steps, self.line.number), self.first[count]
        between = slice(bisect.bisect(evaluations, (begin, math.inf)), bisect.bisect(evaluations, (end, -math.inf)))
        return sum(seconds for _, seconds in evaluations[between])

    def without_pauses(self, count: int, time: BarTime, evaluations: Sequence[tuple[int, float]]) -> float:
        """Seconds of a step in a mean over those up to a count, without what other bars took between them.

        Where no other bar shows that, evaluations are left out by what they say.
        """
        whole_s = time.step_s * time.steps
        paused_s = sum(seconds for at, seconds in self.pauses.items() if count - time.steps <= at < count)
        paused_s = paused_s or self.evaluated_s(count, time.steps, evaluations)
        return (whole_s - paused_s) / time.steps if paused_s < whole_s else time.step_s


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.total: int | None = None
        self.examples: tuple[int, int] | None = None  # line and number of the last dataset
        self.dictionaries = 0  # rows of the trainer's dictionaries, when the last bar was drawn
        self.losses = self.losses_before = 0  # dictionaries of training, and when a bar was chosen last
        self.labeled = 0  # the largest count of a bar with a label that was not full
        self.nested: set[int | None] = set()  # totals of bars that were drawn while the training's was not full
        self.drawn: dict[_Whose, _Bar] = {}  # the last drawn one last
        self.ended: list[_Bar] = []
        self.tops: dict[tuple[int, int], int] = {}  # the last step by part and attempt

    def take(self, line: Line) -> bool:
        self.losses += "'loss': " in line.text
        bar = BAR.search(line.text)
        if bar and bar["total"]:
            label = label_of(line.text, bar.start()).strip()
            if not label:
                return self.bar(line, drawing_of(bar))
            self.note_labeled(label, drawing_of(bar))
        fact = _FACT.search(line.text)
        digits = fact[2].replace(",", "") if fact else ""
        if not fact or fact[1] not in (*_FACTS, _EXAMPLES) or not digits.isdigit():
            return False
        if fact[1] == _EXAMPLES:
            self.examples = line.number, int(digits)
            return True
        if fact[1] == "Num Epochs" and self.examples:
            self.rows.param("num_examples", self.examples[1], self.examples[0])
        self.rows.param(_FACTS[fact[1]], int(digits), line.number)
        if _FACTS[fact[1]] == "max_steps":
            self.finish()
            self.total = int(digits)
        return True

    def bar(self, line: Line, drawing: Drawing) -> bool:
        rows = self.rows
        self.choose()
        whose = line.rank, line.location, drawing.total
        bar = self.drawn.pop(whose, None)
        if bar is None or bar.part != rows.part or begins(bar.last, bar.top, drawing):
            if bar:
                self.ended = [*self.ended, bar][-_MOST_BARS:]
            bar = _Bar(rows, line)
        for other in self.drawn.values():
            other.leave(drawing)
            if other.last.total == self.total and 0 < other.top < (self.total or 0):
                self.nested.add(drawing.total)
        self.drawn[whose] = bar
        bar.attempt = rows.attempt
        bar.add(drawing, line)
        if drawing.total != self.total:
            return False
        if drawing.pace_s:
            rows.reached(line.number, bar.top)
            rows.param("framework", "transformers", line.number)
        if self.ended:
            self.hand_over_ended()
        return True

    def choose(self, at_end: bool = False) -> None:
        """Which bar is the training's: once a dictionary came, the one that was not full before it, else the last one.

        A bar that is full before a dictionary of a step is another: the training's may not have been drawn yet.
        """
        dictionaries = self.rows.rows_by_format.get("hf_trainer", 0)
        if dictionaries == self.dictionaries and not (at_end and dictionaries):
            return
        self.dictionaries = dictionaries
        bars = [bar for bar in self.drawn.values() if bar.part == self.rows.part]
        new_loss, self.losses_before = self.losses > self.losses_before, self.losses
        partial = [bar for bar in bars if 0 < bar.top < (bar.last.total or 0) and bar.last.total not in self.nested]
        if (new_loss or self.total is None) and partial and all(bar.last.total != self.total for bar in partial):
            self.total = max(partial, key=lambda bar: bar.last.elapsed_s).last.total
        elif (
            bars
            and self.total is None
            and (at_end or self.rows.params.get("outcome"))
            and self.rows.params.get("framework") == "transformers"
            and not self.is_labeled(bars)
        ):
            self.total = bars[-1].last.total

    def note_labeled(self, label: str, drawing: Drawing) -> None:
        """Notes how far a bar with a label has come, which may be the training's."""
        if is_of_training(label) and drawing.step < (drawing.total or 0):
            self.labeled = max(self.labeled, drawing.step)

    def is_labeled(self, bars: list[_Bar]) -> bool:
        """Whether a bar with a label counts more than these without one, as that of the training does beside them.

        One that counts folds, or epochs, has a bar within it for each.
        """
        return self.labeled > len(bars) + len(self.ended)

    def hand_over_ended(self) -> None:
        for bar in [bar for bar in self.ended if bar.last.total == self.total]:
            self.hand_over(bar)
        self.ended = [bar for bar in self.ended if bar.last.total != self.total]

    def hand_over(self, bar: _Bar) -> None:
        """The rows of a bar."""
        rows, line = self.rows, bar.line
        if rows.timed_by(bar.part) - {rows.format}:
            return
        here, rows.part = rows.part, bar.part
        times, evaluations = times_of(bar.drawings), list(rows.evaluations)
        top = self.tops.get((bar.part, bar.attempt), 0)
        for count, time in times.by_step.items():
            if count <= top:
                continue
            alone = time.steps == 1 and count not in bar.interrupted
            paused = time.steps > 1 or (alone and bar.evaluated_s(count, 1, evaluations) > 0)
            step_s = bar.without_pauses(count, time, evaluations) if paused else time.step_s
            rows.add(
                "steps", bar.first[count], attempt=bar.attempt, rank=line.rank, place=line.location, phase="train",
                step=count, step_s=step_s, averaged_steps=time.steps,
                value_kind="instant" if alone and not paused else "interval_mean", samples=float(bar.batch) if bar.batch else None,
            )  # fmt: skip
            rows.param("framework", "transformers", bar.first[count])
        self.tops[bar.part, bar.attempt] = max(top, bar.top)
        rows.disputed_time(line.number, times.clock_s, times.rate_s)
        rows.part = here

    def finish(self) -> None:
        self.choose(at_end=True)
        self.ended += self.drawn.values()
        self.drawn = {}
        self.hand_over_ended()
