"""The updates of a progress bar, from its drawings.

A drawing with the count of the one before is not an update: the postfix changed.  The last one of a bar that is closed
has the mean of all.  Several ranks that draw the same bar are one: the mean of their seconds, as all this is linear.

Source: tqdm/std.py, update(), refresh() and close().
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scalelens.parsing.progress_bars import Drawing

SURELY_ALL_S = 0.2  # steps that take as long are all drawn, so that a leap of the count is drawings lost
LATE_S = 0.1  # a drawing after its update
_LONG_S = 10
_SURELY_LATER_S, _SEVERAL = 2, 3  # by a clock of whole seconds; and steps, or leaps of the count
_AT_LEAST_S = 3  # of a bar, for its whole seconds to confirm a mean


class Update(NamedTuple):
    """The steps that a bar learned of at once."""

    step: int
    leap: int  # steps since the update before
    elapsed_s: int
    pace_s: float
    error: float


def until_full(drawings: Sequence[Drawing]) -> Sequence[Drawing]:
    """The drawings of a bar without those that come when it has long been full: a validation lies before these.

    The last step is over when the bar is full; that it is closed takes no time.  Of a bar that is full after a few
    seconds, the last step may be the slow one.
    """
    last = drawings[-1]
    full = [now for now in drawings if now.step == last.step == last.total]
    if not full or not full[0].pace_s or full[0].elapsed_s < _LONG_S:
        return drawings
    apart_s = max(_SEVERAL * full[0].pace_s, _SURELY_LATER_S)
    late = sum(now.elapsed_s - full[0].elapsed_s >= apart_s for now in full)
    return drawings[: len(drawings) - late] if late else drawings


def updates_of(drawings: Sequence[Drawing]) -> tuple[Drawing | None, list[Update]]:
    """The drawing before the first step, if there is one, and the updates of a bar."""
    begin = drawings[0]
    start = begin if begin.pace_s is None and not begin.elapsed_s else None
    if begin.pace_s is None and not begin.step:
        start = begin._replace(elapsed_s=0)  # what was drawn at first had another label; a bar counts from 0 at 0 s
    first = start.step if start else 0
    by_count: dict[int, list[Drawing]] = {}
    for now in drawings:
        if now.pace_s is not None and now.step > first:
            by_count.setdefault(now.step, []).append(now)
    if not by_count:
        return start, []
    last = max(by_count)
    by_count[last] = _without_mean_of_all(by_count[last], first, _all_are_drawn(by_count, first))
    usual = statistics.mode(len(drawn) for drawn in by_count.values())
    updates, before = list[Update](), first
    for count, drawn in sorted(by_count.items()):
        paces = [(d.pace_s or 0.0, d.error) for d in drawn]
        paces = paces if len(drawn) == usual else list(dict.fromkeys(paces))
        if paces:
            pace_s = statistics.fmean(pace for pace, _ in paces)
            elapsed_s = min(d.elapsed_s for d in drawn)
            updates.append(Update(count, count - before, elapsed_s, pace_s, max(error for _, error in paces)))
            before = count
    return start, updates


def _all_are_drawn(by_count: Mapping[int, Sequence[Drawing]], first: int) -> bool:
    """Whether the last step surely has a drawing of its own, before that of the closed bar."""
    leaps = [later - count for count, later in itertools.pairwise([first, *sorted(by_count)])]
    pace_s = statistics.median(d.pace_s or 0.0 for drawn in by_count.values() for d in drawn)
    last = max(by_count)
    partial = last != by_count[last][0].total
    return statistics.median(leaps) * pace_s >= SURELY_ALL_S and (partial or len(set(leaps)) == 1)


def _without_mean_of_all(drawn: list[Drawing], first: int, all_are_drawn: bool) -> list[Drawing]:
    """The drawings of the last count without those that a bar makes when it is closed."""
    others = []
    for now in drawn:
        mean_s = (now.step - first) * (now.pace_s or 0.0)
        near = mean_s * now.error + LATE_S
        if not now.elapsed_s - near <= mean_s <= now.elapsed_s + 1 + near:
            others.append(now)
    return others or (drawn[:1] if all_are_drawn or len(drawn) > 1 else [])


def mean_of_closed(start: Drawing | None, drawings: Sequence[Drawing]) -> tuple[int, float] | None:
    """The steps of a bar that was drawn a last time when it was closed, and the mean of their seconds.

    It has the count of the drawing before and another rate, or comes sooner after it than updates of such a bar do.
    """
    last = drawings[-1]
    counts = sorted({now.step for now in drawings})
    if last.pace_s is None or last.step != last.total or last.rounding > 1 or len(counts) < 2:
        return None
    steps = last.step - (start.step if start else 0)
    seconds = steps * last.pace_s
    near = seconds * last.error + LATE_S
    if last.elapsed_s < _AT_LEAST_S or not last.elapsed_s - near <= seconds <= last.elapsed_s + 1 + near:
        return None
    before = {now.pace_s for now in drawings[:-1] if now.step == last.step} - {None}
    leaps = [later - count for count, later in itertools.pairwise(counts)]
    usual = leaps[1:-1]  # the first one may be slow
    closed = last.pace_s not in before if before else len(usual) >= _SEVERAL and leaps[-1] < min(usual)
    return (steps, last.pace_s) if closed else None


def without_redraws(updates: Sequence[Update]) -> list[Update]:
    """The updates at which the rate changed: a bar of fast steps that is redrawn shows counts before their update."""
    kept = [updates[0]]
    for now in updates[1:]:
        if now.pace_s != kept[-1].pace_s:
            kept.append(now._replace(leap=now.step - kept[-1].step))
    return kept


def from_start(updates: Sequence[Update], start: Drawing | None) -> bool:
    """Whether the first update that is drawn is the first of the bar."""
    first = updates[0]
    seconds = first.leap * first.pace_s
    near = seconds * first.error + LATE_S
    return start is not None or first.elapsed_s - near <= seconds <= first.elapsed_s + 1 + near
