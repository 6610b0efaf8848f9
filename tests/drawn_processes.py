"""Step times, tails, growth, and scatter between runs or devices, drawn by seed: what no rule was made for.

The kinds were written down before the first of them was simulated.  A seed draws the kind and its numbers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.signal
import scipy.stats

from simulated_series import BURN_IN, Make, normal

Values = npt.NDArray[np.float64]
MEMORY = 2000  # values that a series with long memory remembers


def queue(load: float) -> Make:
    """A step, and its wait for a loader that is busy for `load` of the time: Lindley's recursion."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        steps = rng.exponential(load, (n + BURN_IN, many)) - rng.exponential(1.0, (n + BURN_IN, many))
        wait, waits = np.zeros(many), np.empty((n + BURN_IN, many))
        for place, step in enumerate(steps):
            wait = np.maximum(wait + step, 0)
            waits[place] = wait
        return 5 + waits[BURN_IN:].T + 0.3 * normal(rng, many, n)

    return make


def stays(mean: float, shape: float, height: float) -> Make:
    """Two levels with stays that are gamma distributed, of `mean` steps each."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = np.empty((many, n))
        for row in found:
            lasting = np.ceil(rng.gamma(shape, mean / shape, int(6 * (n + BURN_IN) / mean) + 20)).astype(int)
            levels = np.repeat(np.arange(len(lasting)) % 2, lasting)
            start = int(rng.integers(BURN_IN // 2, BURN_IN))
            row[:] = levels[start : start + n]
        return 1 + height * found + 0.1 * normal(rng, many, n)

    return make


def volatile(likeness: float) -> Make:
    """Gamma times of which the scale wanders: a log-normal AR(1) times jitter."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        noise = np.sqrt(1 - likeness**2) * normal(rng, many, n + BURN_IN)
        scale = scipy.signal.lfilter([1], [1, -likeness], noise, axis=1)[:, BURN_IN:]
        return np.asarray(np.exp(0.3 * scale) * rng.gamma(12, 1 / 12, (many, n)))

    return make


def recovering(every: int, after: float) -> Make:
    """An evaluation every so many steps, after which steps are slow and recover."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        since = (np.arange(n) + rng.integers(0, every, (many, 1))) % every
        return 1 + 0.3 * np.exp(-since / after) + 0.05 * normal(rng, many, n)

    return make


def heavy_autoregressive(likeness: float) -> Make:
    """AR(1) of which the innovations have Student's t distribution with three degrees of freedom."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        noise = rng.standard_t(3, (many, n + BURN_IN))
        return np.asarray(scipy.signal.lfilter([1], [1, -likeness], noise, axis=1)[:, BURN_IN:])

    return make


def shots(every: float, decay: float) -> Make:
    """Bursts that come at random and decay: shot noise under jitter."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        starts = rng.poisson(1 / every, (many, n + BURN_IN)) * rng.exponential(1.0, (many, n + BURN_IN))
        level = scipy.signal.lfilter([1], [1, -np.exp(-1 / decay)], starts, axis=1)[:, BURN_IN:]
        return np.asarray(10 + level + 0.5 * normal(rng, many, n))

    return make


def mixed_autoregressive(poles: tuple[float, float], moving: float) -> Make:
    """ARMA(2, 1)."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        noise = normal(rng, many, n + BURN_IN)
        return np.asarray(scipy.signal.lfilter([1, moving], np.poly(poles), noise, axis=1)[:, BURN_IN:])

    return make


