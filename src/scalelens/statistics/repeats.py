"""How many repeats would settle a comparison, from what is known so far."""

from collections.abc import Callable, Sequence
from functools import cache
from math import log1p
from typing import NamedTuple

import numpy as np

from scalelens.statistics.comparisons import RunValue, compare_groups, standard_error
from scalelens.statistics.medians import Values
from scalelens.statistics.significance import student_t

_CHANCE = 0.9  # with which the number of repeats that is given settles the question
_EVEN = 0.5
_CONTINUATIONS = 1000  # simulated: the chance is right to a percent
_MOST = 200  # runs a side; nobody makes more
_PILOT = 3  # runs a side that show the scatter at all


class Plan(NamedTuple):
    """Runs that a side must have in all.  Without a number `reason` says why; it may say something beside one too."""

    repeats: float | None  # with a chance of nine in ten
    chance: float | None  # with which they settle it
    even: float | None  # runs a side that settle it with a chance of one half
    between_runs: float | None  # standard deviation of the logarithm between runs, as it was found
    within_runs: float | None  # standard error of the logarithm of one run's value, from its own records
    reason: str | None


class _Side(NamedTuple):
    """What is known of a side: number of runs, mean and squares of the logarithms of their values."""

    n: int
    mean: float
    squares: float

    @classmethod
    def of(cls, runs: Sequence[RunValue]) -> "_Side":
        logs = np.log([run.value for run in runs])
        floor = float(np.mean([standard_error(run) ** 2 for run in runs]))
        variance = max(float(np.var(logs, ddof=1)), floor) if len(runs) > 1 else 0.0
        return cls(len(runs), float(np.mean(logs)), (len(runs) - 1) * variance)


def repeats_to_settle(first: Sequence[RunValue], second: Sequence[RunValue], threshold: float) -> Plan:
    """Runs a side until a comparison is no longer inconclusive: its interval lies beyond the threshold, or within it.

    The threshold is a share, 0.01 for 1 %.
    """
    edge = log1p(threshold)

    def settled(difference: Values, half: Values) -> Values:
        beyond = np.abs(difference) - half > edge
        return np.asarray(beyond | (np.abs(difference) + half <= edge))

    return _plan(first, second, settled)


def repeats_to_size(first: Sequence[RunValue], second: Sequence[RunValue], share: float) -> Plan:
    """Runs a side until the interval of their ratio, or of an efficiency, reaches no further than a share of it."""
    return _plan(first, second, lambda _, half: np.asarray(half <= log1p(share)))


def _plan(
    first: Sequence[RunValue], second: Sequence[RunValue], settled: Callable[[Values, Values], Values]
) -> Plan:  # fmt: skip
    """The least number of runs a side of which nine in ten simulated continuations settle the question.

    A continuation begins with the runs that are there and adds new ones of the same kind.  What the true difference
    and scatter are is as uncertain as the runs so far leave it: both are drawn from their posterior distribution under
    the usual flat prior (Spiegelhalter and others, Bayesian Approaches to Clinical Trials, 2004, section 6.6, who call
    the result assurance).  To take the estimates as true would give half as many repeats as it needs, from three runs.
    """
    found = compare_groups(first, second)
    if max(len(first), len(second)) < 2 or found.unit != "runs":
        known = max(len(first), len(second)) < 2 and bool(first) and bool(second)
        reason = f"one run a side does not show how runs scatter: {_PILOT} of each show it" if known else found.reason
        return Plan(float(_PILOT) if known else None, None, None, None, found.within_runs, reason)
    sides = _Side.of(first), _Side.of(second)
    least = max(_PILOT, *(side.n for side in sides))  # fewer may each be of another mode

    @cache  # both searches begin with the same numbers of runs
    def chance(runs: int) -> float:
        return float(np.mean(settled(*_continuations(*sides, runs))))

    repeats, even = (_fewest(chance, least, target) for target in (_CHANCE, _EVEN))
    reason = None
    if repeats is None:
        reason = f"{_MOST} runs a side settle it in {chance(_MOST):.0%} of cases: it is too near to the threshold"
    elif found.between_runs and found.within_runs and found.within_runs > 0.7 * found.between_runs:
        reason = "most of the scatter is within the runs: longer ones need fewer repeats"
    reached = chance(repeats) if repeats else None
    return Plan(repeats, reached, even, found.between_runs, found.within_runs, reason)


def _fewest(chance: Callable[[int], float], least: int, target: float) -> int | None:
    """Fewest runs a side, from `least` on, that reach a chance; None where _MOST do not."""
    low, high = least - 1, max(least, 2)
    while chance(high) < target:
        if high >= _MOST:
            return None
        low, high = high, min(2 * high, _MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= target else (middle, high)
    return high


def _continuations(first: _Side, second: _Side, runs: int) -> tuple[Values, Values]:
    """Difference of the mean logarithms, and half of its interval, when each side has `runs` runs; shapes (1000,).

    The draws are the same each time, so that the chance grows with the runs and the answer is always the same.
    """
    random = np.random.default_rng(20130601)
    freedom = max(first.n - 1, 0) + max(second.n - 1, 0)
    variance = (first.squares + second.squares) / random.chisquare(freedom, _CONTINUATIONS)
    means, variances = [], []
    for side in (first, second):
        truth = side.mean + np.sqrt(variance / side.n) * random.standard_normal(_CONTINUATIONS)
        noise, uniform = random.standard_normal(_CONTINUATIONS), random.uniform(size=_CONTINUATIONS)
        more = runs - side.n
        if more <= 0:
            means.append(np.full(_CONTINUATIONS, side.mean))
            variances.append(np.full(_CONTINUATIONS, side.squares / max(side.n - 1, 1)))
            continue
        new = truth + np.sqrt(variance / more) * noise
        squares = side.squares + variance * _chi_squared(uniform, more - 1)
        squares += side.n * more / runs * (new - side.mean) ** 2
        means.append((side.n * side.mean + more * new) / runs)
        variances.append(squares / (runs - 1))
    spread = np.sqrt((variances[0] + variances[1]) / runs)
    welch = (runs - 1) * (variances[0] + variances[1]) ** 2 / (variances[0] ** 2 + variances[1] ** 2)
    return means[1] - means[0], student_t(welch) * spread


def _chi_squared(uniform: Values, freedom: int) -> Values:
    """Quantiles of the chi-squared distribution; 0 for no degree of freedom."""
    from scipy.special import chdtri

    return np.asarray(chdtri(freedom, uniform)) if freedom > 0 else np.zeros(len(uniform))
