"""Times of steps from the drawings of a progress bar: tqdm's smoothed rate inverted, held against its elapsed seconds.

tqdm smooths the steps of an update and its seconds apart, and draws the quotient: with n the steps and t the seconds,
EMA(t) = EMA(n) * seconds of a step, and t = (EMA(t) - b EMA(t) before) / a, with a = 0.3 and b = 1 - a; what corrects
the bias of both cancels.  Before 4.57 it smoothed the quotient itself; with a = 0 it draws the mean since the start.
The way that fits the elapsed seconds at each drawing is taken.  Where none does, or where the printed digits, whose
error grows (1 + b) / a times, leave more than a tenth of a step open, single steps are not known: then there are means
over ten seconds or more, by the elapsed seconds.  A bar too short for them has the mean of all that it draws when it is
closed, held against its elapsed seconds.  What a resumed training skips at the start of a bar is left out: from then on
there are means by the elapsed seconds.

Source: tqdm/std.py, update() and EMA.
"""

import functools
import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from scalelens.parsing.bar_updates import (
    LATE_S,
    SURELY_ALL_S,
    Update,
    from_start,
    mean_of_closed,
    until_full,
    updates_of,
    without_redraws,
)
from scalelens.parsing.progress_bars import Drawing

_SMOOTHING = 0.3
_AT_LEAST_S = 0.1  # between two updates that are drawn: tqdm's mininterval
_WINDOW_S = 10  # seconds of which the ends are known to one
_SURELY = 10  # updates: of fewer, one that is not drawn, or that is of unusual size, moves what the others say
_FEW = 3  # windows: the mean of all is known better
_HIDDEN = 0.2  # share of the drawings without a rate: if more, those with one may not stand for all
_SKIPPED = 50  # times as many steps as later drawings count: those that a resumed training skips at once
_QUICKER = 3  # times as quick as the steps that follow: a drawing of skipped ones, which all are ten times as quick
_ALIKE = 0.5  # of their mean, that each of the steps after the skipped ones takes at least
_NEARLY_FULL = 0.95  # of a bar whose last steps may not be drawn
_PAUSED, _FEW_STEPS = 1.2, 0.2  # of the usual time of a step, and share of the steps
_OPEN = 0.1  # share of a step that its time may be in error


class BarTime(NamedTuple):
    """The time of a step, a mean over some steps."""

    step_s: float
    steps: int


class BarTimes(NamedTuple):
    """The times that a bar shows, by count of the last step of each; and whether its rates contradict its seconds."""

    by_step: dict[int, BarTime]
    rate_s: float | None = None  # seconds of a step by its rates, where they contradict
    clock_s: float | None = None  # by its elapsed seconds


def times_of(drawings: Sequence[Drawing], averaged: bool = False) -> BarTimes:
    """The times of the steps of one bar.  `averaged`: its rate is known to be the mean since its start."""
    drawings = until_full(drawings)
    if (skipped := _skipped_one_by_one(drawings)) is not None:
        return BarTimes(_by_clock(None, _without_means(drawings[skipped:])))
    drawings = _since_resumed(drawings)
    start, updates = updates_of(drawings)
    hidden = sum(d.pace_s is None and d.step > 0 < d.elapsed_s for d in drawings)  # a narrow terminal cut their rates
    if hidden > _HIDDEN * len(drawings):
        return BarTimes(_by_clock(start, drawings))
    if not updates or max(d.rounding for d in drawings) > 1:
        return BarTimes(_by_clock(start, drawings))
    is_short = updates[-1].elapsed_s < _WINDOW_S or len(updates) < _SURELY
    is_redrawn = sum(d.pace_s is not None for d in drawings) > len(updates) + 1  # one more where the bar is closed
    if (is_short or is_redrawn) and len({u.leap for u in updates}) > 1:
        late_s = max(u.leap * u.pace_s for u in updates)  # some updates are not drawn, or only with the next postfix
        return BarTimes(_by_clock(start, drawings, late_s))
    for ways in [[_means(start, drawings)]] if averaged else _ways(start, updates, drawings):
        fitting = [way.times() or {} for way in ways if way.fits()]
        if fitting:
            times = functools.reduce(_agreed, fitting)
            if is_short and _differ(times, mean_of_closed(start, drawings)):
                times = {}
            return BarTimes(times or _by_clock(start, drawings))
    span_s, steps = updates[-1].elapsed_s - updates[0].elapsed_s, updates[-1].step - updates[0].step
    rate_s = statistics.fmean((u.pace_s for u in updates), (u.leap for u in updates))
    if len(updates) >= _SURELY and span_s and abs(rate_s * steps / span_s - 1) > _OPEN + 1 / span_s:
        return BarTimes(_by_clock(start, drawings), rate_s, span_s / steps)
    return BarTimes(_by_clock(start, drawings))


