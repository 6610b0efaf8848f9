"""Which columns of a table of power tell its sensors apart, and whether any do."""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import SECOND, epoch
from scalelens.parsing.values import amount
from scalelens.tabular.sensor_times import goes_back, spans_days

_MOST_SENSORS = 10_000
_SAME_COUNT = 0.98  # of the times hold as many rows, where rows are devices and not quick samples in coarse times

SENSOR = re.compile(
    r"(?:power|rapl|hw)?[_ ]?(?:domain|component|sensor|rail|socket|zone|channel|label|package|subsystem|source|name)"
    r"(?:[_ ]?(?:name|id|index|label|type))?"
    r"|(?:gpu|device|card|accelerator|processor)[_ ]name",
    re.IGNORECASE,
)
# Columns that may as well name what the program did: `warmup`, `prefill`.
_MAY_BE_PHASE = re.compile(r"(?:label|name|source|channel|zone|type)(?:[_ ]?(?:name|label|type))?", re.IGNORECASE)
_SENSORS_WORD = re.compile(r"\d")
_MOST_CHANGES = 0.5  # of the rows begin another phase
_LARGEST_NUMBER = 16  # of the first device
_UNEVEN = 2  # times the rows of another device, where a number names a device
_FEWEST_GROUPS = 6
_SHARE_OF_GROUPS = 0.95
_QUICK = 0.1  # of the usual gap, within a group of samples
_SAME_POWER = 0.01  # of the mean, between two quick readings of one device
_UNEVEN_INTERVALS = 1.5
_INTERVAL = re.compile(
    r"(?:dt|delta_?t|interval|window|time_?delta|delta_?time|sampl(?:e|ing)_?interval|period)"
    r"(?:[_ ]?[\[(]?(?:s|secs?|seconds?|ms|us|ns)[\])]?)?"
    r"|(?:phase|stage|segment|kernel|layer|call|turn)[_ ]?(?:time|duration)?"
    r"[_ ]?[\[(]?(?:s|secs?|seconds?|ms|us|ns)[\])]?",
    re.IGNORECASE,
)
_MOST_OF_CLOCK = 3601 * SECOND  # that a local clock goes back by
_FAR = 10  # rows
_FEWEST_AGAIN = 5
_SHARE_AGAIN = 0.05  # of the rows
_MOST_COMBINED = 8  # columns of which every combination is tried
_NUMBER = re.compile(r"[-+.\deE]++ ?[a-zA-Z%]*")


