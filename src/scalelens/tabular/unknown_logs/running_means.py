"""Times of steps by a mean over all steps since the epoch began, which each line prints with its count.

    [20/400] Avg loss: 6.41 Avg time/batch: 0.295 s        40 * 0.265 s - 20 * 0.295 s: these 20 took 0.235 s each
    [40/400] Avg loss: 6.02 Avg time/batch: 0.265 s

Between two lines the count times its mean grows by what the steps between them took: as far as the printed digits tell
it to a tenth, so that the intervals grow with the count.  It never falls, and hardly ever by far more than usual, as
it would do if the mean were of anything else.
"""

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.records import MEAN_TIME, RUNNING, TIMES, LineTable, column_of

STEP_TIME = "step time by the means [s]"
STEPS = "steps of the time by the means"
_LEAST = 20  # lines of an epoch, that show what its mean is of
_OPEN = 0.1  # share of a time that may be in error
_FAR, _SELDOM = 3, 0.1  # times the usual time, and share of the intervals
_MOST_DECIMALS = 9
_FEWEST, _LEAST_EPOCHS = 4, 3  # lines of an epoch, and epochs, whose beginnings show that a time is a mean
_LONGER = 0.05  # share of the time that it is longer by in the first line of an epoch
_FITS = 0.02  # of what the last batches alone would leave over
_ALIKE, _LEAST_SPREAD = 0.1, 0.01  # of what it is longer by, or of the time, that the later intervals lie apart


class _Mean(NamedTuple):
    """What a line says: the time of its steps so far, and by how much it may be wrong."""

    line: int
    steps: int
    seconds: float
    error: float


def divide_means(table: LineTable) -> bool:
    """Gives the records of a table the times of the steps between them, if their means tell these.  Whether they do."""
    shape = table.shape
    counted = table.columns.get("batch") or table.columns.get("step")
    records = table.kept
    if not counted or shape.bar or shape.of_epochs or table.resolution_s or not records:
        return False
    named = [name for name in shape.names if MEAN_TIME.fullmatch(name) and shape.units[name] in TIMES]
    column = RUNNING if len(named) == 1 else _one_time_of(table)
    if not column:
        return False
    epochs = list(_epochs(records, counted, table.columns.get("epoch"), column))
    proven = _are_means_by_their_beginnings(epochs)
    if not proven and len(named) != 1:
        return False
    times: dict[int, tuple[float, int]] = {}
    for epoch in epochs:
        enough = proven or len(epoch) >= _LEAST
        intervals = list(_intervals(epoch)) if enough and _never_falls(epoch) else []
        if not intervals:
            return False
        times |= {line: (seconds / steps, steps) for line, seconds, steps in intervals}
    if not (proven or _are_alike(times)):
        return False
    table.kept = [_with_time(record, times.get(record.line), column) for record in records]
    return True


def _one_time_of(table: LineTable) -> str:
    """The one column that is called the time of a step, if it is in all lines; else an empty text."""
    names = {name: column_of(name, unit) for name, unit in table.shape.units.items() if unit in TIMES}
    columns = [column for name, column in names.items() if read_name(column).role == "batch_time"]
    records = table.kept or ()
    if not (columns or table.rate_decimals) and any(RUNNING in record.cells for record in records):
        columns = [RUNNING]
    usual = [column for column in columns if all(column in record.cells for record in records)]
    return usual[0] if len(columns) == len(usual) == 1 else ""


def _are_means_by_their_beginnings(epochs: Sequence[Sequence[_Mean]]) -> bool:
    """Whether the times of epochs are longer at their beginning, by what falls as one over the count.

    The epochs that have the same counts are taken together, so that what is by chance is less.
    """
    usual = statistics.mode([tuple(mean.steps for mean in epoch) for epoch in epochs]) if epochs else ()
    alike = [epoch for epoch in epochs if tuple(mean.steps for mean in epoch) == usual]
    if len(usual) < _FEWEST or len(alike) < _LEAST_EPOCHS or len(alike) < len(epochs) - 1:
        return False
    means = [statistics.fmean(epoch[k].seconds / steps for epoch in alike) for k, steps in enumerate(usual)]
    if means[0] < (1 + _LONGER) * means[-1]:
        return False
    slope, least = statistics.linear_regression([1 / steps for steps in usual], means)
    over = sum((mean - least - slope / steps) ** 2 for mean, steps in zip(means, usual, strict=True))
    later = statistics.fmean(means[1:])
    fits = least > 0 and over <= _FITS * sum((mean - later) ** 2 for mean in means[1:])
    return fits and _spread_after_the_first(usual, means) <= max(_ALIKE * (means[0] / means[-1] - 1), _LEAST_SPREAD)


