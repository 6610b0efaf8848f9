"""Power samples without a header, a line for each: a time, and a number that says its unit.

Tool: scripts, as a loop of date and nvidia-smi --query-gpu=power.draw --format=csv,noheader
Versions: any
Yields: power
Source: the unit next to each number

Each line of such a file begins with a time, or ends with `at` and a date, and holds a number of watts, milliwatts or
kilowatts.  The level of a log's message may come before the time.  Lines that begin with # are comments.  A sample may continue on the next line, if that begins with a blank or
a colon.  A line with nothing but a time, as `date` prints it, holds for the lines of power below it, half of which at
least hold one: `ipmitool sdr` and `sensor` print sensors so.
The time is a date with or without a zone (without: local, --tz), a number since 1970, a number with `s` or `ms`, which
counts from an unknown zero (ts_origin `relative`), or the time of a day that is not known.  Words between time and
power are the sensor.  Among the lines of a log the samples are at least ten, with the same words.  Several powers in a line each need words that say what they are of.  A file with limits or with means is
not read here.  Where many lines of one sensor repeat the
time of the line before, their powers may be of several devices, and the file is refused, unless the words number the
device: then it was read more often than its clock tells.

Samples:
    2026-01-02 03:04:05, 61.22 W
    Power: 42.5 W at 2026-01-02 03:04:05
    35.12766 ms	162.14600 W	68 C
    1767323045 Pwr Consumption  | 77h | ok  |  7.1 | 320 Watts
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import EPOCH_UNITS, SECOND, Moment, Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.tabular.cells import MAY_BE_CUT, head_lines, lines_of

VERSION = 1
LAST = True  # any other format comes first

_DATE = r"\d{4}[-/]\d\d?[-/]\d\d?[T ]+\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|GMT|[-+]\d\d:?\d\d))?"
_OF_DAY = r"([01]?\d|2[0-3]):([0-5]\d):([0-5]\d(?:[.,]\d{1,9})?)"  # 10:20:30.123
_WRITTEN_OUT = r"[A-Z][a-z]{2} +[A-Z][a-z]{2} +\d\d? +\d\d?:\d\d:\d\d +\d{4}"  # Tue Nov  3 09:04:37 2026
_RECORD = re.compile(
    r"\s*(?:[\[(]?(?:INFO|DEBUG|NOTICE|WARN(?:ING)?)[\])]?[\s:|-]{1,5})?(?:(?:t|time|elapsed)[ =:]{1,3})?[\[(]?"
    rf"(?:({_DATE})|(\d{{10,19}}(?:\.\d{{1,9}})?)|(\d{{1,12}}(?:\.\d{{1,9}})?) ?(m?s)|{_OF_DAY})[\])]?(?=[\s,;:|])(.*)\Z",
    re.DOTALL | re.IGNORECASE,
)
_DATED_AFTER = re.compile(rf"(.{{1,120}}?)[\s,;]+(?:at|on|@)[\s:]+({_DATE}|{_WRITTEN_OUT})\s*\Z", re.DOTALL)
WATTS = re.compile(r"(?<![\w.+-])(\d{1,7}(?:\.\d{1,9})? ?(?:m|k)?(?:W|[Ww]atts?))(?![\w/*·]|-?[Hh])")
_LIMIT = re.compile(r"(?<=W) ?/ ?\d{1,5}(?:\.\d{1,3})? ?W(?!\w)")  # `250.3W / 400W`
_UNIT_APART = re.compile(r"(?<=\d)[ \t]*[|,;\t][ \t]*(?=[mk]?(?:W|[Ww]atts?)(?![A-Za-z]))")  # a cell of its own
_STATUS = {"ok", "ns", "nc", "cr", "nr", "na"}  # of a sensor, as ipmitool says it
_HOLDS_OTHERS = re.compile(r"total|consumption|sys|board|input|node|server", re.IGNORECASE)
_MOST_OTHERS = 1  # lines without a power below a time, for each with one
_OTHER_NUMBER = re.compile(r"[-+]?\d[\d.]* ?[^\d\s]{0,5}")  # of another column, as 47.2 C
_GOES_ON = re.compile(r"\s|:")
_NO_POWER = re.compile(
    r"limit|cap\b|tdp|max|min|peak|average|avg|mean|std|idle|target|budget|energy|total time|saved", re.IGNORECASE
)
_LEVEL = re.compile(r"\b(?:INFO|DEBUG|NOTICE|WARN(?:ING)?)\b[\s:|-]*")
_HALF_A_DAY = 43_200 * SECOND
_FEWEST_AMID = 10  # samples amid other lines of a log
_SHARE_AMID = 0.1  # of the lines
_TRAINING = re.compile(r"\b(?:loss|epoch|step|iter(?:ation)?)\b.{0,20}\d", re.IGNORECASE)
_FEWEST_OF_TRAINING = 3  # lines: then the log is read for these
_MOST_AMID = 0.05  # lines of other powers, for each of these
_FEWEST = 2  # samples
_LONGEST = 200  # characters of a line
_LONGEST_TIME = 60  # characters
_LONGEST_POWER = 40  # of what WATTS finds, and what follows
_MOST_SENSORS = 64
_NUMBERED = re.compile(r"\b(?:gpu|gcd|cpu|card|device|socket|accelerator|npu)[\s_#:\[-]{0,2}\d", re.IGNORECASE)
_MOST_REPEATED = 0.1  # of the lines may have the time of the one before


_Labels = tuple[str | None, ...]


class _Sample(NamedTuple):
    stamp: tuple[Moment, str]
    powers: list[tuple[str | None, str]]  # the words before each, and what it is
    is_of_day: bool = False  # whether its time is that of a day, which is not known


def recognise(head: bytes, name: str) -> bool:
    lines = ((k, line, True) for k, line in enumerate(head_lines(head)) if line.strip() and not line.startswith("#"))
    first = next(lines, None)
    if first is None:
        return False
    start = first[1][:_LONGEST].strip()
    if not (_RECORD.match(f"{start} ") or _DATED_AFTER.fullmatch(start) or _is_time(start)):  # most texts
        return False
    return _labels_of(head) is not None


def _labels_of(head: bytes) -> _Labels | None:
    """The words of the samples; of samples amid other lines those that most of them have, of others none.

    None where lines of power are few.
    """
    lines = ((k, line, True) for k, line in enumerate(head_lines(head)) if line.strip() and not line.startswith("#"))
    counts: Counter[_Labels] = Counter()
    samples = others = unread = last = training = 0
    for count, record in enumerate(_records(lines), 1):
        sample = _sample_of(record.text)
        is_other = record.is_below and not sample and not WATTS.search(_UNIT_APART.sub(" ", record.text))
        samples, others = samples + (sample is not None), others + is_other
        if sample:
            counts[tuple(label for label, _ in sample.powers)] += 1
        elif not is_other:
            unread, last = unread + 1, count
            training += _TRAINING.search(record.text) is not None
    if samples >= _FEWEST and others <= _MOST_OTHERS * samples and (not unread or (unread == 1 and last == count)):
        return ()
    usual, often = counts.most_common(1)[0] if counts else ((), 0)
    is_amid = often >= max(_FEWEST_AMID, _SHARE_AMID * (samples + unread)) and samples - often <= max(
        1, _MOST_AMID * often
    )
    return usual if is_amid and not others and training < _FEWEST_OF_TRAINING else None


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
    text = _LIMIT.sub("", _UNIT_APART.sub(" ", text))
    match = _RECORD.match(text)
    powers = _powers_in(match[8]) if match else []
    if not match or not powers:
        return None
    if match[3]:
        unit = EPOCH_UNITS[match[4].lower()]
        return _Sample((round(float(match[3]) * unit), "relative"), powers)
    if match[5]:
        seconds = 3600 * int(match[5]) + 60 * int(match[6]) + float(match[7].replace(",", "."))
        return _Sample((round(seconds * SECOND), "relative"), powers, True)
    stamp = stamp_of(match[1] or match[2])
    return _Sample(stamp, powers) if stamp else None


def _powers_in(text: str) -> list[tuple[str | None, str]]:
    """The powers that follow a time, with the words before each; none where these say too little, or anything else."""
    found = [*WATTS.finditer(text)]
    labels = [
        _label(text[end : each.start()]) for end, each in zip((0, *(each.end() for each in found)), found, strict=False)
    ]
    if any(label and (_NO_POWER.search(label) or re.search(r"\d\.\d|\d{5}", label)) for label in labels):
        return []
    if len(found) > 1 and (len({*labels}) < len(found) or any(not scope_of_words(label or "") for label in labels)):
        return []
    return [(label, each[1]) for label, each in zip(labels, found, strict=True)]


def _label(before: str) -> str | None:
    cells = [cell.strip(" :=[]()-") for cell in re.split(r"[,;|\t]| - ", before)]
    kept = (cell for cell in cells if cell not in ("", *_STATUS) and not _OTHER_NUMBER.fullmatch(cell))
    label = " ".join(_LEVEL.sub("", cell) for cell in kept).strip()
    last = label.rpartition(": ")[2]
    return (last if scope_of_words(last) else label) or None


def read(source: Source, rows: Rows) -> None:
    labels = _labels_of(source.text_head()) or ()
    why = _undecided(source, labels)
    if why:
        rows.problem(1, why)
        return
    samples = Samples(rows)
    day = last = 0
    for number, text, whole, is_below in _records(lines_of(source)):
        sample = _sample_of(text)
        if sample is None and is_below and not WATTS.search(text):
            continue
        if labels and (sample is None or tuple(label for label, _ in sample.powers) != labels):
            continue
        if sample is None:
            why = "not a time and one power, as the lines above it" if whole else MAY_BE_CUT
            rows.problem(number, why, text)
        else:
            stamp = sample.stamp
            if sample.is_of_day and isinstance(stamp[0], int):
                day += last - stamp[0] > _HALF_A_DAY
                last, stamp = stamp[0], (stamp[0] + 2 * _HALF_A_DAY * day, stamp[1])
            for label, power in sample.powers:
                samples.power(number, Sensor(None, label, scope_of_words(label or "")), power, stamp)


def _undecided(source: Source, labels: _Labels) -> str | None:
    """Why the sensors of the samples are not known."""
    last: dict[str | None, Moment] = {}
    count = repeated = 0
    for record in _records(lines_of(source)):
        sample = _sample_of(record.text)
        if labels and sample and tuple(label for label, _ in sample.powers) != labels:
            continue
        for label, _ in sample.powers if sample else ():
            count += 1
            is_one = _NUMBERED.search(label or "") is not None
            repeated += sample is not None and last.get(label) == sample.stamp[0] and not is_one
            last[label] = sample.stamp[0] if sample else 0
            if len(last) > _MOST_SENSORS:
                return "the words next to the power differ from line to line and do not name a sensor"
    if repeated > _MOST_REPEATED * count:
        return "several lines have the same time, and nothing tells their devices apart"
    unknown = [label for label in last if not scope_of_words(label or "")]
    if len(unknown) > 1 and any(_HOLDS_OTHERS.search(label or "") for label in unknown):
        names = " and ".join(sorted(label or "without a name" for label in unknown)[:3])
        return f"nothing tells which of its sensors holds the others: {names}"
    return None