def time_of_whole(drawings: Sequence[Drawing]) -> BarTimes:
    """The mean of all steps of a bar that was drawn from its start until it was full, by its elapsed seconds.

    One that first skips steps has none.
    """
    drawings = list(_first_drawings(until_full(drawings)))
    if skips(drawings):
        return BarTimes({})
    first, last = drawings[0], drawings[-1]
    if (
        first.step
        or (first.elapsed_s and first.pace_s is not None)
        or not last.elapsed_s
        or last.step < _NEARLY_FULL * (last.total or last.step + 1)
    ):
        return BarTimes({})
    return BarTimes({last.step: BarTime((last.elapsed_s + 0.5) / last.step, last.step)})


def mean_of_whole(drawings: Sequence[Drawing]) -> BarTimes:
    """The mean of all steps of such a bar, as it was drawn when it was closed, or where whole seconds tell it."""
    drawings = until_full(drawings)
    if skips(drawings):
        return BarTimes({})
    if closed := mean_of_closed(updates_of(drawings)[0], drawings):
        return BarTimes({drawings[-1].step: BarTime(closed[1], closed[0])})
    return time_of_whole(drawings) if _OPEN * drawings[-1].elapsed_s >= 0.5 else BarTimes({})


def without_pauses(times: BarTimes, interrupted: Set[int]) -> BarTimes:
    """The times without those that hold another bar, as of an evaluation, if these are few and each is long.

    `interrupted` are the counts before which another bar was drawn.
    """
    paused = {
        count: time
        for count, time in times.by_step.items()
        if not interrupted.isdisjoint(range(count - time.steps + 1, count + 1))
    }
    others = [time.step_s for count, time in times.by_step.items() if count not in paused]
    if not paused or not others:
        return times
    usual_s, steps = statistics.median(others), sum(time.steps for time in times.by_step.values())
    long = all(time.step_s > _PAUSED * usual_s for time in paused.values())
    if not long or sum(time.steps for time in paused.values()) > _FEW_STEPS * steps:
        return times
    return times._replace(by_step={count: time for count, time in times.by_step.items() if count not in paused})


def _since_resumed(drawings: Sequence[Drawing]) -> Sequence[Drawing]:
    """The drawings from where a resumed training goes on: its bar first skips the steps that were made before.

    The skipped steps take less than a tenth of the time of others.  The rate of a closed bar is a mean with them.
    """
    counted = [*_first_drawings(drawings)]
    if len(counted) < _FEW or counted[0].step:
        return drawings
    skipped, last = counted[1], counted[-1]
    usual = statistics.median(later.step - now.step for now, later in itertools.pairwise(counted[1:]))
    made, span_s = last.step - skipped.step, last.elapsed_s - skipped.elapsed_s
    if skipped.step < _SKIPPED * usual or _SURELY * (skipped.elapsed_s + 1) * made >= span_s * skipped.step:
        return drawings
    return _without_means(drawings[drawings.index(skipped) :])


def _without_means(drawings: Sequence[Drawing]) -> list[Drawing]:
    """Drawings without the rate of those that are full: it is a mean with steps that were skipped."""
    return [now._replace(pace_s=None) if now.step == now.total else now for now in drawings]


