"""The hour that a local clock shows twice, or skips, when summer time ends or begins.

A file in local time goes on through the change: its order tells what its times do not.  Where the zone is known, the
second hour is that after the change (`fold`).  Where it is not, times after the change go on from those before.
"""

from collections import deque
from datetime import datetime, timedelta

CHANGED, BACK = "clock_changed", "clock_back"

_HOUR, _NONE = timedelta(hours=1), timedelta()
_LATE = timedelta(minutes=1)  # a jump back of less is rows out of order
_MONTHS = (3, 4, 9, 10, 11)
_LONGEST = timedelta(minutes=10)  # a period at which the skipped hour is still told from an outage


class LocalClock:
    """The local times of one series, in the order of the file."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._steps: deque[timedelta] = deque(maxlen=8)  # of the last times
        self._shift = _NONE
        self._second_until: datetime | None = None  # times before it are of the hour's second pass

    def read(self, time: datetime, zone_known: bool) -> tuple[datetime, str | None]:
        """The time, counted on through a change, and the flag of a sample at which the clock changed or went back."""
        last, flag = self._last, None
        self._last = time
        if last is None:
            return time, None
        step = time - last
        if -_HOUR <= step < -_LATE and _is_night_of_change(time):
            flag, self._second_until = CHANGED, last + _HOUR
            self._shift += _HOUR
        elif step < -_LATE:
            flag = BACK
        elif not zone_known and self._skips_an_hour(last, step):
            flag = CHANGED
            self._shift -= _HOUR
        elif step > _NONE:
            self._steps.append(step)
        if not zone_known:
            return time + self._shift, flag
        is_second = self._second_until is not None and time < self._second_until
        return time.replace(fold=1) if is_second else time, None if flag == CHANGED else flag

    def _skips_an_hour(self, last: datetime, step: timedelta) -> bool:
        """Whether just an hour is missing, from a full hour to a full hour, on a night for it."""
        if not self._steps or step < _HOUR:
            return False
        period = sorted(self._steps)[-2:][0]  # not an outage, nor the distance of a pair
        late = timedelta(seconds=2) + 2 * period
        to_hour = _HOUR - (last - last.replace(minute=0, second=0, microsecond=0))
        return (
            period <= _LONGEST and step - _HOUR <= late and to_hour <= late and _is_night_of_change(last + step - _HOUR)
        )  # fmt: skip


def _is_night_of_change(time: datetime) -> bool:
    """From Saturday 23 h to Sunday 4 h, in a month in which clocks are changed somewhere."""
    return time.month in _MONTHS and (time + _HOUR).weekday() == 6 and (time + _HOUR).hour < 5
