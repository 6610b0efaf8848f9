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
from scalelens.tabular.unknown_logs.records import MEAN_TIME, RUNNING, TIMES, LineTable

STEP_TIME = "step time by the means [s]"
STEPS = "steps of the time by the means"
_LEAST = 20  # lines of an epoch, that show what its mean is of
_OPEN = 0.1  # share of a time that may be in error
_FAR, _SELDOM = 3, 0.1  # times the usual time, and share of the intervals
_MOST_DECIMALS = 9


class _Mean(NamedTuple):
    """What a line says: the time of its steps so far, and by how much it may be wrong."""

    line: int
    steps: int
    seconds: float
    error: float


def divide_means(table: LineTable) -> bool:
    """Gives the records of a table the times of the steps between them, if their means tell these.  Whether they do."""
    shape = table.shape
    named = [name for name in shape.names if MEAN_TIME.fullmatch(name) and shape.units[name] in TIMES]
    counted = table.columns.get("batch") or table.columns.get("step")
    records = table.kept
    if len(named) != 1 or not counted or shape.bar or shape.of_epochs or table.resolution_s or not records:
        return False
    epochs = list(_epochs(records, counted, table.columns.get("epoch")))
    times: dict[int, tuple[float, int]] = {}
    for epoch in epochs:
        intervals = list(_intervals(epoch)) if _are_means(epoch) else []
        if not intervals:
            return False
        times |= {line: (seconds / steps, steps) for line, seconds, steps in intervals}
    if not _are_alike(times):
        return False
    table.kept = [_with_time(record, times.get(record.line)) for record in records]
    return True


def _with_time(record: TableRecord, time: tuple[float, int] | None) -> TableRecord:
    """A record with the time of the steps that it ends, instead of the mean of all."""
    cells = {name: value for name, value in record.cells.items() if name != RUNNING}
    return record._replace(cells=cells | ({STEP_TIME: time[0], STEPS: time[1]} if time else {}))


def _epochs(records: Sequence[TableRecord], counted: str, epoch: str | None) -> Iterator[list[_Mean]]:
    """What the lines of each epoch say, by who writes them."""
    values = [value for record in records if (value := number(record.cells.get(RUNNING))) is not None]
    decimals = max((len(repr(value).partition(".")[2]) for value in values), default=0)
    error = 0.5 * 10.0 ** -min(decimals, _MOST_DECIMALS)
    counts = [count for record in records if (count := number(record.cells.get(counted))) is not None]
    from_zero = min(counts, default=1) == 0
    open_epochs: dict[Any, tuple[Any, list[_Mean]]] = {}
    for record in records:
        count, mean = number(record.cells.get(counted)), number(record.cells.get(RUNNING))
        if count is None or mean is None:
            continue
        whose = record.cells.get("rank"), record.cells.get("worker")
        at, steps = record.cells.get(epoch or ""), int(count) + from_zero
        before = open_epochs.get(whose)
        if before is None or before[0] != at or steps <= before[1][-1].steps:
            if before:
                yield before[1]
            before = open_epochs[whose] = at, []
        before[1].append(_Mean(record.line, steps, steps * mean, steps * error))
    yield from (means for _, means in open_epochs.values())


def _are_means(epoch: Sequence[_Mean]) -> bool:
    """Whether the seconds of an epoch so far never fall."""
    grown = [now.seconds - before.seconds + now.error + before.error for before, now in itertools.pairwise(epoch)]
    return len(epoch) >= _LEAST and all(seconds >= 0 for seconds in grown)


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
