"""The times of a table of sensors: which columns they are, and what a cell of them means."""

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensors import EPOCH_UNITS, SECOND, Moment, epoch, stamp_of
from scalelens.units import ratio

_TIME = re.compile(
    r"(?:(?:unix|epoch|wall(?:[_ ]?clock)?|date|elapsed|sampl(?:e|ing)|system|local|utc|rel(?:ative)?|monotonic|log"
    r"|recorded|measure(?:ment)?|capture|host|abs(?:olute)?|polling|sensor|since[_ ]start|iso(?:8601)?|reading"
    r"|query)[_ ]?|_)?"
    r"(?:time[_ ]?stamps?|date[_ ]?time|time|elapsed|date|ts|epoch|unix|t"
    r"|seconds|secs?|second|uptime|clock|time[_ ]of[_ ]day|time[_ ]offset|perf_counter|mono(?:tonic)?"
    r"|(?:created|recorded|sampled|logged|collected|captured|measured|observed|read)[_ ](?:at|on)|when"
    r"|zeit(?:stempel|punkt)?|uhrzeit|datum|horodatage|heure|fecha|hora)"
    r"(?:[_ ](?:utc|local|rel(?:ative)?|abs(?:olute)?|iso(?:8601)?|unix|epoch|elapsed|since[_ ]start|system|time"
    r"|since[_ ]epoch))*"
    r"(?:[_ ]?[\[(]?(seconds?|secs?|s|(?:milli|micro|nano)[ -]?sec(?:ond)?s?|msecs?|ms|us|\u00b5s|ns)[\])]?"
    r"|[_ ]?[\[(](min|minutes?|h|hrs?|hours?)[\])]|[_ ](minutes|hours))?"
    r"(?: ?[\[(](?:iso|utc|local|yyyy|hh|24)[^\])]{0,20}[\])])?",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(seconds?|secs?|minutes?|hours?|milliseconds?|ms|us|ns)"
    r"[_ ](?:elapsed|since[_ ](?:the[_ ])?(?:start|begin(?:ning)?|launch|boot))",
    re.IGNORECASE,
)
_ONE_END = re.compile(r"start|begin|end|stop|finish", re.IGNORECASE)
_PAIRS = (("date", "time"), ("datum", "uhrzeit"), ("datum", "zeit"), ("fecha", "hora"), ("date", "heure"))
_UNITS = EPOCH_UNITS | {name: round(ratio(name, "ns")) for name in ("min", "h")}
_SECONDS = re.compile(r"(?:elapsed_)?(?:seconds?|secs?)(?:[_ ](?:elapsed|since[_ ]\w{1,12}))?", re.IGNORECASE)
_DAY = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{2,4})")
_SLASHED = re.compile(r"(\d{1,2})([/-])(\d{1,2})\2(\d{4})[ T,]+(\d.*)")
_CLOCK = re.compile(r"(\d{1,3}):([0-5]?\d):([0-5]?\d)(?:[.,:](\d{1,9}))?(?: ?([AaPp])\.?[Mm]\.?)?")
_NUMBER = re.compile(r"\d{1,25}(?:\.\d{1,25})?(?:[eE][-+]?\d{1,2})?")
_HALF_DAY = 12 * 3600 * SECOND
_MOST_BACK = 0.05  # of the times may lie before the one above, where rows are samples
_SHORT = {
    "mil": "ms", "mse": "ms", "mic": "us", "\u00b5s": "us", "nan": "ns",
    "min": "min", "hou": "h", "hr": "h", "hrs": "h",
}  # fmt: skip


class TimeColumn(NamedTuple):
    """The column of the times, that of the day where it is another one, and the unit that the name says."""

    k: int
    day: int | None
    unit: str | None

    def text_of(self, cells: Sequence[str]) -> str:
        text = cells[self.k]
        return f"{cells[self.day]} {text}" if self.day is not None and _DAY.fullmatch(cells[self.day]) else text


def time_column(header: Sequence[str], cells: Sequence[str] = ()) -> TimeColumn | None:
    """The first column of times; a day and a time of day in two columns are one time.

    Where no name says one, the only column whose first cell is a date with a time of day.
    """
    named = {name.lower(): k for k, name in reversed([*enumerate(header)])}
    for day, time in _PAIRS:
        if day in named and time in named:
            return TimeColumn(named[time], named[day], None)
    named_so = [k for k, name in enumerate(header) if _TIME.fullmatch(name) or _COUNTED.fullmatch(name)]
    k = _stamped(named_so, header, cells) if named_so else None
    if k is None:
        dated = [k for k, cell in enumerate(cells) if not is_number(cell) and stamp_of(cell)]
        is_name = len(dated) == 1 and not (stamp_of(header[dated[0]]) or _ONE_END.search(header[dated[0]]))
        return TimeColumn(dated[0], None, None) if is_name else None
    match = _TIME.fullmatch(header[k]) or _COUNTED.fullmatch(header[k])
    unit = next(filter(None, match.groups() if match else ()), "").lower()
    unit = _SHORT.get(unit[:3], unit)
    if _SECONDS.fullmatch(header[k]):
        unit = "s"
    return TimeColumn(k, None, (unit if unit in _UNITS else "s") if unit else None)


