"""Statistics: against scipy, against simulation, and as functions of SQL."""

import math
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scalelens.statistics import functions, spans
from scalelens.statistics.blocks import in_blocks
from scalelens.statistics.effective_size import (
    autocovariances,
    block_effective_shares,
    correlation_times,
    effective_size,
    rank_autocorrelation,
    ranks,
    rows_of,
)
from scalelens.statistics.medians import median_interval, median_interval_between_runs, median_intervals
from scalelens.statistics.plain_median import median
from scalelens.statistics.ratios import interpolated_interval, ratio_interval
from scalelens.statistics.rounding import decimal_step, spread_over_steps, widened
from scalelens.statistics.significance import benjamini_hochberg, holm
from scalelens.statistics.steps import quantiles_of_ordered

Values = npt.NDArray[np.float64]

# Few distinct values, so that many tie, or none do.
quantized = arrays(np.float64, st.integers(3, 200), elements=st.integers(1, 9).map(float))
continuous = arrays(np.float64, st.integers(3, 200), elements=st.floats(1e-6, 1e6), unique=True)
series = quantized | continuous


def ar1(phi: float, n: int, many: int, seed: int) -> Values:
    """`many` stationary AR(1) series of length n, median 0."""
    noise = np.random.default_rng(seed).standard_normal((many, n + 300))
    return np.asarray(scipy.signal.lfilter([1], [1, -phi], noise, axis=1)[:, 300:])


@given(series, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_quantiles_are_those_of_numpy(values: Values, shares: list[float]) -> None:
    found = quantiles_of_ordered(np.sort(values), shares)
    assert found == pytest.approx(np.quantile(values, shares), rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(series)
def test_ranks_are_those_of_scipy(values: Values) -> None:
    assert ranks(values).tolist() == scipy.stats.rankdata(values).tolist()


@settings(max_examples=50, deadline=None)
@given(series)
def test_autocorrelation_is_pearsons_of_neighbouring_ranks(values: Values) -> None:
    rank = scipy.stats.rankdata(values)
    if np.ptp(rank[:-1]) == 0 or np.ptp(rank[1:]) == 0:
        assert rank_autocorrelation(ranks(values)) == 0
    else:
        assert rank_autocorrelation(ranks(values)) == pytest.approx(
            scipy.stats.pearsonr(rank[:-1], rank[1:])[0], abs=1e-9
        )


def even(n: int) -> Values:
    """1 to n, from either half in turn, and within them by turns of the golden section.

    Every stretch has as many of each size as the next, so that no estimate sees likeness, whatever n is.
    """
    turn = (math.sqrt(5) - 1) / 2
    low, high = (ranks(np.arange(1, half + 1) * turn % 1) for half in (n // 2, n - n // 2))
    found = np.empty(n)
    found[::2], found[1::2] = n // 2 + high, low
    return found


@pytest.mark.parametrize("n", [80, 81, *np.random.default_rng(42).integers(82, 5000, 8).tolist()])
def test_of_uncorrelated_steps_the_order_statistics_of_the_binomial_distribution(n: int) -> None:
    """The narrowest symmetric pair that covers 95 %, or one rank beside it: the normal distribution stands for it."""
    interval = median_interval(even(n))
    assert (interval.kind, interval.n_eff) == ("ci95", n)
    assert interval.low is not None and interval.high == n + 1 - interval.low
    exact = scipy.stats.binom.ppf(0.025, n, 0.5)  # the largest rank j with P(fewer than j below the median) <= 2.5 %
    assert abs(interval.low - exact) <= 1


def test_of_100_uncorrelated_steps_the_40th_and_the_61st() -> None:
    """100 (0.5 - 0.98 / sqrt(100)) + 0.5 = 40.7: order statistics 40 and 61."""
    values = even(100)
    assert rank_autocorrelation(ranks(values)) < 0  # and is taken as 0
    assert median_interval(values)[:4] == (40.0, 61.0, "ci95", 100.0)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(80, 300), elements=st.floats(1e-3, 1e3), unique=True))
def test_interval_is_the_order_statistics_of_the_definition(values: Values) -> None:
    interval = median_interval(values)
    n, rank_of = len(values), ranks(values)
    n_eff = effective_size(values, float(np.median(values)), rank_autocorrelation(rank_of), rank_of)
    assert (interval.n_eff, interval.autocorrelation) == (n_eff, rank_autocorrelation(ranks(values)))
    rank = math.floor(n * (0.5 - 0.98 / math.sqrt(n_eff)) + 0.5) if n_eff else 0
    if rank < 1:
        assert interval[:3] == (values.min(), values.max(), "range")
        assert interval.reason and interval.reason.startswith("unsteady")
    else:
        ordered = sorted(values)
        assert interval[:3] == (ordered[rank - 1], ordered[-rank], "ci95")


@settings(max_examples=50, deadline=None)
@given(continuous, st.floats(1e-3, 1e3))
def test_scaled_times_have_a_scaled_interval(values: Values, factor: float) -> None:
    assume(len(np.unique(factor * values)) == len(values))
    scaled, interval = median_interval(factor * values), median_interval(values)
    assert scaled.n_eff == pytest.approx(interval.n_eff) and scaled.kind == interval.kind
    assert scaled[:2] == (pytest.approx(factor * interval[0]), pytest.approx(factor * interval[1]))  # type: ignore[operator]


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(4, 200), elements=st.floats(-1, 1)))
def test_autocovariances_are_those_of_the_definition(values: Values) -> None:
    n = len(values)
    expected = [values[: n - lag] @ values[lag:] / n for lag in range(n)]
    assert autocovariances(values) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.9, 0.98])
