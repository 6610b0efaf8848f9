"""The time stamp of a line of a log: when it was printed, and to which fraction of a second.

A stamp without a year, or with a day and a month in an unknown order, still shows the time between two
lines: of the days that may lie between two such dates, the fewest.  Where there is only a time of day, two lines follow
one another within half a day.
"""

import functools
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.stamps import formed_time

_LOOKED_AT = 120  # characters of a line in which its own stamp stands
_DAY_S = 86_400.0
_STAMP = re.compile(
    r"(?P<date>(?<!\d)\d{4}[-/]\d\d[-/]\d\d)[T ,_]{1,2}(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
    r"|(?P<part>(?<![\d/-])(?:\d\d[-/]\d\d(?:[-/]\d{2,4})?|[A-Z][a-z]{2} [ \d]\d|[IWE]\d{4}"
    r"|\d\d\.\d\d\.\d{4}|\d\d[-/][A-Z][a-z]{2}[-/]\d{2,4}|\d{1,2} [A-Z][a-z]{2,8} \d{4}"
    r"|(?:19|20)\d\d-?(?:0[1-9]|1[0-2])[0-3]\d))[ ,:_-]{1,2}"
    r"(?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)"
    r"|(?P<dashed>(?<!\d)20\d\d-?[01]\d-?[0-3]\d[_T-](?:[0-2]\d-[0-5]\d-[0-5]\d|[0-2]\d[0-5]\d[0-5]\d))(?![\d-])"
    r"|(?<=- )(?:(?P<days>\d{1,4}) days?, )?(?P<since>\d{1,2}:[0-5]\d:[0-5]\d)(?= -)"
    r"|(?<![\d:.<])(?P<alone>[0-2]?\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,9})?)(?![\d:<]|[.,]\d|s(?!\w))"
    r"|(?P<to_the_minute>(?<!\d)\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d)(?![\d:])"
)
# A time since the start whose parts are not padded: `[24:1:36] Epoch 151`.
_UNPADDED = re.compile(r"\[(\d{1,4}:[0-5]?\d:[0-5]?\d)\](?=\s)")
# A time of day that stands alone is a stamp at the beginning of a line; elsewhere it may be how long something takes.
_BEFORE_ALONE = re.compile(r"(?:\W{0,3}(?:INFO|DEBUG|WARN(?:ING)?)\W{1,4})?\[?\s*\Z")
_LEFT = re.compile(r"[\s\])]{1,3}(?:left|remain|eta|to go|elapsed\W*\Z)", re.IGNORECASE)
# When something is expected to end: `ETA: 2026-01-02 03:04:05`, `finishes at 2026-01-02 03:04:05`.
_STILL_TO_COME = re.compile(
    r"(?<![a-z])(?:eta|est\.|estimated|expect(?:ed|s)?|predict(?:ed|s)|projected|finishes|completes|ends at|will|until"
    r"|deadline|due)(?![a-z])[^\d,;|]{0,40}\Z",
    re.IGNORECASE,
)
_AT_END = re.compile(
    r"(?<![\d/-])\d{4}[-/]\d\d[-/]\d\d[T ,_]{1,2}\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?=[\])}\"'.]{0,3}\s*\Z)"
)
_LONGEST_END = 40  # characters at the end of a line, in which a stamp may stand that is not near its beginning
_MINUTE_S = 60.0
# A time since the start stands for one where a date without seconds is before it: `2020/03/07 02:00 -- 0:28:45 - `.
_BEFORE_SINCE = re.compile(r"\W*(?:[A-Z]+ - )?\d{2,4}[-/]\d\d[-/]\d{2,4},? \d\d:\d\d \W+\Z")
_DIGITS_ALONE = re.compile(r"\d[_T-]\d")  # 2025-03-04_09-58-07
_UNIX = re.compile(
    r"\W{0,3}(1[5-9]\d{8}(?:\.\d{3,9}(?=\s)|(?:\.\d{1,9})?(?=[\])},|]|: ?\D| {1,4}[-|\[(A-Z])))"
)  # seconds since 1970, from 2017 to 2033; with three decimals whatever follows
_UNIX_NAMED = re.compile(
    r"(?<![A-Za-z])(?:current|unix)[ _](?:unix[ _])?time(?:stamp)?\W{1,3}(1[5-9]\d{8}(?:\.\d{1,9})?)(?![\d.]\d|[\w%/])",
    re.IGNORECASE,
)  # wherever it stands in the line
_WEEKDAY = re.compile(r"(?<![A-Za-z])(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? {1,2}\Z")  # before Dec  1 22:43:49 2025
_YEAR = re.compile(r" (?:19|20)\d\d(?!\d)")
_HALF_DAY = re.compile(r" ([AP])M\b", re.IGNORECASE)
_BEFORE_NOON = re.compile(r"(?:0\d|1[012]):")  # as clocks of twelve hours show it
_LONGEST_ALONE = 40  # characters
# Forms of `part` with a year and without one, with all separators as `-`.
_DATES = (
    "%y-%m-%d", "%d-%m-%y", "%m-%d-%y", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y",
    "%Y%m%d", "%Y-%m%d",
)  # fmt: skip
_DAYS_OF_A_YEAR = ("%m-%d", "%d-%m", "%b %d", "%m%d")
_SEPARATORS = str.maketrans("/.", "--")


