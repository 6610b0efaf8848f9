"""Progress lines of XLM, and of what was made from it for symbolic mathematics.

Tool: XLM, SymbolicMathematics, Int2Int and other trainers that were made from them
Versions: 2019 to 2025
Yields: params, steps, phases, metrics
Source: XLM src/trainer.py, print_stats(); src/logger.py, LogFormatter; SymbolicMathematics src/trainer.py

A step is an iteration of one process, which writes a log of its own: the rates are its own, too, those of the samples
and, as a metric, of the words.  They are means since the line before, and so is the time of a step.  It follows from
the rate where the log states the batch and the clock agrees, within its whole seconds; else from the clock, over ten
seconds or more.  The first line after an evaluation has neither, for the trainer does not stop its clock.  With one
objective its loss is that of the step; several are metrics.  What lies between `Starting epoch 0` and `End of epoch 0`
is the training of an epoch, which counts from 0.

Samples:
    INFO - 03/04/24 10:00:21 - 0:00:21 -     200 -  320.00 equations/s -  4800.00 words/s - ARITHMETIC:  0.6250 - LR: 1.0000e-04
    INFO - 03/04/24 10:00:03 - 0:00:03 -       5 -   56.25 sent/s -  2250.00 words/s - MLM-en:  9.5000 || MLM-fr:  9.7500 -  - model LR: 1.0000e-07
"""

from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart
from scalelens.parsing.stamps import line_time
from scalelens.parsing.values import clock_span

VERSION = 1
ANCHORS = (" words/s - ", "= Initialized logger =", "= Starting epoch ", "= End of epoch ")
LATER = ("step_s", "averaged_steps", "value_kind")  # follow from the clock of the line before

_RECORD = re.compile(
    r"(?:\A|\s)INFO - (\d\d/\d\d/\d\d \d\d:\d\d:\d\d) - ((?:\d{1,4} days?, )?\d{1,2}:\d\d:\d\d) - +(\d{1,12}) - +"
    r"(\d+\.\d\d) \w{1,20}/s - +(\d+\.\d\d) words/s - +"
)
_BEGUN = re.compile(r"INFO - \d\d/\d\d/\d\d \d\d:\d\d:\d\d - .{0,60} words/s - ")
_LOSS = re.compile(r"([A-Za-z][\w-]{0,99}): +(-?\d+\.\d{4}|nan|inf)(?= \|\| | - |\s*\Z)")
_RATES = re.compile(r"LR(?: =|:) (\d\.\d{4}e[-+]\d\d)")
_SETTING = re.compile(r"(?:INFO - .{20,50} - | {20,60})\w{1,60}: ")  # those that follow the first line
_BATCH = re.compile(r" batch_size: (\d{1,9})\s*\Z")
_EPOCH = re.compile(
    r"INFO - (?:\S+ ){2}- ((?:\d{1,4} days?, )?\d{1,2}:\d\d:\d\d) - =+ (Starting|End of) epoch (\d{1,9})(?: \.\.\.)? =+\s*\Z"
)
_NEAR_S, _NEAR = 1.0, 0.02  # of the whole seconds of the clock; of the time by the rate


_Whose = tuple[int | None, str | None]  # rank and place


class _At(NamedTuple):
    """The record before."""

    step: int
    seconds: float


class Reader:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.claims: re.Pattern[str] | None = None
        self.batch: int | None = None
        self.paused: set[_Whose] = set()  # since the record before
        self.begun: dict[_Whose, tuple[str, float]] = {}  # the epoch that is open, and its seconds
        self.before: dict[Any, _At] = {}
        self.clocks: dict[Any, SinceStart] = {}

    def take(self, line: Line) -> bool:
        self.claims = None
        if record := _RECORD.search(line.text):
            losses, rates = _LOSS.findall(line.text, record.end()), _RATES.search(line.text, record.end())
            if losses and rates:
                self.record(line, record, {name: float(value) for name, value in losses}, float(rates[1]))
                return True
        if edge := _EPOCH.search(line.text):
            self.epoch(line, edge)
            return False  # other loops print it, too
        if "= Initialized logger =" in line.text:
            self.rows.launched(line.rank)
            self.batch, self.claims = None, _SETTING
            return True
        if _BEGUN.search(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        return False

    def more(self, line: Line) -> None:
        """Takes a setting."""
        if batch := _BATCH.search(line.text):
            self.batch = int(batch[1])

    def epoch(self, line: Line, edge: re.Match[str]) -> None:
        """The begin or the end of the training of an epoch."""
        seconds, whose = clock_span(edge[1]) or 0.0, (line.rank, line.location)
        begun = self.begun.pop(whose, None)
        if edge[2] == "Starting":
            self.begun[whose] = edge[3], seconds
            return
        self.paused.add(whose)
        if begun and begun[0] == edge[3] and seconds >= begun[1]:
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
                epoch=int(edge[3]), span_s=seconds - begun[1], origin="derived",
            )  # fmt: skip

    def record(self, line: Line, record: re.Match[str], losses: dict[str, float], learning_rate: float) -> None:
        rows, step, seconds = self.rows, int(record[3]), clock_span(record[2]) or 0.0
        rate, ts = float(record[4]), line_time(record[1], line, rows, "%m/%d/%y %H:%M:%S")
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        whose = rows.part, position.attempt, line.rank, line.location
        paused = (line.rank, line.location) in self.paused
        self.paused.discard((line.rank, line.location))
        if len(losses) == 1:
            (loss,) = losses.values()
        else:
            loss = None
            values = [(name, value, None) for name, value in losses.items() if value == value]
            rows.metrics(line.number, line.rank, line.location, step, values)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=step, loss=loss if loss == loss else None, nan_steps=1 if loss != loss else None, ts=ts,
            learning_rate=learning_rate, samples_per_s=None if paused else rate or None,
            rate_scope=None if paused or not rate else "rank", ts_origin="naive" if ts else None, **self.times(whose, step, seconds, rate, paused),
        )  # fmt: skip
        rows.metric(line.number, line.rank, line.location, step, "words/s", float(record[5]), "tokens/s/device")
        rows.param("framework", "pytorch", line.number, origin="inferred")

    def times(self, whose: Any, step: int, seconds: float, rate: float, paused: bool) -> dict[str, Any]:
        """The mean time of the steps since the record before, by its rate or by the clock."""
        before, clock = self.before.get(whose), self.clocks.setdefault(whose, SinceStart())
        self.before[whose] = _At(step, seconds)
        if paused:
            clock.pause(step, seconds)
            return {}
        if before and self.batch and rate and step > before.step:
            steps, step_s = step - before.step, self.batch / rate
            if abs(step_s * steps - (seconds - before.seconds)) <= _NEAR_S + _NEAR * step_s * steps:
                clock.before = step, seconds
                kind = "instant" if steps == 1 else "interval_mean"
                return {"step_s": step_s, "averaged_steps": steps, "value_kind": kind}
        return clock.times(step, seconds, 1.0)
