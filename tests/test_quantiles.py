"""Intervals of quantiles other than the median: what is called one covers, of series of any memory, shape and make."""

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from drawn_processes import KINDS, LONG, drawn, wandering
from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.effective_size import effective_size, rank_autocorrelation, ranks
from scalelens.statistics.long_memory import correlations_of_below
from scalelens.statistics.medians import Interval, median_interval, quantile_interval, quantile_intervals
from simulated_series import PROCESSES as NAMED
from simulated_series import UNNAMED, Make, ar1, normal
from test_long_memory import PROCESSES as WANDERING

Values = npt.NDArray[np.float64]
QUANTILES = (0.05, 0.1, 0.25, 0.75, 0.9, 0.95)
ROUNDED = {name: process.make for name, process in NAMED.items() if "rounded" not in name and "kept" not in name}
FIXED: dict[str, Make] = {**ROUNDED, **WANDERING, **UNNAMED}


def of_kind(kind: str, seed: int) -> Make:
    """A process that a seed draws."""
    if kind == "wandering":
        return wandering(seed)
    return drawn(kind, seed)[0] if kind in KINDS else LONG[kind](np.random.default_rng([seed, *kind.encode()]))


def made_by(name: str, seed: int) -> Make:
    return FIXED[name] if name in FIXED else of_kind(name, seed)


@cache
def many_values(name: str, seed: int, n: int, many: int) -> Values:
    """The values of as many further series, sorted: their quantiles are those of the process."""
    return np.sort(made_by(name, seed)(np.random.default_rng([seed, n, 21]), many, n), axis=None)


def intervals(series: Values, quantile: float) -> list[Interval]:
    found = in_blocks(lambda runs: quantile_intervals(runs, quantile), list(series), lambda run: (len(run), True))
    return [one for one in found if one is not None]


def misses(name: str, seed: int, n: int, quantile: float, many: int) -> tuple[int, int]:
    """Of `many` series: how many have an interval, and how many of these miss the quantile."""
    truth = float(np.quantile(many_values(name, seed, n, min(2000, 1_000_000 // n)), quantile))
    found = intervals(made_by(name, seed)(np.random.default_rng([seed, n, 20]), many, n), quantile)
    ends = [(one.low, one.high) for one in found if one.kind == "ci95"]
    return len(ends), sum(low is None or high is None or not low <= truth <= high for low, high in ends)


def most(many: int, errors: int) -> float:
    """Misses of so many intervals that cover in 90 %, with what chance adds."""
    return float(0.1 * many + errors * np.sqrt(0.09 * many))


@pytest.mark.parametrize(("n", "quantile"), [(200, 0.25), (400, 0.75), (1000, 0.95)])
@pytest.mark.parametrize("name", ["d = 0.3", "d = 0.45", *LONG, *KINDS, "wandering"])
def test_what_is_called_an_interval_of_a_quantile_covers(name: str, n: int, quantile: float) -> None:
    """In 90 %, of processes of long memory and of thirteen kinds that no line names, drawn by seed."""
    given, missed = misses(name, 1, n, quantile, 80)
    assert missed <= most(given, 3)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 200, 400, 500, 800, 1000, 5000])
@pytest.mark.parametrize("name", FIXED)
def test_what_is_called_an_interval_of_a_quantile_covers_in_full(name: str, n: int) -> None:
    many = 300 if n <= 1000 else 100
    for quantile in QUANTILES:
        given, missed = misses(name, 2, n, quantile, many)
        assert missed <= most(given, 2), quantile


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 400, 500, 1000])
@pytest.mark.parametrize("seed", [3, 4, 5])
@pytest.mark.parametrize("kind", [*LONG, *KINDS, "wandering"])
def test_an_interval_of_a_quantile_of_any_kind_covers_in_full(kind: str, seed: int, n: int) -> None:
    for quantile in QUANTILES:
        given, missed = misses(kind, seed, n, quantile, 300)
        assert missed <= most(given, 2), quantile


