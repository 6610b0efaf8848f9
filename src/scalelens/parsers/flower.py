"""Rounds of federated learning, as Flower's server prints them.

Tool: Flower (flwr)
Versions: 0.x and 1.0 to 1.7 (`fit_round 3: ...`), 1.8 and later (`[ROUND 3]`), the strategies of 1.21 and later
Yields: steps
Source: flwr/server/server.py, Server.fit(); flwr/serverapp/strategy/strategy.py, Strategy.start()

A round is a step here: the local trainings of its clients and its evaluations.  Its time is that from its heading to the
next one, or to the end, by their time stamps.  Where lines have none, it is what the seconds since the start, the last
number of `fit progress`, grew by between two rounds; where a server evaluates nothing either, the time of all rounds
gives their mean.

Samples:
    INFO flwr 2026-03-04 11:20:05,125 | server.py:101 | fit_round 3: strategy sampled 4 clients (out of 8)
    INFO :      fit progress: (3, 1.0625, {'accuracy': 0.625}, 48.251312500000)
    INFO :      [ROUND 3]
    INFO :      configure_fit: strategy sampled 4 clients (out of 8)
    INFO :      configure_train: Sampled 4 nodes (out of 8)
    INFO :      Run finished 3 round(s) in 48.50s
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import LaunchClocks
from scalelens.tabular.unknown_logs.clock import Clock, stamp_in

VERSION = 1
ANCHORS = (
    "[ROUND ", "fit_round ", "configure_fit: strategy sampled ", "configure_train: Sampled ", "fit progress: (",
    " round(s) in ", "FL finished in ", "Strategy execution finished in ",
)  # fmt: skip

_HEADING = re.compile(r"\[ROUND (\d{1,9})(?:/\d{1,9})?\]\s*\Z")
_SAMPLED = re.compile(
    r"(?:fit_round (\d{1,9}): strategy sampled|configure_fit: strategy sampled|configure_train: Sampled) \d"
)
_PROGRESS = re.compile(
    r"fit progress: \((\d{1,9}), (-?\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf), \{.*\}, (\d+(?:\.\d+)?(?:e-?\d+)?)\)\s*\Z"
)
_END = re.compile(
    r"(?:Run finished \d{1,9} round\(s\) in|Strategy execution finished in) (\d+\.\d+)s\s*\Z|FL finished in \d"
)
_FINE = 10  # of the last digit of two stamps lie between them, for the difference to be a time
_DIGIT_S = 1e-3  # of the seconds since the start, which have all digits of a float


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clock, self.clocks = Clock(), LaunchClocks(rows, _DIGIT_S)
        self.round: int | None = None  # the one that goes on
        self.began_s: float | None = None  # by the clock
        self.trains = False  # clients were sampled for the round
        self.loss: float | None = None
        self.trained, self.timed = 0, False  # rounds since the start, and whether one of them has its time

    def take(self, line: Line) -> bool:
        if sampled := _SAMPLED.search(line.text):
            if sampled[1]:
                self.turn(line, int(sampled[1]))
            self.trains = True
            return True
        if heading := _HEADING.search(line.text):
            self.turn(line, int(heading[1]))
            return True
        if progress := _PROGRESS.search(line.text):
            self.progress(line, int(progress[1]), float(progress[2]), float(progress[3]))
            return True
        end = _END.search(line.text)
        if end:
            self.turn(line, None)
            if end[1] and self.trained and not self.timed:
                self.rows.add(
                    "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
                    step_s=float(end[1]) / self.trained, averaged_steps=self.trained, value_kind="run_mean",
                )  # fmt: skip
            self.trained, self.timed = 0, False
        return bool(end)

    def turn(self, line: Line, following: int | None) -> None:
        """Ends the round that goes on, with its time by the stamps, and begins the one that follows."""
        stamp = stamp_in(line.text)
        now_s = self.clock.seconds(stamp) if stamp else None
        if self.round is not None and self.trains and self.began_s is not None and now_s is not None and stamp:
            span_s = round(now_s - self.began_s, 6)
            follows = following is None or following == self.round + 1
            if follows and span_s >= _FINE * stamp.resolution_s:
                position = self.rows.attempt_of(line.number, self.round, line.rank, line.location)
                self.rows.add(
                    "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
                    step=self.round, step_s=span_s, averaged_steps=1, value_kind="instant", loss=self.loss,
                )  # fmt: skip
                self.timed = True
        self.trained += self.trains
        self.round, self.began_s, self.trains, self.loss = following, now_s, False, None

    def progress(self, line: Line, round_: int, loss: float, elapsed_s: float) -> None:
        """The loss of a round, and its time where no stamps tell it."""
        finite = loss if loss == loss and abs(loss) != float("inf") else None
        if self.began_s is not None:
            self.loss = finite
            return
        row = self.clocks.step(line, round_, elapsed_s)
        self.timed |= "step_s" in row
        self.rows.put("steps", line.number, row | {"loss": finite})
