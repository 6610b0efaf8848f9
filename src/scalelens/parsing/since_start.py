"""The time of steps by a clock that counts since the start: what it grew by between two records, over their steps."""

import re
from typing import Any

_FEWEST = 10  # of the clock's last digit between two records, for the difference to be a time
_ELAPSED = re.compile(r"'elapsed_time': '(?:(\d{1,9})d )?(?:(\d{1,9})h )?(?:(\d{1,9})m )?(\d{1,9})s'")
_SPEED = re.compile(r"'train_speed\((iter/s|s/it)\)': '?(\d+(?:\.(\d+))?)")


class SinceStart:
    """One clock.  Whether it is fine enough is decided where it first grows, for the whole file alike."""

    def __init__(self) -> None:
        self.before: tuple[int, float] | None = None  # step and seconds of the last record
        self.fine: bool | None = None

    def times(self, step: int, seconds: float, digit_s: float) -> dict[str, Any]:
        """Columns of `steps` for the steps since the last record; none where the clock does not show them."""
        before, self.before = self.before, (step, seconds)
        if before is None or step <= before[0] or not seconds > before[1]:
            return {}
        steps, span_s = step - before[0], seconds - before[1]
        if self.fine is None:
            self.fine = span_s >= _FEWEST * digit_s
        if not self.fine:
            return {}
        kind = "instant" if steps == 1 else "interval_mean"
        return {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": kind}


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
