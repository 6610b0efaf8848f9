"""Energies of intervals in a table of sensors: each row holds what was taken since the row before it."""

import math
import statistics
from itertools import pairwise
from typing import NamedTuple

from scalelens.parsing.sensors import SECOND, Moment, Samples, Sensor
from scalelens.parsing.values import amount, nanoseconds_since_1970
from scalelens.tabular.counter_units import Area, are_apart


class _Interval(NamedTuple):
    ns: int
    line: int
    joules: float
    stamp: tuple[Moment, str]


class Intervals:
    """The sums of a file's intervals, sensor by sensor.  The first one is taken to be as long as most are."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._own: dict[Sensor, list[_Interval]] = {}

    def add(self, line: int, sensor: Sensor, text: str, stamp: tuple[Moment, str], scale: float) -> None:
        value = amount(text)
        if value is None:
            self._samples.rows.problem(line, f"the energy of {sensor.device or sensor.scope} is not a number", text)
        else:
            interval = _Interval(nanoseconds_since_1970(stamp[0]), line, value * scale, stamp)
            self._own.setdefault(sensor, []).append(interval)

    def finish(self, areas: dict[Sensor, Area]) -> None:
        """Their energies, where no counter counts the same, and the power beside them does not say something else."""
        rows = self._samples.rows
        for sensor, own in self._own.items():
            own.sort()
            steps = [after.ns - before.ns for before, after in pairwise(own) if after.ns > before.ns]
            energy_j = math.fsum(interval.joules for interval in own)
            if sensor in self._samples.counters or not steps:
                continue
            if (area := areas.get(sensor)) and are_apart(energy_j, area.joules):
                why = f"intervals of {energy_j:.6g} J, while the power adds up to {area.joules:.6g} J: not read"
                rows.problem(own[0].line, why)
                continue
            ts, origin = own[-1].stamp
            rows.add(
                "energy", own[-1].line, node=sensor.node, device=sensor.device, scope=sensor.scope, energy_j=energy_j,
                span_s=(own[-1].ns - own[0].ns + statistics.median(steps)) / SECOND, method="intervals", ts=ts,
                ts_origin=origin,
            )  # fmt: skip