def telling(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> tuple[int, ...]:
    """The fewest of these columns that tell as many sensors apart as all of them, the first such."""
    if len(columns) > _MOST_COMBINED:
        return tuple(columns)
    sensors = len({tuple(row[k] for k in columns) for row in rows})
    for count in range(len(columns)):
        for chosen in itertools.combinations(columns, count + 1):
            if len({tuple(row[k] for k in chosen) for row in rows}) == sensors:
                return chosen
    return ()


def is_number_of_row(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column counts the rows: then it names no sensor."""
    return 2 < len(rows) == len({row[column] for row in rows}) and all(row[column].isdecimal() for row in rows)


def same_times(rows: Sequence[Sequence[str]], time: int, named_by: Sequence[int]) -> int:
    """How many rows have each time, where a sensor that no column names must be behind it; else 1.

    A sensor that is read faster than its times are printed has several rows of a time as well, but not always as many.
    """
    counts = Counter((row[time], *(row[k] for k in named_by)) for row in dict.fromkeys(map(tuple, rows)))
    if len(counts) > 2:  # the first and the last time may be cut
        counts.pop((rows[0][time], *(rows[0][k] for k in named_by)), None)
        counts.pop((rows[-1][time], *(rows[-1][k] for k in named_by)), None)
    usual, times = Counter(counts.values()).most_common(1)[0]
    return usual if times >= _SAME_COUNT * len(counts) else 1


def would_tell(rows: Sequence[Sequence[str]], time: int, named_by: Sequence[int]) -> int | None:
    """A column of words that makes each row of a time another one."""
    for k in range(len(rows[0])):
        words = {row[k] for row in rows} if k != time and k not in named_by else set()
        is_name = 1 < len(words) < _MOST_SENSORS and not any(map(_NUMBER.fullmatch, words))
        if is_name and same_times(rows, time, (*named_by, k)) == 1:
            return k
    return None


def can_name(cells: Iterable[str], are_alone: bool) -> bool:
    """Whether the cells of a column can name devices.  The numbers of devices are small, and each is as often there.

    A column `gpu` may as well be the use of one.  Where several rows share a time, only `are_alone` is in doubt.
    """
    counts = Counter(cells)
    numbers = [amount(cell) for cell in counts]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or len(known) < 2 or not are_alone:
        return True
    whole = all(number == int(number) for number in known)
    fewest, most = min(counts.values()), max(counts.values())
    return whole and min(known) <= _LARGEST_NUMBER and most <= _UNEVEN * fewest + 2


def are_phases(rows: Sequence[Sequence[str]], times: Sequence[int], column: int, others: Sequence[int]) -> bool | None:
    """Whether the words of a column name phases of one sensor, and not sensors; None where nothing tells.

    Sensors are read together or in turn, and a phase lasts for some samples.
    """
    series: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    for row, ns in zip(rows, times, strict=True):
        series.setdefault(tuple(row[k] for k in others), []).append((ns, row[column]))
    changes = 0
    for own in series.values():
        own.sort()
        if len({ns for ns, _ in own}) < len(own):
            return False
        changes += sum(before[1] != after[1] for before, after in itertools.pairwise(own))
    return True if changes <= _MOST_CHANGES * len(rows) else None


def may_be_phases(name: str, words: Iterable[str]) -> bool:
    """Whether a column can name phases, by its name and by what it holds."""
    return _MAY_BE_PHASE.fullmatch(name) is not None and not any(
        scope_of_words(word) or _SENSORS_WORD.search(word) for word in words
    )


def group_of(samples: Iterable[tuple[int, float]]) -> int:
    """How many samples of other powers always follow each other quickly, before a longer time without any; else 1.

    Two quick readings of one device show nearly the same power, and change nothing.
    """
    ordered = sorted(dict(samples).items())
    gaps = [after[0] - before[0] for before, after in itertools.pairwise(ordered)]
    if len(gaps) < _FEWEST_GROUPS:
        return 1
    longest = sorted(gaps)[int(0.95 * (len(gaps) - 1))]
    groups = [[ordered[0][1]]]
    for gap, (_, power_w) in zip(gaps, ordered[1:], strict=True):
        if gap < _QUICK * longest:
            groups[-1].append(power_w)
        else:
            groups.append([power_w])
    usual, count = Counter(map(len, groups)).most_common(1)[0]
    apart = statistics.median(max(group) - min(group) for group in groups)
    is_one = apart <= _SAME_POWER * statistics.fmean(power_w for _, power_w in ordered)
    return usual if count >= max(_FEWEST_GROUPS, _SHARE_OF_GROUPS * (len(groups) - 2)) and not is_one else 1


def uneven_interval(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str | None:
    """A column with the interval of each row, where these differ: then powers may be means over them."""
    for k, name in enumerate(header):
        found = sorted(value for row in rows if (value := amount(row[k]))) if _INTERVAL.fullmatch(name) else []
        if found and found[int(0.9 * (len(found) - 1))] > _UNEVEN_INTERVALS * found[int(0.1 * (len(found) - 1))] > 0:
            return name
    return None


def times_again(series: Iterable[Sequence[tuple[int, Sequence[str]]]], is_local: bool) -> bool:
    """Whether many times of a sensor come again far below, with other powers: so do those of several devices.

    Each series holds the times of a sensor in nanoseconds, and its powers.  A local clock that goes back by an hour at
    most is that of the end of summer time, whose times do come again.
    """
    again = rows = 0
    for own in series:
        last: dict[int, tuple[int, Sequence[str]]] = {}
        steps = [after[0] - before[0] for before, after in itertools.pairwise(own)]
        rows += len(own)
        if not any(step < (-_MOST_OF_CLOCK if is_local else 0) for step in steps):
            continue
        for index, (ns, powers) in enumerate(own):
            before = last.get(ns)
            again += before is not None and index - before[0] > _FAR and before[1] != powers
            last[ns] = index, powers
    return again >= max(_FEWEST_AGAIN, _SHARE_AGAIN * rows)


def no_samples(rows: list[list[str]], time: int, apart: tuple[int, ...]) -> str | None:
    """Why the times are not those of samples."""
    series: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        series.setdefault(tuple(row[k] for k in apart), []).append(row[time])
    if epoch(rows[0][time])[1] is None and any(map(goes_back, series.values())):
        return "the times go back again and again: rows are runs, and not samples of one sensor in time"
    if spans_days([row[time] for row in rows]):
        return "the dates may begin with the day or with the month: 2026-11-03 would leave no doubt"
    return None
