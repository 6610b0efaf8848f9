"""How well a series shows a quantile of itself that may wander more slowly than lag 1 and block means see.

The spectrum of a series with long memory rises towards frequency 0 as a power, and no stretch of it is long enough to
see all of the changes; a drift that takes as long as the series is seen as little.  The spectrum of the ranks is
therefore fitted by models with and without either.  Each counts as much as its prior weight and the series make it
likely.  Where such a mixture has the median is not normal: a model that is not likely, but wanders far, makes the
interval wider.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, erf, exp, log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from scalelens.statistics.plain_median import median
from scalelens.statistics.significance import normal_quantile

_Values = npt.NDArray[np.float64]

_LONGEST = 1024  # values that are looked at: neighbors of a longer series are added up first
_LIKENESSES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.99)  # further ones
_SLOW = 0.965  # likeness from which on one is a drift: below noise of its size a hundred values hardly show it
_PERIODS, _DAMPING = (6, 10, 16, 25), 0.9  # values of a swing, and what is left of it after each value
_NOISES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # variance of white noise on top, in units of that of the series below it
# Prior weights of single models: of series of short memory by their likeness, without noise; of the others by the
# noise on top, in the order of `_NOISES`; of long memory by its order and the likeness beside it too.  They are not a
# belief.  A search set them so that a hundred values with phi from 0 to 0.5 have an interval 1.8 times as wide in the
# median as one that knows the process, and what wanders is covered in 90 %: orders up to 0.45, filtered or not, below
# jitter of up to four times their size.  With that width the weight is best at the ends, on what is alike for a few
# values at most and on what wanders farthest, below any noise that hides it: where the last noise has next to no
# weight, jitter of three or four times its size is taken for all there is.  docs/statistics.md has what that costs.
_OF_SHORT = {0.0: 460.0, 0.15: 2300.0, 0.3: 2000.0, 0.4: 1300.0, 0.5: 80.0, -0.3: 9500.0, -0.6: 59.0}
_OF_LIKENESS = (4.6, 0.3, 3.8, 9.2, 0.28, 0.29)
_OF_DRIFT = (0.37, 0.25, 17.0, 15.0, 0.47, 0.32)
_OF_SHORT_BELOW_NOISE = (0.0, 0.25, 2.0, 0.76, 0.24, 0.24)
_OF_MEMORY = {0.1: 0.014, 0.2: 0.012, 0.3: 0.011, 0.4: 3.5}
_OF_MEMORY_BELOW_NOISE = (0.19, 1.0, 0.049, 0.039, 0.026, 0.044)
_OF_MEMORY_BESIDE = {0.0: 1.0, 0.3: 0.49, 0.5: 30.0, 0.7: 0.89}  # likenesses: beyond them the two explain the same
_FARTHEST_BACK = 0.45  # the largest order d of long memory that is fitted; at 0.5 and above there is no mean
_OF_FARTHEST_BACK_BELOW_NOISE = (0.0039, 0.22, 6.9, 3.4, 1.6, 0.7)
# The same of other quantiles of fewer values: the wider of two fits counts there, and would be 2.4 times as wide.
_OF_FARTHEST_BACK_BELOW_LITTLE_NOISE = (0.0039, 0.22, 6.9, 3.4, 1.3, 0.057)
_MANY_OF_QUANTILE = 300
_OF_FARTHEST_BACK_BESIDE = {0.0: 1.0, 0.3: 0.42, 0.5: 87.0, 0.7: 0.27}
_OF_SWING = 0.44
# What wanders below neighbors that are unlike each other.  Where a time is that between two stamps, what delays a stamp
# makes one value longer and the next one shorter by as much: noise with a correlation of -1/2, of these variances.
_STAMPS, _OF_STAMPS, _OF_STAMPS_ALONE = (1.0, 2.0, 4.0, 10.0), (0.1, 1.0, 0.3, 1.0), 1000.0
_OF_MEMORY_BELOW_STAMPS, _OF_DRIFT_BELOW_STAMPS = {0.3: 70.0, _FARTHEST_BACK: 650.0}, {0.99: 430.0}
_UNLIKE, _OF_MEMORY_OF_UNLIKE = -0.5, {0.3: 70.0, _FARTHEST_BACK: 100.0}
# Chance that the mixture leaves outside of the interval, by the number of values.  Of a hundred the widths above bound
# it; of a few hundred what wanders is hidden best, and from 400 on it shows itself.  Below a hundred it falls further.
_BEYOND = ((100, 120, 300, 400), (0.0327, 0.026, 0.026, 0.03))
_BEYOND_OF_QUANTILE, _MANY = 0.03, 100
_OF_LINE, _NEIGHBORS = 12.0, 7  # times the median of so many frequencies to each side: a line
_OF_WANDERING = 4  # lowest frequencies, which rise by long memory too
_NEGLIGIBLE = 1e-8  # of an autoregressive weight and of a variance
_UNLIKELY = 1e-6  # times the chance of the likeliest model: one that counts for nothing
_NARROWEST, _FARTHEST, _HALVINGS = 1e-3, 20.0, 14  # standard deviations of the series; known to one in 1,000 by then
_IN_ONE, _WITHIN = 200, 8  # places of the table in one standard deviation, and how many of these it has to each side
_OUTSIDE = np.array([1 - erf(place / _IN_ONE / sqrt(2)) for place in range(-_WITHIN * _IN_ONE, _WITHIN * _IN_ONE + 1)])
_TO_NEXT = np.append(np.diff(_OUTSIDE), 0.0)
_NODES = 8  # of the mean over an angle, by Gauss and Legendre


class _Models(NamedTuple):
    """Expected periodograms of models of variance 1 at the Fourier frequencies, shape (models, frequencies)."""

    inverse: _Values
    sum_of_logs: _Values  # shape (models,)
    of_quantile: _Values  # n times the variance of the quantile of n values
    log_weight: _Values  # of what is believed beforehand


class _Correlated(NamedTuple):
    """Autocorrelations of models at lags from 0 on, shape (models, lags)."""

    correlations: _Values
    log_weight: _Values  # of what is believed beforehand


@lru_cache(maxsize=16)
def _models(n: int, apart: int, quantile: float, of_scatter: bool) -> _Models:
    """The models of a series of n values, each a mean of `apart`.

    A short series blurs its spectrum, so that the expected periodogram is taken in its place (Sykulski and others,
    Biometrika 106, 2019), and the variance of the quantile is that of n values, not of many.  It is that of a normal
    series; or, with `of_scatter`, of one that lies below its quantile as its distance from the middle explains it.
    """
    longest = 1 << (n - 1).bit_length()
    is_hidden = quantile == 0.5 or n >= _MANY_OF_QUANTILE
    known, taper = _correlated(longest, apart, is_hidden), 1 - np.arange(n) / n
    below = known.correlations if of_scatter else _of_below(longest, apart, quantile)
    spectra = 2 * np.fft.rfft(known.correlations[:, :n] * taper, axis=1).real[:, 1 : (n + 1) // 2] - 1
    spectra = np.maximum(spectra, _NEGLIGIBLE)
    z = normal_quantile(quantile)
    time = np.maximum(2 * (below[:, :n] * taper).sum(axis=1) - 1, _NEGLIGIBLE)
    if of_scatter:
        rarer = min(quantile, 1 - quantile)
        squared_correlation = 12 * rarer * (0.5 - rarer) ** 2 / (1 - rarer)  # of uniform values
        time = 1 + squared_correlation * (time - 1)
    of_quantile = 2 * np.pi * quantile * (1 - quantile) * exp(z * z) * time
    return _Models(1 / spectra, np.log(spectra).sum(axis=1), of_quantile, known.log_weight)


@lru_cache(maxsize=8)
def _correlated(n: int, apart: int, is_hidden: bool) -> _Correlated:
    """What the models of all series of up to n values share: their values begin with the same correlations.

    Long memory may be hidden below much noise, or it is not asked.
    """
    weights, found = zip(*_weighted(n, apart, is_hidden), strict=True)
    return _Correlated(np.concatenate(found), np.log(np.concatenate(weights)))


@lru_cache(maxsize=8)
def _of_below(n: int, apart: int, quantile: float) -> _Values:
    """`correlations_of_below` of the models at lags 0 to n - 1, shape (models, n)."""
    return correlations_of_below(_correlated(n, apart, True).correlations, quantile)


def correlations_of_below(correlations: _Values, quantile: float) -> _Values:
    """Correlations of whether two values of a normal distribution lie below its quantile, shape (...) to (...).

    2 / pi arcsin(r) at the median.  At z the chance that two values of correlation r both lie below it grows with r by
    the density of both at z, exp(-z^2 / (1 + r)) / (2 pi sqrt(1 - r^2)), which is smooth in arcsin(r).
    """
    angles, z = np.arcsin(np.clip(correlations, -1, 1)), normal_quantile(quantile)
    found: _Values = angles / (2 * np.pi * quantile * (1 - quantile))
    if z:
        nodes = zip(*np.polynomial.legendre.leggauss(_NODES), strict=True)
        found *= sum(weight / 2 * np.exp(-z * z / (1 + np.sin(angles * (1 + node) / 2))) for node, weight in nodes)
    return found


def _weighted(n: int, apart: int, is_hidden: bool) -> Iterator[tuple[_Values, _Values]]:
    """Models: ARFIMA(1, d, 0) and swings under white noise or that of stamps, some at a time.

    Prior weights, shape (models,), and autocorrelations at lags 0 to n - 1, shape (models, n).
    """
    for likeness, weight in _OF_SHORT.items():
        yield np.array([weight]), _of_means(likeness, apart, n)[None]
    white, noises = np.zeros(n), np.array(_NOISES)[:, None]
    white[0] = 1.0
    for weights, correlations in _below_noise(n, apart, is_hidden):
        counts = np.array(weights) > 0
        yield np.array(weights)[counts], ((correlations + noises * white) / (1 + noises))[counts]
    stamps, sizes = white - 0.5 * (np.arange(n) == 1), np.array(_STAMPS)[:, None]
    below_stamps = [(_OF_STAMPS_ALONE, white)]
    below_stamps += [(weight, _correlations(memory, 0.0, n)) for memory, weight in _OF_MEMORY_BELOW_STAMPS.items()]
    below_stamps += [(weight, _of_means(likeness, apart, n)) for likeness, weight in _OF_DRIFT_BELOW_STAMPS.items()]
    for weight, correlations in below_stamps:
        yield weight * np.array(_OF_STAMPS), (correlations + sizes * stamps) / (1 + sizes)
    for memory, weight in _OF_MEMORY_OF_UNLIKE.items():
        yield np.array([weight]), _correlations(memory, _UNLIKE, n)[None]


def _below_noise(n: int, apart: int, is_hidden: bool) -> Iterator[tuple[Sequence[float], _Values]]:
    """Prior weights by the noise on top, and autocorrelations at lags 0 to n - 1, of what may lie below noise."""
    for likeness in _LIKENESSES:
        yield _OF_DRIFT if likeness >= _SLOW else _OF_LIKENESS, _of_means(likeness, apart, n)
    for memory, of_order in _OF_MEMORY.items():
        for likeness, beside in _OF_MEMORY_BESIDE.items():
            yield [of_order * beside * weight for weight in _OF_MEMORY_BELOW_NOISE], _correlations(memory, likeness, n)
    of_farthest = _OF_FARTHEST_BACK_BELOW_NOISE if is_hidden else _OF_FARTHEST_BACK_BELOW_LITTLE_NOISE
    for likeness, beside in _OF_FARTHEST_BACK_BESIDE.items():
        weights = [beside * weight for weight in of_farthest]
        yield weights, _correlations(_FARTHEST_BACK, likeness, n)
    for period in _PERIODS:
        yield [_OF_SWING] * len(_NOISES), _swing(period, n)
    for likeness in _OF_SHORT:
        if likeness > 0:
            yield _OF_SHORT_BELOW_NOISE, _of_means(likeness, apart, n)


def _correlations(memory: float, likeness: float, n: int) -> _Values:
    """Autocorrelations of an ARFIMA(1, d, 0) series at lags 0 to n - 1.

    Those of fractional noise are products of (k - 1 + d) / (k - d) (Hosking, Biometrika 68, 1981); the autoregressive
    part weighs its neighbors by phi to the power of their distance.
    """
    if memory == 0:
        powers: _Values = np.float64(likeness) ** np.arange(n)
        return powers
    reach = ceil(log(_NEGLIGIBLE) / log(abs(likeness))) if likeness else 0
    lags = np.arange(1, n + reach)
    found = np.concatenate([[1.0], np.cumprod((lags - 1 + memory) / (lags - memory))])
    if reach:
        both_sides = np.concatenate([found[reach:0:-1], found])
        weights = likeness ** np.abs(np.arange(-reach, reach + 1))
        found = np.asarray(np.convolve(both_sides, weights, mode="valid"), dtype=np.float64)
    return np.asarray(found[:n] / found[0])


def _of_means(likeness: float, apart: int, n: int) -> _Values:
    """Autocorrelations of means of `apart` values of a first-order autoregressive series, at lags 0 to n - 1.

    From one mean to the next they fall by `likeness`; the first is larger than that, the more so the more values a mean
    has.
    """
    if apart == 1 or likeness <= 0:
        return _correlations(0.0, likeness, n)
    of_neighbors = np.float64(likeness) ** (1 / apart)
    within = apart + 2 * np.sum((apart - np.arange(1, apart)) * of_neighbors ** np.arange(1, apart))
    between = ((1 - likeness) / (1 - of_neighbors)) ** 2 * of_neighbors ** (1 - apart)
    found = _correlations(0.0, likeness, n) * (between / within)
    found[0] = 1.0
    return found


def _swing(period: float, n: int) -> _Values:
    """Autocorrelations of a second-order autoregressive series that swings, at lags 0 to n - 1."""
    turn, lags = 2 * np.pi / period, np.arange(n)
    first = 2 * _DAMPING * np.cos(turn) / (1 + _DAMPING**2)
    sine = (first / _DAMPING - np.cos(turn)) / np.sin(turn)
    return np.asarray(np.float64(_DAMPING) ** lags * (np.cos(turn * lags) + sine * np.sin(turn * lags)))


def share_around(rank: _Values, quantile: float = 0.5) -> float:
    """The share of a normal distribution that lies as far from its median as the interval of a quantile reaches.

    To each side of it, 0 to 0.5.  For the median this is the share of the values themselves.  Of ranks in the order of
    steps, shape (n,) with n of 16 or more.  Other quantiles wander with the scatter of the values as well, which the
    distances of the ranks from their middle show.
    """
    found = _share_by(rank, quantile, of_scatter=False)
    if quantile != 0.5:
        found = max(found, _share_by(np.abs(rank - (len(rank) + 1) / 2), quantile, of_scatter=True))
    return found


def _share_by(rank: _Values, quantile: float, of_scatter: bool) -> float:
    """The same by ranks or by their distances from the middle alone.  The likelihood of a model is Whittle's."""
    apart = max(len(rank) // _LONGEST, 1)
    spread = float(rank.std())
    if spread == 0:
        return 0.0
    summed = rank[: len(rank) // apart * apart].reshape(-1, apart).mean(axis=1) / spread
    # Models take longer to make than to fit: up to 3 % of the values are left out, so that few lengths come up.
    n = len(summed) - len(summed) % max(1 << (len(summed).bit_length() - 6), 1)
    summed = summed[:n]
    power = np.abs(np.fft.rfft(summed - summed.mean()))[1 : (n + 1) // 2] ** 2 / n
    beyond = float(np.interp(len(rank), *_BEYOND)) if quantile == 0.5 else _BEYOND_OF_QUANTILE
    beyond *= min(len(rank) / _MANY, 1.0) ** 2  # fewer show even less of how far they wander
    rest, models = _without_lines(power), _models(n, apart, quantile, of_scatter)
    z = 0.0 if of_scatter else normal_quantile(quantile)
    return max(_share_of(one, n, models, z, beyond) for one in (power, rest) if one is not None)


def _share_of(power: _Values, n: int, models: _Models, z: float, beyond: float) -> float:
    """The same by the periodogram of the ranks, in units of their variance, shape (frequencies,).

    A series that wanders scatters less than its process, and a quantile other than the median lies farther out there.
    """
    sizes = models.inverse @ power / len(power)
    if not np.all(sizes > 0):
        return 0.0
    likelihood = models.log_weight - len(power) * np.log(sizes) - models.sum_of_logs
    weights = np.exp(likelihood - likelihood.max())
    counts = weights > _UNLIKELY
    weights, sizes = weights[counts] / weights[counts].sum(), sizes[counts]
    deviations = np.sqrt(sizes * models.of_quantile[counts] / n)
    if z:  # to both sides: an interval is as wide on the one as on the other
        farther = z * (np.sqrt(np.maximum(1 + sizes - power.mean(), 0.0)) - 1) / deviations
        weights, deviations = np.tile(weights / 2, 2), np.tile(deviations, 2)
        half = _half_width(weights, deviations, beyond, np.concatenate([farther, -farther]))
    else:
        half = _half_width(weights, deviations, beyond)
    return erf(half / sqrt(2)) / 2


def _without_lines(power: _Values) -> _Values | None:
    """The periodogram without what swings as steadily as a clock, or None where nothing does, shape (frequencies,).

    A line says nothing of how far the rest wanders, and is so likely below one model alone that it would decide.
    """
    if power.max() <= _OF_LINE * median(power):
        return None
    around = median(sliding_window_view(np.pad(power, _NEIGHBORS, mode="reflect"), 2 * _NEIGHBORS + 1))
    is_line = power > _OF_LINE * around
    is_line[:_OF_WANDERING] = False
    return np.where(is_line, around, power) if is_line.any() else None


def _half_width(weights: _Values, deviations: _Values, beyond: float, aside: _Values | float = 0.0) -> float:
    """The width to each side outside of which a mixture of normal distributions has the chance `beyond`.

    By halving its logarithm.  Weights, standard deviations, and how many of these each lies aside, of shape (models,).
    """
    low, high = _NARROWEST, _FARTHEST
    in_one, last, nearest = _IN_ONE / deviations, len(_OUTSIDE) - 1, _WITHIN * _IN_ONE - aside * _IN_ONE
    for _ in range(_HALVINGS):
        middle = sqrt(low * high)
        places = np.clip(middle * in_one + nearest, 0.0, last)  # np.interp would look for each of them
        before = places.astype(np.intp)
        if weights @ (_OUTSIDE[before] + (places - before) * _TO_NEXT[before]) > beyond:
            low = middle
        else:
            high = middle
    return high