def two_clocks(first: float, second: float) -> Make:
    """Two sawtooths of their own periods, beside jitter: garbage collection and a log that is flushed."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        steps = np.arange(n)
        saws = [(steps / period + rng.random((many, 1))) % 1 for period in (first, second)]
        return 1 + 0.1 * saws[0] + 0.05 * saws[1] + 0.03 * normal(rng, many, n)

    return make


KINDS: dict[str, Callable[[np.random.Generator], Make]] = {
    "queue": lambda rng: queue(rng.uniform(0.3, 0.75)),
    "stays": lambda rng: stays(rng.uniform(2, 6), rng.uniform(0.7, 4), rng.uniform(0.1, 0.6)),
    "volatile": lambda rng: volatile(rng.uniform(0.2, 0.9)),
    "recovering": lambda rng: recovering(int(rng.integers(10, 40)), rng.uniform(1, 6)),
    "heavy autoregressive": lambda rng: heavy_autoregressive(rng.uniform(-0.4, 0.7)),
    "shots": lambda rng: shots(rng.uniform(3, 12), rng.uniform(1, 8)),
    "mixed autoregressive": lambda rng: mixed_autoregressive(
        (rng.uniform(0.2, 0.85), rng.uniform(-0.6, 0.6)), rng.uniform(-0.5, 0.5)
    ),
    "two clocks": lambda rng: two_clocks(rng.uniform(5, 25), rng.uniform(5, 25)),
}


@cache
def drawn(kind: str, seed: int) -> tuple[Make, float]:
    """A process of that kind with numbers of its own, and the median of its values."""
    make = KINDS[kind](np.random.default_rng([seed, *kind.encode()]))
    rng = np.random.default_rng([seed, 987654321])
    return make, float(np.median(make(rng, 1000, 300)))


# Scatter that no page names, with numbers of its own for each sample: mean 0 and standard deviation 1.
SHAPES: dict[str, Callable[[np.random.Generator], Any]] = {
    "Birnbaum-Saunders": lambda rng: scipy.stats.fatiguelife(rng.uniform(0.2, 1.0)),
    "Moyal": lambda rng: scipy.stats.moyal(),
    "generalized normal": lambda rng: scipy.stats.gennorm(rng.uniform(1.2, 4)),
    "hyperbolic secant": lambda rng: scipy.stats.hypsecant(),
    "Nakagami": lambda rng: scipy.stats.nakagami(rng.uniform(0.6, 3)),
    "Maxwell": lambda rng: scipy.stats.maxwell(),
    "log-gamma": lambda rng: scipy.stats.loggamma(rng.uniform(0.8, 5)),
    "normal inverse Gaussian": lambda rng: scipy.stats.norminvgauss(rng.uniform(1, 3), rng.uniform(-0.5, 0.5)),
    "Rice": lambda rng: scipy.stats.rice(rng.uniform(0.5, 3)),
    "Johnson's": lambda rng: scipy.stats.johnsonsu(rng.uniform(-1, 0), rng.uniform(1.3, 2.5)),
}


def scatter(shape: str, rng: np.random.Generator, size: int | tuple[int, ...]) -> Values:
    distribution = SHAPES[shape](rng)
    values = distribution.rvs(size=size, random_state=rng)
    return np.asarray((values - distribution.mean()) / distribution.std())


def fractional(memory: float, rng: np.random.Generator, many: int, n: int) -> Values:
    """Fractionally integrated noise of standard deviation 1, shape (many, n)."""
    lags = np.arange(1, MEMORY)
    weights = np.concatenate([[1.0], np.cumprod((lags - 1 + memory) / lags)])
    noise = normal(rng, many, n + MEMORY)
    found = scipy.signal.fftconvolve(noise, weights[None], axes=1)[:, MEMORY : n + MEMORY]
    return np.asarray(found / found.std())


def wandering(seed: int) -> Make:
    """Long memory of any order up to 0.45, filtered, under jitter, and skewed or not."""
    rng = np.random.default_rng([seed, 45])
    memory, likeness, jitter = rng.uniform(0.1, 0.45), rng.uniform(-0.3, 0.5), rng.uniform(0, 2)
    skewed = bool(rng.random() < 0.5)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = fractional(memory, rng, many, n + MEMORY)
        found = scipy.signal.lfilter([1], [1, -likeness], found, axis=1)[:, -n:]
        found = found / found.std() + jitter * normal(rng, many, n)
        return np.asarray(np.expm1(0.5 * found) if skewed else found)

    return make


def levels_kept(rng: np.random.Generator) -> Make:
    """Normal levels, each kept for a stay of heavy tail, under jitter: long memory by renewal."""
    index, mean, jitter = rng.uniform(2.2, 3), rng.uniform(2, 6), rng.uniform(0.3, 2)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = np.empty((many, n))
        for row in found:
            spans = np.ceil(mean * (index - 1) * rng.pareto(index, n + BURN_IN)).astype(int)
            levels = np.repeat(rng.standard_normal(len(spans)), spans)
            start = int(rng.integers(BURN_IN // 2, BURN_IN))
            row[:] = levels[start : start + n]
        return found + jitter * normal(rng, many, n)

    return make


def wandering_scatter(rng: np.random.Generator) -> Make:
    """Jitter of which the scale has long memory."""
    memory, depth = rng.uniform(0.2, 0.45), rng.uniform(0.3, 1)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        return np.asarray(np.exp(depth * fractional(memory, rng, many, n)) * normal(rng, many, n))

    return make


def of_many_nodes(rng: np.random.Generator) -> Make:
    """The mean of thirty autoregressive series of which the squared coefficients have a beta distribution (Granger)."""
    first, second = rng.uniform(0.8, 2), rng.uniform(0.7, 1.5)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = np.zeros((many, n))
        for likeness in np.minimum(np.sqrt(rng.beta(first, second, 30)), 0.99):
            noise = np.sqrt(1 - likeness**2) * normal(rng, many, n + BURN_IN)
            found += scipy.signal.lfilter([1], [1, -likeness], noise, axis=1)[:, BURN_IN:]
        return found

    return make


def beside_a_clock(rng: np.random.Generator) -> Make:
    """Long memory beside a swing of a period of its own, that begins anywhere."""
    memory, period, height = rng.uniform(0.15, 0.42), rng.uniform(6, 40), rng.uniform(0.3, 1.5)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        turns = np.arange(n) / period + rng.random((many, 1))
        return fractional(memory, rng, many, n) + height * np.sin(2 * np.pi * turns)

    return make


def heavy_and_wandering(rng: np.random.Generator) -> Make:
    """Long memory of which the far values lie farther: a power of what is normal."""
    memory, power = rng.uniform(0.2, 0.44), rng.uniform(1.3, 3)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = fractional(memory, rng, many, n)
        return np.asarray(np.sign(found) * np.abs(found) ** power)

    return make


# Written down after all weights were set, and before the first of them was simulated.  The median is 0.
LONG: dict[str, Callable[[np.random.Generator], Make]] = {
    "levels kept": levels_kept,
    "wandering scatter": wandering_scatter,
    "many nodes": of_many_nodes,
    "beside a clock": beside_a_clock,
    "heavy and wandering": heavy_and_wandering,
}


def lasting(seed: int, stay: float, apart: tuple[float, float]) -> Make:
    """Two or three levels, each kept for `stay` steps or so, that lie `apart` times their scatter from each other.

    Stays are gamma or Pareto distributed, and the steps of a level may be alike.
    """
    rng = np.random.default_rng([seed, 300])
    levels = np.concatenate([[0.0], np.cumsum(rng.uniform(*apart, int(rng.integers(1, 3))))])
    heavy, shape, likeness = bool(rng.random() < 0.3), rng.uniform(0.7, 4), rng.choice([0.0, 0.3])

    def stays_of(rng: np.random.Generator, many: int) -> Values:
        return rng.pareto(2.5, many) * 1.5 if heavy else rng.gamma(shape, 1 / shape, many)

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        found = np.empty((many, n))
        for row in found:
            begin = int(rng.integers(20 * stay, 40 * stay))
            spans = np.ceil(stay * stays_of(rng, int(3 * (n + begin) / stay) + 50)).astype(int)
            steps = rng.integers(1, len(levels), len(spans))
            row[:] = np.repeat(levels[np.cumsum(steps) % len(levels)], spans)[begin : begin + n]
        noise = scipy.signal.lfilter([1], [1, -likeness], normal(rng, many, n + BURN_IN), axis=1)[:, BURN_IN:]
        return np.asarray(1 + 0.01 * (found + np.sqrt(1 - likeness**2) * noise))

    return make


# Times of which each is longer than the last, by more than 1 % in all.
GROWTHS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "gamma increments": lambda rng, n: 5 + np.cumsum(rng.gamma(rng.uniform(0.3, 3), 1, n)),
    "increments with a heavy tail": lambda rng, n: 5 + np.cumsum(1e-3 + rng.pareto(rng.uniform(1, 3), n)),
    "power": lambda rng, n: 1 + np.linspace(0.01, 1, n) ** rng.uniform(0.2, 4),
    "saturation": lambda rng, n: 2 - np.exp(-np.linspace(0, rng.uniform(1, 8), n)),
    "logistic curve": lambda rng, n: 1 + 1 / (1 + np.exp(-np.linspace(-6, 6, n) * rng.uniform(0.5, 1.5))),
    "stairs that slope": lambda rng, n: 1 + np.arange(n) // 7 + 1e-3 * np.arange(n) + 1e-4 * rng.random(n),
    "sorted waits": lambda rng, n: 1 + np.sort(rng.exponential(1, n)) + 1e-6 * np.arange(n),
    "compound": lambda rng, n: 0.3 * np.exp(np.cumsum(rng.uniform(1e-3, 0.05, n) + 0.02 / n)),
}

# Bodies and tails; the tails begin at 0.
BODIES = ("generalized normal", "Nakagami", "Maxwell", "Rice")
PLANTED: dict[str, Callable[[np.random.Generator], Any]] = {
    "gamma": lambda rng: scipy.stats.gamma(rng.uniform(1, 4)),
    "Weibull": lambda rng: scipy.stats.weibull_min(rng.uniform(0.8, 2)),
    "half normal": lambda rng: scipy.stats.halfnorm(),
    "triangular": lambda rng: scipy.stats.triang(rng.uniform(0, 1)),
    "log-logistic": lambda rng: scipy.stats.fisk(rng.uniform(1.5, 4)),
    "beta": lambda rng: scipy.stats.beta(rng.uniform(1, 3), rng.uniform(1, 3)),
}
