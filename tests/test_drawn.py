"""What the statistics promise, on processes drawn by seed that no page names: docs/statistics.md has the numbers.

A small form runs each time, the full one at night.
"""

from collections import defaultdict
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest

from drawn_processes import BODIES, GROWTHS, KINDS, LONG, PLANTED, SHAPES, drawn, lasting, scatter, wandering
from little_warehouse import Warehouse
from scalelens.statistics.comparisons import compare_groups
from scalelens.statistics.elbows import elbows
from scalelens.statistics.histories import shifts_between_runs
from scalelens.statistics.steady import steadiness
from test_compare import known, verdict
from test_long_memory import covered
from test_outlier_simulation import accused, named, shown

Values = npt.NDArray[np.float64]
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 4))]


def most(share: float, many: int) -> float:
    """Of many series, with what chance adds: two standard errors."""
    return share * many + 2 * np.sqrt(share * (1 - share) * many)


@pytest.mark.parametrize(
    ("n", "many"),
    [(100, 80), *(pytest.param(n, 500, marks=pytest.mark.slow) for n in (100, 300, 1000))],
)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_steps_without_a_trend_have_an_interval_that_covers_and_no_verdict_without_a_note(
    kind: str, seed: int, n: int, many: int
) -> None:
    make, median = drawn(kind, seed)
    series = make(np.random.default_rng([seed, n, 4]), many, n)
    printed, share = covered(series, median)
    assert printed >= 0.8
    assert (1 - share) * printed * many <= most(0.1, round(printed * many))
    states = [steadiness(values) for values in (series if series.min() > 0 else 20 + series)]
    bare = sum(state.verdict in ("warming", "slowing") and not state.reason for state in states)
    assert bare <= most(0.05, many)


@pytest.mark.parametrize(
    ("n", "many"),
    [(80, 150), (100, 150), *(pytest.param(n, 1000, marks=pytest.mark.slow) for n in (80, 100, 150, 300, 1000))],
)
@pytest.mark.parametrize(
    "seed", [1, 8, *(pytest.param(seed, marks=pytest.mark.slow) for seed in [*range(2, 8), *range(9, 21)])]
)
def test_long_memory_of_any_kind_is_covered(seed: int, n: int, many: int) -> None:
    make = wandering(seed)
    series = make(np.random.default_rng([seed, n, 10]), many, n)
    printed, share = covered(series, 0.0)  # the median of what is skewed is that of what is not
    assert printed >= 0.5
    assert (1 - share) * printed * many <= most(0.1, round(printed * many))


@pytest.mark.parametrize(
    ("n", "many"),
    [(80, 100), (100, 100), *(pytest.param(n, 1000, marks=pytest.mark.slow) for n in (80, 100, 150, 300, 1000))],
)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", LONG)
def test_long_memory_that_comes_about_in_other_ways_is_covered(kind: str, seed: int, n: int, many: int) -> None:
    make = LONG[kind](np.random.default_rng([seed, *kind.encode()]))
    printed, share = covered(make(np.random.default_rng([seed, n, 16]), many, n), 0.0)
    assert (1 - share) * printed * many <= most(0.1, round(printed * many))


@pytest.mark.parametrize(
    ("n", "many"), [(100, 60), *(pytest.param(n, 400, marks=pytest.mark.slow) for n in (100, 300, 1000))]
)
@pytest.mark.parametrize("stay", [20, 50, 100, 300])
@pytest.mark.parametrize("seed", SEEDS)
def test_levels_that_last_are_no_trend_without_a_note(seed: int, stay: float, n: int, many: int) -> None:
    """Of levels that lie 6 to 30 times their scatter apart."""
    make = lasting(seed, stay, (6, 30))
    states = [steadiness(values) for values in make(np.random.default_rng([seed, n, 11]), many, n)]
    assert sum(state.verdict in ("warming", "slowing") and not state.reason for state in states) <= most(0.05, many)