def test_correlation_time_is_the_same_one_by_one_and_by_fourier_transform(
    phi: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = ar1(phi, n=3000, many=1, seed=1)[0]
    values -= values.mean()
    by_transform = correlation_times(*rows_of(values, None))
    monkeypatch.setattr("scalelens.statistics.effective_size.SHORT_LAGS", 3000)
    assert correlation_times(*rows_of(values, None)) == pytest.approx(by_transform, rel=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_estimates_are_near_the_truth_in_long_series(phi: float) -> None:
    """(1 + phi) / (1 - phi) is n / n_eff of the mean of an AR(1) series."""
    values = ar1(phi, n=200_000, many=1, seed=2)[0]
    values -= values.mean()
    truth = (1 + phi) / (1 - phi)
    rows, n = rows_of(values, None)
    assert correlation_times(rows, n) == pytest.approx(truth, rel=0.1)
    assert 1 / block_effective_shares(rows, n, 400, 1.0) == pytest.approx(truth, rel=0.2)


def test_slow_drift_below_much_noise_is_seen_by_the_blocks() -> None:
    """Correlation of 0.1 at lag 1, and still 0.04 at lag 50: 1,000 records say as much as 140."""
    drift = 0.2 * ar1(0.98, n=1000, many=200, seed=3)
    noise = 3 * np.random.default_rng(4).standard_normal(drift.shape)
    sizes = [effective_size(values, float(np.median(values)), 0.0, ranks(values)) for values in drift + noise]
    assert np.mean(sizes) < 200


@pytest.mark.parametrize("n", [1, 2, 3, 10, 81, 500])
def test_runs_taken_together_have_the_digits_that_each_has_alone(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without likeness, with much, drifting, rounded, constant, alternating; as long and up to a fifth longer."""
    monkeypatch.setattr("scalelens.statistics.blocks.VALUES", 5 * n)
    runs: list[Values | None] = [None]
    for more in (0, 1, n // 10, n // 5):
        noise = np.random.default_rng(n).standard_normal(n + more)
        runs += [noise, ar1(0.9, n + more, 1, n)[0], np.cumsum(noise), np.round(noise, 1)]
        runs += [np.full(n + more, 0.3), np.arange(n + more) % 2 + 0.01 * noise]
    together = in_blocks(median_intervals, runs, lambda values: (len(values), True))
    assert together == [values if values is None else median_interval(values) for values in runs]


def test_below_80_steps_it_is_a_range_and_says_so() -> None:
    interval = median_interval(np.linspace(2.0, 1.0, 79))
    assert interval[:3] == (1.0, 2.0, "range")
    assert interval.reason == "79 records are too few for a 95 % interval: their range is given"


def test_one_record_or_none_has_no_interval() -> None:
    assert median_interval(np.array([1.0]))[:3] == (None, None, None)
    assert median_interval(np.array([]))[:3] == (None, None, None)


@pytest.mark.parametrize("n", [100, 5000])
def test_an_unsteady_run_has_the_range_of_its_records(n: int) -> None:
    rising = np.linspace(1, 2, n)
    interval = median_interval(rising)
    assert interval[:3] == (1.0, 2.0, "range")
    assert interval.reason and interval.reason.startswith(f"unsteady: {n} records are worth ")
    slower_from_the_middle_on = np.repeat([1.0, 2.0], n // 2) + 0.1 * np.random.default_rng(6).standard_normal(n)
    assert median_interval(slower_from_the_middle_on).kind == "range"


def test_rounded_times_have_an_interval_of_a_step_at_least() -> None:
    assert median_interval(np.full(100, 0.25))[:3] == (0.245, 0.255, "ci95")
    assert median_interval(np.array([0.4] * 99 + [1.7]))[:3] == (pytest.approx(0.35), pytest.approx(0.45), "ci95")


def test_equal_times_of_no_known_rounding_have_no_ci95() -> None:
    interval = median_interval(np.full(100, 64 / 51.3))
    assert interval[:3] == (64 / 51.3, 64 / 51.3, "range")
    assert interval.reason and interval.reason.startswith("all records are equal")


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.4], 0.1), ([12.0], 1), ([0.4, 0.5, 1.7], 0.1), ([346.7, 346.71], 0.01), ([2.0, 2.5, 3.0], 0.5),
        ([60 * 0.1, 60 * 0.2, 60 * 0.7], 6), ([437.1 / 1000, 440 / 1000], 0.0001), ([0.0], 1), ([1 / 3], 0), ([0.4, 1 / 3], 0),
        ([1e20, 3e20], 0),
    ],
)  # fmt: skip
def test_step_of_rounding(values: list[float], step: float) -> None:
    assert decimal_step(np.array(values)) == pytest.approx(step)


def test_rounded_values_are_spread_over_their_step() -> None:
    assert spread_over_steps(np.array([0.1, 0.2, 0.2, 0.4])) == pytest.approx([0.1, 0.175, 0.225, 0.4])
    for values in ([0.1, 0.2, 0.4], [1 / 3, 1 / 3, 0.4]):
        assert spread_over_steps(np.array(values)).tolist() == values


def test_values_that_lie_next_to_a_step_stay_in_order() -> None:
    values = np.array([1.0, 1.0, 1.00000001, 1000000.0000009])
    assert spread_over_steps(values) == pytest.approx([2 / 3, 1.0, 4 / 3, 1000000.0])


def test_times_of_rounded_rates_are_as_coarse_as_the_next_time() -> None:
    times = np.sort(64 / np.repeat([51.1, 51.2, 51.3, 51.4], [2, 5, 5, 2]))
    ends = widened(64 / 51.3, 64 / 51.2, times)
    assert ends == (pytest.approx(64 / 51.35, rel=1e-5), pytest.approx(64 / 51.15, rel=1e-5))
    assert widened(1.5, 2.5, np.array([1.5, 2.0, 2.5])) == (1.5, 2.5)  # all differ


@pytest.mark.parametrize("count", [20, 100])
def test_equal_times_of_a_rate_that_a_bar_rounds_are_as_coarse_as_the_rate(count: int) -> None:
    interval = median_interval(np.full(count, 1 / 3.17))
    assert interval[:2] == (pytest.approx(1 / 3.175), pytest.approx(1 / 3.165))
    assert interval.kind == ("range" if count < 80 else "ci95")
    of_no_rate = np.full(count, 0.3168871234567)
    assert median_interval(of_no_rate)[:3] == (of_no_rate[0], of_no_rate[0], "range")


def test_below_six_runs_the_range() -> None:
    assert median_interval_between_runs(np.array([3.0, 1.0, 2.0]))[:3] == (1.0, 3.0, "range")
    assert median_interval_between_runs(np.array([3.0]))[:3] == (None, None, None)


def test_thousands_of_runs_have_an_interval() -> None:
    runs = np.arange(1.0, 10_001)
    low, high = interpolated_interval(runs)
    interval = median_interval_between_runs(runs)
    assert (interval.low, interval.high) == (4902, 5099)  # 2^10000 is no float
    assert 4902 <= low < 4903
    assert 5098 < high <= 5099


@pytest.mark.parametrize("n", range(6, 60))
def test_interval_between_runs_is_the_narrowest_that_covers_95_percent(n: int) -> None:
    interval = median_interval_between_runs(np.arange(1.0, n + 1))
    assert interval.kind == "ci95" and interval.low is not None
    rank = int(interval.low)
    assert interval.high == n + 1 - rank
    outside = scipy.stats.binom.cdf(rank - 1, n, 0.5)
    assert 2 * outside <= 0.05 < 2 * scipy.stats.binom.cdf(rank, n, 0.5)


@pytest.mark.parametrize("n", range(6, 60))
def test_interpolated_interval_lies_within_the_one_of_order_statistics(n: int) -> None:
    """Between it and the next narrower pair, which does not cover 95 %; as far from both ends."""
    ordered = np.arange(1.0, n + 1)
    low, high = interpolated_interval(ordered)
    rank = median_interval_between_runs(ordered).low
    assert rank is not None and rank <= low < rank + 1
    assert low + high == pytest.approx(n + 1)


run_times = arrays(np.float64, st.integers(6, 20), elements=st.floats(0.5, 2))


@given(run_times, run_times, st.floats(1e-3, 1e3))
def test_ratio_scales_and_its_inverse_is_the_ratio_the_other_way(first: Values, second: Values, factor: float) -> None:
    (low, high, kind, *_), inverse = ratio_interval(first, second), ratio_interval(second, first)
    assert low is not None and high is not None and kind == "ci95"
    assert (inverse.low, inverse.high) == (pytest.approx(1 / high), pytest.approx(1 / low))
    scaled = ratio_interval(factor * first[::-1], second)
    assert scaled[:2] == (pytest.approx(factor * low), pytest.approx(factor * high))


def test_of_a_side_that_does_not_scatter_the_ratio_has_the_interval_of_the_other() -> None:
    times = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.7, 1.9])
    low, high = interpolated_interval(times)
    assert ratio_interval(times, np.full(6, 2.0))[:2] == (pytest.approx(low / 2), pytest.approx(high / 2))
    assert ratio_interval(np.full(6, 2.0), np.full(6, 2.0))[:3] == (1.0, 1.0, "ci95")


def test_ratio_of_few_runs_is_the_range_and_of_one_none() -> None:
    few, many = np.array([2.0, 4.0]), np.arange(1.0, 8.0)
    assert ratio_interval(few, many)[:3] == (2 / 7, 4.0, "range")
    assert ratio_interval(many, few).reason == "2 runs are too few for a 95 % interval: the range"
    assert ratio_interval(many, few[:1])[:3] == (None, None, None)
    assert ratio_interval(many, np.array([]))[:3] == (None, None, None)
    assert ratio_interval(many - 1, many).reason == "a ratio needs values above 0"


def test_sql_calls_the_ratio_with_two_lists() -> None:
    with duckdb.connect() as connection:
        functions.register(connection)
        asked = "SELECT ratio_interval(a, b) FROM (VALUES ([2.0, 4.0]::DOUBLE[], [1.0, 2.0]::DOUBLE[]), (NULL, [1.0])) t(a, b)"
        (of_runs,), (of_null,) = connection.execute(asked).fetchall()
    assert (of_runs["low"], of_runs["high"], of_runs["kind"], of_null) == (1.0, 4.0, "range", None)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.none() | series.map(np.ndarray.tolist), min_size=1, max_size=5))
def test_sql_calls_the_same_function(lists: list[list[float] | None]) -> None:
    with duckdb.connect() as connection:
        functions.register(connection)
        connection.execute("CREATE TABLE series (place INTEGER, times DOUBLE[])")
        connection.executemany("INSERT INTO series VALUES (?, ?)", [[k, times] for k, times in enumerate(lists)])
        rows = connection.execute("SELECT median_interval(times) FROM series ORDER BY place").fetchall()
    expected = [None if times is None else median_interval(np.array(times))._asdict() for times in lists]
    assert [row[0] for row in rows] == expected


p_values = arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, np.nan]))


@settings(max_examples=100, deadline=None)
@given(p_values)
def test_adjusted_p_values_are_those_of_scipy(values: Values) -> None:
    """NaN is no test: the others are adjusted as if it were not there."""
    adjusted, tested = benjamini_hochberg(values), ~np.isnan(values)
    expected = scipy.stats.false_discovery_control(values[tested], method="bh") if tested.any() else []
    assert adjusted[tested] == pytest.approx(expected, rel=1e-12)
    assert np.isnan(adjusted[~tested]).all()


@settings(max_examples=100, deadline=None)
@given(p_values)
def test_those_of_holm_reject_step_by_step(values: Values) -> None:
    """The smallest of n is tested at a / n, the next at a / (n - 1), and so on to the first that is not rejected."""
    adjusted, tested = holm(values), np.sort(values[~np.isnan(values)])
    assert np.isnan(adjusted).tolist() == np.isnan(values).tolist()
    for level in (0.013, 0.05, 0.31):
        rejected = 0
        while rejected < len(tested) and tested[rejected] * (len(tested) - rejected) < level:
            rejected += 1
        assert np.count_nonzero(adjusted < level) == rejected


@settings(max_examples=20, deadline=None)
@given(st.lists(st.none() | st.lists(st.none() | st.floats(0, 1), max_size=9), min_size=1, max_size=5))
def test_sql_adjusts_each_list_and_keeps_null(lists: list[list[float | None] | None]) -> None:
    with duckdb.connect() as connection:
        functions.register(connection)
        connection.execute("CREATE TABLE tests (place INTEGER, p DOUBLE[])")
        connection.executemany("INSERT INTO tests VALUES (?, ?)", [[k, row] for k, row in enumerate(lists)])
        rows = connection.execute("SELECT benjamini_hochberg(p) FROM tests ORDER BY place").fetchall()
    for (adjusted,), row in zip(rows, lists, strict=True):
        if row is None:
            assert adjusted is None
        else:
            expected = benjamini_hochberg(np.array(row, dtype=float))
            assert [math.nan if q is None else q for q in adjusted] == pytest.approx(expected, nan_ok=True)


def test_registering_twice_changes_nothing() -> None:
    with duckdb.connect() as connection:
        functions.register(connection)
        functions.register(connection)
        functions.register(connection.cursor())
        assert connection.execute("SELECT median_interval([1, 3, 2]::DOUBLE[]).high").fetchall() == [(3.0,)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10), st.sampled_from([1, 2, 4])), min_size=1, max_size=20))
def test_spans_of_classes_are_those_of_each_nanosecond(work: list[tuple[int, int, int]]) -> None:
    starts, durations, classes = (np.array(column, np.int64) for column in zip(*work, strict=True))
    ends = starts + durations
    expected = [0] * 8
    for moment in range(starts.min(), ends.max()):
        running = classes[(starts <= moment) & (moment < ends)]
        expected[np.bitwise_or.reduce(running, initial=0)] += 1
    assert spans.class_spans(starts, ends, classes) == expected


def test_calls_lie_within_each_other_and_own_what_they_launch() -> None:
    """A call of 0 to 10 holds two of 2 to 5 and 5 to 5, the first of which launches twice; a third begins at its end."""
    lines, starts, durations = [7, 8, 9, 11], [0, 2, 5, 10], [10, 3, 0, 4]
    launched = {3: (1, 40), 4: (2, 50), 5: (1, 6), 20: (1, 9)}  # at 5 the first has ended; at 20 no call is open
    rows = spans.nested(
        np.array([*lines, *[-1] * 4]), np.array([*starts, *launched]), np.array([*durations, *[-1] * 4]),
        np.array([0, 0, 0, 0, *(count for count, _ in launched.values())]),
        np.array([0, 0, 0, 0, *(lasted for _, lasted in launched.values())]),
    )  # fmt: skip
    assert {name: column.tolist() for name, column in rows.items()} == {
        "line": lines, "depth": [0, 1, 1, 0], "parent_line": [-1, 7, 7, -1], "self_ns": [7, 3, 0, 4],
        "kernels": [0, 3, 1, 0], "kernel_ns": [0, 90, 6, 0],
        "subtree_kernels": [4, 3, 1, 0], "subtree_kernel_ns": [96, 90, 6, 0],
    }  # fmt: skip


CALLS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), min_size=1, max_size=20)


@given(CALLS, st.lists(st.tuples(st.integers(0, 45), st.integers(1, 3), st.integers(1, 99)), max_size=10))
def test_calls_are_those_of_a_walk_along_the_thread(
    calls: list[tuple[int, int]], work: list[tuple[int, int, int]]
) -> None:
    """Also where they cross, as recordings of several threads under one name do."""
    edges = [(start, 1, -lasted, line, line) for line, (start, lasted) in enumerate(calls)]
    edges += [(start + lasted, 0 if lasted else 3, lasted, -line, line) for line, (start, lasted) in enumerate(calls)]
    edges += [(time, 2, 0, 0, place) for place, (time, *_) in enumerate(work)]
    depth, begun, depths, parents, own = 0, {}, {}, {}, [0] * len(calls)
    for _, kind, *_, place in sorted(edges):
        depth += {0: -1, 1: 1, 2: 0, 3: -1}[kind]
        if kind == 1:
            begun[depth], depths[place] = place, depth - 1
        elif kind == 2 and depth:
            own[begun[depth]] += work[place][2]
        elif kind != 2:
            parents[place] = begun[depth] if depth and depths[place] else -1
    entries = [(line, *call, 0, 0) for line, call in enumerate(calls)] + [(-1, time, -1, *more) for time, *more in work]
    rows = spans.nested(*np.array(entries, np.int64).T)
    assert rows["depth"].tolist() == [depths[line] for line in range(len(calls))]
    assert rows["parent_line"].tolist() == [parents[line] for line in range(len(calls))]
    assert rows["kernel_ns"].tolist() == own


@pytest.mark.parametrize("module", functions.TABLES)
def test_each_function_of_a_module_is_known_without_loading_it(module: str) -> None:
    assert tuple(functions.table(module)) == functions.TABLES[module]


def test_each_module_of_functions_is_listed() -> None:
    here = Path(functions.__file__).parent
    assert {path.stem for path in here.glob("sql_*.py")} == {*functions.TABLES}


def test_the_plain_median_is_that_of_numpy() -> None:
    draw = np.random.default_rng(3)
    for n in range(1, 12):
        for shape in ((n,), (3, n), (2, 3, n)):
            values = draw.lognormal(size=shape)
            assert np.array_equal(median(values), np.median(values, axis=-1))
            assert np.array_equal(median(values.astype(int)), np.median(values.astype(int), axis=-1))
    assert np.isnan(median([1.0, np.nan, 3.0]))


def test_a_median_loads_no_masked_arrays() -> None:
    loaded = (
        "import sys, numpy; before = {*sys.modules}; "  # numpy itself loads them where it is old
        "from scalelens.statistics.plain_median import median; median([2, 1]); print(*{*sys.modules} - before)"
    )
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert "scalelens.statistics.plain_median" in modules
    assert "numpy.ma" not in modules
