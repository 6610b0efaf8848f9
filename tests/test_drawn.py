"""What the statistics promise, on processes drawn by seed that no page names: docs/statistics.md has the numbers.

A small form runs each time, the full one at night.
"""

import numpy as np
import numpy.typing as npt
import pytest

from drawn_processes import KINDS, SHAPES, drawn, scatter
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