@pytest.mark.parametrize("many", [10, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("growth", GROWTHS)
def test_growth_of_any_kind_is_a_trend(growth: str, seed: int, many: int) -> None:
    """From ten records on; backwards too, and with a single record out of order it is not told so."""
    rng = np.random.default_rng([seed, 12])
    for n in rng.integers(10, 300, many):
        values = GROWTHS[growth](rng, int(n))
        for one, said in ((values, "slowing"), (values[::-1], "warming")):
            state = steadiness(one)
            assert (state.verdict, state.first) == (said, None)
            assert state.reason and f"each of {n} records is " in state.reason
        values[[n // 2, n // 2 - 1]] = values[[n // 2 - 1, n // 2]]
        assert "each of" not in (steadiness(values).reason or "")


@pytest.mark.parametrize(
    ("n", "many"), [(20, 60), *(pytest.param(n, 500, marks=pytest.mark.slow) for n in (8, 20, 50, 100))]
)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_history_without_a_change_seldom_has_a_point(shape: str, seed: int, n: int, many: int) -> None:
    rng = np.random.default_rng([seed, n, 5])
    wrong = sum(bool(shifts_between_runs(np.exp(0.02 * scatter(shape, rng, n)))) for _ in range(many))
    assert wrong <= most(0.05, many)


@pytest.mark.parametrize(
    ("n", "many"), [(100, 8), (300, 5), *(pytest.param(n, 100, marks=pytest.mark.slow) for n in (100, 300, 1000))]
)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_times_of_one_smooth_shape_have_no_elbow(shape: str, seed: int, n: int, many: int) -> None:
    rng = np.random.default_rng([seed, n, 6])
    wrong = sum(bool(elbows(1 + 0.05 * scatter(shape, rng, n)).elbows) for _ in range(many))
    assert wrong <= most(0.1, many)


@pytest.mark.parametrize(
    ("n", "many"), [(200, 10), *(pytest.param(n, 100, marks=pytest.mark.slow) for n in (200, 1000))]
)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("tail", PLANTED)
def test_tails_of_any_shape_are_found_where_they_begin(tail: str, seed: int, n: int, many: int) -> None:
    """From 6 to 12 sigma on, above a body of any shape; elbow and departure within 0.02 of the share of fast steps."""
    rng = np.random.default_rng([seed, n, 13])
    near = {"elbow": 0, "departure": 0}
    for _ in range(many):
        times = 1 + 0.01 * scatter(str(rng.choice(BODIES)), rng, n)
        slow = rng.random(n) < rng.uniform(0.05, 0.6)
        begin, width = rng.uniform(0.06, 0.12), rng.uniform(0.03, 0.3)
        times[slow] = 1 + begin + width * PLANTED[tail](rng).rvs(size=int(slow.sum()), random_state=rng)
        found, fast = elbows(times), 1 - slow.mean()
        near["elbow"] += bool(found.elbows) and abs(found.elbows[0].share - fast) <= 0.02
        near["departure"] += found.departure is not None and abs(found.departure.share - fast) <= 0.02
    assert min(near.values()) >= 0.9 * many - 2 * np.sqrt(0.09 * many)


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("first", "second"), [(1, 5), (2, 3), (4, 4)])
@pytest.mark.parametrize("shape", SHAPES)
def test_identical_runs_are_seldom_called_slower(shape: str, first: int, second: int, seed: int, many: int) -> None:
    rng = np.random.default_rng([seed, first, second, 7])
    wrong = 0
    for _ in range(many):
        times = np.exp(0.03 * scatter(shape, rng, first + second))
        wrong += verdict(compare_groups(known(times[:first]), known(times[first:]))) in ("slower", "faster")
    assert wrong <= most(0.05, many)


@pytest.mark.parametrize(
    ("shape", "ranks", "seed"),
    [("Rice", 8, 1), ("log-gamma", 16, 1)]
    + [
        pytest.param(shape, ranks, seed, marks=pytest.mark.slow)
        for shape in SHAPES
        for ranks in (8, 16)
        for seed in (2, 3)
    ],
)
def test_of_devices_that_scatter_one_is_slow_and_no_second_one(
    warehouse: Warehouse, shape: str, ranks: int, seed: int
) -> None:
    """One of 8 or 16 that scatter by 4 % is slower by 30 %: it is slow, or shown as what may be the end of a tail."""
    rng = np.random.default_rng([seed, ranks, 8])
    jobs: list[Values] = []
    for _ in range(100):
        levels = 1 + 0.04 * scatter(shape, rng, (ranks, 1))
        jobs.append(levels * (1 + 0.01 * rng.standard_normal((ranks, 20))))
        jobs[-1][0] *= 1.3
    said = named(warehouse, jobs)
    assert sum(0 in shown(one) for one in said) >= 90
    assert sum(bool(accused(one) - {0}) for one in said) <= most(0.05, 100)


@pytest.mark.parametrize(
    ("shape", "ranks", "scale", "seed"),
    [("Birnbaum-Saunders", 16, 0.05, 1)]
    + [
        pytest.param(shape, ranks, scale, seed, marks=pytest.mark.slow)
        for shape in SHAPES
        for ranks, scale, seed in ((4, 0.06, 2), (8, 0.05, 3), (16, 0.03, 4), (64, 0.02, 5))
    ],
)
def test_of_devices_that_scatter_none_is_slow(
    warehouse: Warehouse, shape: str, ranks: int, scale: float, seed: int
) -> None:
    rng = np.random.default_rng([seed, ranks, 9])
    levels = [1 + scale * scatter(shape, rng, (ranks, 1)) for _ in range(200)]
    jobs = [level * (1 + 0.01 * rng.standard_normal((ranks, 20))) for level in levels]
    assert sum(bool(accused(said)) for said in named(warehouse, jobs)) <= most(0.05, 200)


@pytest.mark.parametrize(
    ("shape", "seed"),
    [("Nakagami", 1), *(pytest.param(shape, seed, marks=pytest.mark.slow) for shape in SHAPES for seed in (2, 3))],
)
def test_device_times_of_our_own_runner_name_no_second_rank(warehouse: Warehouse, shape: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 14])
    jobs: list[Values] = []
    for _ in range(40):
        levels = 1 + 0.04 * scatter(shape, rng, (8, 1))
        jobs.append(levels * (1 + 0.01 * rng.standard_normal((8, 20))))
        jobs[-1][0] *= 1.3
    said = named(warehouse, jobs, measure="device_s")
    assert sum(0 in shown(one) for one in said) >= 36
    assert sum(bool(accused(one) - {0}) for one in said) <= most(0.05, 40)


# What a history is of, some not stated.
FACTS: dict[str, list[str | int | None]] = {
    "system": ["lumi", "jureca", None],
    "model": ["gpt-125m", "resnet50", None],
    "precision": ["bf16", "fp32", None],
    "device_model": ["MI250X", "H100", "GH200", "GC200", None],
    "devices": [4, 8, 16, None],
    "global_batch_size": [32, 64, None],
    "seq_length": [2048, 4096, None],
}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 22))])
def test_a_history_pools_what_is_alike_and_nothing_else(warehouse: Warehouse, seed: int) -> None:
    """Runs of facts drawn by seed, most of them the same: one that is stated by one side alone separates as well."""
    rng = np.random.default_rng([seed, 15])
    known: dict[str, tuple[str | int | None, ...]] = {}
    for number in range(60):
        few = [said[: int(rng.integers(1, 3))] + said[-1:] for said in FACTS.values()]
        facts = [said[0] if rng.random() < 0.7 else said[int(rng.integers(len(said)))] for said in few]
        run_id = f"r{number:02}"
        start = datetime(2026, 11, 1) + timedelta(hours=number)
        times = (1 + len(str(facts)) / 9) * np.exp(0.01 * rng.standard_normal(30))
        warehouse.run(run_id, times, started_at=start, **dict(zip(FACTS, facts, strict=True)))
        known[run_id] = (*facts, None if facts[list(FACTS).index("devices")] else run_id)
    series, alike = defaultdict(set), defaultdict(set)
    for row in warehouse.ask("FROM history()"):
        series[row["series"]].add(row["run_id"])
        alike[known[row["run_id"]]].add(row["run_id"])
    assert sum(map(len, series.values())) == 60
    assert sorted(map(sorted, series.values())) == sorted(map(sorted, alike.values()))
