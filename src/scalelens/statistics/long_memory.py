"""What the mean of a series is worth that wanders more slowly than lag 1 and block means see.

The spectrum of a series with long memory rises towards frequency 0 as a power, and no stretch of it is long enough to
see all of the changes; a drift that takes as long as the series is seen as little.  The spectrum is therefore fitted by
models with and without either, and each counts as much as the series makes it likely: the mean over models is large
where a series cannot tell them apart.
"""

from functools import lru_cache
from math import ceil, log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

_LONGEST = 1024  # values that are looked at: neighbors of a longer series are added up first
_MEMORIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45)  # orders of fractional differencing; from 0.5 on there is no mean
_LIKENESSES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)  # coefficients of first-order autoregressive series
_MOST_BESIDE_MEMORY = 0.7  # coefficient together with long memory: beyond it the two explain the same
_NOISES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)  # variance of white noise on top, in units of that of the series below it
_WHITE = 60  # values of which white noise counts once more: in a long series, anything else would show
_CAUTION = 0.5  # exponent of the mean over models, of series of up to
_CAUTIOUS = 1000  # values; of a longer series the mean comes near the geometric one
_NEGLIGIBLE = 1e-8  # of an autoregressive weight


class _Models(NamedTuple):
    """Expected periodograms of models of variance 1 or more at the Fourier frequencies, shape (models, frequencies)."""

    inverse: _Values
    sum_of_logs: _Values  # shape (models,)
    at_zero: _Values  # n times the variance of the mean of n values
    is_white: npt.NDArray[np.bool_]  # each noise on top of white noise makes the same again


@lru_cache(maxsize=16)
def _models(n: int) -> _Models:
    """The models of a series of n values: ARFIMA(1, d, 0) under white noise.

    A short series blurs its spectrum, so that the expected periodogram is taken in its place (Sykulski and others,
    Biometrika 106, 2019), and the variance of the mean is that of n values, not of many.
    """
    pairs = [(d, phi) for d in _MEMORIES for phi in _LIKENESSES if d == 0 or phi <= _MOST_BESIDE_MEMORY]
    tapered = np.array([_correlations(d, phi, n) for d, phi in pairs]) * (1 - np.arange(n) / n)
    spectra = 2 * np.fft.rfft(tapered, axis=1).real[:, 1 : (n + 1) // 2] - 1
    at_zero = 2 * tapered.sum(axis=1) - 1
    noise = np.array(_NOISES)[:, None]
    with_noise = np.maximum(spectra[None] + noise[..., None], _NEGLIGIBLE).reshape(-1, spectra.shape[1])
    is_white = np.tile([d == phi == 0 for d, phi in pairs], len(noise))
    return _Models(1 / with_noise, np.log(with_noise).sum(axis=1), (at_zero[None] + noise).ravel(), is_white)


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


def variance_of_mean(values: _Values) -> float:
    """n times the variance of the mean of a series, shape (n,) with n of 16 or more, in units of the values squared.

    The likelihood of a model is Whittle's.  Each model counts by it, in a power mean of their variances: of a short
    series, in which models cannot be told apart, the large ones count for more.
    """
    apart = max(len(values) // _LONGEST, 1)
    summed = values[: len(values) // apart * apart].reshape(-1, apart).mean(axis=1)
    # Models take longer to make than to fit: up to 3 % of the values are left out, so that few lengths come up.
    n = len(summed) - len(summed) % max(1 << (len(summed).bit_length() - 6), 1)
    summed = summed[:n]
    power = np.abs(np.fft.rfft(summed - summed.mean()))[1 : (n + 1) // 2] ** 2 / n
    models = _models(n)
    sizes = models.inverse @ power / len(power)
    if not np.all(sizes > 0):
        return 0.0
    likelihood = -len(power) * np.log(sizes) - models.sum_of_logs
    weights = np.exp(likelihood - likelihood.max()) * np.where(models.is_white, 1 + len(values) / _WHITE, 1.0)
    exponent = _CAUTION * min(1.0, _CAUTIOUS / len(values))
    mean = (weights @ (sizes * models.at_zero) ** exponent) / weights.sum()
    return float(apart * mean ** (1 / exponent))
