"""How far each of many alike stands out among the others.  On numpy arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

EXPECTED = 0.02  # spread of devices of one model, as a share: what is assumed before any is measured
_MAD_EFFICIENCY = 0.37  # of the normal distribution: Rousseeuw and Croux, J. Am. Stat. Assoc. 88, 1993
_FEWEST_FREE = 3  # degrees of freedom from which on the scatter among the others can refute it,
_REFUTED = 0.05  # where it would be so large by chance more seldom
_MOST_FREE = 10  # degrees of freedom: where the others differ by more than expected, tails may be heavier than normal
WORTH = 8  # devices that this expectation counts for beside those measured
_SPREADS = np.geomspace(0.005, 0.1, 14)  # spreads that are tried, as shares
_LONG = 0.03  # spread that is expected of devices with a long tail
_MOST_TRIED = 128  # levels whose tail is looked at, the slowest first


class Standing(NamedTuple):
    """Of each of n: arrays of shape (n,)."""

    middle: _Values  # median of the others
    p: _Values  # probability that it lies so far above them by accident
    tail_p: _Values  # probability that it is the end of a long tail of those below, and not slow itself


class Spread(NamedTuple):
    """How much many alike differ in truth, as a share of their median; NaN where that cannot be known."""

    share: float  # one standard deviation, without what the noise explains
    low: float  # 95 % interval
    high: float
    p: float  # probability that the noise alone scatters them as much


def standing(levels: _Values, noise: float, typical: npt.NDArray[np.bool_]) -> Standing:
    """Each of the levels, shape (n,), against the typical others: a moderated t-test.

    `noise` is the standard error of a level.  The variance among the others is estimated from few, so that it is mixed
    with an expected one, EXPECTED² + noise², that counts for WORTH others (Smyth, Stat. Appl. Genet. Mol. Biol. 3(1),
    2004).  Without it, one of 8 that is slower by 15 % would be missed whenever the other 7 scatter by chance.  Where
    the others scatter by far more, they refute the expectation, and their own variance alone counts, with tails as
    heavy as those of Student's t with ten degrees of freedom.
    Whether one is slow or the longest of a long tail is another question: `tail_p` (_of_tails).  NaN where there is no
    other.  All values are shares of the median: they are near 1.
    """
    from scipy.special import chdtrc, stdtr

    middle = _median_of_others(levels, typical)
    core = typical & _in_core(levels, typical)
    others = core.sum() - core
    total, squares = np.where(core, levels, 0).sum(), np.where(core, levels**2, 0).sum()
    sums, sums_of_squares = total - np.where(core, levels, 0), squares - np.where(core, levels**2, 0)
    freedom = np.maximum(others - 1, 0)
    deviations = np.maximum(sums_of_squares - sums**2 / np.maximum(others, 1), 0)
    expected = EXPECTED**2 + noise**2
    is_refuted = (freedom >= _FEWEST_FREE) & (chdtrc(np.maximum(freedom, 1), deviations / expected) < _REFUTED)
    worth = np.where(is_refuted, 0, WORTH)
    variance = (worth * expected + deviations) / np.maximum(worth + freedom, 1)
    of_median = 1 + np.where(others > 2, np.pi / 2, 1) / np.maximum(others, 1)  # the middle is uncertain itself
    beyond = (levels - middle) / np.sqrt(variance * of_median)
    tails = np.where(is_refuted, np.minimum(freedom, _MOST_FREE), np.maximum(worth + freedom, 1))
    return Standing(middle, np.where(others > 0, stdtr(tails, -beyond), np.nan), _of_tails(levels, noise, typical))


def true_spread(levels: _Values, noise: float, steps: int) -> Spread:
    """How much the levels, shape (n,), differ beyond their standard error `noise`; n of 4 or more, steps of 2 or more.

    p is that of an F-test of their variance against that of the noise, which was estimated by the MAD of `steps` steps
    of each: as well as by 0.37 times as many standard deviations.  The interval takes the noise as known (chi-square).
    A level that stands out does not count, so that one odd device does not make all differ.
    """
    from scipy.special import chdtri, fdtrc

    core = levels[_in_core(levels, np.ones(len(levels), bool))]
    freedom = len(core) - 1
    if freedom < 3 or steps < 2:
        return Spread(np.nan, np.nan, np.nan, np.nan)
    variance, middle = float(np.var(core, ddof=1)), float(np.median(core))
    bounds = [variance * freedom / float(chdtri(freedom, tail)) for tail in (0.025, 0.975)]
    share, low, high = (max(bound - noise**2, 0) ** 0.5 / middle for bound in (variance, *bounds))
    of_noise = _MAD_EFFICIENCY * len(levels) * (steps - 1)
    p = float(fdtrc(freedom, of_noise, variance / noise**2)) if noise > 0 else float(variance == 0)
    return Spread(share, low, high, p)


def _of_tails(levels: _Values, noise: float, typical: npt.NDArray[np.bool_]) -> _Values:
    """For each of the slowest typical levels the probability of a long tail; NaN where fewer than two lie below it.

    Two explanations of a level and of those below it are equally likely before they are seen.  Those below scatter
    normally, by EXPECTED within a factor of 1.6 or so, and it is slow itself, by whatever.  Or all come from one
    distribution with a long tail: exponential, Moyal, or Student's t with five degrees of freedom, by _LONG within a
    factor of 1.5.  What is returned is the share of the second.  Few levels cannot show a tail, many can.
    """
    found = np.full(len(levels), np.nan)
    order = np.flatnonzero(typical)[np.argsort(levels[typical], kind="stable")]
    spreads = np.hypot(_SPREADS, noise)[:, None]
    alike, tailed = (
        -((np.log(_SPREADS / center) / width) ** 2) / 2 - np.log(width)
        for center, width in ((EXPECTED, 0.5), (_LONG, 0.4))
    )
    for place in range(max(2, len(order) // 2, len(order) - _MOST_TRIED), len(order)):
        below = levels[order[:place]]
        scaled = (levels[order[: place + 1]] - np.median(below)) / spreads
        normal = (-(scaled[:, :-1] ** 2) / 2 - np.log(spreads * np.sqrt(2 * np.pi))).sum(axis=1) + alike
        tails = [(shape(scaled) - np.log(spreads)).sum(axis=1) + tailed for shape in _TAILS]
        slow, tail = np.logaddexp.reduce(normal), np.logaddexp.reduce(np.concatenate(tails)) - np.log(len(_TAILS))
        found[order[place]] = 1 / (1 + np.exp(np.clip(slow - tail, -500, 500)))
    return found


def _exponential(scaled: _Values) -> _Values:
    """Logarithm of the density; before its edge steep, not zero, because the median is known from few."""
    beyond = scaled + np.log(2)
    return np.asarray(np.where(beyond > 0, -beyond, 20 * beyond))


def _moyal(scaled: _Values) -> _Values:
    values = scaled * np.pi / np.sqrt(2) + 0.787598  # its median
    return np.asarray(np.log(np.sqrt(np.pi) / 2) - (values + np.exp(np.minimum(-values, 500))) / 2)


def _student(scaled: _Values) -> _Values:
    return np.asarray(np.log(8 / (3 * np.pi * np.sqrt(3))) - 3 * np.log1p(scaled**2 / 3))


_TAILS = (_exponential, _moyal, _student)  # with standard deviation 1 and median 0


def _in_core(levels: _Values, typical: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which lie within three robust standard deviations of the median of the typical ones."""
    middle = np.median(levels[typical]) if typical.any() else np.nan
    spread = 1.4826 * np.median(abs(levels[typical] - middle)) if typical.any() else np.nan
    return np.asarray(abs(levels - middle) <= 3 * max(float(spread), EXPECTED))


def _median_of_others(levels: _Values, typical: npt.NDArray[np.bool_]) -> _Values:
    """For each level the median of the typical ones apart from itself, shape (n,); NaN without one."""
    ordered = np.sort(levels[typical])
    index = np.where(typical, np.searchsorted(ordered, levels), len(ordered))  # taken out there
    others = len(ordered) - typical
    lower, upper = (others - 1) // 2, others // 2
    ordered = np.append(ordered, np.nan)
    at = [np.minimum(k + (k >= index), len(ordered) - 1) for k in (lower, upper)]
    return np.where(others > 0, (ordered[at[0]] + ordered[at[1]]) / 2, np.nan)
