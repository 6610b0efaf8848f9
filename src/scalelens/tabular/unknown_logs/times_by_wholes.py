"""Which time a number is, and its unit, where it is known how long all records took together.

    2026-05-04 10:00:02 training starts          Epoch 3, step 100, time 24.9
    Step 100, loss 2.1, time 41.3                Epoch 3, step 200, time 25.1
    Step 200, loss 1.9, time 40.8                Epoch 3 done, loss 1.9, time: 51.2 s
    2026-05-04 10:01:31 done

82.1 s pass by these times if they are seconds and each is that of a hundred steps: of the 89 s by the stamps before
the first record and after the last one, or of a total that the log states, or of the times of epochs that it states.
As the time of a step, or in another unit, they would be far longer or shorter: one reading has to fit, and no other.
"""

import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source
from scalelens.tabular.cells import lines_of
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.clock import Stamp, stamp_in
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LEFT, RUNNING, TIMES
from scalelens.tabular.unknown_logs.stated_times import Whole
from scalelens.tabular.unknown_logs.times import LineTimes

_MOST = 1.02  # of the whole: what the times of all records may add up to
_FAR_LESS = 0.15  # a reading that gives less of the whole is out of question
_IN_SECONDS = 0.75  # the least share where the log does not state the unit
_LEAST_FALLS = 2  # of a time that goes up and down, as one since the start does not
_LEAST_LINES = 5
_LEAST_S = 100  # between two stamps, which hold whole seconds
_LONGEST = 300  # characters of a line with a stamp
_MOSTLY = 0.9
_ROLES = ("time", "batch_time", "epoch_time", "elapsed")
_SINCE_START = ("s", "ms", "min", "h")
_BEFORE = re.compile(
    r"[\W_]*(?:(?:start|begin|began|end|finish|done|complet|launch|run|job|now|date|time|at|on|info|debug|of|the|train)"
    r"[a-z]*[\W_]*){0,6}\Z",
    re.IGNORECASE,
)  # a stamp: `[2026-05-04 10:00:02]`, `Job started at 2026-05-04 10:00:02`
_BY_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<date>[A-Z][a-z]{2} [ \d]\d) (?P<time>\d\d:\d\d:\d\d)(?: (?P<half>[AP]M))?"
    r"(?: [A-Z]{2,5})? (?P<year>20\d\d)(?!\d)"
)  # as `date` prints it


def told_by_wholes(times: LineTimes, around: Callable[[], Iterable[Whole]]) -> tuple[str, tuple[str, str]] | None:
    """The role, and the column with its unit, of the one time that may be several; None where no whole tells."""
    steps = times.values.get(times.step or "", [])
    names = [name for name, values in times.values.items() if len(values) == len(steps) and _is_untold(name)]
    if len(names) != 1 or len(steps) < _LEAST_LINES or times.clock_s is not None or times.is_rounded(names[0]):
        return None
    readings = list(_readings(times, names[0], steps))
    told = set(filter(None, (_fitting(readings, whole) for whole in around())))
    return told.pop() if len(told) == 1 else None


def _is_untold(name: str) -> bool:
    """Whether a name is that of a time, and does not say which or in which unit."""
    role, unit = read_name(name)
    of_clock = name in (BY_CLOCK, LEFT, RUNNING)
    return not of_clock and role in _ROLES and (unit is None or (role == "time" and unit in TIMES))


def _readings(
    times: LineTimes, name: str, steps: Sequence[float]
) -> Iterator[tuple[tuple[str, tuple[str, str]], float]]:
    """What a column may be, with the seconds that pass in all of its records then."""
    role, unit = read_name(name)
    values = times.values[name]
    gaps = _gaps(steps)
    each = sum(gap == 1 for gap in gaps) >= _MOSTLY * len(gaps)
    falls = sum(later < value for value, later in itertools.pairwise(values))
    for candidate in ((unit,) if unit else times.units) if falls >= _LEAST_FALLS else ():
        factor = TIMES[candidate]
        if times.of_epochs and each and role != "batch_time":
            yield ("epoch_time", (name, candidate)), sum(values) * factor
        elif not times.of_epochs and role in ("time", "batch_time"):
            of_steps = sum(value * gap for value, gap in zip(values, gaps, strict=True)) * factor
            yield ("batch_time" if each else "interval_time", (name, candidate)), of_steps
            if not each and role == "time":
                yield ("span_time", (name, candidate)), sum(values) * factor
    if not falls and role in ("time", "elapsed"):
        for candidate in (unit,) if unit else _SINCE_START:
            yield ("elapsed", (name, candidate)), values[-1] * TIMES[candidate]


def _gaps(steps: Sequence[float]) -> list[float]:
    """The steps since the record before, or since the count began anew."""
    from_zero = min(steps) == 0
    grown = [later - step if later > step else later + from_zero for step, later in itertools.pairwise(steps)]
    return [statistics.median(grown), *grown]


def _fitting(
    readings: Sequence[tuple[tuple[str, tuple[str, str]], float]], whole: Whole
) -> tuple[str, tuple[str, str]] | None:
    """The one reading that fits a whole."""
    shares = [(reading, seconds / whole.seconds) for reading, seconds in readings]
    shares = [(reading, share) for reading, share in shares if _FAR_LESS <= share <= _MOST]
    if len(shares) != 1:
        return None
    (role, (name, unit)), share = shares[0]
    least = whole.least if read_name(name).unit else _IN_SECONDS if unit == "s" else whole.in_other_unit
    return (role, (name, unit)) if share >= least else None


def between_stamps(source: Source, first: int, last: int) -> float | None:
    """Seconds between the last stamp before line `first` and the first one after line `last`."""
    before: float | None = None
    for number, text, whole in lines_of(source):
        if first <= number <= last or not whole or len(text) > _LONGEST:
            continue
        if (now := _when(text)) is None:
            continue
        if number < first:
            before = now
        elif before is not None:
            return now - before if now - before >= _LEAST_S else None
        else:
            return None
    return None


def _when(text: str) -> float | None:
    """Seconds since 1970 of the stamp of a line, if it says the date, and when the line was printed."""
    if by_date := _BY_DATE.search(text):
        form = "%b %d %Y %I:%M:%S %p" if by_date["half"] else "%b %d %Y %H:%M:%S"
        printed = f"{by_date['date']} {by_date['year']} {by_date['time']} {by_date['half'] or ''}".rstrip()
        try:
            return datetime.strptime(printed, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return None
    stamp: Stamp | None = stamp_in(text)
    return stamp.seconds if stamp and stamp.iso and _BEFORE.match(text[: stamp.span[0]]) else None
