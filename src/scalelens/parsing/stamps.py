"""The time stamp of a line of a log; an impossible one is a problem, with the same reason in every format."""

from datetime import datetime

from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import UNREADABLE_TIME, iso_time


def line_time(stamp: str | None, line: Line, rows: Rows, form: str = "") -> datetime | None:
    """A time of ISO 8601, or in a form of strptime.  Without a stamp there is neither a time nor a problem."""
    if stamp is None:
        return None
    time = formed_time(stamp, form) if form else iso_time(stamp)
    if time is None:
        rows.problem(line.number, UNREADABLE_TIME, line.text)
    return time


def formed_time(stamp: str, form: str) -> datetime | None:
    """A time in a form of strptime.  Refuses what has another form, and days that do not exist."""
    try:
        return datetime.strptime(stamp, form)
    except ValueError:
        return None
