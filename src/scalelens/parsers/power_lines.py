"""Power samples without a header, a line for each: a time, and one number that says its unit.

Tool: scripts, as a loop of date and nvidia-smi --query-gpu=power.draw --format=csv,noheader
Versions: any
Yields: power
Source: the unit beside each number

Each line of such a file begins with a time, or ends with `at` and a date, and holds one number of watts, milliwatts or
kilowatts.  Lines that begin with # are comments.  A sample may continue on the next line, if that begins with a blank or
a colon.  A line with nothing but a time, as `date` prints it, holds for the lines of power below it, half of which at
least hold one: `ipmitool sdr` and `sensor` print sensors so.
The time is a date with or without a zone (without: local, --tz), a number since 1970, or a number with `s` or `ms`,
which counts from an unknown zero (ts_origin `relative`).  Words between time and power are the sensor.  A file with
two numbers of watts in a line, with limits or with means is not read here.  Where many lines of one sensor repeat the
time of the line before, their powers may be of several devices, and the file is refused.

Samples:
    2026-01-02 03:04:05, 61.22 W
    Power: 42.5 W at 2026-01-02 03:04:05
    35.12766 ms	162.14600 W	68 C
    1767323045 Pwr Consumption  | 77h | ok  |  7.1 | 320 Watts
"""

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import EPOCH_UNITS, Moment, Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1
LAST = True  # any other format comes first

_DATE = r"\d{4}[-/]\d\d?[-/]\d\d?[T ]+\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|GMT|[-+]\d\d:?\d\d))?"
_WRITTEN_OUT = r"[A-Z][a-z]{2} +[A-Z][a-z]{2} +\d\d? +\d\d?:\d\d:\d\d +\d{4}"  # Tue Nov  3 09:04:37 2026
_RECORD = re.compile(
    rf"\s*[\[(]?(?:({_DATE})|(\d{{10,19}}(?:\.\d{{1,9}})?)|(\d{{1,12}}(?:\.\d{{1,9}})?) ?(m?s))[\])]?(?=[\s,;:|])(.*)\Z",
    re.DOTALL,
)
_DATED_AFTER = re.compile(rf"(.{{1,120}}?)[\s,;]+(?:at|on|@)[\s:]+({_DATE}|{_WRITTEN_OUT})\s*\Z", re.DOTALL)
WATTS = re.compile(r"(?<![\w.+-])(\d{1,7}(?:\.\d{1,9})? ?(?:m|k)?(?:W|[Ww]atts?))(?![\w/*·]|-?[Hh])")
_UNIT_APART = re.compile(r"(?<=\d)[ \t]*[|,;\t][ \t]*(?=[mk]?(?:W|[Ww]atts?)(?![A-Za-z]))")  # a cell of its own
_STATUS = {"ok", "ns", "nc", "cr", "nr", "na"}  # of a sensor, as ipmitool says it
_HOLDS_OTHERS = re.compile(r"total|consumption|sys|board|input|node|server", re.IGNORECASE)
_MOST_OTHERS = 1  # lines without a power below a time, for each with one
_OTHER_NUMBER = re.compile(r"[-+]?\d[\d.]* ?[^\d\s]{0,5}")  # of another column, as 47.2 C
_GOES_ON = re.compile(r"\s|:")
_NO_POWER = re.compile(
    r"limit|cap\b|tdp|max|min|peak|average|avg|mean|std|idle|target|budget|energy|total time|saved", re.IGNORECASE
)
_FEWEST = 2  # samples
_LONGEST = 200  # characters of a line
_LONGEST_TIME = 60  # characters
_LONGEST_POWER = 40  # of what WATTS finds, and what follows
_MOST_SENSORS = 64
_MOST_REPEATED = 0.1  # of the lines may have the time of the one before


class _Sample(NamedTuple):
    stamp: tuple[Moment, str]
    label: str | None
    power: str


