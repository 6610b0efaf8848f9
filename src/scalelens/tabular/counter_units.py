"""Whether a counter of energy fits the power of the same sensor in the same table, and whether it is fine enough."""

import itertools
import math

from scalelens.parsing.sensors import SECOND, Samples, Sensor

_MOST_APART = 5  # times: a counter is so far from the power beside it where its unit is another one
_COARSE = 0.02  # of what a counter counted, in one step
_MOST_MOVES = 0.5  # of its readings are larger than the one before, where steps are those of its display


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


def drop_coarse(samples: Samples, has_power: bool) -> None:
    """Leave out counters whose steps are large parts of what they counted, where a power was measured as well."""
    for sensor, readings in [*samples.counters.items()]:
        steps = [after.joules - before.joules for before, after in itertools.pairwise(readings)]
        moved = [step for step in steps if step > 0]
        if not moved or min(moved) < _COARSE * math.fsum(moved) or len(moved) > _MOST_MOVES * len(steps):
            continue
        why = f"the counter moves by {min(moved):.6g} J at a time, and by {math.fsum(moved):.6g} J in all"
        samples.rows.problem(readings[0].line, f"{why}: it is not read" if has_power else why)
        if has_power:
            del samples.counters[sensor]


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
