"""A first look at a table: what the values of each column are like, which decides between the meanings of its name."""

import math
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from scalelens.parsing.values import YEARS_2000_TO_2100, half_of_last_digit, number
from scalelens.tabular.cells import TableRecord, is_blank, time_stamp
from scalelens.tabular.column_names import read_name
from scalelens.tabular.growth import Growth

_SERIES = ("run", "rank", "place", "phase")  # roles that distinguish rows that do not follow one another
_TIMES = ("epoch_time", "time", "elapsed")  # roles of names that may mean the time of an epoch
RISING = 20  # this many values in a row do not all rise by chance: that is one case in 20!
_MOST_DECIMALS = 4
_LEAST_BETWEEN = 6  # values between two restarts of a count, which all rise: of 20 values that swing, half would fall
_LEAST_OF_LAUNCH = 3  # rows, on average
_GROWN = 10  # times its first value
_LEAST_SUMS, _SUMMAND = 3, 0.2  # rows, and what each adds at least, as a share of the first
_AS_THE_FIRST = 0.5  # of the first, in which a program warms up
_TICK = 2.0**22  # per second: until 2038, time.time() is a multiple of its inverse, and so is the difference of two
_MOST_TICKS = 2.0**50
_LOOKED_AT = 100
_THOUSAND = 8  # its part that is a power of two: that of 5 may be lost to rounding
_SURE_BITS = 40  # of evidence that a column holds such differences
_ONE_BITS = 20  # by a number with more digits than a float32
_FINE = 6  # digits after the point, up to which a multiple may be a rounded number
_WAVES = 4  # in a column that goes up and down, one value in this many falls; restarts cause fewer falls


