"""Whether a run has a steady state, and from which record on: a verdict on the change points of its step times."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scalelens.statistics.effective_size import rank_autocorrelation, ranks
from scalelens.statistics.level_shifts import FEWEST, evidence_of_change, level_shifts, long_run_variance
from scalelens.statistics.medians import Values
from scalelens.statistics.plain_median import median
from scalelens.statistics.two_levels import changes_of_level

_ALIKE = 0.01  # levels that differ by less are one level: Barrett et al. (OOPSLA'17) ignore small changes as well
_EPISODE = 0.05  # share of the records: a shorter level that is not the first is an episode, no state of the run
_SETTLED = 0.2  # share of the records that the last level must hold, or nobody knows whether the run stays there
_FEWEST_RISING = 10  # records that are each larger than the last: of independent ones 1 in 3.6 million series
_WANDERS = 0.25  # autocorrelation within the levels: 2.5 standard errors of 100 uncorrelated records
# What a change explains, over the least that counts.  Of runs that wander or have modes hardly any shows a change above
# the first, and none of those that are alike within the levels one above the second: tests/test_steady.py.
_WEAK, _CLEAR = 2.0, 5.0
_FEWEST_ALIKE = 8  # uncorrelated records that the series must be worth


class _Steadiness(NamedTuple):
    """Verdict on one series.  Places count records from 0."""

    verdict: str  # `steady`, `warming`, `slowing`, `unsteady`, `too_short`
    first: int | None  # place of the first record of the steady state, None where there is none
    changes: list[int]  # places at which another level begins
    level: float | None  # median from `first` on
    before: float | None  # median of what comes before it
    reason: str | None  # of a verdict without a steady state; what else the levels may be


def steadiness(values: Values) -> _Steadiness:
    """Verdict on the step times of one attempt, shape (n,), in the order of steps.

    After Barrett et al. (OOPSLA'17): the last level is the steady state, with all levels before it that are alike.
    What comes before is slower (`warming`), faster (`slowing`) or neither (`unsteady`).
    """
    n = len(values)
    trend = _trend(values)
    if trend:
        return trend
    if n < FEWEST:
        return _Steadiness("too_short", None, [], None, None, f"{n} records: {FEWEST} are needed")
    changes = level_shifts(values)
    if not changes:
        rank = ranks(values) - (n + 1) / 2
        n_eff = long_run_variance(rank, levels=1)[1]
        if n_eff < _FEWEST_ALIKE:
            reason = f"neighboring records are too similar: {n} are worth {n_eff:.1f} independent ones"
            return _Steadiness("too_short", None, [], None, None, reason)
    states = _states(changes, n)
    levels = [float(median(values[start:end])) for start, end in zip(states, [*states[1:], n], strict=True)]
    last = len(levels) - 1
    while last > 0 and _against(levels[last - 1], levels[-1]) == 0:
        last -= 1
    if last == 0:
        return _Steadiness("steady", 0, changes, float(median(values)), None, None)
    against = {_against(level, levels[-1]) for level in levels[:last]}
    if against not in ({1}, {-1}):
        reason = "some levels before the last one are slower, others are not"
        return _Steadiness("unsteady", None, changes, None, None, _with_doubt(reason, values, changes, None))
    verdict, first = "warming" if against == {1} else "slowing", states[last]
    if n - first < _SETTLED * n:
        reason = f"the last level has {n - first} of {n} records: it may not be the final one"
        return _Steadiness(verdict, None, changes, None, None, reason)
    before, level = float(median(values[:first])), float(median(values[first:]))
    return _Steadiness(verdict, first, changes, level, before, _with_doubt(None, values, changes, first))


def _with_doubt(reason: str | None, values: Values, changes: list[int], first: int | None) -> str | None:
    """The reason, and what else would look like these levels: modes that last for long, a run that wanders.

    In neither did anything become slower or faster for good.  Two levels with few changes between them may be modes.  A
    run wanders where its records are alike within the levels too, unless the change at `first` is far beyond that.  A
    weak change may be one of either.
    """
    evidence = evidence_of_change(values, first) if first is not None else 0.0
    of_modes = changes_of_level(values, np.sort(values))
    doubt = None
    if of_modes is not None:
        times = "once: a mode that will end" if of_modes == 1 else f"{of_modes} times: modes that come and go"
        doubt = f"two levels, changed {times} would look the same"
    elif evidence < _CLEAR and (alike := _likeness_within(values, changes)) >= _WANDERS:
        doubt = f"records within a level are correlated (autocorrelation {alike:.2f}): a drift can look like levels"
    elif first is not None and evidence < _WEAK:
        doubt = "a weak change: a run that wanders may show as much"
    return f"{reason}; {doubt}" if reason and doubt else reason or doubt


def _likeness_within(values: Values, changes: list[int]) -> float:
    """Lag-1 autocorrelation of the ranks within the levels, -1 to 1."""
    rest = np.concatenate([level - median(level) for level in np.split(values, changes)])
    return float(rank_autocorrelation(ranks(rest)))


def _trend(values: Values) -> _Steadiness | None:
    """The verdict on times of which each is longer than the last, or each shorter; None for any others.

    Rounded times may tie, in less than half of the steps.
    """
    n = len(values)
    if n < _FEWEST_RISING or _against(float(values[0]), float(values[-1])) == 0:
        return None
    steps = np.diff(values)
    rises, falls = int(np.count_nonzero(steps > 0)), int(np.count_nonzero(steps < 0))
    if min(rises, falls) > 0 or max(rises, falls) < max(_FEWEST_RISING - 1, (n - 1) / 2):
        return None
    verdict, word = ("slowing", "longer") if rises else ("warming", "shorter")
    reason = f"each of {n} records is {word} than the one before, from {values[0]:.4g} to {values[-1]:.4g} s: no level"
    return _Steadiness(verdict, None, [], None, None, reason)


def _states(changes: list[int], n: int) -> list[int]:
    """Starts of the levels, the first at 0, without those that are only an episode."""
    bounds = [0, *changes, n]
    lasting = [start for start, end in pairwise(bounds[1:]) if end - start >= _EPISODE * n]
    return [0, *lasting]


def _against(level: float, last: float) -> int:
    """1 where a level is slower than the last one, -1 where it is faster, 0 where the two are alike."""
    return 0 if abs(level - last) <= _ALIKE * abs(last) else 1 if level > last else -1