def _spread_after_the_first(counts: Sequence[int], means: Sequence[float]) -> float:
    """How far the times of the intervals after the first lie apart, as a share of them, if these are means."""
    sums = [count * mean for count, mean in zip(counts, means, strict=True)]
    both = zip(itertools.pairwise(counts), itertools.pairwise(sums), strict=True)
    times = [(s[1] - s[0]) / (n[1] - n[0]) for n, s in both]
    return (max(times) - min(times)) / max(statistics.fmean(times), 1e-12)


def _with_time(record: TableRecord, time: tuple[float, int] | None, column: str) -> TableRecord:
    """A record with the time of the steps that it ends, instead of the mean of all."""
    cells = {name: value for name, value in record.cells.items() if name != column}
    return record._replace(cells=cells | ({STEP_TIME: time[0], STEPS: time[1]} if time else {}))


def _epochs(records: Sequence[TableRecord], counted: str, epoch: str | None, column: str) -> Iterator[list[_Mean]]:
    """What the lines of each epoch say, by who writes them."""
    factor = TIMES.get(read_name(column).unit or "s", 1.0)
    values = [value for record in records if (value := number(record.cells.get(column))) is not None]
    decimals = max((len(repr(value).partition(".")[2]) for value in values), default=0)
    error = 0.5 * 10.0 ** -min(decimals, _MOST_DECIMALS) * factor
    counts = [count for record in records if (count := number(record.cells.get(counted))) is not None]
    from_zero = min(counts, default=1) == 0
    open_epochs: dict[Any, tuple[Any, list[_Mean]]] = {}
    for record in records:
        count, mean = number(record.cells.get(counted)), number(record.cells.get(column))
        if count is None or mean is None:
            continue
        whose = record.cells.get("rank"), record.cells.get("worker")
        at, steps = record.cells.get(epoch or ""), int(count) + from_zero
        before = open_epochs.get(whose)
        if before is None or before[0] != at or steps <= before[1][-1].steps:
            if before:
                yield before[1]
            before = open_epochs[whose] = at, []
        before[1].append(_Mean(record.line, steps, steps * mean * factor, steps * error))
    yield from (means for _, means in open_epochs.values())


def _never_falls(epoch: Sequence[_Mean]) -> bool:
    """Whether the seconds of an epoch so far never fall."""
    grown = [now.seconds - before.seconds + now.error + before.error for before, now in itertools.pairwise(epoch)]
    return all(seconds >= 0 for seconds in grown)


def _intervals(epoch: Sequence[_Mean]) -> Iterator[tuple[int, float, int]]:
    """Line, seconds and steps of each interval that is known to a tenth; the last one goes on to the last line."""
    marks = [_Mean(0, 0, 0.0, 0.0)]
    for now in epoch:
        usual_s = now.seconds / now.steps  # by that of the interval, those would be chosen that seem long
        if now.error + marks[-1].error <= _OPEN * (now.steps - marks[-1].steps) * usual_s:
            marks.append(now)
    if len(marks) > 1:
        marks[-1] = epoch[-1]
    for before, now in itertools.pairwise(marks):
        yield now.line, now.seconds - before.seconds, now.steps - before.steps


def _are_alike(times: dict[int, tuple[float, int]]) -> bool:
    """Whether hardly any of the times is far from the usual one."""
    known: Iterable[float] = [seconds for seconds, _ in times.values()]
    if not times:
        return False
    usual = statistics.median(known)
    far = sum(not usual / _FAR <= seconds <= usual * _FAR for seconds in known)
    return far <= _SELDOM * len(times)
