"""Whether a counter of energy fits the power of the same sensor in the same table."""

import itertools
import math

from scalelens.parsing.sensors import SECOND, Samples, Sensor

_MOST_APART = 5  # times: a counter is so far from the power beside it where its unit is another one


class Area:
    """The integral of a sensor's power, as far as its times go on."""

    def __init__(self) -> None:
        self.joules = 0.0
        self._last: tuple[int, float] | None = None

    def add(self, ns: int, power_w: float | None) -> None:
        if power_w is None or math.isnan(power_w):
            return
        if self._last and ns > self._last[0]:
            self.joules += (self._last[1] + power_w) / 2 * (ns - self._last[0]) / SECOND
        self._last = ns, power_w


def are_apart(energy_j: float, area_j: float) -> bool:
    """Whether an energy is another one than that of the power beside it."""
    return min(energy_j, area_j) > 0 and max(energy_j, area_j) > _MOST_APART * min(energy_j, area_j)


def drop_other_units(samples: Samples, areas: dict[Sensor, Area]) -> None:
    """Leave out counters that are far from the power beside them: their unit is not the one that their name says."""
    for sensor in [sensor for sensor in samples.counters if sensor in areas]:
        readings, area_j = samples.counters[sensor], areas[sensor].joules
        steps = (after.joules - before.joules for before, after in itertools.pairwise(readings))
        counted_j = math.fsum(step for step in steps if step > 0)
        if are_apart(counted_j, area_j):
            why = f"a counter of {counted_j:.6g} J, while the power adds up to {area_j:.6g} J: it is not read"
            samples.rows.problem(readings[0].line, why)
            del samples.counters[sensor]