def _skipped_one_by_one(drawings: Sequence[Drawing]) -> int | None:
    """The index of the first drawing after the steps that a resumed training skips, where it takes some drawings to.

    Skipped steps take less than a tenth of the time of later ones, and each later one about as long as the others.
    What is drawn first after the skipped ones may hold some of them: tqdm draws as seldom as before.
    """
    marks = list(_first_drawings(drawings))
    if marks[0].step:
        return None
    last = marks[-1]
    for k in range(len(marks) - 1 - _FEW, 1, -1):
        before, now = marks[k - 1], marks[k]
        made, span_s = last.step - now.step, last.elapsed_s - now.elapsed_s
        pace_s = span_s / made
        is_skipped = (now.step - before.step) * pace_s >= _QUICKER * (now.elapsed_s - before.elapsed_s + 1)
        if is_skipped and now.step * pace_s >= _SURELY * (now.elapsed_s + 1):
            alike = all(
                step.elapsed_s - then.elapsed_s + 1 >= _ALIKE * pace_s * (step.step - then.step)
                for then, step in itertools.pairwise(marks[k + 1 :])
            )
            sure = alike and not _one_is_long(marks[k:], pace_s) and span_s >= _WINDOW_S and now.step >= _SKIPPED
            return drawings.index(marks[k + 1]) if sure else None
    return None


def _one_is_long(marks: Sequence[Drawing], pace_s: float) -> bool:
    """Whether the steps between some drawings are much quicker than `pace_s` but for those of one drawing.

    Of the first two drawings one step alone is known to be between them, as they may hold skipped ones.
    """
    spans = [(now.elapsed_s - before.elapsed_s, now.step - before.step) for before, now in itertools.pairwise(marks)]
    spans[0] = spans[0][0], 1
    spans.remove(max(spans))
    return sum(seconds for seconds, _ in spans) + 1 < _ALIKE * pace_s * sum(steps for _, steps in spans)


def skips(drawings: Sequence[Drawing]) -> bool:
    """Whether a bar first skips the steps that were made before."""
    return _skipped_one_by_one(drawings) is not None or _since_resumed(drawings) is not drawings


def _agreed(one: dict[int, BarTime], other: dict[int, BarTime]) -> dict[int, BarTime]:
    """The times on which two ways agree."""
    pairs = [(step, time, other[step]) for step, time in one.items() if step in other]
    return {
        step: time
        for step, time, again in pairs
        if time.steps == again.steps and abs(time.step_s / again.step_s - 1) <= _OPEN
    }


def _differ(times: dict[int, BarTime], closed: tuple[int, float] | None) -> bool:
    """Whether the times of a short bar do not add up to the mean that it drew when it was closed."""
    steps = sum(time.steps for time in times.values())
    if not closed or not steps:
        return False
    return abs(sum(time.step_s * time.steps for time in times.values()) / steps / closed[1] - 1) > _OPEN


def _ways(start: Drawing | None, updates: list[Update], drawings: Sequence[Drawing]) -> Iterator[list["_Way"]]:
    """The ways of smoothing that a bar may have, the usual one first; of equally likely ones those that agree count."""
    usual_s = statistics.median(u.leap for u in updates) * statistics.median(u.pace_s for u in updates)
    leaps = [u.leap for u in updates]
    unequal = leaps.count(statistics.mode(leaps)) < 0.9 * len(leaps)
    changed = without_redraws(updates)
    if usual_s < SURELY_ALL_S and len(changed) < len(updates):
        yield [_smoothed(changed, start, all_drawn=True)]
    if usual_s >= 0.9 * _AT_LEAST_S:  # else some are redraws
        likely = [updates, changed] if unequal else [updates]
        yield [_smoothed(those, start, all_drawn=True) for those in likely]
        yield [_smoothed(updates, start, all_drawn=False)]
        yield [_smoothed_quotients(updates, start)]
        yield [_smoothed(changed, start, all_drawn=True)]
    yield [_means(start, drawings)]


