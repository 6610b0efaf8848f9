"""Values of logs: numbers and times, from text or JSON; None for what is not one.

    number(value)          of text or JSON      json_number(value)    of JSON alone
    amount(value)          not negative         json_integer(value)   an integer
    integer(value)         of decimal digits    json_count(value)     an integer that is not negative
    integer_valued(value)  64, 64.0 or "64"
    iso_time(text)         as_utc(time, zone)   clock_span(text)
    half_of_last_digit(text), only_whole(low, high)     what a rounded number can have been

JSON means what Python's reader returns: it may hold NaN, infinities, and integers of any length.
"""

import math
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

_EPOCH = datetime(1970, 1, 1)
YEARS_2000_TO_2100 = (946_684_800, 4_102_444_800)  # seconds since 1970
_LARGEST_NUMBER = 1e300  # a number beyond it is damage; below it, it can be multiplied by any unit
LARGEST_AMOUNT = 1e15
UNREADABLE_TIME = "unreadable timestamp"  # the reason that every format gives
_SPAN = re.compile(r"(?:(\d{1,6})(?:-| days?, ))?(?:(\d{1,4}):)?(\d\d):(\d\d)(?:\.\d+)?")
_NAME_RANK = re.compile(r"(?<![a-z])(?<!local[-_])rank[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)


def number(value: Any) -> float | None:
    """A finite number of text or JSON.  Refuses true and false, nan and infinities."""
    if value is None or isinstance(value, bool):
        return None
    if type(value) is not float:
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
    return value if -_LARGEST_NUMBER < value < _LARGEST_NUMBER else None


def amount(value: Any) -> float | None:
    """A number of something that adds up, as time and energy do.  Refuses what `number` does, and what is negative."""
    result = number(value)
    return result if result is not None and 0 <= result < LARGEST_AMOUNT else None


def integer(value: Any, digits: int = 9) -> int | None:
    """An integer, as text or not, of at most so many digits.  Refuses a sign, a point and an exponent."""
    text = str(value)
    return int(text) if len(text) <= digits and text.isdecimal() else None


def half_of_last_digit(text: str) -> float:
    """By how much a number that was rounded to this text can differ from it: 0.005 for 12.50, 50 for 1e2."""
    digits, _, exponent = text.lower().partition("e")
    return float(f"5e{int(exponent or 0) - len(digits.partition('.')[2]) - 1}")


def only_whole(low: float, high: float) -> int | None:
    """The whole number between two bounds, if it is positive and there is one alone."""
    if not math.isfinite(high):
        return None
    return math.floor(high) if math.floor(high) == math.ceil(low) > 0 else None


def rank_in_name(name: str) -> int | None:
    """The rank in a file's name, such as rank0 or rank-12; a local rank does not count."""
    found = _NAME_RANK.search(name)
    return int(found[1]) if found else None


def integer_valued(value: Any) -> int | None:
    """An integer that is not negative, as text or not, however it is written: 64.0 is 64."""
    result = amount(value)
    return int(result) if result is not None and result.is_integer() else None


def json_number(value: Any) -> float | None:
    """A finite number of JSON.  Refuses text, true and false, NaN and infinities."""
    return number(value) if isinstance(value, int | float) else None


def json_number_or_nan(value: Any) -> float | None:
    """A number of JSON; NaN and infinities too, as a loss that diverged is a fact.  Refuses text, true and false."""
    return value if isinstance(value, float) else json_number(value)


def json_integer(value: Any, bits: int = 64) -> int | None:
    """An integer of JSON that a signed column of so many bits holds.  Refuses text, fractions, true and false."""
    return value if type(value) is int and -1 << bits - 1 <= value < 1 << bits - 1 else None


def json_count(value: Any, bits: int = 64) -> int | None:
    """What `json_integer` takes, if it is not negative."""
    count = json_integer(value, bits)
    return count if count is not None and count >= 0 else None


def iso_time(text: str | None) -> datetime | None:
    """A time of ISO 8601, with the zone if the text names one.  Refuses days that do not exist."""
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def as_utc(time: datetime | None, zone: tzinfo | None) -> datetime | None:
    """A time in UTC, without the zone.  `zone` is that of a naive time; if it is unknown, the time stays as it is.

    Refuses a time of the year 1 or 9999 that UTC puts outside the calendar.
    """
    if time is None:
        return None
    zone = time.tzinfo or zone
    try:
        return time.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None) if zone else time
    except OverflowError:
        return None


def clock_span(text: str) -> float | None:
    """`2-03:04:05.678` of Slurm or `2 days, 3:04:05` of Python, in whole seconds.  Refuses a number without a colon."""
    match = _SPAN.fullmatch(text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def nanoseconds_since_1970(stamp: int | datetime) -> int:
    """A time of a sensor, exact; a naive time counts as UTC, which is enough for differences."""
    return stamp if isinstance(stamp, int) else (stamp - _EPOCH) // timedelta(microseconds=1) * 1000
