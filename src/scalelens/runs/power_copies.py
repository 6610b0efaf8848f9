"""Files of power that repeat the readings of another: sums over its devices, means over time, or the readings as such.

Neither a name nor a folder tells it, but the values do.  The facts of a file hold the mean power of each sensor in some
twenty windows of time.  Readings of another device differ in them by per cents, even where both did the same work.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import floor, log
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


def copies_of_power(parts: Iterable[Part], ties: list[Tie]) -> dict[tuple[str, int], Part]:
    """Parts that repeat the readings of another part, by content and number, each with that other part."""
    measured = sorted((part for part in parts if part.facts.powers and part.facts.powers.sensors), key=_place)
    lookup = Lookup[Part]("power", ties)
    for part in measured:
        for key in dict.fromkeys(_keys(part)):
            lookup.offer(key, part, part)
    found: dict[tuple[str, int], Part] = {}
    for part in measured:
        if not part.is_sensed or part.facts.measured_by or part.named_run is not None:
            continue
        near = [other for key in _sought(part) for other in lookup.seek(key, part) if _place(other) < _place(part)]
        for other in sorted(near, key=_place):
            if (other.file_id, other.part) not in found and _may_be_of_one_job(part, other) and _repeats(part, other):
                found[part.file_id, part.part] = other
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
    for powers in _wide_enough(part.facts.powers):
        for series in _series(powers):
            if series and (number := _roundest(series)) is not None:
                yield part.root, powers.seconds, number, _bucket(series[number])


def _sought(part: Part) -> Iterator[object]:
    """The keys under which the original may be found: those of the first sensor, and the neighbors of them."""
    for powers in _wide_enough(part.facts.powers):
        series = next(iter(powers.powers().values()))
        if series and (number := _roundest(series)) is not None:
            for k in (0, -1, 1):
                yield part.root, powers.seconds, number, _bucket(series[number]) + k


def _wide_enough(powers: Windows | None) -> list[Windows]:
    """The windows of a part, and those that are twice as long: the lengths of two files differ by no more."""
    return [powers, powers.doubled()] if powers else []


def _roundest(series: _Powers) -> int | None:
    """The number of a window that most copies have as well."""
    return max(series, key=lambda number: (number & -number, -number)) if series else None


def _bucket(power: float) -> int:
    return floor(log(power, _BUCKET)) if power > 0 else 0


def _series(powers: Windows) -> list[_Powers]:
    """The powers of each sensor, and of all sensors of a node with the same scope together."""
    by_sensor = powers.powers()
    groups: dict[tuple[str, str], list[_Powers]] = defaultdict(list)
    for (node, scope, _), series in by_sensor.items():
        groups[node, scope].append(series)
    sums = [
        {number: sum(one[number] for one in group) for number in group[0] if all(number in one for one in group)}
        for group in groups.values()
        if len(group) > 1
    ]
    return [*by_sensor.values(), *sums]


def _repeats(part: Part, original: Part) -> bool:
    """Whether each sensor of a part is one of the original, or all of them together."""
    own, others = part.facts.powers, original.facts.powers
    if own is None or others is None or len(own.sensors) > len(others.sensors):
        return False
    while own.seconds < others.seconds:
        own = own.doubled()
    while others.seconds < own.seconds:
        others = others.doubled()
    left, may_be_processed = _series(others), part.is_power_table and not _are_siblings(part, original)
    for sensor, series in own.powers().items():
        match = next((k for k, other in enumerate(left) if _agree(series, other, may_be_processed)), None)
        if match is None or not _may_be_one_node(sensor, others.sensors):
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
    shared = [number for number in own if number in other]
    if len(shared) < max(_FEWEST, _MOST * len(own)):
        return False
    apart = [abs(own[number] - other[number]) / max(other[number], 1) for number in shared]
    if len({round(own[number]) for number in shared}) < _FEWEST:
        return False
    if sum(one <= _SAME for one in apart) >= _MOST * len(apart):
        return True
    total = abs(sum(own[number] for number in shared) / max(1, sum(other[number] for number in shared)) - 1)
    near = sum(one <= _NEAR for one in apart) >= _MOST * len(apart)
    if not may_be_processed or not near or median(apart) > _MEDIAN or total > _TOTAL:
        return False
    changes = [(own[b] - own[a], other[b] - other[a]) for a, b in pairwise(shared)]
    return median(abs(one - two) for one, two in changes) <= _OF_CHANGES * median(abs(two) for _, two in changes)