class _Way:
    """The seconds of each update by one way of smoothing, and their errors."""

    def __init__(
        self, start: Drawing | None, updates: Sequence[Update], seconds: list[float], errors: list[float],
        drift: list[float], lost: list[bool],
    ) -> None:  # fmt: skip
        self.start, self.updates, self.seconds, self.errors, self.lost = start, updates, seconds, errors, lost
        self.drift = drift  # by how much the error of a sum of seconds grows with each

    def fits(self) -> bool:
        """Whether the seconds add up to those that the bar shows as elapsed, at each update."""
        first = self.updates[0].elapsed_s
        low, high = (0.0, 0.0) if self.start else (float(first), first + 1.0)
        total = slack = 0.0
        for k, update in enumerate(self.updates):
            if (k == 0 and not self.start) or self.lost[k]:
                low, high = float(update.elapsed_s), update.elapsed_s + 1.0
                total = slack = 0.0
                continue
            total += self.seconds[k]
            slack += self.drift[k]
            near = slack + self.errors[k] + LATE_S
            if low + total - near > update.elapsed_s + 1 or high + total + near < update.elapsed_s:
                return False
        return True

    def times(self) -> dict[int, BarTime] | None:
        """Times by count; None where their errors leave too much open."""
        known = [k for k, lost in enumerate(self.lost) if not lost]
        if not known:
            return None
        usual = statistics.median(self.seconds[k] for k in known)
        usual_error = statistics.median(self.errors[k] for k in known)
        if usual <= 0 or usual_error > _OPEN * usual or usual_error > 1:
            return None
        return self.before_first() | {
            self.updates[k].step: BarTime(self.seconds[k] / self.updates[k].leap, self.updates[k].leap)
            for k in known
            if self.seconds[k] > 0 and self.errors[k] <= _OPEN * max(usual, self.seconds[k])
        }

    def before_first(self) -> dict[int, BarTime]:
        """The mean up to the first update of a log that begins later than its bar, if the bar counts from 0 at 0 s."""
        first = self.updates[0]
        if self.start or not self.lost[0] or first.elapsed_s < _WINDOW_S:
            return {}
        mean_s = (first.elapsed_s + 0.5) / first.step
        return {first.step: BarTime(mean_s, first.step)} if abs(mean_s / first.pace_s - 1) <= _OPEN else {}


def _smoothed(updates: Sequence[Update], start: Drawing | None, all_drawn: bool) -> _Way:
    """By tqdm since 4.57: steps and seconds are smoothed apart, both from zero."""
    a, b = _SMOOTHING, 1 - _SMOOTHING
    seconds, errors, drift, lost = list[float](), list[float](), list[float](), _lost(updates, start, all_drawn)
    usual, pace = statistics.median(u.leap for u in updates), updates[0].pace_s
    steps_ema = doubt = 0.0 if from_start(updates, start) else usual  # doubt: of the smoothed steps
    seconds_ema, error = steps_ema * pace, steps_ema * pace * updates[0].error
    for k, update in enumerate(updates):
        missing = lost[k] and k > 0
        leap = usual if missing else update.leap
        steps_ema = a * leap + b * steps_ema
        now = steps_ema * update.pace_s
        by_doubt = doubt * abs(update.pace_s - pace)
        # Of two equal rates it is exact: else the last bits of a float would tell apart what the bar does not.
        seconds.append(leap * update.pace_s if update.pace_s == pace else (now - b * seconds_ema) / a)
        errors.append((now * update.error + b * error + b * by_doubt) / a)
        drift.append(update.error * update.leap * update.pace_s + by_doubt)
        doubt = b * doubt + (a * (update.leap - usual) if missing else 0.0)
        seconds_ema, error, pace = now, now * update.error, update.pace_s
    return _Way(start, updates, seconds, errors, drift, lost)


def _smoothed_quotients(updates: Sequence[Update], start: Drawing | None) -> _Way:
    """By older versions: the seconds of a step are smoothed, from the first."""
    a, b = _SMOOTHING, 1 - _SMOOTHING
    first = updates[0]
    seconds, errors = [first.leap * first.pace_s], [first.leap * first.pace_s * first.error]
    for before, now in itertools.pairwise(updates):
        pace_s = now.pace_s if now.pace_s == before.pace_s else (now.pace_s - b * before.pace_s) / a
        seconds.append(now.leap * pace_s)
        errors.append(now.leap * (now.pace_s * now.error + b * before.pace_s * before.error) / a)
    drift = [u.error * u.leap * u.pace_s for u in updates]
    return _Way(start, updates, seconds, errors, drift, _lost(updates, start, all_drawn=True))


