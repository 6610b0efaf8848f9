"""Progress of Stable-Baselines3: the values that it dumps together, as its progress.csv and its tables name them.

A step is an iteration, rollout and update; of algorithms without iterations a step is one of the environment.  `fps` is
steps of the environment by the time since the start, with more digits than `time_elapsed`, which is whole seconds: what
that time grows by between two dumps is the time of the steps between.  `samples` are steps of the environment, of all
environments.  Values of an evaluation alone are metrics.
"""

from collections.abc import Mapping
from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import SinceStart

TOTAL, ITERATION, FPS = "time/total_timesteps", "time/iterations", "time/fps"
_ELAPSED = "time/time_elapsed"
_COLUMNS = {"train/loss": "loss", "train/learning_rate": "learning_rate"}
_OF_TIME = (_ELAPSED, FPS, TOTAL, ITERATION)


class EnvironmentSteps:
    """The dumps of one writer."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clock = SinceStart()
        self.before, self.by_rate = (0, 0.0), True  # step and total of the last dump; whether fps counts all steps

    def add(
        self, line: int, values: Mapping[str, float], has_iterations: bool, rank: int | None = None,
        place: str | None = None,
    ) -> None:  # fmt: skip
        rows, total = self.rows, values.get(TOTAL)
        step = _whole(values.get(ITERATION if has_iterations else TOTAL))
        named = [(name, value, None) for name, value in values.items() if name not in (*_OF_TIME, *_COLUMNS)]
        if step is not None and total is not None and {FPS, _ELAPSED, *_COLUMNS} & values.keys():
            position = rows.attempt_of(line, step, rank, place)
            if position.begins:
                self.clock, self.before, self.by_rate = SinceStart(), (step, total), True
            seconds, rate = values.get(_ELAPSED), values.get(FPS)
            elapsed = _elapsed(total, rate, seconds) if self.by_rate and rate and seconds is not None else None
            if self.by_rate and elapsed is None and seconds is not None:
                self.clock, self.by_rate = SinceStart(), False
            row: dict[str, Any] = {"attempt": position.attempt, "phase": "train", "step": step}
            row |= {"rank": rank, "place": place}
            if seconds is not None:
                row |= self.clock.times(step, *(elapsed or (seconds, 1.0)))
            if total > self.before[1] and step > self.before[0]:
                row["samples"] = (total - self.before[1]) / (step - self.before[0])
            self.before = step, total
            row |= {column: values.get(name) for name, column in _COLUMNS.items()}
            rows.put("steps", line, row)
            named += [(FPS, rate, None)] if rate is not None else []
        rows.metrics(line, rank, place, step, named)


def _elapsed(steps: float, fps: float, seconds: float) -> tuple[float, float] | None:
    """Seconds since the start by the rate, which is cut to a whole number as the seconds are, and their last digit.

    None where the rate is too coarse, or of a training that went on from another: it does not count those steps.
    """
    digit_s = steps / fps**2 if fps else 1.0
    exact = steps / (fps + 0.5)
    return (exact, digit_s) if digit_s < 1 and -digit_s <= exact - seconds <= 1 + digit_s else None


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**50 else None