class Stamp(NamedTuple):
    """When a line was printed."""

    day: str  # as printed; empty where only the time of day stands there
    seconds: float  # since midnight; since 1970 where the whole date is known
    resolution_s: float
    iso: str | None  # the whole time, where it is known
    span: tuple[int, int]  # in the line


def stamp_in(text: str) -> Stamp | None:
    """The first time stamp near the beginning of a line; else one at its end."""
    if unix := _UNIX.match(text) or (_UNIX_NAMED.search(text) if "ime" in text else None):
        seconds, fraction = float(unix[1]), unix[1].partition(".")[2]
        whole = datetime.fromtimestamp(seconds, UTC).isoformat()
        return Stamp("iso", seconds, 10.0 ** -len(fraction), whole, unix.span(1))
    if ":" not in text[:_LOOKED_AT] and not _DIGITS_ALONE.search(text[:_LOOKED_AT]):
        return _at_end(text)
    if unpadded := _UNPADDED.match(text):
        hours, minutes, seconds = map(float, unpadded[1].split(":"))
        return Stamp("", hours * 3600 + minutes * 60 + seconds, 1.0, None, unpadded.span(1))
    by_the_minute: Stamp | None = None
    for match in _STAMP.finditer(text[:_LOOKED_AT]):
        time = match["time"] or match["clock"] or match["alone"] or match["since"]
        if _STILL_TO_COME.search(text, 0, match.start()):
            continue
        if match["dashed"]:
            if _BEFORE_ALONE.match(text[: match.start()]) and (stamp := _of_digits(match)):
                return stamp
            continue  # elsewhere it is in the name of a run
        if match["to_the_minute"]:
            by_the_minute = by_the_minute or _to_the_minute(match)
            continue
        if match["since"] and not _BEFORE_SINCE.match(text[: match.start()]):
            continue
        if match["alone"] and (not _BEFORE_ALONE.match(text[: match.start()]) or _LEFT.match(text, match.end())):
            continue
        half = _HALF_DAY.match(text, match.end())
        if half and _BEFORE_NOON.match(time):
            time = f"{int(time[:2]) % 12 + 12 * (half[1].upper() == 'P'):02d}{time[2:]}"
        hour, minute, second = time.replace(",", ".").split(":")
        seconds = int(match["days"] or 0) * _DAY_S + int(hour) * 3600 + int(minute) * 60 + float(second)
        fraction = second.partition(".")[2] or second.replace(",", ".").partition(".")[2]
        iso = _iso_of(match, time)
        if match["date"] and iso is None:
            return None
        if iso:
            seconds = _since_1970(iso)
        start, end = match.start(), (half or match).end()
        if match["part"] and (weekday := _WEEKDAY.search(text, 0, start)):
            start, end = weekday.start(), (_YEAR.match(text, end) or half or match).end()
        return Stamp(match["part"] or "" if not iso else "iso", seconds, 10.0 ** -len(fraction), iso, (start, end))
    return _at_end(text) or by_the_minute


