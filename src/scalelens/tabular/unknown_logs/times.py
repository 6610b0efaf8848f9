"""Which time a number of a line is, and its unit, where its name does not say so: time stamps or the time left do.

    2026-01-02 03:04:05 Iter [20/400] eta: 0:03:10, time: 0.487      time: seconds per step, for 380 * 0.487 = 185 s

Steps cannot last longer than the time between their lines.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_names import read_name
from scalelens.tabular.table import in_bursts
from scalelens.tabular.unknown_logs.drawn_bars import BAR_TIME
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LEFT, RUNNING, TIMES, TOTAL, mean_of

_AS_STAMPS = (0.75, 1.1)  # printed times over those of the clock: a clock sees more than the step
_AS_TIME_LEFT = (0.8, 1.25)
_LINE_BY_LINE, _MOST_LINES = 0.02, 0.8  # between a time and the clock in one line, and the share of such lines
_AS_SPAN = (0.9, 1.02)  # printed times of all steps between two lines, over those of the clock
_LEAST_LINES, _LEAST_BETWEEN = 5, 2  # lines, and steps between them, by which it is told from the time of one step
_FAR = 2.0  # times as fast as the clock, or as slow
_TOO_LONG = 1.5  # over what the clock shows: not the time of a step
_LEAST_STAMPS, _MANY = 2, 10  # resolutions between records, and spans of ten of them, for several to show a time
_FINE = 10  # resolutions of the stamps that lie between records, for each of them to show a time
_EVENLY, _EVENLY_EPOCHS = 0.98, 0.5  # of the time lies between records that are one resolution apart
_ONE_STAMP, _TWO_STAMPS = 1.5, 2.5  # resolutions: more than one, and less than two; more than two
_LONG = 50  # resolutions that lie between records, where several have one stamp
_FOLLOWS = 0.25  # of how much the stamps differ from line to line
_COARSE = 0.05  # of a time: a last digit that is more is coarse
_PAUSE = 5  # usual spans between lines: a longer one holds an evaluation, or a pause
_ROUNDED = 0.02  # between a time and the rounded rate beside it
_MOSTLY = 0.9  # share of the records
_WAVES = 4  # values, of which one falls
_SMOOTHED = 0.02  # between a time and the mean beside it
_PASSED = re.compile(r"(?:total|tot|elapsed|time elapsed)\b", re.IGNORECASE)
_KEPT = 20_000
_LEAST_LEFT_S = 30.0
_FORWARD_OR_BACK = re.compile(r"(?<![a-z])(?:fwd|bwd|forward|backward)(?![a-z])", re.IGNORECASE)
_STATED = 0.05  # between the median of a time and the mean that the log states
_LEAST_SUMS, _LEAST_PARTS = 5, 3  # records; times of a line
_TOTAL_OF_LINE = re.compile(r"(?:(?:step|iter|iteration)[_ ])?total(?:[_ ]time)?(?: \[\w+\])?\Z", re.IGNORECASE)
_ADDED_UP = 0.02  # between a time and the sum of its parts
_ELSEWHERE = {
    "data", "load", "reader", "eval", "val", "test", "left", "mean", "avg", "total", "eta", "epoch", "required",
}  # fmt: skip


class LineTimes:
    """What stamps and the time left show about the time of a step, and the columns compared with it."""

    def __init__(
        self, step: str | None, resolution_s: float, of_epochs: bool = False, epoch: str | None = None
    ) -> None:  # fmt: skip
        self.step, self.resolution_s, self.of_epochs = step, resolution_s, of_epochs  # each line counts an epoch
        self.epoch = epoch  # the column that counts them
        self.partial: set[str] = set()  # times that together with that of the data are the time of the step
        self.by_clock: list[tuple[float, float]] = []  # seconds and steps between records
        self.by_both: list[tuple[float, float]] = []  # a rate's time of a step, and that of the clock
        self.back = 0  # how often the stamps go back while the steps grow, as those of the time left do
        self.beside_clock: dict[str, list[tuple[float, float]]] = {}  # values, and the step time by the clock there
        self.grown: dict[str, list[tuple[float, float]]] = {}  # what values grow by, and seconds by the clock
        self.gone_back: Counter[str] = Counter()  # how often they do not grow, but where another epoch begins
        self.by_left: list[float] = []
        self.left_by_step: list[float] = []  # by how much the time left falls with each step
        # What a value times its count grows by, the value times the steps since then, and seconds by the clock.
        self.wholes: dict[str, list[tuple[float, float, float]]] = {}
        self.values: dict[str, list[float]] = {}
        self.by_rate: dict[str, list[tuple[float, float]]] = {}  # times by name, with those of the rate beside them
        self.records = 0
        self.sums: Counter[str] = Counter()  # how often a time is the sum of all others of its record
        self._last: dict[Any, tuple[float, float]] = {}
        self._last_values: dict[Any, tuple[float, float, float | None]] = {}
        self._last_left: dict[Any, tuple[float, float]] = {}
        self._last_means: dict[Any, tuple[float, float, float]] = {}

    def seen(self, records: Iterator[TableRecord]) -> Iterator[TableRecord]:
        """Passes records on, and looks at their times."""
        for record in records:
            if self.step and len(self.by_clock) < _KEPT:
                self._take(record.cells)
            yield record

    def _take(self, cells: Mapping[str, Any]) -> None:
        step, now, left, total = (number(cells.get(name)) for name in (self.step or "", BY_CLOCK, LEFT, TOTAL))
        if step is None:
            return
        whose = cells.get("rank"), cells.get("worker")
        shown = 0.0
        if now is not None:
            before = self._last.get(whose)
            shown = (now - before[1]) / (step - before[0]) if before and step > before[0] else 0.0
            if before and step > before[0] and now >= before[1]:
                self.by_clock.append((now - before[1], step - before[0]))
                if (printed := number(cells.get(RUNNING))) is not None:
                    self.by_both.append((printed, (now - before[1]) / (step - before[0])))
            self.back += bool(before and step > before[0] and now < before[1])
            self._last[whose] = step, now
        if left is not None and total is not None and left >= _LEAST_LEFT_S and total - step >= 1:
            self.by_left.append(left / (total - step))
        if left is not None:
            then, before_left = self._last_left.get(whose, (step, left))
            self._last_left[whose] = step, left
            if step > then and left < before_left:
                self.left_by_step.append((before_left - left) / (step - then))
        self.records += 1
        self._add_up(cells)
        by_rate = number(cells.get(RUNNING))
        for name, value in cells.items():
            if (amount := number(value)) is not None:
                self.values.setdefault(name, []).append(amount)
                role, unit = read_name(name)
                if now is not None and (unit is None or role in ("time", "elapsed")):
                    self._take_growth(whose, name, amount, now, number(cells.get(self.epoch or "")))
                if now is not None and unit is None:
                    self._take_mean(whose, name, amount, step, now)
                if shown > 0 and mean_of(name) in cells:
                    self.beside_clock.setdefault(name, []).append((amount, shown))
                if by_rate and unit in TIMES and name not in (RUNNING, BY_CLOCK, LEFT):
                    self.by_rate.setdefault(name, []).append((amount * TIMES[unit or "s"], by_rate))

    def _take_growth(self, whose: Any, name: str, amount: float, now: float, epoch: float | None) -> None:
        """Notes what a number has grown by, and what passed by the clock."""
        earlier, then, before = self._last_values.get((whose, name), (math.inf, now, None))
        self._last_values[whose, name] = amount, now, epoch
        if amount > earlier and now >= then:
            self.grown.setdefault(name, []).append((amount - earlier, now - then))
        elif earlier < math.inf:
            self.gone_back[name] += epoch is None or epoch == before

    def _take_mean(self, whose: Any, name: str, amount: float, step: float, now: float) -> None:
        """Notes what a time would be of, if it were the mean of all steps of the epoch so far."""
        if read_name(name).role not in ("time", "batch_time"):
            return
        mean, at, then = self._last_means.get((whose, name), (0.0, math.inf, now))
        self._last_means[whose, name] = amount, step, now
        if step > at > 0 and now > then:
            whole = amount * step - mean * at, amount * (step - at), now - then
            self.wholes.setdefault(name, []).append(whole)

    def _add_up(self, cells: Mapping[str, Any]) -> None:
        """Notes which time of a record is the sum of all others, those of forward and backward among them."""
        parts = {
            name: amount * TIMES[unit]
            for name, value in cells.items()
            if (unit := read_name(name).unit) in TIMES
            and name not in (RUNNING, BY_CLOCK, LEFT)
            and (amount := number(value)) is not None
        }
        longest = max(parts, key=parts.__getitem__, default="")
        others = sum(parts.values()) - parts.get(longest, 0.0)
        if len(parts) > 2 and any(name != longest and _FORWARD_OR_BACK.search(name) for name in parts):
            self.sums[longest] += abs(others - parts[longest]) <= _ADDED_UP * parts[longest]

    @property
    def clock_s(self) -> float | None:
        """Seconds of a step by the time stamps."""
        if len(self.by_clock) < 3 or self.counts_down:
            return None
        spans = [span for span, _ in self.by_clock]
        if statistics.median(spans) >= _FINE * self.resolution_s:
            return statistics.median(span / steps for span, steps in self.by_clock)
        typical = [
            (span, steps)
            for span, steps in self.by_clock
            if span <= _PAUSE * max(statistics.median(spans), self.resolution_s)
        ]
        seconds = sum(span for span, _ in typical)
        return seconds / sum(steps for _, steps in typical) if seconds >= 5 * _FINE * self.resolution_s else None

    @property
    def counts_down(self) -> bool:
        """Whether the stamps go back so often that they are not of when the lines were printed."""
        return self.back > len(self.by_clock)

    @property
    def stamps_tell(self) -> bool:
        """Whether the stamps tell the time between two records, or between as many as ten resolutions take."""
        spans = [span for span, _ in self.by_clock]
        if not spans or self.counts_down:
            return False
        long = sum(spans) >= _MANY * _FINE * self.resolution_s
        if self.within_resolution and sum(spans) > _LONG * self.resolution_s:
            return True
        typical = statistics.median(spans)
        return not in_bursts(spans) and typical >= (_LEAST_STAMPS if long else _FINE) * self.resolution_s

    @property
    def within_resolution(self) -> bool:
        """Whether records have one stamp or the next, and come evenly: most time passes by one resolution, or two.

        What lies in longer spans, such as a validation, would be in the time of steps; an epoch may hold it.
        """
        spans = [span for span, _ in self.by_clock]
        if not spans or statistics.median(spans) >= _ONE_STAMP * self.resolution_s:
            return False
        short_s = self._short_s
        evenly = sum(span for span in spans if span <= short_s)
        least = _EVENLY_EPOCHS if self.of_epochs else _EVENLY
        return evenly >= least * sum(spans) > 0

    @property
    def _short_s(self) -> float:
        """The longest span between records that come evenly: one more resolution than most of them take."""
        typical = statistics.median(span for span, _ in self.by_clock)
        return (_ONE_STAMP if typical < self.resolution_s / 2 else _TWO_STAMPS) * self.resolution_s

    @property
    def least_epoch_s(self) -> float:
        """How long epochs must take together for the stamps to tell their mean, where one is too short; else 0."""
        spans = [span for span, _ in self.by_clock]
        least_s = (_LONG if self.within_resolution else _FINE) * self.resolution_s
        return 0.0 if not spans or statistics.median(spans) >= least_s else least_s

    @property
    def least_steps(self) -> int:
        """How many steps a time by the stamps must be a mean of, where one record is too near the next; else 0."""
        if not self.by_clock or self.of_epochs:
            return 0
        span_s, steps = (statistics.median(part) for part in zip(*self.by_clock, strict=True))
        if self.within_resolution:
            short_s = self._short_s
            short = [span for span, _ in self.by_clock if span <= short_s]
            return math.ceil(_LONG * self.resolution_s / statistics.fmean(short)) * int(steps)
        fine = not span_s or span_s >= _FINE * self.resolution_s
        return 0 if fine else math.ceil(_FINE * self.resolution_s / span_s) * int(steps)

    def claims(self, name: str) -> bool:
        """Whether a column may be the time of a step, by its name or its unit."""
        role, unit = read_name(name)
        if role in ("time", "batch_time") or (role == "elapsed" and self._goes_back(name)):
            return True
        if role == "batch" and "data" in self.values:  # `data: 0.0242  batch: 0.8641`
            return any(value % 1 for value in self.values[name])
        words = set(name.lower().replace("_", " ").split())
        return (
            role is None
            and name not in self.partial
            and unit in TIMES
            and not words & _ELSEWHERE
            and name not in (LEFT, BY_CLOCK)
        )

    def _goes_back(self, name: str) -> bool:
        """Whether a time falls again and again, as one since the start never does."""
        values = self.values.get(name, [])
        return _WAVES * sum(later < value for value, later in itertools.pairwise(values)) >= len(values) > 0

    def is_too_long(self, name: str, factor: float) -> bool:
        """Whether a column cannot be the time of a step, as it is longer than what lies between the records."""
        values, clock_s = self.values.get(name), self.clock_s
        return bool(values and clock_s and statistics.median(values) * factor > _TOO_LONG * clock_s)

    def outlasts_clock(self, name: str, factor: float) -> bool:
        """Whether what a column states of each record adds up to more than what passed by the stamps."""
        passed = sum(span for span, _ in self.by_clock)
        return 0 < _TOO_LONG * (passed + self.resolution_s) < sum(self.values.get(name, [])[1:]) * factor

    def is_of_a_simulation(self, name: str) -> bool:
        """Whether a time is the same in each record, and another column grows by it with each step.

        `iteration 7 t=0.07s dt=0.01s` steps through the time of what is computed.
        """
        values, steps = self.values.get(name, []), self.values.get(self.step or "", [])
        if len(values) < _MANY or len(set(values)) > 1 or len(steps) != len(values) or read_name(name).unit is None:
            return False
        others = [
            other for other, grown in self.values.items()
            if other not in (name, self.step, BY_CLOCK, LEFT, RUNNING) and len(grown) == len(values)
        ]  # fmt: skip
        return any(self._grows_by(self.values[other], values[0]) for other in others)

    def _grows_by(self, values: list[float], leap: float) -> bool:
        """Whether a column grows by a number with each step."""
        steps = self.values[self.step or ""]
        pairs = itertools.pairwise(zip(steps, values, strict=True))
        return all(
            abs(later - value - leap * (then - step)) <= _ADDED_UP * leap * max(then - step, 1)
            for (step, value), (then, later) in pairs
        )

    def is_of_a_part(self, name: str, factor: float) -> bool:
        """Whether a time is that of a part of the step, as without its data: the bar in its lines shows far more."""
        values, by_bar = self.values.get(name), self.values.get(BAR_TIME)
        return bool(values and by_bar and statistics.median(values) * factor * _FAR < statistics.median(by_bar))

    def differs_from_clock(self, name: str, factor: float) -> bool:
        """Whether a column grows by far more or less than the clock: it is not the time that passed."""
        steps, values, clock_s = self.values.get(self.step or "", []), self.values.get(name, []), self.clock_s
        if not clock_s or len(steps) != len(values):
            return False
        records = itertools.pairwise(zip(steps, values, strict=True))
        grown = [(later - value) * factor / (end - start) for (start, value), (end, later) in records if end > start]
        return bool(grown) and not 1 / _FAR <= statistics.median(grown) / clock_s <= _FAR

    @property
    def rate_follows_stamps(self) -> bool:
        """Whether a rate is that of the steps since the line before: it goes up and down as the stamps do.

        A mean over more than these follows them less: that of one step in three by a third.
        """
        if len(self.by_both) < _MANY or self.counts_down:
            return False
        usual = statistics.median(shown for _, shown in self.by_both)
        apart = statistics.median(abs(printed - shown) for printed, shown in self.by_both)
        return apart <= _FOLLOWS * statistics.median(abs(shown - usual) for _, shown in self.by_both)

    def is_rounded(self, name: str) -> bool:
        """Whether a time has so few digits that time stamps say it better: its last one is more than a twentieth."""
        values = self.values.get(name)
        return bool(values) and _COARSE * statistics.median(values or ()) < 10.0 ** -self.decimals(name)

    def has_coarse_rates(self, decimals: int | None, share: float = _COARSE) -> bool:
        """Whether the last digit of a rate of steps is more than a share of it: `0.2 it/s` is 4 to 6.7 s a step."""
        shown = self.values.get(RUNNING)
        return decimals is not None and bool(shown) and share / statistics.median(shown or ()) < 10.0**-decimals

    def is_of_clock(self, name: str) -> bool:
        """Whether a time without a unit is that of the stamps, in so few digits that these say it better."""
        role, unit = read_name(name)
        if role not in ("time", "batch_time") or unit or not self.clock_s or not self.is_rounded(name):
            return False
        typical = statistics.median(self.values[name])
        least, most = (typical + sign * 10.0 ** -self.decimals(name) / 2 for sign in (-1, 1))
        low, high = _AS_STAMPS
        return any(least * TIMES[unit] / high <= self.clock_s <= most * TIMES[unit] / low for unit in ("s", "ms"))

    def since_start(self) -> tuple[str, str] | None:
        """The column, and its unit, that is the time since the start: the steps times the mean beside it."""
        steps = self.values.get(self.step or "", [])
        times = [
            name for name in self.values if read_name(name).unit in TIMES and name not in (RUNNING, BY_CLOCK, LEFT)
        ]
        hits = []
        for name, mean in itertools.product(times, [*times, RUNNING]):
            wholes, means = self.values[name], self.values.get(mean, [])
            if name == mean or not _LEAST_LINES <= len(steps) == len(wholes) == len(means):
                continue
            unit_s = TIMES[read_name(name).unit or "s"]
            mean_s = TIMES[read_name(mean).unit or "s"]
            near = sum(
                abs(step * each * mean_s / (whole * unit_s) - 1) <= _ADDED_UP
                for step, each, whole in zip(steps, means, wholes, strict=True)
                if step > 1 and whole
            )
            grows = all(later >= whole for whole, later in itertools.pairwise(wholes))
            if grows and near >= max(_LEAST_LINES, _MOSTLY * (len(steps) - 1)) and wholes[-1] > _FINE * means[-1]:
                hits.append((name, read_name(name).unit or "s"))
        return hits[0] if len(hits) == 1 else None

    def mean_since_begin(self) -> tuple[str, str] | None:
        """The column, and its unit, that times the counts of a line is the time that has passed: a running mean."""
        steps = self.values.get(self.step or "", [])
        passed = [name for name in self.values if _PASSED.match(name) and read_name(name).unit in TIMES]
        times = [name for name in self.values if read_name(name).role == "batch_time" and read_name(name).unit]
        for name, total in itertools.product(times, passed):
            if not len(steps) == len(self.values[name]) == len(self.values[total]):
                continue
            factor, unit_s = TIMES[read_name(name).unit or "s"], TIMES[read_name(total).unit or "s"]
            long = [
                abs(value * factor * step - whole * unit_s) <= max(1.0 + value * factor, _ADDED_UP * whole * unit_s)
                for step, value, whole in zip(steps, self.values[name], self.values[total], strict=True)
                if whole * unit_s >= _FINE
            ]
            if len(long) >= _LEAST_LINES and sum(long) >= _MOSTLY * len(long):
                return name, read_name(name).unit or "s"
        return None

    def means_by_clock(self) -> set[str]:
        """The columns that hold the mean of all steps of the epoch so far: times the count they grow as the clock does.

        The time of the steps since the line before is then that of the clock.
        """
        found = set()
        for name, wholes in self.wholes.items():
            unit = read_name(name).unit
            for factor in (TIMES[each] for each in ((unit,) if unit in TIMES else self.units)):
                as_mean = [abs(whole * factor / span - 1) for whole, _, span in wholes]
                as_time = [abs(since * factor / span - 1) for _, since, span in wholes]
                near = sum(apart <= _LINE_BY_LINE for apart in as_mean)
                nearer = statistics.median(as_time) > 2 * statistics.median(as_mean)
                if len(wholes) >= _MANY and near >= _MOST_LINES * len(wholes) and nearer:
                    found.add(name)
        return found

    def is_smoothed(self, name: str) -> bool:
        """Whether a time may be a median over some steps: the mean beside it differs, and steps lie between the lines.

        `0.31 (0.35)` is the last step and the mean over all of them, or the median of some steps and that mean.
        """
        means = self.values.get(mean_of(name))
        steps = self.values.get(self.step or "", [])
        leaps = sum(later - step > 1 for step, later in itertools.pairwise(steps))
        if not means or 2 * leaps < len(steps):
            return False
        return abs(statistics.median(self.values[name]) / statistics.median(means) - 1) > _SMOOTHED

    def is_of_all_between(self, name: str, factor: float) -> bool:
        """Whether a time is the mean of the steps between two lines: line by line it is that of the clock."""
        pairs = self.beside_clock.get(name, [])
        near = sum(abs(value * factor / shown - 1) <= _LINE_BY_LINE for value, shown in pairs)
        return len(pairs) >= _MANY and near >= _MOST_LINES * len(pairs)

    def of_a_step(self, means: Collection[float]) -> tuple[str, str] | None:
        """The column, and its unit, that holds the time of a step by any evidence; other lines state `means`."""
        return self.proven() or self.unrounded() or self.added_up() or self.as_stated(means)

    def proven(self) -> tuple[str, str] | None:
        """The column, and its unit, that holds the time of a step by the evidence; None where none or several do."""
        lefts = self.by_left or self.left_by_step
        left_s = statistics.median(lefts) if len(lefts) >= (3 if self.by_left else _MANY) else None
        hits: list[tuple[bool, str, str]] = []
        for name, values in self.values.items():
            role, unit = read_name(name)
            if not self.claims(name):
                continue
            smoothed = self.is_smoothed(name)
            for candidate in (unit,) if unit in TIMES else self.units:
                shown = statistics.median(values) * TIMES[candidate]
                if smoothed and role != "batch_time" and not self.is_of_all_between(name, TIMES[candidate]):
                    continue
                if fits(shown, self.clock_s, _AS_STAMPS) or (
                    self.clock_s is None and fits(shown, left_s, _AS_TIME_LEFT)
                ):
                    hits.append((role is not None, name, candidate))
        best = [hit for hit in hits if hit[0]] or hits
        if len(best) > 1:  # `Train time: 0.33, Iter time: 0.37`
            best = [hit for hit in best if read_name(hit[1]).role == "batch_time"]
        if len(best) != 1 or self.lacks_data(best[0][1], best[0][2]):
            return None
        return best[0][1], best[0][2]

    @property
    def units(self) -> tuple[str, ...]:
        """Units that a time without one may have."""
        return ("s", "ms", "min", "h") if self.of_epochs else ("s", "ms", "us")

    def lacks_data(self, name: str, unit: str) -> bool:
        """Whether a time is that of a step without its data: what the clock shows is the sum of both."""
        data = [other for other in self.values if read_name(other).role == "data_time" and read_name(other).unit]
        if len(data) != 1 or not self.clock_s or read_name(name).role == "batch_time":
            return False
        alone = statistics.median(self.values[name]) * TIMES[unit]
        data_s = statistics.median(self.values[data[0]]) * TIMES[read_name(data[0]).unit or "s"]
        if abs(alone / self.clock_s - 1) > _ADDED_UP >= abs((alone + data_s) / self.clock_s - 1):
            self.partial.add(name)
        return name in self.partial

    def of_all_since(self) -> tuple[str, str] | None:
        """The column, and its unit, that is the time of all steps since the record before, by the time stamps."""
        lines = [(span, steps) for span, steps in self.by_clock if steps > 1]
        if self.of_epochs or len(lines) < _LEAST_LINES or 2 * len(lines) < len(self.by_clock):
            return None
        span_s, steps = (statistics.median(part) for part in zip(*lines, strict=True))
        if span_s < _FINE * self.resolution_s:  # what one stamp does not tell, many do
            usual = [span for span, _ in lines if span <= _PAUSE * max(span_s, self.resolution_s)]
            span_s = statistics.fmean(usual) if sum(usual) >= 5 * _FINE * self.resolution_s else 0.0
        if not span_s or steps < _LEAST_BETWEEN:
            return None
        hits = [
            (name, candidate)
            for name, values in self.values.items()
            if self.claims(name) and read_name(name).role != "batch_time"
            for candidate in ((read_name(name).unit or "",) if read_name(name).unit in TIMES else self.units)
            if fits(statistics.median(values) * TIMES[candidate], span_s, _AS_SPAN) and _are_mostly_alike(values)
        ]
        return hits[0] if len(hits) == 1 else None

    def of_stated_steps(self) -> tuple[str, str, str] | None:
        """The column, its unit, and that of the steps: the time is of as many as its line states: `took 3.1 s for 10`.

        As many lie between most lines; where an epoch ends, there may be more.
        """
        counts = [name for name, values in self.values.items() if name.lower() == "for" and len(set(values)) == 1]
        times = [name for name in self.values if read_name(name).role == "time" and read_name(name).unit]
        steps = self.values.get(self.step or "", [])
        apart = [later - step for step, later in itertools.pairwise(steps) if later > step]
        stated = self.values[counts[0]][0] if len(counts) == 1 else 0
        if len(times) != 1 or not apart or stated < _LEAST_BETWEEN:
            return None
        as_many, fewer = sum(steps == stated for steps in apart), sum(steps < stated for steps in apart)
        is_of_these = 2 * as_many > len(apart) and fewer <= (1 - _MOSTLY) * len(apart)
        return (times[0], read_name(times[0]).unit or "s", counts[0]) if is_of_these else None

    def decimals(self, name: str) -> int:
        """The most digits after the point that a column has."""
        return max((len(repr(value).rpartition(".")[2]) for value in self.values.get(name, ())), default=0)

    def added_up(self) -> tuple[str, str] | None:
        """The column, and its unit, that is the sum of the parts of each step, where each step has a line."""
        name, count = next(iter(self.sums.most_common(1)), ("", 0))
        steps, values = self.values.get(self.step or "", []), self.values.get(name, [])
        each = 2 * sum(later - step == 1 for step, later in itertools.pairwise(steps)) >= len(steps)
        falls = sum(later < value for value, later in itertools.pairwise(values))
        is_sum = count >= max(_LEAST_SUMS, _MOSTLY * self.records)
        if is_sum and each and falls > 1:
            return name, read_name(name).unit or "s"
        return self.named_total() if each else None

    def named_total(self) -> tuple[str, str] | None:
        """The column, and its unit, that is called the total of several times of its line, and is their sum."""
        times = {
            name: values for name, values in self.values.items()
            if read_name(name).unit in TIMES and name not in (RUNNING, BY_CLOCK, LEFT)
        }  # fmt: skip
        totals = [name for name in times if _TOTAL_OF_LINE.match(name)]
        if len(totals) != 1 or len(times) < _LEAST_PARTS or len({len(values) for values in times.values()}) != 1:
            return None
        whole, unit = times[totals[0]], read_name(totals[0]).unit or "s"
        if len(whole) < _LEAST_SUMS or sum(later < value for value, later in itertools.pairwise(whole)) <= 1:
            return None
        parts = [
            sum(values[k] * TIMES[read_name(name).unit or "s"] for name, values in times.items() if name != totals[0])
            for k in range(len(whole))
        ]
        near = [
            abs(part - value * TIMES[unit]) <= _ADDED_UP * value * TIMES[unit]
            for part, value in zip(parts, whole, strict=True)
        ]
        return (totals[0], unit) if sum(near) >= _MOSTLY * len(whole) else None

    def as_stated(self, means: Collection[float]) -> tuple[str, str] | None:
        """The column, and its unit, whose values have the mean time of a step that another line of the log states."""
        hits = []
        for name, values in self.values.items():
            role, unit = read_name(name)
            typical = statistics.median(values)
            goes_back = any(later < value for value, later in itertools.pairwise(values))
            if (
                role == "time"
                and unit
                and goes_back
                and any(abs(mean / typical - 1) <= _STATED for mean in means if typical)
            ):
                hits.append((name, unit))
        return hits[0] if len(hits) == 1 else None

    def unrounded(self) -> tuple[str, str] | None:
        """The column, and its unit, that says with more digits what a rate of steps beside it says."""
        names = []
        for name, pairs in self.by_rate.items():
            near = sum(abs(time / by_rate - 1) <= _ROUNDED for time, by_rate in pairs)
            finer = len({time for time, _ in pairs}) > len({by_rate for _, by_rate in pairs})
            if finer and near >= _MOSTLY * len(pairs):
                names.append(name)
        return (names[0], read_name(names[0]).unit or "s") if len(names) == 1 else None


def _are_mostly_alike(values: list[float]) -> bool:
    """Whether most of some values are near their median; those that grow and begin anew are not."""
    typical = statistics.median(values)
    return 2 * sum(typical / _TOO_LONG < value < typical * _TOO_LONG for value in values) > len(values)


def fits(shown: float, known: float | None, share: tuple[float, float]) -> bool:
    """Whether a time is a known one, within these shares of it."""
    return bool(known) and share[0] <= shown / known <= share[1]  # type: ignore[operator]