class ColumnValues:
    """What the values of a column are like."""

    def __init__(self) -> None:
        self.numbers = self.texts = self.stamps = 0
        self.falls = self.leaps = 0  # below the value before it, of the same rank, and by more than 1 above it
        self.repeats = 0  # equal to it
        self._growth = self._longest = Growth()  # since it fell, and between the two falls that are farthest apart
        self.decimals = 0  # with which its numbers are given, up to _MOST_DECIMALS
        self.last_digit = 0.0  # the coarsest of the numbers with an exponent: 10 for `1.2e+02`
        self.first: str | None = None
        self.last = 0.0  # its last number
        self.line: int | None = None  # of the first value
        self.constant = True
        self.moves = self.turns = 0  # how often it differs from the value of the same epoch before it; other epochs
        self.launches = 0  # how often it goes back where the count does, too: a launch begins
        self.tick_factor = 0  # what all of these differences, in ticks, are multiples of: of 1,000 in milliseconds
        self.tick_bits = 0  # of evidence that its numbers are differences of time.time(); -1: they are not

    @property
    def is_number(self) -> bool:
        return self.numbers > self.texts

    @property
    def resolution(self) -> float:
        """The last digit of its numbers; where they have an exponent, the coarsest."""
        return max(10.0**-self.decimals, self.last_digit)

    @property
    def is_text(self) -> bool:
        return self.texts > 0 and not self.is_number

    @property
    def is_stamp(self) -> bool:
        return self.stamps > 0 and self.stamps == self.numbers + self.texts

    @property
    def is_by_clock(self) -> bool:
        """Whether each number is the time between two of `time.time()`, unrounded, and so in seconds."""
        return self.tick_bits >= _SURE_BITS and self.tick_factor % _THOUSAND != 0

    @property
    def mostly_leaps(self) -> bool:
        """Whether most of its numbers that differ from the one before it are more than 1 above it.

        Where several processes print each step, their lines repeat it.
        """
        return self.leaps * 2 >= self.numbers - self.repeats

    @property
    def swings(self) -> bool:
        """Whether it goes up and down."""
        return self.falls > 1 and self.falls * _WAVES >= self.numbers

    @property
    def rises(self) -> bool:
        """Whether it grows from row to row, over too many rows for chance."""
        return self.numbers >= RISING and not self.falls and self._grows

    @property
    def flattens(self) -> bool:
        """Whether it comes to rest as no time since the start does: a time of steps that rises, or a mean of them."""
        longest = max(self._longest, self._growth, key=len)
        if len(longest) < RISING:
            return False
        return longest.slows_smoothly or (longest.halves and not longest.adds_up)

    @property
    def adds_up(self) -> bool:
        """Whether it only grows, and by so much that its rows can be sums, as a time since the start is."""
        if self.falls or self.numbers < _LEAST_SUMS:
            return False
        if self.repeats and (self.numbers < _LEAST_BETWEEN or self.last <= _GROWN * float(self.first or 0)):
            return False  # unless it is rounded, and has grown nevertheless
        return self.last - float(self.first or 0) >= _SUMMAND * float(self.first or 0) * (self.numbers - 1)

    @property
    def sums_up(self) -> bool:
        """Whether it adds up, and each row adds about as much as the first."""
        first = float(self.first or 0)
        return self.adds_up and self.last - first >= _AS_THE_FIRST * first * (self.numbers - 1)

    @property
    def runs_within_epochs(self) -> bool:
        """Whether an epoch has several values: a time since the epoch began, or what is left of it."""
        return self.moves > max(1, self.turns)

    def is_since_epochs_began(self, restarts: int) -> bool:
        """Whether it grows with each row of an epoch, and goes back only where a count begins anew."""
        return not self.repeats and self.falls == restarts and self.numbers >= _LEAST_BETWEEN * (restarts + 1)

    def rises_between(self, restarts: int) -> bool:
        """Whether it grows from row to row, and goes back as often as a count begins anew."""
        enough = self.numbers >= max(RISING, _LEAST_BETWEEN * (restarts + 1))
        return restarts > 0 and self.falls == restarts and enough and self._grows

    @property
    def rises_in_launches(self) -> bool:
        """Whether it grows from row to row, and goes back only where a later launch counts from its start."""
        if 0 < self.launches == self.falls - 1 and self.numbers >= RISING * (self.falls + 1):
            return True  # a launch that ended in its first epoch is followed by another first epoch
        return 0 < self.falls == self.launches and self.numbers >= max(RISING, _LEAST_OF_LAUNCH * (self.falls + 1))

    @property
    def sums_in_launches(self) -> bool:
        """Whether it goes back only where a later launch begins, and adds up between: the time since each began."""
        longest = max(self._longest, self._growth, key=len)
        return 0 < self.falls == self.launches and len(longest) >= _LEAST_SUMS and longest.adds_up

    @property
    def _grows(self) -> bool:
        """Whether each value is larger than the one before it, or some are equal that have few digits."""
        return not self.repeats or self.last > _GROWN * abs(float(self.first or 0)) > 0

    def take(self, value: Any, before: float | None) -> float | None:
        """Takes a value; `before` is the last number of the same series.  Returns the value as a number."""
        amount = number(value)
        if amount is None and is_blank(value):
            return None
        if self.constant:
            self.constant = self.first in (None, str(value))
            self.first = self.first or str(value)
        if self.stamps == self.numbers + self.texts:  # until something else comes
            self.stamps += time_stamp(value) is not None
        if amount is None:
            self.texts += 1
            return None
        self.numbers += 1
        text = str(value) if self.decimals < _MOST_DECIMALS or self.last_digit else ""
        if self.decimals < _MOST_DECIMALS:
            self.decimals = max(self.decimals, _decimals_of(text))
        if "e" in text or "E" in text:
            self.last_digit = max(self.last_digit, 2 * half_of_last_digit(text))
        if self.tick_bits >= 0:
            self.count_tick(amount)
        before = amount - 1 if before is None else before
        self.falls += amount < before
        self.leaps += amount > before + 1
        self.repeats += amount == before
        if _WAVES * self.falls < self.numbers:
            if amount < before:
                self._grow_anew()
            self._growth.take(amount)
        self.last = amount
        return amount

    def _grow_anew(self) -> None:
        """Notes that it fell."""
        self._longest, self._growth = max(self._growth, self._longest, key=len), Growth()

    def count_tick(self, amount: float) -> None:
        """Notes whether a number may be the difference of two `time.time()`, and not a float32."""
        ticks = amount * _TICK
        if not (0 <= ticks < _MOST_TICKS and ticks == int(ticks)):
            self.tick_bits = -1
        elif round(amount, _FINE) != amount:
            self.tick_factor = math.gcd(self.tick_factor, int(ticks))
            single = struct.unpack("f", struct.pack("f", amount))[0] == amount
            self.tick_bits += max(0, 2 - math.frexp(amount)[1]) if single else _ONE_BITS

    def take_numbers(self, values: np.ndarray, before: float | None) -> float | None:
        """`take` of many numbers of one series.  Returns the last one."""
        values = values[np.isfinite(values)]
        if not len(values):
            return before
        first = float(values[0])
        if self.constant:
            self.first = self.first or f"{first:.15g}"
            self.constant = bool((values == float(self.first)).all())
        if self.stamps == self.numbers + self.texts:
            self.stamps += int(stamp_scales(values)[1].sum())
        self.numbers += len(values)
        if self.decimals < _MOST_DECIMALS:
            self.decimals = max(self.decimals, _decimals_of_all(values))
        for amount in values[:_LOOKED_AT] if self.tick_bits >= 0 else ():
            if self.tick_bits >= 0:
                self.count_tick(float(amount))
        earlier = np.concatenate(([first - 1 if before is None else before], values[:-1]))
        self.falls += int((values < earlier).sum())
        self.leaps += int((values > earlier + 1).sum())
        self.repeats += int((values == earlier).sum())
        (falls,) = np.nonzero(values < earlier)
        if _WAVES * self.falls < self.numbers:
            for k, piece in enumerate(np.split(values, falls)):
                if k:
                    self._grow_anew()
                self._growth.take_all(piece)
        self.last = float(values[-1])
        return float(values[-1])