@pytest.mark.parametrize(("n", "quantile"), [(200, 0.25), (500, 0.1), (1000, 0.95)])
@pytest.mark.parametrize("make", [normal, ar1(0.5)])
def test_a_short_memory_keeps_an_interval_that_is_not_much_too_wide(make: Make, n: int, quantile: float) -> None:
    """Nearly all have one, in the median less than twice as wide as what the quantiles of such series scatter."""
    series = make(np.random.default_rng([n, 22]), 400, n)
    widths = [one.high - one.low for one in intervals(series, quantile) if one.kind == "ci95" and one.low and one.high]
    exact = float(np.diff(np.quantile(np.quantile(series, quantile, axis=1), [0.025, 0.975]))[0])
    assert len(widths) >= 0.98 * len(series)
    assert 1 <= np.median(widths) / exact <= 1.9


@pytest.mark.parametrize("n", [20, 79, 80, 333, 2500])
def test_the_median_is_one_of_the_quantiles(n: int) -> None:
    values = ar1(0.6)(np.random.default_rng(n), 1, n)[0]
    assert quantile_interval(values, 0.5) == median_interval(values)


@pytest.mark.parametrize(("n", "quantile"), [(79, 0.5), (199, 0.75), (499, 0.1), (999, 0.95), (4999, 0.01)])
def test_fifty_records_on_the_rarer_side_are_the_fewest(n: int, quantile: float) -> None:
    values = np.random.default_rng(7).standard_normal(n + 1)
    few = quantile_interval(values[:n], quantile)
    assert (few.kind, few.low, few.high) == ("range", values[:n].min(), values[:n].max())
    assert few.reason and f"{n} records are too few" in few.reason
    assert quantile_interval(values, quantile).kind == "ci95"


@pytest.mark.parametrize("quantile", [0.0, 1.0])
def test_the_smallest_and_the_largest_record_have_no_interval(quantile: float) -> None:
    found = quantile_interval(np.random.default_rng(7).standard_normal(100), quantile)
    assert found.kind is None and found.reason and "between 0 and 1" in found.reason


def test_an_interval_that_reaches_beyond_the_records_ends_with_the_last_of_them() -> None:
    series = WANDERING["d = 0.45"](np.random.default_rng(8), 40, 500)
    found = intervals(series, 0.9)
    ended = [one.high == values.max() for one, values in zip(found, series, strict=True) if one.kind == "ci95"]
    assert sum(ended) > 20


def test_two_levels_of_which_one_was_kept_once_are_a_range() -> None:
    values = np.random.default_rng(9).standard_normal(400) + 40 * (np.arange(400) > 250)
    found = quantile_interval(values, 0.75)
    assert found.kind == "range" and found.reason


@pytest.mark.parametrize("quantile", [0.03, 0.25, 0.5, 0.75, 0.95])
def test_correlations_of_lying_below_a_quantile(quantile: float) -> None:
    """As the normal distribution of two values has them."""
    z, correlations = scipy.stats.norm.ppf(quantile), np.array([-0.8, -0.3, 0.0, 0.4, 0.9, 0.999])
    both = [scipy.stats.multivariate_normal.cdf([z, z], cov=[[1, r], [r, 1]]) for r in correlations]
    truth = (np.array(both) - quantile**2) / (quantile * (1 - quantile))
    assert correlations_of_below(correlations, quantile) == pytest.approx(truth, abs=2e-4)


@pytest.mark.parametrize("quantile", [0.25, 0.9])
def test_uncorrelated_values_are_worth_about_as_many(quantile: float) -> None:
    series = normal(np.random.default_rng(10), 40, 1000)
    sizes = [
        effective_size(
            values,
            float(np.quantile(values, quantile)),
            rank_autocorrelation(ranks(values)),
            ranks(values),
            None,
            quantile,
        )
        for values in series
    ]
    assert 500 <= np.median(sizes) <= 1000
