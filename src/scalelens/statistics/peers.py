"""How far each of many alike stands out among the others.  On numpy arrays."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.plain_median import median
from scalelens.statistics.significance import holm

_Values = npt.NDArray[np.float64]

EXPECTED = 0.02  # spread of devices of one model, as a share: what is assumed before any is measured
_MAD_EFFICIENCY = 0.37  # of the normal distribution: Rousseeuw and Croux, J. Am. Stat. Assoc. 88, 1993
_FEWEST_FREE = 3  # degrees of freedom from which on the scatter among the others can refute it,
_REFUTED = 0.05  # where it would be so large by chance more seldom
_MOST_FREE = 10  # degrees of freedom: where the others differ by more than expected, tails may be heavier than normal
WORTH = 8  # devices that this expectation counts for beside those measured
_SPREADS = np.geomspace(0.0035, 0.12, 16)  # spreads that are tried, as shares
# What is expected of two explanations of slow levels, by a search: the most that are slow by 15 % are told with at most
# 5 % false where devices differ by 0.5 to 6 % (docs/statistics.md).
# Spread of normal others, and how far it may be from that: the standard deviation of its logarithm.
_BODY, _OF_BODY = 0.0175, 0.7
_TAIL, _OF_TAIL = 0.025, 0.35  # the same of devices with a long tail
_EXCESS = 0.05  # how far slow ones are out, in the mean, as a share
_FAR = 0.01  # share of those that are out by any factor
_APART = 0.03  # probability of a tail below which one stands apart
_ASKED = 0.03  # whose p, adjusted for all, is larger is not slow, tail or not
_MOST_TRIED = 128  # levels whose tail is looked at, the slowest first
_MOST_ALIKE = 1024  # levels that are tried as enough


class Standing(NamedTuple):
    """Of each of n: arrays of shape (n,)."""

    middle: _Values  # median of the others
    p: _Values  # probability that it lies so far above them by accident
    tail_p: _Values  # probability that it is the end of a long tail of those below, and not slow itself
    enough: _Values  # so many, of which the others scatter as these do, would tell; of the slowest, where these do not


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
    Whether one is slow or the longest of a long tail is another question: `tail_p` (_of_tails), asked where p is small
    after adjustment.  NaN where there are no others.  All values are shares of the median: they are near 1.
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
    p = np.where(others > 0, stdtr(tails, -beyond), np.nan)
    return Standing(middle, p, *_of_tails(levels, noise, typical & (holm(p) < _ASKED), typical))


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
    variance, middle = float(np.var(core, ddof=1)), float(median(core))
    bounds = [variance * freedom / float(chdtri(freedom, tail)) for tail in (0.025, 0.975)]
    share, low, high = (max(bound - noise**2, 0) ** 0.5 / middle for bound in (variance, *bounds))
    of_noise = _MAD_EFFICIENCY * len(levels) * (steps - 1)
    p = float(fdtrc(freedom, of_noise, variance / noise**2)) if noise > 0 else float(variance == 0)
    return Spread(share, low, high, p)


def _of_tails(
    levels: _Values, noise: float, asked: npt.NDArray[np.bool_], typical: npt.NDArray[np.bool_]
) -> tuple[_Values, _Values]:
    """`tail_p` of the slowest typical levels, down to the last that is asked, and `enough`; NaN of all others.

    NaN, too, where fewer than two typical ones lie below.
    """
    found, enough = np.full(len(levels), np.nan), np.full(len(levels), np.nan)
    order = np.flatnonzero(typical)[np.argsort(-levels[typical], kind="stable")]
    places = min(int(np.flatnonzero(asked[order])[-1]) + 1 if asked.any() else 0, len(order) - 2, _MOST_TRIED)
    if places > 0:
        slowest_first = levels[order]
        found[order[:places]] = _tail_p(slowest_first, noise, places)
        if found[order[0]] >= _APART:
            enough[order[0]] = _enough(slowest_first[0], slowest_first[1:], noise)
    return found, enough


def _tail_p(slowest_first: _Values, noise: float, places: int) -> _Values:
    """The probability of a long tail for each of the first places, where two or more levels lie below.

    Explanations of all levels are weighed.  Those below a place scatter normally, and it and all above it are slow by
    themselves.  Or fewer of them are slow, or none, and the others come from one distribution with a long tail to slow
    ones (`_TAILS`).  Where the middle lies is not known: likelihoods are integrated over it, and over the spreads by
    what is expected of them.  What is returned is the share of the explanations with a tail.  Few levels cannot show
    that there is none, many can.
    """
    spreads = np.hypot(_SPREADS, noise)
    body, tail = _expected(_BODY, _OF_BODY), _expected(_TAIL, _OF_TAIL)
    is_of_noise = noise > _SPREADS  # what the scatter of steps makes is normal, whatever lies below it
    before, with_tail = 0.0, -np.inf  # logarithms of the likelihood of those above, and of the explanations with a tail
    odds = np.empty(places)
    for place in range(places):
        rest, below = slowest_first[place:], slowest_first[place + 1 :]
        alike = _normal(rest, spreads)
        tails = [np.where(is_of_noise, alike, shape(rest, spreads)) + tail + np.log(share) for shape, share in _TAILS]
        with_tail = np.logaddexp(with_tail, before + np.logaddexp.reduce(np.concatenate(tails)))
        out = rest[0] - median(below)
        before += np.log((1 - _FAR) * np.exp(-out / _EXCESS) / _EXCESS + _FAR / (1 + out) ** 2)
        odds[place] = before + np.logaddexp.reduce(_normal(below, spreads) + body) - with_tail
    return np.asarray(1 / (1 + np.exp(np.clip(odds, -500, 500))))


def _enough(level: float, below: _Values, noise: float) -> float:
    """How many would tell that it is apart, if further ones scattered normally, as those below; NaN if none would."""
    from scipy.special import ndtri

    spread = max(float(below.std(ddof=1)), 1e-9)
    many = 2 * (len(below) + 1)
    while many <= _MOST_ALIKE:
        others = below.mean() + spread * ndtri((np.arange(many - 1, 0, -1) - 0.375) / (many - 0.75))
        if _tail_p(np.append(level, others), noise, 1)[0] < _APART:
            return float(many)
        many *= 2
    return float("nan")


def _expected(center: float, width: float) -> _Values:
    """Logarithms of the weights of `_SPREADS`."""
    weights = -((np.log(_SPREADS / center) / width) ** 2) / 2
    return np.asarray(weights - np.logaddexp.reduce(weights))


def _normal(values: _Values, spreads: _Values) -> _Values:
    """The logarithm of the likelihood, integrated over the middle, for each of the spreads."""
    n, squares = len(values), float(((values - values.mean()) ** 2).sum())
    return np.asarray(-squares / spreads**2 / 2 - (n - 1) * np.log(spreads * np.sqrt(2 * np.pi)) - np.log(n) / 2)


def _exponential(values: _Values, spreads: _Values) -> _Values:
    beyond, n = float((values - values.min()).sum()), len(values)
    return np.asarray(-beyond / spreads - (n - 1) * np.log(spreads) - np.log(n))


def _log_gamma(shape: float) -> Callable[[_Values, _Values], _Values]:
    """Of -log(G) with G of a gamma distribution: Moyal's by the shape 1/2, Gumbel's by 1."""

    def likelihood(values: _Values, spreads: _Values) -> _Values:
        from scipy.special import gammaln, polygamma

        n, scale = len(values), spreads / np.sqrt(polygamma(1, shape))
        scaled = (values - values.min()) / scale[:, None]
        total = np.log(np.exp(-scaled).sum(axis=1))
        of_gammas = gammaln(n * shape) - n * gammaln(shape)
        return np.asarray(of_gammas - (n - 1) * np.log(scale) - shape * (scaled.sum(axis=1) + n * total))

    return likelihood


def _student(values: _Values, spreads: _Values) -> _Values:
    """Of Student's t with five degrees of freedom; the integral is a sum over 13 places of the middle."""
    steps = spreads / np.sqrt(len(values)) / 2
    middles = median(values) + np.arange(-6, 7)[:, None] * steps
    scaled = (values - middles[:, :, None]) / spreads[:, None]
    found = (np.log(8 / (3 * np.pi * np.sqrt(3)) / spreads[:, None]) - 3 * np.log1p(scaled**2 / 3)).sum(axis=2)
    return np.asarray(np.logaddexp.reduce(found) + np.log(steps))


# With what each counts for.
_TAILS = ((_exponential, 0.09), (_log_gamma(0.5), 0.22), (_log_gamma(1.0), 0.26), (_student, 0.43))


def _in_core(levels: _Values, typical: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which lie within three robust standard deviations of the median of the typical ones."""
    middle = median(levels[typical]) if typical.any() else np.nan
    spread = 1.4826 * median(abs(levels[typical] - middle)) if typical.any() else np.nan
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
