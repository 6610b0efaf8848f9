"""Files of power that repeat the readings of another: sums over its devices, means over time, or the readings as such.

Neither a name nor a folder tells it, but the values do.  The facts of a file hold the mean power of each sensor in some
twenty windows of time.  Readings of another device differ in them by per cents, even where both did the same work.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil, floor, log
from statistics import median

from scalelens.parsing.power_windows import Sensor, Windows
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part

_DIGITS = re.compile(r"\d+")
_FEWEST = 5  # windows that must agree
_MOST = 0.9  # of the windows that must do so
_SAME = 1e-6  # relative difference of the same readings
# Relative differences of sums and means: of nearly all windows, their median, of all together, and of the changes from
# window to window.  Of 311 pairs of GPUs that trained together, none came near more than one of the last three.
_NEAR, _MEDIAN, _TOTAL, _OF_CHANGES = 0.01, 0.001, 3e-4, 0.05
_BUCKET = 1.02  # powers that agree lie in one bucket or in two beside each other

_Powers = dict[int, float]  # by the number of the window


class _Measured:
    """A part with its powers, which are computed when they are compared."""

    def __init__(self, part: Part) -> None:
        self.part, self.windows = part, part.facts.powers or Windows()
        self._levels: dict[int, tuple[dict[Sensor, _Powers], list[_Powers]]] = {}

    def powers(self, seconds: int) -> tuple[dict[Sensor, _Powers], list[_Powers]]:
        """The powers of the sensors in windows of a length, and of all series: of the sensors, and of their sums."""
        if seconds not in self._levels:
            windows = self.windows
            while windows.seconds < seconds:
                windows = windows.doubled()
            own = windows.powers()
            self._levels[seconds] = own, _series(own)
        return self._levels[seconds]


def copies_of_power(parts: Iterable[Part], ties: list[Tie]) -> dict[tuple[str, int], Part]:
    """Parts that repeat the readings of another part, by content and number, each with that other part."""
    measured = sorted((part for part in parts if part.facts.powers and part.facts.powers.n >= _FEWEST + 2), key=_place)
    lookup = Lookup[_Measured]("power", ties)
    all_measured = [_Measured(part) for part in measured]
    for one in all_measured:
        for key in dict.fromkeys(_keys(one.part)):
            lookup.offer(key, one, one.part)
    places = {(one.part.file_id, one.part.part): place for place, one in enumerate(all_measured)}
    found: dict[tuple[str, int], Part] = {}
    for place, one in enumerate(all_measured):
        part = one.part
        if not part.is_sensed or part.facts.measured_by or part.named_run is not None:
            continue
        near = {
            places[other.part.file_id, other.part.part] for key in _sought(part) for other in lookup.seek(key, part)
        }
        for other in (all_measured[k] for k in sorted(near) if k < place):
            may_be = (other.part.file_id, other.part.part) not in found and _may_be_of_one_job(part, other.part)
            if may_be and _repeats(one, other):
                found[part.file_id, part.part] = other.part
                break
    return found


def _place(part: Part) -> tuple[bool, int, int, str, int]:
    """Originals come first: what a tool wrote, then what holds more readings."""
    powers = part.facts.powers or Windows()
    return part.is_power_table, -part.facts.rows.get("power", 0), -len(powers.sensors), part.path, part.part


def _may_be_of_one_job(part: Part, other: Part) -> bool:
    return part.job_id is None or part.job_id == other.job_id


def _keys(part: Part) -> Iterator[object]:
    """What a part may be found by: the power of each of its series in one window."""
    for seconds, number, powers in _looked_at(part):
        sums: dict[tuple[str, str], list[float]] = defaultdict(list)
        for (node, scope, _), power in powers.items():
            sums[node, scope].append(power)
        for power in (*powers.values(), *(sum(group) for group in sums.values() if len(group) > 1)):
            yield part.root, seconds, number, _bucket(power)


def _sought(part: Part) -> Iterator[object]:
    """The keys under which the original may be found: those of the first sensor, and the neighbors of them."""
    for seconds, number, powers in _looked_at(part):
        for k in (0, -1, 1):
            yield part.root, seconds, number, _bucket(next(iter(powers.values()))) + k


def _looked_at(part: Part) -> Iterator[tuple[int, int, dict[Sensor, float]]]:
    """The window that most copies have as well, and what the sensors drew in it: its length, its number, the powers.

    Of the windows of a part and of those that are twice as long: the lengths of two files differ by no more.
    """
    windows = part.facts.powers or Windows()
    last = windows.first + len(windows.sums[0]) - 1
    for wide in (1, 2):
        between = range(windows.first // wide + 1, last // wide)
        if not between:
            continue
        number = max(between, key=lambda k: (k & -k, -k))
        powers = windows.between(number * wide, number * wide + wide)
        if powers:
            yield windows.seconds * wide, number, powers


def _bucket(power: float) -> int:
    return floor(log(power, _BUCKET)) if power > 0 else 0


def _series(by_sensor: dict[Sensor, _Powers]) -> list[_Powers]:
    """The powers of each sensor, and of all sensors of a node with the same scope together."""
    groups: dict[tuple[str, str], list[_Powers]] = defaultdict(list)
    for (node, scope, _), series in by_sensor.items():
        groups[node, scope].append(series)
    sums = [
        {number: sum(one[number] for one in group) for number in group[0] if all(number in one for one in group)}
        for group in groups.values()
        if len(group) > 1
    ]
    return [*by_sensor.values(), *sums]


def _repeats(one: _Measured, original: _Measured) -> bool:
    """Whether each sensor of a part is one of the original, or all of them together."""
    if len(one.windows.sensors) > len(original.windows.sensors):
        return False
    seconds = max(one.windows.seconds, original.windows.seconds)
    own, left = one.powers(seconds)[0], [*original.powers(seconds)[1]]
    may_be_processed = one.part.is_power_table and not _are_siblings(one.part, original.part)
    for sensor, series in own.items():
        match = next((k for k, other in enumerate(left) if _agree(series, other, may_be_processed)), None)
        if match is None or not _may_be_one_node(sensor, original.windows.sensors):
            return False
        del left[match]
    return True


def _are_siblings(part: Part, other: Part) -> bool:
    """Whether one program may have written a file for each device: their names differ in numbers alone."""
    return _DIGITS.sub("#", part.path) == _DIGITS.sub("#", other.path)


def _may_be_one_node(sensor: Sensor, others: list[Sensor]) -> bool:
    return not sensor[0] or any(other[0] in ("", sensor[0]) for other in others)


def _agree(own: _Powers, other: _Powers, may_be_processed: bool) -> bool:
    """Whether two series are of the same readings; sums and means of these differ a little, but change alike."""
    numbers = [number for number in own if number in other]
    if len(numbers) < max(_FEWEST, _MOST * len(own)):
        return False
    least = _NEAR if may_be_processed else _SAME
    may_differ = len(numbers) - ceil(_MOST * len(numbers))
    apart: list[float] = []
    for number in numbers:
        apart.append(abs(own[number] - other[number]) / max(other[number], 1))
        if apart[-1] > least:
            may_differ -= 1
            if may_differ < 0:
                return False
    if len({round(own[number]) for number in numbers}) < _FEWEST:
        return False
    if sum(one <= _SAME for one in apart) >= _MOST * len(apart):
        return True
    total = abs(sum(own[number] for number in numbers) / max(1, sum(other[number] for number in numbers)) - 1)
    if not may_be_processed or median(apart) > _MEDIAN or total > _TOTAL:
        return False
    changes = [(own[b] - own[a], other[b] - other[a]) for a, b in pairwise(numbers)]
    return median(abs(one - two) for one, two in changes) <= _OF_CHANGES * median(abs(two) for _, two in changes)