def stamp_scales(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many units of each number are a second, if it is a time since 1970; and which numbers are one."""
    scales, known = np.ones(len(values)), np.zeros(len(values), bool)
    for scale in (1.0, 1e3, 1e6, 1e9):
        fits = (values / scale > YEARS_2000_TO_2100[0]) & (values / scale < YEARS_2000_TO_2100[1])
        scales[fits] = scale
        known |= fits
    return scales, known


def _decimals_of_all(values: np.ndarray) -> int:
    return next((k for k in range(_MOST_DECIMALS) if (np.round(values, k) == values).all()), _MOST_DECIMALS)


def _decimals_of(number: str) -> int:
    return _MOST_DECIMALS if "e" in number or "E" in number else len(number.partition(".")[2])


class Survey:
    """What each column of a table holds, rank by rank."""

    def __init__(self, records: Iterator[TableRecord]) -> None:
        self.columns: dict[str, ColumnValues] = {}
        self.labels: list[str] = []
        self._epoch_name: str | None = None
        self._step_name: str | None = None
        self._times: list[str] = []
        self._positions: dict[tuple[Any, ...], tuple[float, float]] = {}  # epoch and step of the last record
        self._epochs: dict[tuple[Any, ...], Any] = {}  # that of the last record
        last: dict[tuple[Any, ...], float] = {}
        for record in records:
            if record.damage:
                continue
            for name in record.cells:
                if name not in self.columns:
                    self._add(name)
            whose = tuple(record.cells.get(name) for name in self.labels)
            if self._times:
                self._look_within_epochs(record, whose, last)
                self._look_for_launches(record, whose, last)
            for name, value in record.cells.items():
                column = self.columns[name]
                last_value = column.take(value, last.get((name, whose)))
                if last_value is not None:
                    last[name, whose] = last_value
                column.line = column.line or (record.line if column.first else None)

    def _add(self, name: str) -> None:
        """Adds a column."""
        self.columns[name] = ColumnValues()
        role = read_name(name).role
        self.labels += [name] if role in _SERIES else []
        self._times += [name] if role in _TIMES else []
        self._epoch_name = self._epoch_name or (name if role == "epoch" else None)
        self._step_name = self._step_name or (name if role in ("step", "batch") else None)

    def _look_within_epochs(
        self, record: TableRecord, whose: tuple[Any, ...], last: dict[tuple[Any, ...], float]
    ) -> None:
        """Notes which times differ from those of the record before, of the same epoch."""
        if self._epoch_name is None:
            return
        epoch = record.cells.get(self._epoch_name)
        same = epoch is not None and epoch == self._epochs.get(whose)
        for name in self._times:
            before, now = last.get((name, whose)), number(record.cells.get(name))
            self.columns[name].moves += same and None not in (before, now) and before != now
            self.columns[name].turns += not same and now is not None
        self._epochs[whose] = epoch

    def _look_for_launches(
        self, record: TableRecord, whose: tuple[Any, ...], last: dict[tuple[Any, ...], float]
    ) -> None:
        """Notes which times go back where the epoch does, or the step of one epoch."""
        counts = [number(record.cells.get(name or "")) for name in (self._epoch_name, self._step_name)]
        now = counts[0] or 0.0, counts[1] or 0.0
        before = self._positions.get(whose)
        self._positions[whose] = now
        if before is None or now > before or counts == [None, None]:
            return
        for name in self._times:
            earlier, later = last.get((name, whose)), number(record.cells.get(name))
            self.columns[name].launches += earlier is not None and later is not None and later < earlier
