"""How well a series shows its median that may wander more slowly than lag 1 and block means see.

The spectrum of a series with long memory rises towards frequency 0 as a power, and no stretch of it is long enough to
see all of the changes; a drift that takes as long as the series is seen as little.  The spectrum of the ranks is
therefore fitted by models with and without either.  Each counts as much as its prior weight and the series make it
likely.  Where such a mixture has the median is not normal: a model that is not likely, but wanders far, makes the
interval wider.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil, erf, log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from scalelens.statistics.plain_median import median

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
# jitter of up to twice their size.  With that width the weight is best at the ends, on what is alike for a few values
# at most and on what wanders farthest.  docs/statistics.md has what that costs, and what it covers.
_OF_SHORT = {0.0: 460.0, 0.15: 2300.0, 0.3: 2000.0, 0.4: 1300.0, 0.5: 80.0, -0.3: 9500.0, -0.6: 59.0}
_OF_LIKENESS = (4.6, 0.3, 3.8, 9.2, 0.28, 0.29)
_OF_DRIFT = (0.37, 0.25, 17.0, 15.0, 0.47, 0.32)
_OF_SHORT_BELOW_NOISE = (0.0, 0.25, 2.0, 0.76, 0.24, 0.24)
_OF_MEMORY = {0.1: 0.014, 0.2: 0.012, 0.3: 0.011, 0.4: 3.5}
_OF_MEMORY_BELOW_NOISE = (0.19, 1.0, 0.049, 0.039, 0.026, 0.044)
_OF_MEMORY_BESIDE = {0.0: 1.0, 0.3: 0.49, 0.5: 30.0, 0.7: 0.89}  # likenesses: beyond them the two explain the same
_FARTHEST_BACK = 0.45  # the largest order d of long memory that is fitted; at 0.5 and above there is no mean
_OF_FARTHEST_BACK_BELOW_NOISE = (0.0039, 0.22, 6.9, 3.4, 1.3, 0.057)
_OF_FARTHEST_BACK_BESIDE = {0.0: 1.0, 0.3: 0.42, 0.5: 87.0, 0.7: 0.27}
_OF_SWING = 0.44
_BEYOND, _MANY = 0.03, 100  # chance that the mixture leaves outside of the interval of so many values or more
_OF_LINE, _NEIGHBORS = 12.0, 7  # times the median of so many frequencies to each side: a line
_OF_WANDERING = 4  # lowest frequencies, which rise by long memory too
_NEGLIGIBLE = 1e-8  # of an autoregressive weight and of a variance
_UNLIKELY = 1e-6  # times the chance of the likeliest model: one that counts for nothing
_NARROWEST, _FARTHEST, _HALVINGS = 1e-3, 20.0, 14  # standard deviations of the series; known to one in 1,000 by then
_IN_ONE = 200  # places of the table in one standard deviation
_OUTSIDE = np.array([1 - erf(place / _IN_ONE / sqrt(2)) for place in range(8 * _IN_ONE + 1)])
_TO_NEXT = np.append(np.diff(_OUTSIDE), 0.0)


class _Models(NamedTuple):
    """Expected periodograms of models of variance 1 at the Fourier frequencies, shape (models, frequencies)."""

    inverse: _Values
    sum_of_logs: _Values  # shape (models,)
    of_median: _Values  # n times the variance of the median of n values
    log_weight: _Values  # of what is believed beforehand


class _Correlated(NamedTuple):
    """Autocorrelations of models at lags from 0 on, and those of their signs, shape (models, lags)."""

    correlations: _Values
    of_signs: _Values
    log_weight: _Values  # of what is believed beforehand


@lru_cache(maxsize=16)
def _models(n: int, apart: int) -> _Models:
    """The models of a series of n values, each a mean of `apart`.

    A short series blurs its spectrum, so that the expected periodogram is taken in its place (Sykulski and others,
    Biometrika 106, 2019), and the variance of the median is that of n values, not of many.  It is that of a normal
    series, whose signs have the correlation 2 / pi arcsin(r).
    """
    known, taper = _correlated(1 << (n - 1).bit_length(), apart), 1 - np.arange(n) / n
    spectra = 2 * np.fft.rfft(known.correlations[:, :n] * taper, axis=1).real[:, 1 : (n + 1) // 2] - 1
    spectra = np.maximum(spectra, _NEGLIGIBLE)
    of_median = np.pi / 2 * np.maximum(2 * (known.of_signs[:, :n] * taper).sum(axis=1) - 1, _NEGLIGIBLE)
    return _Models(1 / spectra, np.log(spectra).sum(axis=1), of_median, known.log_weight)


@lru_cache(maxsize=8)
def _correlated(n: int, apart: int) -> _Correlated:
    """What the models of all series of up to n values share: their values begin with the same correlations."""
    weights, found = zip(*_weighted(n, apart), strict=True)
    correlations = np.concatenate(found)
    of_signs = 2 / np.pi * np.arcsin(np.clip(correlations, -1, 1))
    return _Correlated(correlations, of_signs, np.log(np.concatenate(weights)))


def _weighted(n: int, apart: int) -> Iterator[tuple[_Values, _Values]]:
    """Models: ARFIMA(1, d, 0) and swings under white noise, some at a time.

    Prior weights, shape (models,), and autocorrelations at lags 0 to n - 1, shape (models, n).
    """
    for likeness, weight in _OF_SHORT.items():
        yield np.array([weight]), _of_means(likeness, apart, n)[None]
    white, noises = np.zeros(n), np.array(_NOISES)[:, None]
    white[0] = 1.0
    for weights, correlations in _below_noise(n, apart):
        counts = np.array(weights) > 0
        yield np.array(weights)[counts], ((correlations + noises * white) / (1 + noises))[counts]


def _below_noise(n: int, apart: int) -> Iterator[tuple[Sequence[float], _Values]]:
    """Prior weights by the noise on top, and autocorrelations at lags 0 to n - 1, of what may lie below noise."""
    for likeness in _LIKENESSES:
        yield _OF_DRIFT if likeness >= _SLOW else _OF_LIKENESS, _of_means(likeness, apart, n)
    for memory, of_order in _OF_MEMORY.items():
        for likeness, beside in _OF_MEMORY_BESIDE.items():
            yield [of_order * beside * weight for weight in _OF_MEMORY_BELOW_NOISE], _correlations(memory, likeness, n)
    for likeness, beside in _OF_FARTHEST_BACK_BESIDE.items():
        weights = [beside * weight for weight in _OF_FARTHEST_BACK_BELOW_NOISE]
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
    reach = ceil(log(_NEGLIGIBLE) / log(likeness)) if likeness else 0
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


def share_around_median(rank: _Values) -> float:
    """The share of the values by which an interval of the median reaches to each side of it, 0 to 0.5.

    Of ranks in the order of steps, shape (n,) with n of 16 or more.  The likelihood of a model is Whittle's.
    """
    apart = max(len(rank) // _LONGEST, 1)
    spread = float(rank.std())
    if spread == 0:
        return 0.0
    summed = rank[: len(rank) // apart * apart].reshape(-1, apart).mean(axis=1) / spread
    # Models take longer to make than to fit: up to 3 % of the values are left out, so that few lengths come up.
    n = len(summed) - len(summed) % max(1 << (len(summed).bit_length() - 6), 1)
    summed = summed[:n]
    power = np.abs(np.fft.rfft(summed - summed.mean()))[1 : (n + 1) // 2] ** 2 / n
    beyond = _BEYOND * min(len(rank) / _MANY, 1.0) ** 2  # fewer show even less of how far they wander
    rest = _without_lines(power)
    return max(_share_of(one, n, _models(n, apart), beyond) for one in (power, rest) if one is not None)


def _share_of(power: _Values, n: int, models: _Models, beyond: float) -> float:
    """The same by the periodogram of the ranks, in units of their variance, shape (frequencies,)."""
    sizes = models.inverse @ power / len(power)
    if not np.all(sizes > 0):
        return 0.0
    likelihood = models.log_weight - len(power) * np.log(sizes) - models.sum_of_logs
    weights = np.exp(likelihood - likelihood.max())
    counts = weights > _UNLIKELY
    deviations = np.sqrt(sizes[counts] * models.of_median[counts] / n)
    return erf(_half_width(weights[counts] / weights[counts].sum(), deviations, beyond) / sqrt(2)) / 2


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


def _half_width(weights: _Values, deviations: _Values, beyond: float) -> float:
    """The width to each side outside of which a mixture of normal distributions has the chance `beyond`.

    By halving its logarithm.  Weights and standard deviations of shape (models,).
    """
    low, high = _NARROWEST, _FARTHEST
    in_one, last = _IN_ONE / deviations, len(_OUTSIDE) - 1
    for _ in range(_HALVINGS):
        middle = sqrt(low * high)
        places = np.minimum(middle * in_one, last)  # np.interp would look for each of them
        before = places.astype(np.intp)
        if weights @ (_OUTSIDE[before] + (places - before) * _TO_NEXT[before]) > beyond:
            low = middle
        else:
            high = middle
    return high
