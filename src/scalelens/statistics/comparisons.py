"""Ratio of two groups of runs with its interval.  The run is the unit; one run a side is told from repeated runs."""

from collections.abc import Sequence
from functools import lru_cache
from math import exp, hypot, inf, log, sqrt
from typing import NamedTuple

import numpy as np

from scalelens.statistics.effective_size import half_width
from scalelens.statistics.significance import student_t

_WIDTH_95 = 2 * 1.96  # standard errors from one end of a 95 % interval of a normal estimate to the other
# The largest ratio of two runs of one published series of identical jobs: `largest_ratio` in catalog/noise.csv.
LARGEST_RATIO = 1.366
_MOST_BY_MODES = 0.036  # chance that two modes put the sides apart, up to which their scatter is believed
_FEW = 3  # degrees of freedom below which a side does not show that it is steadier than the other
_BEYOND = 1.25  # times the distance of the farthest of repeated runs, up to which a single run may be like them
_RANGE_WIDTH = 2.8  # range of n values over the standard error of their median, over sqrt(n): 2 to 3.4 for n of 6 to 39


class RunValue(NamedTuple):
    """A metric of one run: a quantile of its records, above 0, with the interval of it within the run."""

    value: float
    low: float | None
    high: float | None
    kind: str | None  # ci95 or range
    n_eff: float | None
    quantile: float | None = 0.5  # None counts as the median: a value that is not a quantile has no interval


class GroupRatio(NamedTuple):
    """Ratio of the second group to the first.  Without an interval `kind` is None and `reason` says why."""

    ratio: float | None
    low: float | None
    high: float | None
    kind: str | None  # ci95, or range where a confidence cannot be claimed
    unit: str | None  # runs: another pair of runs is covered; steps: it is about these two runs alone
    between_runs: float | None  # standard deviation of the logarithm between runs of a group; NULL for one run each
    within_runs: float | None  # standard error of the logarithm of one run's value, from its own records
    reason: str | None


def standard_error(run: RunValue) -> float:
    """Standard error of the logarithm of a run's value, from its interval within the run; 0 where it has none.

    From a range it is that of a median, times what the quantile is harder to know in a normal distribution.
    """
    if not run.low or not run.high or run.low <= 0:
        return 0.0
    width = log(run.high / run.low)
    if run.kind == "ci95":
        return width / _WIDTH_95
    harder = half_width(run.quantile) / half_width(0.5) if run.quantile and 0 < run.quantile < 1 else 1.0
    return harder * width / _RANGE_WIDTH / sqrt(max(run.n_eff or 1.0, 1.0))


