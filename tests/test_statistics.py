"""Statistics: against scipy, against simulation, and as functions of SQL."""

import math

import duckdb
import numpy as np
import numpy.typing as npt
import pytest
import scipy.signal
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scalelens.statistics import functions, spans
from scalelens.statistics.medians import median_interval, median_interval_between_runs, rank_autocorrelation, ranks
from scalelens.statistics.ratios import interpolated_interval, ratio_interval
from scalelens.statistics.significance import benjamini_hochberg

Values = npt.NDArray[np.float64]

# Few distinct values, so that many tie, or none do.
quantised = arrays(np.float64, st.integers(3, 200), elements=st.integers(1, 9).map(float))
continuous = arrays(np.float64, st.integers(3, 200), elements=st.floats(1e-6, 1e6), unique=True)
series = quantised | continuous


def ar1(phi: float, n: int, many: int, seed: int) -> Values:
    """`many` stationary AR(1) series of length n, median 0."""
    noise = np.random.default_rng(seed).standard_normal((many, n + 300))
    return np.asarray(scipy.signal.lfilter([1], [1, -phi], noise, axis=1)[:, 300:])


@settings(max_examples=50, deadline=None)
@given(series)
def test_ranks_are_those_of_scipy(values: Values) -> None:
    assert ranks(values).tolist() == scipy.stats.rankdata(values).tolist()


@settings(max_examples=50, deadline=None)
@given(series)
def test_autocorrelation_is_pearsons_of_neighbouring_ranks(values: Values) -> None:
    rank = scipy.stats.rankdata(values)
    if np.ptp(rank[:-1]) == 0 or np.ptp(rank[1:]) == 0:
        assert rank_autocorrelation(values) == 0
    else:
        assert rank_autocorrelation(values) == pytest.approx(scipy.stats.pearsonr(rank[:-1], rank[1:])[0], abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, st.integers(40, 300), elements=st.floats(1e-3, 1e3)))
def test_interval_is_the_order_statistics_of_the_definition(values: Values) -> None:
    n, r = len(values), max(rank_autocorrelation(values), 0.0)
    interval = median_interval(values)
    n_eff = n * (1 - r) / (1 + r)
    assert interval.n_eff == pytest.approx(n_eff)
    half = 0.98 / math.sqrt(n_eff) if n_eff > 1e-9 else math.inf
    low, high = (math.floor(n * (0.5 - half)), math.ceil(n * (0.5 + half)) + 1) if half < 1 else (0, n + 1)
    if low < 1 or high > n:
        assert interval[:3] == (None, None, None)
        assert interval.reason and "too alike" in interval.reason
    else:
        ordered = sorted(values)
        assert (interval.low, interval.high, interval.kind) == (ordered[low - 1], ordered[high - 1], "ci95")


def test_of_100_uncorrelated_steps_the_40th_and_the_61st() -> None:
    """n (0.5 -+ 0.98 / sqrt(n)) = 40.2 and 59.8: order statistics 40 and 61."""
    values = np.arange(1.0, 101.0)
    alternating = np.concatenate([values[::2], values[1::2][::-1]])[np.random.default_rng(3).permutation(100)]
    assert rank_autocorrelation(alternating) < 0  # and is taken as 0
    assert median_interval(alternating)[:4] == (40.0, 61.0, "ci95", 100.0)


def test_below_40_steps_it_is_a_range_and_says_so() -> None:
    interval = median_interval(np.linspace(2.0, 1.0, 39))
    assert interval[:3] == (1.0, 2.0, "range")
    assert interval.reason == "39 records are too few for a 95 % interval: the range of them"


def test_one_record_or_none_has_no_interval() -> None:
    assert median_interval(np.array([1.0]))[:3] == (None, None, None)
    assert median_interval(np.array([]))[:3] == (None, None, None)


def test_a_series_that_only_rises_says_as_much_as_no_record() -> None:
    interval = median_interval(np.arange(100.0))
    assert interval[:3] == (None, None, None)
    assert interval.reason and interval.reason.startswith("neighbours are too alike (r = 1.00)")


def test_equal_times_have_an_interval_of_no_width() -> None:
    assert median_interval(np.full(50, 0.25))[:3] == (0.25, 0.25, "ci95")


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_interval_covers_the_median_of_autocorrelated_steps(phi: float) -> None:
    intervals = [median_interval(values) for values in ar1(phi, n=200, many=1500, seed=20261121)]
    assert all(interval.kind == "ci95" for interval in intervals)
    covered = sum(interval.low <= 0 <= interval.high for interval in intervals if interval.low is not None) / 1500  # type: ignore[operator]
    assert 0.93 <= covered <= 0.99


def test_below_six_runs_the_range() -> None:
    assert median_interval_between_runs(np.array([3.0, 1.0, 2.0]))[:3] == (1.0, 3.0, "range")
    assert median_interval_between_runs(np.array([3.0]))[:3] == (None, None, None)


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