def recognise(head: bytes, name: str) -> bool:
    lines = ((k, line, True) for k, line in enumerate(head_lines(head)) if line.strip() and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        return False
    start = first[1][:_LONGEST].strip()
    if not (_RECORD.match(f"{start} ") or _DATED_AFTER.fullmatch(start) or _is_time(start)):  # most texts
        return False
    samples = others = 0
    is_cut = False
    for record in _records(itertools.chain([first], lines)):
        if is_cut:  # only the last line may be
            return False
        is_sample = _sample_of(record.text) is not None
        is_other = record.is_below and not is_sample and not WATTS.search(_UNIT_APART.sub(" ", record.text))
        samples, others = samples + is_sample, others + is_other
        is_cut = not is_sample and not is_other
    return samples >= _FEWEST and others <= _MOST_OTHERS * samples


class _Record(NamedTuple):
    """A line, or several that belong together."""

    line: int
    text: str
    whole: bool
    is_below: bool = False  # a line with nothing but the time


def _is_time(text: str) -> bool:
    return len(text) <= _LONGEST_TIME and text[:1].isalnum() and stamp_of(text) is not None


def _records(lines: Iterable[tuple[int, str, bool]]) -> Iterator[_Record]:
    """Lines without comments; one that goes on below is joined with what is there, and a time with each line below."""
    held: _Record | None = None
    time: str | None = None
    searched = 0  # characters of it, so that what is long is searched once
    for number, text, whole in lines:
        if text.startswith("#"):
            continue
        if held and _GOES_ON.match(text) and not WATTS.search(held.text, searched):
            searched = max(0, len(held.text) - _LONGEST_POWER)
            held = held._replace(text=f"{held.text} {text.strip()}", whole=whole)
            continue
        stamp = stamp_of(held.text) if held and _is_time(held.text.strip()) else None
        if held and stamp is None:
            yield held
        elif held:
            time = f"{stamp[0]}{'Z' * (stamp[1] == 'utc')}" if stamp and isinstance(stamp[0], datetime) else held.text
        held, searched = None, 0
        if time and not (_RECORD.match(f"{text} ") or _is_time(text.strip())):
            yield _Record(number, f"{time} {text.strip()}", whole, True)
        else:
            held = _Record(number, text, whole)
    if held:
        yield held


def _sample_of(text: str) -> _Sample | None:
    if len(text) > _LONGEST:
        return None
    if after := _DATED_AFTER.fullmatch(text):
        written_out = stamp_of(after[2]) if after[2][0].isalpha() else None
        text = f"{written_out[0] if written_out else after[2]} {after[1]}"
    text = _UNIT_APART.sub(" ", text)
    match = _RECORD.match(text)
    found = WATTS.findall(match[5]) if match else []
    if not match or len(found) != 1:
        return None
    cells = [cell.strip(" :=[]()-") for cell in re.split(r"[,;|\t]", match[5].split(found[0], 1)[0])]
    label = " ".join(cell for cell in cells if cell not in ("", *_STATUS) and not _OTHER_NUMBER.fullmatch(cell)) or None
    if label and (_NO_POWER.search(label) or re.search(r"\d\.\d|\d{5}", label)):
        return None
    if match[3]:
        unit = EPOCH_UNITS[match[4]]
        return _Sample((round(float(match[3]) * unit), "relative"), label, found[0])
    stamp = stamp_of(match[1] or match[2])
    return _Sample(stamp, label, found[0]) if stamp else None


def read(source: Source, rows: Rows) -> None:
    why = _undecided(source)
    if why:
        rows.problem(1, why)
        return
    samples = Samples(rows)
    for number, text, whole, is_below in _records(lines_of(source)):
        sample = _sample_of(text)
        if sample is None and is_below and not WATTS.search(text):
            continue
        if sample is None:
            why = "not a time and one power, as the lines above it" if whole else MAY_BE_CUT
            rows.problem(number, why, text)
        else:
            sensor = Sensor(None, sample.label, scope_of_words(sample.label or ""))
            samples.power(number, sensor, sample.power, sample.stamp)


def _undecided(source: Source) -> str | None:
    """Why the sensors of the samples are not known."""
    last: dict[str | None, Moment] = {}
    count = repeated = 0
    for record in _records(lines_of(source)):
        if sample := _sample_of(record.text):
            count += 1
            repeated += last.get(sample.label) == sample.stamp[0]
            last[sample.label] = sample.stamp[0]
            if len(last) > _MOST_SENSORS:
                return "the words next to the power differ from line to line and do not name a sensor"
    if repeated > _MOST_REPEATED * count:
        return "several lines have the same time, and nothing tells their devices apart"
    unknown = [label for label in last if not scope_of_words(label or "")]
    if len(unknown) > 1 and any(_HOLDS_OTHERS.search(label or "") for label in unknown):
        names = " and ".join(sorted(label or "without a name" for label in unknown)[:3])
        return f"nothing tells which of its sensors holds the others: {names}"
    return None