def compare_groups(first: Sequence[RunValue], second: Sequence[RunValue]) -> GroupRatio:
    """Ratio of the geometric means of two groups of runs, second over first, with a 95 % interval.

    With repeats, Welch's t interval of the difference of mean logarithms, which is to lognormal values what Fieller's
    is to normal ones (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, 2013, section 7), and the same
    either way round.  The run is the unit: what varies from step to step has gone into the value of a run.  A group
    never counts as steadier between its runs than each of them is within: three runs that a log rounds to the same
    digits prove nothing; nor do two or three runs count as steadier than both sides together.  Where one side has one
    run, it is taken to scatter as the other does, and the interval reaches a quarter beyond the farthest run of that.
    Where the runs are so few that all of one side may be of a fast mode and all of the other of a slow one, it reaches
    at least as far as identical runs were ever apart (`LARGEST_RATIO`).

    With one run a side the scatter between runs is not known.  The interval is then of these two runs alone: the
    distances to the ends of theirs, as logarithms, added in quadrature (Zou and Donner, Statistics in Medicine 27,
    2008), and `unit` is `steps`.
    """
    if not first or not second:
        return _without(None, "one side has no run with a value")
    if min(run.value for run in (*first, *second)) <= 0:
        return _without(None, "a ratio needs values above 0")
    logs = [np.log([run.value for run in side]) for side in (first, second)]
    ratio = float(np.mean(logs[1]) - np.mean(logs[0]))
    within = sqrt(float(np.mean([standard_error(run) ** 2 for run in (*first, *second)])))
    if max(len(first), len(second)) == 1:
        return _of_two_runs(first[0], second[0], within)
    floors = [float(np.mean([standard_error(run) ** 2 for run in side])) for side in (first, second)]
    found = [
        (max(float(np.var(values, ddof=1)), floor), len(values) - 1) if len(values) > 1 else None
        for values, floor in zip(logs, floors, strict=True)
    ]
    known = [variance for variance in found if variance]
    between = sqrt(sum(variance * freedom for variance, freedom in known) / sum(freedom for _, freedom in known))
    if len(known) == 2:
        known = [(max(variance, between**2) if freedom < _FEW else variance, freedom) for variance, freedom in known]
        shares = [variance / len(values) for (variance, _), values in zip(known, logs, strict=True)]
        spread, freedom = _welch(shares, [freedom for _, freedom in known])
    else:
        (_, freedom), spread = known[0], between * sqrt(1 / len(first) + 1 / len(second))
    if spread == 0:
        return _without(exp(ratio), "runs of equal values do not show how they scatter")
    half = float(student_t(np.array([float(freedom)]))[0]) * spread
    reason = None if len(known) == 2 else "one side is one run: it is taken to scatter as the other side does"
    if len(known) == 1:
        repeated = logs[0] if len(first) > 1 else logs[1]
        half = max(half, _BEYOND * float(np.max(np.abs(repeated - np.mean(repeated)))))
    if chance_of_modes(len(first), len(second)) > _MOST_BY_MODES:
        half = max(half, log(LARGEST_RATIO))
        reason = (
            f"{len(first)} against {len(second)} runs are too few to tell a difference from slow and fast runs of the "
            f"same job: the interval reaches as far as identical runs were ever apart, {LARGEST_RATIO:.2f} times"
        )
    return GroupRatio(exp(ratio), exp(ratio - half), exp(ratio + half), "ci95", "runs", between, within, reason)


@lru_cache(1024)  # of every pair of runs that is compared
def chance_of_modes(n: int, m: int) -> float:
    """Chance that two modes put n runs and m runs of the same job apart: one side all slow, the other all fast.

    For the share of slow runs that makes it largest: 50 % for one run a side, 6.7 % for one against five, 3.1 % for
    three against three.
    """
    slow = np.linspace(0.0, 1.0, 201)
    return float(np.max(slow**n * (1 - slow) ** m + slow**m * (1 - slow) ** n))


def _welch(shares: Sequence[float], freedoms: Sequence[int]) -> tuple[float, float]:
    """Standard error of a difference of means, and its degrees of freedom (Welch, Biometrika 34, 1947)."""
    total = sum(shares)
    uncertainty = sum(share**2 / freedom for share, freedom in zip(shares, freedoms, strict=True))
    return sqrt(total), total**2 / uncertainty if uncertainty else inf


def _of_two_runs(first: RunValue, second: RunValue, within: float) -> GroupRatio:
    """Ratio of two runs, with an interval that is about these two alone."""
    ratio = log(second.value / first.value)
    if not first.low or not first.high or not second.low or not second.high:
        reason = "one run per side, and one of them has no interval: the scatter between runs is unknown"
        return GroupRatio(exp(ratio), None, None, None, "steps", None, None, reason)
    low = ratio - hypot(log(first.high / first.value), log(second.value / second.low))
    high = ratio + hypot(log(first.value / first.low), log(second.high / second.value))
    kind = "ci95" if first.kind == second.kind == "ci95" else "range"
    reason = "one run a side: how runs scatter is not known"
    return GroupRatio(exp(ratio), exp(low), exp(high), kind, "steps", None, within, reason)


def _without(ratio: float | None, reason: str) -> GroupRatio:
    return GroupRatio(ratio, None, None, None, None, None, None, reason)
