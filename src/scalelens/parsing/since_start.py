"""The time of steps by a clock that counts since the start: what it grew by between two records, or in all."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.parsing import lazy_re as re

if TYPE_CHECKING:
    from scalelens.parsing.dispatch import Line
    from scalelens.parsing.rows import Rows

_CLOSE = 0.01  # share of the steps that a rounded rate may leave open
_SAME = 0.03  # share by which the loss of a training may differ from the mean of those that were logged
_FEWEST = 10  # of the clock's last digit between two records, for the difference to be a time
_TO_A_FIFTIETH = 5  # digits, of which ten are a time
_ELAPSED = re.compile(r"'elapsed_time': '(?:(\d{1,9})d )?(?:(\d{1,9})h )?(?:(\d{1,9})m )?(\d{1,9})s'")
_SPEED = re.compile(r"'train_speed\((iter/s|s/it)\)': '?(\d+(?:\.(\d+))?)")


class SinceStart:
    """One clock.  Where its digits are too coarse for the steps between two records, those of several are taken."""

    def __init__(self) -> None:
        self.before: tuple[int, float] | None = None  # step and seconds of the record that the next time counts from

    def pause(self, step: int, seconds: float) -> None:
        """Notes a record after which steps go on: what lies before it, as an evaluation, is in no time."""
        if self.before is None or step >= self.before[0]:
            self.before = step, seconds

    def times(self, step: int, seconds: float, digit_s: float) -> dict[str, Any]:
        """Columns of `steps` for the steps since an earlier record; none where the clock does not show them.

        A step that comes again is of another writer, whose clock may be another: the first record of a step counts.
        """
        before = self.before
        if before is None or (step > before[0] and seconds < before[1]):
            self.before = step, seconds
            return {}
        steps, span_s = step - before[0], seconds - before[1]
        if steps <= 0 or not span_s or span_s < _FEWEST * digit_s:
            return {}
        self.before = step, seconds
        kind = "instant" if steps == 1 else "interval_mean"
        return {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": kind}


class LaunchClocks:
    """The clocks of a log whose records state the time since the start: one for each launch and writer.

    `digit_s` is the size of their last digit.
    """

    def __init__(self, rows: "Rows", digit_s: float) -> None:
        self._rows, self._digit_s = rows, digit_s
        self._clocks: dict[tuple[int, int, int | None, str | None], SinceStart] = {}

    def step(self, line: "Line", step: int, seconds: float) -> dict[str, Any]:
        """Columns of `steps` for the record of a training step, with its time where the clock shows one."""
        whose = line.rank, line.location
        attempt = self._rows.attempt_of(line.number, step, *whose).attempt
        clock = self._clocks.setdefault((self._rows.part, attempt, *whose), SinceStart())
        written = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train", "step": step}
        return written | clock.times(step, seconds, self._digit_s)


class RateClocks:
    """The clocks of a log whose records state the steps of an environment so far, and the rate since the start.

    A rate is cut to a whole number: where a time is taken from two of them, it is known to a fiftieth; and else, the
    rate stands in the row, as the mean that it is.
    """

    def __init__(self, rows: "Rows") -> None:
        self._rows = rows
        self._clocks: dict[tuple[int, int, int | None, str | None], tuple[SinceStart, list[tuple[int, int]]]] = {}

    def step(self, line: "Line", step: int, total: int | None, rate: int) -> dict[str, Any]:
        """Columns of `steps` for a record; `total` are the steps of the environment when it was printed, if known."""
        whose = line.rank, line.location
        attempt = self._rows.attempt_of(line.number, step, *whose).attempt
        clock, last = self._clocks.setdefault((self._rows.part, attempt, *whose), (SinceStart(), []))
        row: dict[str, Any] = {"attempt": attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row["step"] = step
        times: dict[str, Any] = {}
        if total is not None:
            if last and step > last[0][0] and total > last[0][1]:
                row["samples"] = (total - last[0][1]) / (step - last[0][0])
            last[:] = [(step, total)]
            times = clock.times(step, total / (rate + 0.5), _TO_A_FIFTIETH * total / rate**2) if rate else {}
        mean = {"samples_per_s": rate or None, "rate_scope": "global", "value_kind": "running_mean"}
        return row | (times or mean)


def elapsed_of(text: str, step: int | None) -> tuple[float, float] | None:
    """Seconds since the start by a dictionary of ms-swift, and the size of their last digit; None where it has none."""
    if not (whole := _ELAPSED.search(text)):
        return None
    days, hours, minutes, rest = (int(part or 0) for part in whole.groups())
    seconds = float(((days * 24 + hours) * 60 + minutes) * 60 + rest)
    speed = _SPEED.search(text)
    if speed and step and float(speed[2]):
        exact = step / float(speed[2]) if speed[1] == "iter/s" else step * float(speed[2])
        digit_s = exact * 10.0 ** -len(speed[3] or "") / float(speed[2])
        if digit_s < 1 and abs(exact - seconds) <= 1 + digit_s:  # not so after a resumption: it counts other steps
            return exact, digit_s
    return seconds, 1.0


class RunningMean:
    """The mean of what was added so far; nan of nothing.  Numbers that are too large for it make it infinite."""

    def __init__(self) -> None:
        self._total, self._count = 0.0, 0

    def add(self, value: float) -> None:
        self._total += value
        self._count += 1

    @property
    def value(self) -> float:
        return self._total / self._count if self._count else math.nan


def mean_of_training(
    values: Mapping[str, float], steps: int | None, mean_loss: float, evaluated_s: float
) -> dict[str, Any]:
    """Columns of `steps` for the mean over a training, by the summary of transformers' Trainer.

    The seconds of a resumed trainer are those since then, its `train_loss` is over all steps: `mean_loss`, the mean of
    the losses that were logged, shows that.  Its rate is by the planned steps: of a training that went on to its end it
    says how many these were, if its three decimals suffice; else `steps` are to be given.  `evaluated_s`: the seconds
    of its evaluations, which are not in the mean; checkpoints are.
    """
    seconds, rate = values.get("train_runtime", 0.0), values.get("train_steps_per_second", 0.0)
    near, loss = 0.0005 * seconds, values.get("train_loss", math.nan)
    if not (seconds > 0 and near < 1e9 and abs(loss - mean_loss) <= _SAME * abs(mean_loss) + 0.0001 < math.inf):
        return {}
    if not steps:
        if near > _CLOSE * rate * seconds or round(rate * seconds) < 1:
            return {}
        steps = round(rate * seconds)
    trained_s = seconds - evaluated_s
    return {"step_s": trained_s / steps, "averaged_steps": steps, "value_kind": "run_mean"} if trained_s > 0 else {}
