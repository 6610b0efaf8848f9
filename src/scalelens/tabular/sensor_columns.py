"""Which columns of a table of power tell its sensors apart, and whether any do."""

import itertools
from collections import Counter
from collections.abc import Sequence

from scalelens.parsing import lazy_re as re

_MOST_SENSORS = 10_000
_SAME_COUNT = 0.98  # of the times hold as many rows, where rows are devices and not quick samples in coarse times

SENSOR = re.compile(
    r"(?:power|rapl|hw)?[_ ]?(?:domain|component|sensor|rail|socket|zone|channel|label|package|subsystem|source|name)"
    r"(?:[_ ]?(?:name|id|index|label|type))?",
    re.IGNORECASE,
)
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
