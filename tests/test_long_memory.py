"""Long memory: a run that wanders at all time scales has an interval that covers, or a range."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal

from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.effective_size import ranks
from scalelens.statistics.long_memory import share_around
from scalelens.statistics.medians import median_intervals
from simulated_series import UNNAMED, ar1, drift_under_jitter, median_of

Values = npt.NDArray[np.float64]
Make = Callable[[np.random.Generator, int, int], Values]
BEFORE = 2000  # values before the first: what they did is still seen


def fractional(memory: float) -> Make:
    """Fractionally integrated noise of standard deviation 1, shape (many, n)."""

    def make(rng: np.random.Generator, many: int, n: int) -> Values:
        length = n + BEFORE
        lags = np.arange(1, length)
        weights = np.concatenate([[1.0], np.cumprod((lags - 1 + memory) / lags)])
        noise = rng.standard_normal((many, length))
        found = scipy.signal.fftconvolve(noise, weights[None], axes=1)[:, BEFORE:length]
        return np.asarray(found / found.std())

    return make


def moving_average(rng: np.random.Generator, many: int, n: int) -> Values:
    return np.asarray(scipy.signal.lfilter([1, 0.8, 0.4], [1], rng.standard_normal((many, n + 9)), axis=1)[:, 9:])


def of_many_times(rng: np.random.Generator, many: int, n: int) -> Values:
    """A sum of autoregressive series with correlation times of 3 to 300 steps: 1/f noise, as machines make it."""
    found = 0.5 * rng.standard_normal((many, n))
    for phi in (0.7, 0.9, 0.97, 0.99, 0.997):
        noise = np.sqrt(1 - phi**2) * rng.standard_normal((many, n + 1500))
        found += scipy.signal.lfilter([1], [1, -phi], noise, axis=1)[:, 1500:]
    return np.asarray(found)


# The first is what the intervals were once too narrow for; the others are of other orders, shapes and makes.
PROCESSES: dict[str, Make] = {
    "d = 0.3": fractional(0.3),
    "d = 0.2": fractional(0.2),
    "d = 0.35, skewed": lambda rng, many, n: np.exp(fractional(0.35)(rng, many, n)) - 1,
    "d = 0.3 under jitter of its size": lambda rng, many, n: (
        fractional(0.3)(rng, many, n) + rng.standard_normal((many, n))
    ),
    "d = 0.25 after a filter": lambda rng, many, n: scipy.signal.lfilter(
        [1], [1, -0.4], fractional(0.25)(rng, many, n), axis=1
    ),
    "d = 0.35": fractional(0.35),
    "d = 0.45": fractional(0.45),
    "d = 0.4 under jitter of twice its size": lambda rng, many, n: (
        fractional(0.4)(rng, many, n) + 2 * rng.standard_normal((many, n))
    ),
    "drift under jitter of 3 times its size": drift_under_jitter(3).make,
    "1/f noise": of_many_times,
    "moving average": moving_average,
}


def covered(series: Values, median: float = 0.0) -> tuple[float, float]:
    """Share of the series with a ci95, and the share of these that cover the true median."""
    intervals = in_blocks(median_intervals, list(series), lambda run: (len(run), True))
    ends = [(one.low, one.high) for one in intervals if one and one.kind == "ci95"]
    right = sum(low is not None and high is not None and low <= median <= high for low, high in ends)
    return len(ends) / len(series), right / max(len(ends), 1)


@pytest.mark.parametrize("n", [80, 100, 1000])
@pytest.mark.parametrize("name", PROCESSES)
def test_what_is_called_an_interval_covers(name: str, n: int) -> None:
    """In 90 %; with 200 series, three standard errors less."""
    printed, share = covered(PROCESSES[name](np.random.default_rng([1, n]), 200, n))
    assert printed * 200 < 30 or share >= 0.9 - 3 * np.sqrt(0.09 / (200 * printed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4])
@pytest.mark.parametrize("n", [80, 100, 150, 300, 1000, 5000])
@pytest.mark.parametrize("name", PROCESSES)
def test_what_is_called_an_interval_covers_in_full(name: str, n: int, seed: int) -> None:
    printed, share = covered(PROCESSES[name](np.random.default_rng([seed, n]), 1000, n))
    assert printed * 1000 < 100 or share >= 0.9 - 2 * np.sqrt(0.09 / (1000 * printed))


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(120, 200, 5), (500, 200, 5)]
    + [pytest.param(n, 1000, seed, marks=pytest.mark.slow) for n in (120, 150, 200, 300, 500, 1000) for seed in (6, 7)],
)
@pytest.mark.parametrize("is_heavy", [False, True])
@pytest.mark.parametrize("jitter", [1, 2, 3, 4])
@pytest.mark.parametrize("memory", [0.3, 0.45])
def test_long_memory_below_any_jitter_is_covered(
    memory: float, jitter: float, is_heavy: bool, n: int, many: int, seed: int
) -> None:
    """Of a hundred steps d = 0.45 is in 88 to 90 % where jitter is 1.5 to twice as large."""
    rng = np.random.default_rng([seed, n, jitter])
    noise = rng.standard_t(5, (many, n)) / np.sqrt(5 / 3) if is_heavy else rng.standard_normal((many, n))
    printed, share = covered(fractional(memory)(rng, many, n) + jitter * noise)
    assert printed >= 0.97
    assert share >= 0.9 - (3 if many < 1000 else 2) * np.sqrt(0.09 / (many * printed))


def stamped(process: Make, jitter: float) -> Make:
    """Times between stamps that are late by `jitter` standard deviations: one is longer and the next one shorter."""
    return lambda rng, many, n: process(rng, many, n) + jitter * np.diff(rng.standard_normal((many, n + 1)), axis=1)


UNLIKE: dict[str, Make] = {
    "d = 0.3 between stamps": stamped(fractional(0.3), 1),
    "d = 0.35 between late stamps": stamped(fractional(0.35), 1.5),
    "d = 0.45 between very late stamps": stamped(fractional(0.45), 2),
    "drift between stamps": stamped(ar1(0.98), 1),
    "1/f noise between late stamps": stamped(of_many_times, 3),
    "d = 0.3 of neighbors unlike each other": lambda rng, many, n: scipy.signal.lfilter(
        [1], [1, 0.6], fractional(0.3)(rng, many, n), axis=1
    ),
}


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(100, 200, 1), (300, 150, 1)]
    + [pytest.param(n, 1000, seed, marks=pytest.mark.slow) for n in (100, 150, 300, 1000) for seed in (2, 3)],
)
@pytest.mark.parametrize("name", UNLIKE)
def test_what_wanders_below_neighbors_unlike_each_other_is_covered(name: str, n: int, many: int, seed: int) -> None:
    """Such series passed for alternating ones that wander no farther: the first was covered in 83 to 69 %."""
    printed, share = covered(UNLIKE[name](np.random.default_rng([seed, n]), many, n))
    assert printed >= 0.9
    assert share >= 0.9 - (3 if many < 1000 else 2) * np.sqrt(0.09 / (many * printed))


@pytest.mark.parametrize(
    ("n", "many", "seed"),
    [(100, 150, 1)]
    + [pytest.param(n, 1000, seed, marks=pytest.mark.slow) for n in (100, 300, 1000) for seed in (2, 3)],
)
@pytest.mark.parametrize("name", UNNAMED)
def test_processes_of_any_other_kind_are_covered(name: str, n: int, many: int, seed: int) -> None:
    printed, share = covered(UNNAMED[name](np.random.default_rng([seed, n]), many, n), median_of(name, n))
    assert printed >= 0.35
    assert share >= 0.9 - (3 if many < 1000 else 2) * np.sqrt(0.09 / (many * printed))


# The central 95 % of the medians of a hundred values, of 60,000 series: the width of an interval that knows the process.
EXACT = {0.0: 0.488, 0.15: 0.539, 0.3: 0.607, 0.4: 0.665, 0.5: 0.738}


@pytest.mark.parametrize(("many", "most"), [(300, 1.85), pytest.param(5000, 1.84, marks=pytest.mark.slow)])
@pytest.mark.parametrize("phi", EXACT)
def test_a_short_memory_keeps_an_interval_that_is_not_much_too_wide(phi: float, many: int, most: float) -> None:
    """A hundred values keep it in nine of ten cases, 1.8 times at most as wide as need be in the median.

    With 1.5 times d = 0.35 and a drift below jitter are covered in 85 to 89 %; with 1.77 times d = 0.45 is in 89 %, or
    d = 0.4 below jitter at 300 values.
    """
    series = ar1(phi)(np.random.default_rng([6, many]), many, 100)
    intervals = in_blocks(median_intervals, list(series), lambda run: (len(run), True))
    widths = [
        one.high - one.low for one in intervals if one and one.kind == "ci95" and one.low is not None and one.high
    ]
    assert len(widths) >= 0.9 * many
    assert 1 <= np.median(widths) / EXACT[phi] <= most


def variance_of_median(values: Values) -> float:
    """n times the variance of the share below the median, in units of that of uncorrelated values, as it is estimated.

    The interval is wider by what is not known of the process: of uncorrelated values 1.2 times in the median, of 1,000.
    """
    return float(len(values) * (share_around(ranks(values)) / 0.98) ** 2)


def of_signs(phi: float) -> float:
    """The same of an AR(1) series, whose signs have correlations of 2 / pi arcsin(phi^k)."""
    return float(1 + 4 / np.pi * np.arcsin(phi ** np.arange(1, 2000)).sum())


def test_a_drift_as_long_as_the_series_is_seen() -> None:
    noise = np.random.default_rng(5).standard_normal((40, 3000))
    found = [variance_of_median(row[2000:]) for row in scipy.signal.lfilter([1], [1, -0.97], noise, axis=1)]
    assert 0.7 <= np.median(found) / of_signs(0.97) <= 3


@pytest.mark.parametrize(("phi", "n"), [(0.0, 1000), (0.5, 1000), (0.5, 500)])
def test_a_short_memory_is_taken_for_little_more_than_it_is(phi: float, n: int) -> None:
    """At most for twice as much."""
    noise = np.random.default_rng(4).standard_normal((40, n))
    found = [variance_of_median(row) for row in scipy.signal.lfilter([1], [1, -phi], noise, axis=1)]
    assert 0.8 <= np.median(found) / of_signs(phi) <= 2


def test_constant_and_tied_values_raise_nothing() -> None:
    assert share_around(np.zeros(100)) == 0
    assert share_around(np.tile([1.0, 2.0], 50)) >= 0