def _lost(updates: Sequence[Update], start: Drawing | None, all_drawn: bool) -> list[bool]:
    """Which updates have no time of their own: drawings before them are missing, or the bar did not begin with them."""
    usual = statistics.median(u.leap for u in updates)
    slow = usual * statistics.median(u.pace_s for u in updates) >= SURELY_ALL_S
    lost = [slow and u.leap > usual and not all_drawn for u in updates]
    most = max((u.leap for u in updates[1:]), default=usual)
    lost[0] = lost[0] or updates[0].leap > 3 * most or not from_start(updates, start)
    return lost


class _Means(_Way):
    """Seconds since the start, of which the differences are times where they are known well enough."""

    def __init__(self, first: int, drawn: list[Drawing]) -> None:
        self.first, self.drawn = first, drawn

    def end_of(self, now: Drawing) -> tuple[float, float]:
        """Seconds since the start at a drawing, and their error."""
        seconds = (now.step - self.first) * (now.pace_s or 0.0)
        return seconds, seconds * now.error

    def fits(self) -> bool:
        ends = [(now.elapsed_s, *self.end_of(now)) for now in self.drawn]
        return all(s - near - LATE_S <= end <= s + 1 + near + LATE_S for s, end, near in ends)

    def times(self) -> dict[int, BarTime] | None:
        return dict(_windows([(self.first, 0.0, 0.0), *((now.step, *self.end_of(now)) for now in self.drawn)], 1))


def _means(start: Drawing | None, drawings: Sequence[Drawing]) -> _Means:
    """Without smoothing: the rate is the mean from the start up to the drawing."""
    return _Means(start.step if start else 0, list(_first_drawings(d for d in drawings if d.pace_s is not None)))


def _by_clock(start: Drawing | None, drawings: Sequence[Drawing], late_s: float = 0.0) -> dict[int, BarTime]:
    """Means over ten seconds or more, by the elapsed seconds; of a short bar that was closed the one that it draws.

    `late_s`: how late a count may be drawn.
    """
    marks = [(now.step, now.elapsed_s + 0.5, 0.5 + late_s) for now in _first_drawings(drawings)]
    if start:
        marks[0] = (start.step, 0.0, 0.0)
    windows = dict(_windows(marks, max(d.rounding for d in drawings)))
    if len(windows) < _FEW and (mean := mean_of_closed(start, drawings)):
        return {drawings[-1].step: BarTime(mean[1], mean[0])}
    if len(marks) == 1 and (alone := _drawn_when_full(drawings[-1])):
        return {alone.steps: alone}
    (first, begin_s, _), (last, end_s, _) = marks[0], marks[-1]
    if len(windows) == 1 and last == drawings[-1].total and last > first:  # the rest of the bar is no window of its own
        return {last: BarTime((end_s - begin_s) / (last - first), last - first)}
    return windows


def _drawn_when_full(bar: Drawing) -> BarTime | None:
    """The mean of a bar of which only the full drawing is left, if its rate shows that it counts from 0 at 0 s."""
    if bar.pace_s is None or bar.step != bar.total or bar.elapsed_s < _WINDOW_S:
        return None
    mean_s = (bar.elapsed_s + 0.5) / bar.step
    return BarTime(mean_s, bar.step) if abs(mean_s / bar.pace_s - 1) <= _OPEN else None


def _first_drawings(drawings: Iterable[Drawing]) -> Iterator[Drawing]:
    """The first drawing of each step."""
    top = -1
    for now in drawings:
        if now.step > top:
            top = now.step
            yield now


def _windows(marks: Iterable[tuple[int, float, float]], rounding: int) -> Iterator[tuple[int, BarTime]]:
    """Means between marks (count, seconds since the start, their error) that are far enough apart."""
    begin: tuple[int, float, float] | None = None
    for count, seconds, near in marks:
        if begin is None:
            begin = count, seconds, near
            continue
        steps, span = count - begin[0], seconds - begin[1]
        if steps > 0 and near + begin[2] <= _OPEN * span and rounding - 1 <= _OPEN * steps:
            yield count, BarTime(span / steps, steps)
            begin = count, seconds, near
