"""Series of step times of which the true median is known, many at once."""

from collections.abc import Callable
from functools import cache
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


def starting_anywhere(phi: float, rng: np.random.Generator, many: int, n: int) -> Values:
    """AR(1) of standard deviation 1 that needs no burn-in, however long it remembers."""
    noise = np.sqrt(1 - phi**2) * normal(rng, many, n)
    noise[:, 0] = normal(rng, many, 1)[:, 0]
    return np.asarray(scipy.signal.lfilter([1], [1, -phi], noise, axis=1))


def pink(rng: np.random.Generator, many: int, n: int) -> Values:
    """1/f noise as a sum of seven relaxations with times of 2 to 200 steps."""
    return np.sum([starting_anywhere(np.exp(-1 / time), rng, many, n) for time in np.geomspace(2, 200, 7)], axis=0)


def swinging(rng: np.random.Generator, many: int, n: int) -> Values:
    """AR(2) with a period of 12 steps."""
    damping = 0.9
    weights = [1, -2 * damping * np.cos(2 * np.pi / 12), damping**2]
    return np.asarray(scipy.signal.lfilter([1], weights, normal(rng, many, n + BURN_IN), axis=1)[:, BURN_IN:])


def telegraph(rng: np.random.Generator, many: int, n: int) -> Values:
    """Fast for 25 steps and 15 % slower for 8 on average, each with a scatter of 3 %."""
    chances, is_slow = rng.random((n, many)), np.empty((n, many), bool)
    state = rng.random(many) < 8 / 33
    for step in range(n):
        state = np.where(state, chances[step] >= 1 / 8, chances[step] < 1 / 25)
        is_slow[step] = state
    return 1 + 0.15 * is_slow.T + 0.03 * normal(rng, many, n)


def gamma_and_lognormal(rng: np.random.Generator, many: int, n: int) -> Values:
    is_gamma = rng.random((many, n)) < 0.8
    return np.where(is_gamma, rng.gamma(20, 0.05, (many, n)), 1.1 + 0.2 * rng.lognormal(0, 0.7, (many, n)))


def sawtooth(rng: np.random.Generator, many: int, n: int) -> Values:
    """Memory that leaks: each step 0.1 of the jitter slower, until it is freed, after 25 steps on average."""
    age, chances = rng.geometric(1 / 25, many) - 1.0, rng.random((n, many))
    found = np.empty((n, many))
    for step in range(n):
        age = np.where(chances[step] < 1 / 25, 0, age + 1)
        found[step] = age
    return 0.1 * found.T + normal(rng, many, n)


def with_checkpoints(rng: np.random.Generator, many: int, n: int) -> Values:
    """Every twentieth step takes twice as long."""
    phase = rng.integers(0, 20, (many, 1))
    return 1 + 0.05 * ar1(0.3)(rng, many, n) + ((np.arange(n) + phase) % 20 == 0)


def drift_then_level(rng: np.random.Generator, many: int, n: int) -> Values:
    """A start that is five sigma slower and decays within a tenth of the run."""
    return 5 * np.exp(-10 * np.arange(n) / n) + ar1(0.2)(rng, many, n)


def congested(rng: np.random.Generator, many: int, n: int) -> Values:
    """Bursts that begin every 15 steps and last for 6 on average, of random height, and add up."""
    ends, begins, heights = rng.random((n + 100, many)), rng.random((n + 100, many)), rng.gamma(2, 1.5, (n + 100, many))
    level, found = np.zeros(many), np.empty((n + 100, many))
    for step in range(n + 100):
        level = np.where(ends[step] < 1 / 6, 0, level)
        level = np.where(begins[step] < 1 / 15, level + heights[step], level)
        found[step] = level
    return found[100:].T + 0.5 * normal(rng, many, n)


def clustered(rng: np.random.Generator, many: int, n: int) -> Values:
    """GARCH(1, 1): scatter that comes in clusters."""
    variance, noise = np.ones(many), normal(rng, n + BURN_IN, many)
    for step in noise:
        step *= np.sqrt(variance)
        variance = 0.05 + 0.15 * step**2 + 0.8 * variance
    return np.asarray(noise[BURN_IN:].T)


def thermal(rng: np.random.Generator, many: int, n: int) -> Values:
    """A relaxation of 15 steps under jitter of its size."""
    return starting_anywhere(np.exp(-1 / 15), rng, many, n) + normal(rng, many, n)


# Written down before the first of them was simulated, and left as they are.
UNNAMED: dict[str, Make] = {
    "AR(2) with a period of 12 steps": swinging,
    "telegraph, 25 steps fast and 8 slow": telegraph,
    "1/f by seven relaxations": pink,
    "gamma and lognormal, mixed": gamma_and_lognormal,
    "sawtooth of a leaking memory": sawtooth,
    "checkpoint every 20 steps": with_checkpoints,
    "drift, then level": drift_then_level,
    "bursts of congestion": congested,
    "GARCH": clustered,
    "AR(1), phi = -0.5": ar1(-0.5),
    "thermal, 15 steps, under jitter": thermal,
}


@cache
def median_of(name: str, n: int) -> float:
    """The median of the values of one of `UNNAMED`, of a million of them or more."""
    rng = np.random.default_rng(987654321)
    return float(np.mean([np.median(UNNAMED[name](rng, 2000, n)) for _ in range(max(500 // n, 1))]))


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