def _stamped(columns: Sequence[int], header: Sequence[str], cells: Sequence[str]) -> int:
    """The first of these columns; another that holds a date, where the first holds a number without a unit."""
    first = columns[0]
    match = _TIME.fullmatch(header[first])
    if len(cells) != len(header) or not match or any(match.groups()) or not is_number(cells[first].strip()):
        return first
    if epoch(cells[first].strip())[1]:
        return first
    return next((k for k in columns[1:] if epoch(cells[k])[1] or stamp_of(cells[k])), first)


class TableClock:
    """Reads the times of one table, row after row."""

    def __init__(self, column: TimeColumn, texts: Sequence[str]) -> None:
        self._column = column
        self._last, self._days = 0, 0  # nanoseconds of the day, for times of a day without a date
        self._day_first = _day_first(texts)

    def read(self, cells: Sequence[str]) -> tuple[Moment, str] | None:
        """The time of a row; one that is not since 1970 counts from its own zero where the header names its unit."""
        text, unit = self._column.text_of(cells).strip(), self._column.unit
        ns, since_1970_in = epoch(text)
        if ns is not None:
            return (ns, "utc") if unit in (None, since_1970_in) else None
        if unit and is_number(text) and 0 <= float(text) * _UNITS[unit] < 2**62:
            return round(float(text) * _UNITS[unit]), "relative"
        if clock := _CLOCK.fullmatch(text):
            return self._of_day(clock)
        if slashed := _SLASHED.fullmatch(text):
            return self._of_date(slashed)
        return stamp_of(text)

    def _of_day(self, clock: re.Match[str]) -> tuple[Moment, str] | None:
        """A time of day without a date, or of a stopwatch: it counts on at midnight."""
        ns = _nanoseconds(clock)
        if ns is None:
            return None
        if ns < self._last - _HALF_DAY:
            self._days += 1
        self._last = ns
        return ns + self._days * 2 * _HALF_DAY, "relative"

    def _of_date(self, slashed: re.Match[str]) -> tuple[Moment, str] | None:
        """A date that begins with the day or the month; where the table leaves open which, the time of day counts."""
        clock = _CLOCK.fullmatch(slashed[5])
        ns = _nanoseconds(clock) if clock else None
        if ns is None or clock is None:
            return None
        if self._day_first is None:
            return self._of_day(clock)
        day, month = (slashed[1], slashed[3]) if self._day_first else (slashed[3], slashed[1])
        try:
            date = datetime(int(slashed[4]), int(month), int(day))
        except ValueError:
            return None
        return date + timedelta(microseconds=ns // 1000), "naive"


def _nanoseconds(clock: re.Match[str]) -> int | None:
    """Since midnight."""
    hours = int(clock[1])
    if clock[5]:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + 12 * (clock[5] in "pP")
    fraction = int((clock[4] or "0").ljust(9, "0"))
    return ((hours * 60 + int(clock[2])) * 60 + int(clock[3])) * SECOND + fraction


def _day_first(texts: Sequence[str]) -> bool | None:
    """Whether dates such as 3/11/2026 begin with the day, by the dates of a table; None where they leave it open."""
    found = [match for text in texts if (match := _SLASHED.fullmatch(text.strip()))]
    if any(int(match[1]) > 12 for match in found):
        return True
    if any(int(match[3]) > 12 for match in found):
        return False
    return None


def spans_days(texts: Sequence[str]) -> bool:
    """Whether dates that may begin with the day or the month are of several days, so that their times stay unknown."""
    found = {match.group(1, 3, 4) for text in texts if (match := _SLASHED.fullmatch(text.strip()))}
    return len(found) > 1 and _day_first(texts) is None


def goes_back(texts: Sequence[str]) -> bool:
    """Whether numbers that count from a zero of their own go back more often than samples do: then rows are runs."""
    values = [float(text) for text in texts if is_number(text)]
    back = sum(after < before for before, after in itertools.pairwise(values))
    return len(values) > 2 and back > max(1, _MOST_BACK * len(values))


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))
