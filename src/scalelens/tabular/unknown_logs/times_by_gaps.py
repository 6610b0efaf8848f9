"""What a time is of, where fewer steps lie before some lines than before most: it is as much less, or it is not.

Epoch 1 [0/391]    Time 0.31s          of one step
Epoch 1 [50/391]   Time 12.45s         of fifty: the time of all steps since the line before
Epoch 1 [390/391]  Time 9.97s          of forty

Epoch 1 [390/391]  Time 0.249s         of forty as of fifty: that of one step, or a mean of several
"""

import itertools
import statistics
from collections import Counter
from typing import NamedTuple

from scalelens.tabular.column_names import read_name
from scalelens.tabular.unknown_logs.records import TIMES
from scalelens.tabular.unknown_logs.times import LineTimes

_LEAST_LINES, _LEAST_GAP = 5, 5  # lines before which the usual number of steps lies, and that number
_MOSTLY = 0.9
_STEADY, _EVEN = 0.6, 0.25  # share of those lines whose time is the usual one, up to this share of it
_FEWER, _FEW = 0.8, 0.2  # shares of the usual number of steps
_NEAR = 0.1
_LEAST_ENDS, _LEAST_BEGINS = 2, 3
_WITH_A_START = 3  # times as long as its share: the first step of an epoch waits for its data
_FAR_BELOW, _AT_ONCE = 50, 0.95  # one beginning shows it, if so many steps come then, with their full time at once
_HALF, _LEAST_ALIKE = 0.6, 3
_LEAST_FALLS = 0.25  # share of the lines: a mean of many steps goes one way for long


class _Gap(NamedTuple):
    """The steps before a line, and its time, as shares of the usual ones."""

    steps: float
    time: float
    begins: bool  # whether it is the first line of a launch or an epoch


def told_by_gaps(times: LineTimes) -> tuple[str, tuple[str, str]] | None:
    """The role of the one time with a unit, and its column with the unit; None where the gaps do not tell."""
    timed = [name for name in times.values if read_name(name).unit in TIMES]
    names = [name for name in timed if read_name(name).role == "time"]
    passed = [name for name in timed if read_name(name).role == "elapsed"]
    alone = not names and len(passed) == 1 and not times.of_epochs and times.clock_s is None
    if alone and _is_of_each(times, passed[0]):
        return "batch_time", (passed[0], read_name(passed[0]).unit or "s")  # elapsed_ms of one step
    if times.of_epochs or times.clock_s is not None or len(names) != 1:
        return None
    told = names[0], read_name(names[0]).unit or "s"
    if _is_of_each(times, names[0]):
        return "batch_time", told
    gaps, usual = _gaps(times.values.get(times.step or "", []), times.values[names[0]])
    ends = [gap for gap in gaps if not gap.begins and gap.steps <= _FEWER]
    begins = [gap for gap in gaps if gap.begins and gap.steps <= _FEW]
    as_few = [abs(gap.time / gap.steps - 1) <= _NEAR for gap in ends]
    as_short = [gap.time <= _WITH_A_START * gap.steps for gap in begins]
    at_once = len(gaps) > 1 and usual >= _FAR_BELOW and gaps[0] in begins and gaps[1].time >= _AT_ONCE
    if ends and not _mostly(as_few, _LEAST_ENDS):
        halves = [gap for gap in ends if gap.steps <= _HALF]
        alike = [abs(gap.time - 1) <= _NEAR for gap in halves]
        return ("running_time", told) if _mostly(alike, _LEAST_ALIKE) and not any(as_few) else None
    if _mostly(as_few, _LEAST_ENDS) or _mostly(as_short, _LEAST_BEGINS) or (at_once and all(as_short)):
        return "span_time", told
    return None


def _is_of_each(times: LineTimes, name: str) -> bool:
    """Whether each step has a line, and a time in it goes up and down: it is not since the start."""
    steps, values = times.values.get(times.step or "", []), times.values[name]
    each = sum(later - step == 1 for step, later in itertools.pairwise(steps))
    falls = sum(later < value for value, later in itertools.pairwise(values))
    told = len(steps) == len(values) >= _LEAST_LINES and each >= _MOSTLY * (len(steps) - 1)
    return told and _LEAST_FALLS <= falls / (len(values) - 1) <= 1 - _LEAST_FALLS


def _mostly(hits: list[bool], least: int) -> bool:
    return len(hits) >= least and sum(hits) >= _MOSTLY * len(hits)


def _gaps(steps: list[float], values: list[float]) -> tuple[list[_Gap], int]:
    """The gap before each line, and the usual number of steps in one; none where the time of these is unsteady."""
    if len(steps) != len(values) or len(steps) < _LEAST_LINES:
        return [], 0
    before = [(step, later - step) for step, later in itertools.pairwise(steps)]
    usual, lines = next(iter(Counter(gap for _, gap in before if gap > 0).most_common(1)), (0.0, 0))
    if usual < _LEAST_GAP or 2 * lines < len(steps) or any(gap == 0 for _, gap in before):
        return [], 0
    full = [value for (_, gap), value in zip(before, values[1:], strict=True) if gap == usual]
    typical = statistics.median(full)
    steady = sum(abs(value / typical - 1) <= _EVEN for value in full) if typical > 0 else 0
    if len(full) < _LEAST_LINES or steady < _STEADY * len(full):
        return [], 0
    from_zero = min(steps) == 0
    found = []
    for gap, step, value in zip([-1.0, *(gap for _, gap in before)], steps, values, strict=True):
        begins = gap < 0
        found.append(_Gap((step + from_zero if begins else gap) / usual, value / typical, begins))
    return found, int(usual)
