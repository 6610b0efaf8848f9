"""Series of step times of which the true median is known, many at once."""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.signal

Values = npt.NDArray[np.float64]
BURN_IN = 400  # values before the first, so that an AR(1) series has forgotten where it began

Make = Callable[[np.random.Generator, int, int], Values]


class Process(NamedTuple):
    """Makes `many` series of length n, shape (many, n)."""

    make: Make
    median: float  # of the distribution of one value


def normal(rng: np.random.Generator, many: int, n: int) -> Values:
    return rng.standard_normal((many, n))


def ar1(phi: float) -> Make:
    """First-order autoregressive, standard deviation 1."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        noise = np.sqrt(1 - phi**2) * rng.standard_normal((many, n + BURN_IN))
        return np.asarray(scipy.signal.lfilter([1], [1, -phi], noise, axis=1)[:, BURN_IN:])

    return make


def pareto(shape: float) -> Process:
    return Process(lambda rng, many, n: rng.pareto(shape, (many, n)), 2 ** (1 / shape) - 1)


def drift_under_jitter(noise: float) -> Process:
    """AR(1) with phi = 0.98 plus white noise of `noise` times its size."""
    drift = ar1(0.98)
    return Process(lambda rng, many, n: drift(rng, many, n) + noise * normal(rng, many, n), 0.0)


def two_modes(share: float, scatter: float, stay: float) -> Process:
    """Modes at 1 and 2, `share` of the steps in the second.  The mean of the mean stays in both is `stay` steps.

    With a stay of 1 / (2 share (1 - share)) each step chooses anew.
    """
    leave_second, leave_first = 1 / (2 * stay * share), 1 / (2 * stay * (1 - share))

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        chances, second = rng.random((n, many)), np.empty((n, many), bool)
        state = rng.random(many) < share
        for step in range(n):
            state = np.where(state, chances[step] >= leave_second, chances[step] < leave_first)
            second[step] = state
        return 1 + second.T + scatter * normal(rng, many, n)

    return Process(make, median_of_two_modes(share, scatter))


def median_of_two_modes(share: float, scatter: float) -> float:
    one = NormalDist(0, scatter)
    low, high = 0.0, 3.0
    for _ in range(60):
        middle = (low + high) / 2
        if (1 - share) * one.cdf(middle - 1) + share * one.cdf(middle - 2) < 0.5:
            low = middle
        else:
            high = middle
    return middle


def rounded(make: Make, median: float, scatter: float) -> Process:
    """Around `median`, rounded to 0.1."""
    return Process(lambda rng, many, n: np.round(median + scatter * make(rng, many, n), 1), median)


PROCESSES = {
    "uncorrelated, normal": Process(normal, 0.0),
    "uncorrelated, Pareto tail (shape 1.5)": pareto(1.5),
    "uncorrelated, two modes (30 % slow)": two_modes(0.3, 0.05, stay=1 / 0.42),
    "AR(1), phi = 0.5": Process(ar1(0.5), 0.0),
    "AR(1), phi = 0.9": Process(ar1(0.9), 0.0),
    "drift (AR(1), phi = 0.98) under jitter of its size": drift_under_jitter(1),
    "drift under jitter of 3 times its size": drift_under_jitter(3),
    "two modes, kept for 50 steps (half slow)": two_modes(0.5, 0.05, stay=50),
    "two modes, kept for 35 and 65 steps": two_modes(0.35, 0.05, stay=50),
    "rounded to 0.1, scatter 0.02": rounded(normal, 0.437, 0.02),
    "rounded to 0.1, scatter 0.1": rounded(normal, 0.437, 0.1),
    "rounded to 0.1, scatter 0.3": rounded(normal, 1.46, 0.3),
    "rounded to 0.1, AR(1), phi = 0.5, scatter 0.2": rounded(ar1(0.5), 1.46, 0.2),
}
