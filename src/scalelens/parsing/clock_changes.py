"""The hour that a local clock shows twice, or skips, when summer time ends or begins.

A file in local time goes on through the change: its order tells what its times do not.  Where the zone is known, the
second hour is that after the change (`fold`).  Where it is not, times after the change go on from those before.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

CHANGED, BACK = "clock_changed", "clock_back"

_HOUR, _NONE = timedelta(hours=1), timedelta()
_LATE = timedelta(minutes=1)  # a jump back of less is rows out of order
_MONTHS = (3, 4, 9, 10, 11)
_LONGEST = timedelta(minutes=10)  # a period at which the skipped hour is still told from an outage


class _Seen(NamedTuple):
    time: datetime
    step: timedelta
    shift: timedelta
    second_until: datetime | None  # times before it are of the hour's second pass


class LocalClock:
    """The local times of one series, in the order of the file."""

    def __init__(self) -> None:
        self._seen: _Seen | None = None

    def read(self, time: datetime, zone_known: bool) -> tuple[datetime, str | None]:
        """The time, counted on through a change, and the flag of a sample at which the clock changed or went back."""
        before, flag = self._seen, None
        if before is None:
            self._seen = _Seen(time, _NONE, _NONE, None)
            return time, None
        step, shift, until = time - before.time, before.shift, before.second_until
        if _is_end_of_summer(before, time):
            flag, until = CHANGED, before.time + _HOUR
            shift += _NONE if zone_known else _HOUR
        elif step < -_LATE:
            flag = BACK
        elif not zone_known and _is_begin_of_summer(before, time):
            flag, shift = CHANGED, shift - _HOUR
        until = until if until and time < until else None
        self._seen = _Seen(time, step if _NONE < step < _HOUR else before.step, shift, until)
        if zone_known:
            return time.replace(fold=1) if until else time, None if flag == CHANGED else flag
        return time + shift, flag


def _is_end_of_summer(before: _Seen, time: datetime) -> bool:
    """Whether the clock went back by less than an hour and the time since the reading before, on a night for it."""
    return -_HOUR <= time - before.time < -_LATE and _is_night_of_change(time)


def _is_begin_of_summer(before: _Seen, time: datetime) -> bool:
    """Whether just an hour is missing, from a full hour to a full hour."""
    step, late = before.step, timedelta(seconds=2) + 2 * before.step
    to_hour = _HOUR - (before.time - before.time.replace(minute=0, second=0, microsecond=0))
    return (
        _NONE < step <= _LONGEST and abs(time - before.time - _HOUR - step) <= late
        and to_hour <= late and _is_night_of_change(time - _HOUR)
    )  # fmt: skip


def _is_night_of_change(time: datetime) -> bool:
    """From Saturday 23 h to Sunday 4 h, in a month in which clocks are changed somewhere."""
    return time.month in _MONTHS and (time + _HOUR).weekday() == 6 and (time + _HOUR).hour < 5