def _at_end(text: str) -> Stamp | None:
    """The stamp at the end of a line, where that is too long for it to stand near its beginning."""
    found = _AT_END.search(text, len(text) - _LONGEST_END) if len(text) > _LOOKED_AT else None
    if found is None or _STILL_TO_COME.search(text, 0, found.start()):
        return None
    match = _STAMP.match(text, found.start(), found.end())
    iso = _iso_of(match, match["time"]) if match and match["date"] else None
    if iso is None:
        return None
    fraction = iso.partition(".")[2]
    return Stamp("iso", _since_1970(iso), 10.0 ** -len(fraction), iso, found.span())


def _of_digits(match: re.Match[str]) -> Stamp | None:
    """A date and a time of day without colons, as names of files have them: `20250304_095807`."""
    digits = "".join(filter(str.isdigit, match[0]))
    try:
        iso = datetime.strptime(digits, "%Y%m%d%H%M%S").isoformat()
    except ValueError:
        return None
    return Stamp("iso", _since_1970(iso), 1.0, iso, match.span())


def _to_the_minute(match: re.Match[str]) -> Stamp | None:
    """A date and a time of day without seconds.  It is not the time of a record, but shows how long epochs take."""
    try:
        seconds = _since_1970(match[0].replace("/", "-"))
    except ValueError:
        return None
    return Stamp(match[0][:10], seconds, _MINUTE_S, None, match.span())


def is_stamp_alone(text: str) -> bool:
    """Whether a line holds a date and a time, and nothing else: the line after it was printed then."""
    stamp = stamp_in(text) if len(text) <= _LONGEST_ALONE else None
    rest = text[: stamp.span[0]] + text[stamp.span[1] :] if stamp and stamp.iso else "x"
    return not any(character.isalnum() for character in rest)


def _iso_of(match: re.Match[str], time: str) -> str | None:
    """A stamp with a whole date in ISO 8601; None where the date is not whole, or does not exist."""
    if not match["date"]:
        return None
    time = time.replace(",", ".")
    whole, point, fraction = time.partition(".")
    text = f"{match['date'].replace('/', '-')}T{whole}{point}{fraction[:6]}{match['zone'] or ''}"
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _since_1970(iso: str) -> float:
    """Seconds since 1970; a time without a zone counts as UTC, which is enough for differences."""
    time = datetime.fromisoformat(iso)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


@functools.lru_cache(maxsize=256)
def _days_between(first: str, then: str) -> int | None:
    """The fewest days from one date to another, of all orders in which their parts make dates; None without any.

    They are negative where the second is the earlier one.
    """
    plain = [day.lstrip("IWE").translate(_SEPARATORS) for day in (first, then)]  # without the level of logging
    found = []
    for form in _DATES:
        if (passed := _days_by(form, plain)) is not None:
            found.append(passed.days)
    for form in _DAYS_OF_A_YEAR:
        for year, length in ((2001, 365), (2000, 366)):
            passed = _days_by(f"%Y {form}", [f"{year} {day}" for day in plain])
            if passed is not None:
                found.append((passed.days + length // 2) % length - length // 2)
    return min(found, key=lambda days: (abs(days), -days), default=None)


def _days_by(form: str, days: list[str]) -> timedelta | None:
    first, then = (formed_time(day, form) for day in days)
    return then - first if first and then else None


class Clock:
    """Seconds since the first stamp of a text, line by line."""

    def __init__(self) -> None:
        self.last: Stamp | None = None
        self.now = 0.0

    def seconds(self, stamp: Stamp) -> float:
        """Seconds of a stamp.  Without a date, a step back of more than half a day means the next day."""
        if self.last is not None:
            passed = stamp.seconds - self.last.seconds
            if not (stamp.iso and self.last.iso):
                days = _days_between(self.last.day, stamp.day)
                passed = (passed + _DAY_S / 2) % _DAY_S - _DAY_S / 2 if days is None else passed + days * _DAY_S
            self.now += passed
        self.last = stamp
        return self.now
