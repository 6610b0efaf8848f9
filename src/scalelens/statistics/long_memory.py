"""What the mean of a series with long memory is worth, for series that lag 1 and block means take for short-lived.

The spectrum of such a series rises towards frequency 0 as a power, and no stretch of it is long enough to see all of
the changes.  The spectrum is therefore fitted by models with and without long memory, and each counts as much as the
series makes it likely: the mean over models is large where a series cannot tell them apart.
"""

from functools import lru_cache
from math import gamma, pi, sin
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Values = npt.NDArray[np.float64]

_LONGEST = 512  # values that are looked at: neighbours of a longer series are added up first
_MEMORIES = (0.0, 0.09, 0.18, 0.27, 0.36, 0.45)  # orders of fractional differencing; from 0.5 on there is no mean
_LIKENESSES = (0.0, 0.25, 0.5, 0.7, 0.85, 0.95)  # coefficients of an autoregressive series of first order
_NOISES = (0.0, 0.5, 2.0, 8.0)  # variance of white noise on top, in units of that of the series below it
_CAUTIOUS = 50  # values of which the exponent of the mean over models is 1; of a long series the mean is geometric


class _Models(NamedTuple):
    """Spectra of variance 1 or more at the Fourier frequencies, shape (models, frequencies)."""

    inverse: _Values
    sum_of_logs: _Values  # shape (models,)
    at_zero: _Values  # n times the variance of the mean of n values


@lru_cache(maxsize=32)
def _models(n: int) -> _Models:
    """The models of a series of n values: ARFIMA(1, d, 0) under white noise."""
    frequency = 2 * pi * np.arange(1, (n + 1) // 2) / n
    likeness, memory = np.array(_LIKENESSES), np.array(_MEMORIES)
    short = 1 / (1 - 2 * likeness[:, None] * np.cos(frequency) + likeness[:, None] ** 2)
    long = np.exp(-2 * memory[:, None] * np.log(2 * np.sin(frequency / 2)))
    spectra = (short[:, None] * long[None]).reshape(-1, len(frequency))
    size = spectra.mean(axis=1)
    # The variance of the mean of n values falls as n^(2 d - 1): Beran, Statistics for Long-Memory Processes, 1994.
    rises = [n ** (2 * d) * gamma(1 - 2 * d) * sin(pi * d) / (pi * d * (1 + 2 * d)) if d else 1.0 for d in _MEMORIES]
    at_zero = np.outer(1 / (1 - likeness) ** 2, rises).ravel() / size
    noise = np.array(_NOISES)[:, None]
    with_noise = ((spectra / size[:, None])[None] + noise[..., None]).reshape(-1, len(frequency))
    return _Models(1 / with_noise, np.log(with_noise).sum(axis=1), (at_zero[None] + noise).ravel())


def variance_of_mean(values: _Values) -> float:
    """n times the variance of the mean of a series, shape (n,) with n of 16 or more, in units of the values squared.

    The likelihood of a model is Whittle's.  Each model counts by it, in a power mean of their variances: of a short
    series, in which models cannot be told apart, the large ones count for more.
    """
    apart = max(len(values) // _LONGEST, 1)
    summed = values[: len(values) // apart * apart].reshape(-1, apart).mean(axis=1)
    n = len(summed)
    power = np.abs(np.fft.rfft(summed - summed.mean()))[1 : (n + 1) // 2] ** 2 / n
    models = _models(n)
    sizes = models.inverse @ power / len(power)
    if not np.all(sizes > 0):
        return 0.0
    likelihood = -len(power) * np.log(sizes) - models.sum_of_logs
    weights = np.exp(likelihood - likelihood.max())
    exponent = _CAUTIOUS / len(values)
    mean = (weights @ (sizes * models.at_zero) ** exponent) / weights.sum()
    return float(apart * mean ** (1 / exponent))
