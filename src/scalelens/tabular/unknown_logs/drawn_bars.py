"""Records of the drawings of tqdm's bars: one for each count, with the step through the run and its time.

A bar that fills, and is drawn from its start again, is the next epoch.  One that did not fill is a restart.  Where the
lines say the epoch, a second bar of it with another total is that of its validation, and no record.
"""

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

import numpy as np

from scalelens.parsing.bar_times import BarTimes, mean_of_whole, time_of_whole, times_of, without_pauses
from scalelens.parsing.progress_bars import Drawing, begins
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.unknown_logs.kept_bars import is_drawn_again

STEP = "step"
EPOCH = "epoch"
BAR_TIME = "step time by the bar [s]"
BAR_STEPS = "steps of the time by the bar"
_TIMED, _LONGER = 0.9, 1.05  # share of the steps, and by how much more they take than all
_LAST, _UNDRAWN_S = 0.05, 0.2  # of a bar: what may be missing at its end


class Drawn(NamedTuple):
    """A record, and what the bar in its line shows."""

    record: TableRecord
    drawing: Drawing | None
    after_other: bool = False  # another bar was drawn since the last one


class _Bar:
    """The drawings of one bar."""

    def __init__(self, epoch: float, steps_before: int, trains: bool = True) -> None:
        self.epoch, self.steps_before, self.trains = epoch, steps_before, trains
        self.drawings: list[Drawing] = []
        self.top = 0
        self.records: dict[int, TableRecord] = {}  # by count: the last drawing with a rate, or seconds
        self.line = 0  # of the last drawing
        self.interrupted: set[int] = set()  # counts before which another bar was drawn
        self._pending = False

    def add(self, record: TableRecord, drawing: Drawing, after_other: bool = False) -> None:
        self.line = record.line
        self._pending = (self._pending or after_other) and bool(self.drawings)
        if drawing.step > self.top and self._pending:
            self.interrupted.add(drawing.step)
            self._pending = False
        self.drawings.append(drawing)
        self.top = max(self.top, drawing.step)
        if drawing.pace_s is not None or (drawing.step and drawing.elapsed_s):
            self.records[drawing.step] = record

    def is_of_other_epoch(self, record: TableRecord) -> bool:
        """Whether the line of a drawing counts another epoch than this bar's lines."""
        epoch = record.cells.get(EPOCH)
        return epoch is not None and epoch != self.epoch

    @property
    def filled(self) -> bool:
        """Whether it came to its end: what follows is another epoch.  Its last steps may not be drawn."""
        last = self.drawings[-1]
        left = (last.total or 0) - self.top
        return left <= _LAST * (last.total or 0) or left * (last.pace_s or 0.0) < _UNDRAWN_S

    def timed(self, as_whole: bool, is_timed: bool) -> tuple[list[TableRecord], BarTimes]:
        times = mean_of_whole(self.drawings) if as_whole else without_pauses(times_of(self.drawings), self.interrupted)
        records = []
        for count, record in sorted(self.records.items()):
            cells = {**record.cells, STEP: self.steps_before + count, EPOCH: self.epoch}
            if is_timed and (time := times.by_step.get(count)):
                cells |= {BAR_TIME: time.step_s, BAR_STEPS: time.steps}
            records.append(record._replace(cells=cells))
        return records, times


class DrawnBars:
    """Turns drawings into records, bar by bar."""

    def __init__(
        self,
        with_epochs: bool,
        one_for_each_epoch: bool = False,
        as_wholes: bool = False,
        are_timed: bool = True,
        trainings: Container[int] = (),
    ) -> None:
        self.trainings = trainings  # lines of the first drawings of other trainings than the one before
        self.as_wholes = as_wholes  # each bar has the mean of its steps, and nothing else
        self.are_timed = are_timed  # else they have no times, since those of the short ones are unknown
        self.wholes = np.zeros((2, 2))  # steps and seconds: of all bars drawn until they were full, and by their times
        self.with_epochs = with_epochs  # bars are drawn again and again
        self.one_for_each_epoch = one_for_each_epoch  # and only when they are full
        self.disputed: tuple[int, BarTimes] | None = None  # the first bar whose rates contradict its seconds
        self._bars: dict[Any, _Bar] = {}
        self._trained: dict[Any, _Bar] = {}  # the last bar of training
        self._first_epoch: int | None = None  # 0 or 1, as the log counts

    @property
    def short_ones_lack_times(self) -> bool:
        """Whether bars have no times because they are too short for them, so that those with times are too long."""
        (steps, seconds), (timed_steps, timed_s) = self.wholes
        few = 0 < timed_steps < _TIMED * steps
        return bool(few and timed_s / timed_steps > _LONGER * seconds / steps)

    def records(self, drawn: Iterator[Drawn]) -> Iterator[TableRecord]:
        for record, drawing, after_other in drawn:
            if record.damage or drawing is None:
                yield record
                continue
            whose = record.cells.get("rank"), record.cells.get("worker")
            bar = self._bars.get(whose)
            if bar is None or bar.is_of_other_epoch(record) or self._begins(bar, record, drawing):
                if bar:
                    yield from self._ended(bar)
                before = None if record.line in self.trainings else self._trained.get(whose)
                bar = self._bars[whose] = self._next(before, record, drawing)
                if bar.trains:
                    self._trained[whose] = bar
            bar.add(record, drawing, after_other)
        for bar in self._bars.values():
            yield from self._ended(bar)
        self._bars = {}

    def _begins(self, bar: _Bar, record: TableRecord, drawing: Drawing) -> bool:
        """Whether a drawing is of another bar than the one before."""
        if self.one_for_each_epoch and drawing.pace_s is not None:
            return bool(bar.records) and not is_drawn_again(bar.line, record.line)
        return begins(bar.drawings[-1], bar.top, drawing)

    def _next(self, before: _Bar | None, record: TableRecord, drawing: Drawing) -> _Bar:
        epoch = record.cells.get(EPOCH)
        if before and before.filled and epoch == before.epoch and drawing.total != before.drawings[-1].total:
            return _Bar(epoch, 0, trains=False)
        if epoch is None:
            epoch = before.epoch + 1 if before and before.filled else 1
        if self._first_epoch is None:
            self._first_epoch = min(int(epoch), 1)
        if before and before.filled and epoch == before.epoch + 1:  # bars may differ in length
            return _Bar(epoch, before.steps_before + (before.drawings[-1].total or before.top))
        return _Bar(epoch, (int(epoch) - self._first_epoch) * (drawing.total or 0))

    def _ended(self, bar: _Bar) -> Iterator[TableRecord]:
        if not bar.trains:
            return
        records, times = bar.timed(self.as_wholes, self.are_timed)
        for whole in time_of_whole(bar.drawings).by_step.values():
            told = sum(t.steps for t in times.by_step.values()), sum(t.steps * t.step_s for t in times.by_step.values())
            self.wholes += np.array([(whole.steps, whole.steps * whole.step_s), told], dtype=float)
        if times.rate_s and not self.disputed and records:
            self.disputed = records[0].line, times
        for record in records:
            if not self.with_epochs:
                del record.cells[EPOCH]
            yield record
