"""Power samples without a header, a line for each: a time, and one number that says its unit.

Tool: scripts, as a loop of date and nvidia-smi --query-gpu=power.draw --format=csv,noheader
Versions: any
Yields: power
Source: the unit beside each number

Each line of such a file begins with a time, or ends with `at` and a date, and holds one number of watts, milliwatts or
kilowatts.  Lines that begin with # are comments.  A sample may continue on the next line, if that begins with a blank or
a colon.
The time is a date with or without a zone (without: local, --tz), a number since 1970, or a number with `s` or `ms`,
which counts from an unknown zero (ts_origin `relative`).  Words between time and power are the sensor.  A file with
two numbers of watts in a line, with limits or with means is not read here.  Where many lines of one sensor repeat the
time of the line before, their powers may be of several devices, and the file is refused.

Samples:
    2026-01-02 03:04:05, 61.22 W
    Power: 42.5 W at 2026-01-02 03:04:05
    35.12766 ms	162.14600 W	68 C
"""

import itertools
from collections.abc import Iterable, Iterator
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
_OTHER_NUMBER = re.compile(r"[-+]?\d[\d.]* ?[^\d\s]{0,5}")  # of another column, as 47.2 C
_GOES_ON = re.compile(r"\s|:")
_NO_POWER = re.compile(
    r"limit|cap\b|tdp|max|min|peak|average|avg|mean|std|idle|target|budget|energy|total time|saved", re.IGNORECASE
)
_FEWEST = 2  # samples
_LONGEST = 200  # characters of a line
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
    if not (_RECORD.match(f"{start} ") or _DATED_AFTER.fullmatch(start)):  # most texts: looked at no further
        return False
    samples, is_cut = 0, False
    for _, text, _ in _records(itertools.chain([first], lines)):
        if is_cut:  # only the last line may be
            return False
        is_cut = _sample_of(text) is None
        samples += not is_cut
    return samples >= _FEWEST


def _records(lines: Iterable[tuple[int, str, bool]]) -> Iterator[tuple[int, str, bool]]:
    """Lines without comments; one that goes on below is joined with what is there."""
    held: tuple[int, str, bool] | None = None
    searched = 0  # characters of it, so that what is long is searched once
    for number, text, whole in lines:
        if text.startswith("#"):
            continue
        if held and _GOES_ON.match(text) and not WATTS.search(held[1], searched):
            searched = max(0, len(held[1]) - _LONGEST_POWER)
            held = held[0], f"{held[1]} {text.strip()}", whole
            continue
        if held:
            yield held
        held, searched = (number, text, whole), 0
    if held:
        yield held


def _sample_of(text: str) -> _Sample | None:
    if len(text) > _LONGEST:
        return None
    if after := _DATED_AFTER.fullmatch(text):
        written_out = stamp_of(after[2]) if after[2][0].isalpha() else None
        text = f"{written_out[0] if written_out else after[2]} {after[1]}"
    match = _RECORD.match(text)
    found = WATTS.findall(match[5]) if match else []
    if not match or len(found) != 1:
        return None
    cells = [cell.strip(" :=[]()-") for cell in re.split(r"[,;|\t]", match[5].split(found[0], 1)[0])]
    label = " ".join(cell for cell in cells if cell and not _OTHER_NUMBER.fullmatch(cell)) or None
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
    for number, text, whole in _records(lines_of(source)):
        sample = _sample_of(text)
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
    for _, text, _ in _records(lines_of(source)):
        if sample := _sample_of(text):
            count += 1
            repeated += last.get(sample.label) == sample.stamp[0]
            last[sample.label] = sample.stamp[0]
            if len(last) > _MOST_SENSORS:
                return "the words beside the power are others in each line, and do not name a sensor"
    if repeated > _MOST_REPEATED * count:
        return "the same time stands in several lines, and nothing tells their devices apart"
    return None
