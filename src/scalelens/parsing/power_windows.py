"""What a part of a file measured, as powers over some twenty windows of time, by sensor.

They are kept in its facts: two files that hold the same readings have the same powers in the same windows, even where
one of them sums the devices up or averages over time.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Annotated

import msgspec

MOST_WINDOWS = 24
_MOST_SENSORS = 32
_MOST_W = 1e7  # no sensor reads more; the sums stay within 64 bits
_SECOND_NS = 10**9

Sensor = tuple[str, str, str]  # node, scope and device, each empty where it is not known
_Reading = tuple[Sensor, int, float]  # of which sensor, nanoseconds since 1970, watts


class Windows(msgspec.Struct, omit_defaults=True):
    """Sums and numbers of readings by sensor, in windows that are a power of two of seconds long."""

    seconds: Annotated[int, msgspec.Meta(ge=1, le=2**40)] = 1
    first: Annotated[int, msgspec.Meta(ge=-(2**40), le=2**40)] = 0  # number of the first window since 1970
    sensors: list[Sensor] = []
    sums: list[list[int]] = []  # milliwatts, by sensor and window
    counts: list[list[int]] = []
    is_given_up: bool = False  # too many sensors

    @property
    def n(self) -> int:
        """How many windows there are."""
        return len(self.sums[0]) if self.sums else 0

    def between(self, begin: int, end: int) -> dict[Sensor, float]:
        """Mean power of each sensor in milliwatts, in the windows from one number to before another one."""
        places = range(max(0, begin - self.first), min(self.n, end - self.first))
        return {
            sensor: sum(sums[k] for k in places) / n
            for sensor, sums, counts in zip(self.sensors, self.sums, self.counts, strict=True)
            if (n := sum(counts[k] for k in places))
        }

    def add(self, readings: Iterable[_Reading]) -> None:
        numbers = {sensor: k for k, sensor in enumerate(self.sensors)}
        for sensor, ns, power_w in readings:
            if self.is_given_up:
                return
            if not 0 <= power_w < _MOST_W:
                continue
            number = numbers.get(sensor)
            if number is None:
                number = numbers[sensor] = self._new(sensor)
                if self.is_given_up:
                    return
            place = ns // (self.seconds * _SECOND_NS) - self.first
            if not 0 <= place < len(self.sums[number]):
                place = self._placed(ns)
            self.sums[number][place] += round(1000 * power_w)
            self.counts[number][place] += 1

    def _new(self, sensor: Sensor) -> int:
        if len(self.sensors) == _MOST_SENSORS:
            self.sensors, self.sums, self.counts, self.is_given_up = [], [], [], True
            return 0
        windows = len(self.sums[0]) if self.sums else 0
        self.sensors.append(sensor)
        self.sums.append([0] * windows)
        self.counts.append([0] * windows)
        return len(self.sensors) - 1

    def _placed(self, ns: int) -> int:
        """The place of a window that is not held yet: the windows grow in number, then in length."""
        windows = len(self.sums[0])
        if not windows:
            self.first = ns // (self.seconds * _SECOND_NS)
        first = min(self.first, ns // (self.seconds * _SECOND_NS))
        last = max(self.first + windows - 1, ns // (self.seconds * _SECOND_NS))
        while last - first >= MOST_WINDOWS:
            self._double()
            first, last = first // 2, last // 2
        before, windows = self.first - first, len(self.sums[0])
        after = last - self.first - windows + 1
        for held in chain(self.sums, self.counts):
            held[:] = [0] * before + held + [0] * after
        self.first = first
        return ns // (self.seconds * _SECOND_NS) - first

    def _double(self) -> None:
        wide = self.doubled()
        self.seconds, self.first, self.sums, self.counts = wide.seconds, wide.first, wide.sums, wide.counts

    def doubled(self) -> "Windows":
        """The same readings in windows that are twice as long."""
        skip = self.first % 2

        def paired(held: list[int]) -> list[int]:
            whole = [0] * skip + held
            return [sum(whole[k : k + 2]) for k in range(0, len(whole), 2)]

        sums, counts = [*map(paired, self.sums)], [*map(paired, self.counts)]
        return Windows(2 * self.seconds, self.first // 2, self.sensors, sums, counts)

    def powers(self) -> dict[Sensor, dict[int, float]]:
        """Mean power of each sensor in milliwatts by the number of the window, without those at both ends."""
        return {
            sensor: {self.first + k: sums[k] / counts[k] for k in range(1, len(sums) - 1) if counts[k]}
            for sensor, sums, counts in zip(self.sensors, self.sums, self.counts, strict=True)
        }
