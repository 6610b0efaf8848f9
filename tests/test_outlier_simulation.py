"""What `outlier_gpus` promises, by simulation: who is found, and how often nobody is to be found but somebody is named.

Steps scatter by 3 %, and devices differ by 2 % (one standard deviation).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
import scipy.stats

from little_warehouse import Warehouse
from spread import by_day_and_at_night

Times = npt.NDArray[np.float64]


def job(chance: np.random.Generator, ranks: int, steps: int) -> Times:
    """Compute times, shape (ranks, steps), of a job in which nothing is slow."""
    device = 1 + 0.02 * chance.standard_normal((ranks, 1))
    return device * (1 + 0.03 * chance.standard_normal((ranks, steps)))


def named(
    warehouse: Warehouse, jobs: list[Times], per_node: int | None = None, measure: str = "cpu_s"
) -> list[dict[str, set[int]]]:
    """For each job the ranks of each verdict; `undecided` are those of `unknown` that may be the end of a tail."""
    for table in ("runs", "members", "metrics"):
        warehouse.connection.execute(f"DELETE FROM {table}")
    warehouse.insert("runs", [{"run_id": str(n), "devices": len(times)} for n, times in enumerate(jobs)])
    tables = []
    for n, times in enumerate(jobs):
        rank, step = (axis.ravel() for axis in np.indices(times.shape))
        said = {"run_id": np.full(times.size, str(n)), "rank": rank, "step": step, "value": times.ravel()}
        tables.append(
            pa.table(said | {"place": np.char.add("n", (rank // per_node).astype(str))} if per_node else said)
        )
    warehouse.connection.register("said", pa.concat_tables(tables))
    warehouse.connection.execute(
        f"INSERT INTO metrics BY NAME SELECT *, '{measure}' AS name, 's' AS unit, 'value' AS stat FROM said"
    )
    warehouse.connection.unregister("said")
    said_of: list[dict[str, set[int]]] = [{} for _ in jobs]
    for row in warehouse.ask(
        "SELECT run_id, if(verdict = 'unknown' AND reason LIKE '%long tail%', 'undecided', verdict) AS said, "
        "list(rank) AS ranks FROM outlier_gpus() WHERE verdict <> 'ordinary' GROUP BY ALL"
    ):
        said_of[int(row["run_id"])][row["said"]] = set(row["ranks"])
    return said_of


def accused(said: dict[str, set[int]]) -> set[int]:
    return set().union(*(ranks for verdict, ranks in said.items() if verdict not in ("unknown", "undecided")))


def shown(said: dict[str, set[int]]) -> set[int]:
    return accused(said) | said.get("undecided", set())


def slower(times: Times, ranks: slice, chance: np.random.Generator) -> None:
    times[ranks] *= 1.15


def slow_at_times(times: Times, ranks: slice, chance: np.random.Generator) -> None:
    times[ranks, chance.permutation(times.shape[1])[: round(times.shape[1] / 3)]] *= 1.5


@pytest.mark.parametrize(
    ("plant", "verdict", "ranks", "steps", "together", "jobs", "found", "called"),
    [
        (slower, "slow", 8, 5, 1, 300, 0.95, 0.25),
        (slower, "slow", 16, 5, 1, 300, 0.95, 0.45),
        (slower, "slow", 64, 5, 1, 150, 0.95, 0.8),
        (slower, "slow", 16, 200, 1, 100, 0.95, 0.6),
        (slower, "slow", 16, 5, 8, 300, 0.95, 0.95),
        (slower, "slow", 16, 200, 8, 100, 0.95, 0.95),
        (slow_at_times, "intermittent", 16, 200, 1, 100, 0.95, 0.95),
        (slow_at_times, "intermittent", 16, 5, 1, 300, 0.8, 0.8),  # two of five
    ],
)
def test_who_is_slow_is_found(
    warehouse: Warehouse,
    plant: Callable[[Times, slice, np.random.Generator], None],
    verdict: str,
    ranks: int,
    steps: int,
    together: int,
    jobs: int,
    found: float,
    called: float,
) -> None:
    """`found` is the share that is called so, or shown as the slowest, which few ranks cannot tell from a long tail."""
    chance = np.random.default_rng(ranks * steps + together)
    made = [job(chance, ranks, steps) for _ in range(jobs)]
    planted = [slice(first, first + together) for first in chance.integers(ranks // together, size=jobs) * together]
    for times, of in zip(made, planted, strict=True):
        plant(times, of, chance)
    said = named(warehouse, made, per_node=8)
    truths = [{*range(of.start, of.stop)} for of in planted]
    hits = [truth <= one.get(verdict, set()) for one, truth in zip(said, truths, strict=True)]
    undecided = [truth <= one.get("undecided", set()) for one, truth in zip(said, truths, strict=True)]
    assert sum(hits) / jobs >= called
    assert (sum(hits) + sum(undecided)) / jobs >= found
    wrong = sum(bool(set().union(*one.values()) - truth) for one, truth in zip(said, truths, strict=True))
    assert wrong / jobs <= 0.05


@by_day_and_at_night("share", [4], [1])
def test_of_a_thousand_clean_jobs_at_most_one_of_twenty_names_anybody(warehouse: Warehouse, share: int) -> None:
    chance = np.random.default_rng(8)
    sizes = [(ranks, steps) for ranks in (8, 16, 32, 64, 128, 256, 512) for steps in (5, 5, 5, 20)]
    jobs = [job(chance, *sizes[n % len(sizes)]) for n in range(940 // share)]
    jobs += [job(chance, ranks, 200) for ranks in (8, 16, 64) for _ in range(20 // share)]
    wrong = sum(bool(said) for said in named(warehouse, jobs, per_node=8))
    assert len(jobs) == 1000 // share
    assert wrong / len(jobs) <= 0.05


@pytest.mark.parametrize("steps", [5, 40])
def test_equal_devices_are_seldom_said_to_differ(warehouse: Warehouse, steps: int) -> None:
    chance = np.random.default_rng(steps)
    named(warehouse, [1 + 0.03 * chance.standard_normal((16, steps)) for _ in range(200)])
    assert warehouse.column("SELECT count(*) FROM outlier_gpus() WHERE rank IS NULL")[0] <= 0.03 * 200


# How devices differ, in units of one standard deviation, without a heavy tail: a device of such a tail is slow itself.
BETWEEN: dict[str, Callable[[np.random.Generator, int], Times]] = {
    "normal": lambda chance, ranks: chance.standard_normal(ranks),
    "uniform": lambda chance, ranks: chance.uniform(-np.sqrt(3), np.sqrt(3), ranks),
    "two bins": lambda chance, ranks: 2.0 * (chance.random(ranks) < 0.5) - 1,
    "triangular": lambda chance, ranks: chance.triangular(-np.sqrt(6), 0, np.sqrt(6), ranks),
}


@pytest.mark.parametrize(
    ("between", "scatter"),
    [("normal", scatter) for scatter in (0.03, 0.04, 0.05)]
    + [pytest.param(between, 0.04, marks=pytest.mark.slow) for between in BETWEEN if between != "normal"],
)
@pytest.mark.parametrize("ranks", [8, 16])
def test_of_devices_that_scatter_by_more_than_is_usual_no_second_one_is_named(
    warehouse: Warehouse, ranks: int, scatter: float, between: str
) -> None:
    """One is slower by 30 %; the others differ by up to 5 % (one standard deviation), and are as they are."""
    chance = np.random.default_rng([ranks, round(1000 * scatter)])
    made = []
    for _ in range(100):
        levels = 1 + scatter * BETWEEN[between](chance, ranks)[:, None]
        times = levels * (1 + 0.01 * chance.standard_normal((ranks, 20)))
        times[0] *= 1.3
        made.append(times)
    said = named(warehouse, made)
    assert sum(0 in shown(one) for one in said) >= 90
    assert sum(bool(accused(one) - {0}) for one in said) <= 5


@pytest.mark.parametrize("jobs", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_two_that_are_slow_are_both_found_where_the_others_do_not_scatter_widely(
    warehouse: Warehouse, jobs: int
) -> None:
    """By 15 % where devices differ by 1 %, by 30 % where they differ by 4 %; and nobody else."""
    chance = np.random.default_rng([jobs, 2])
    for scatter, by, found, called in ((0.01, 1.15, 0.95, 0.95), (0.04, 1.3, 0.75, 0.05)):
        made = []
        for _ in range(jobs):
            levels = 1 + scatter * chance.standard_normal((16, 1))
            made.append(levels * (1 + 0.01 * chance.standard_normal((16, 20))))
            made[-1][:2] *= by
        said = named(warehouse, made)
        assert sum({0, 1} <= shown(one) for one in said) >= found * jobs
        assert sum({0, 1} <= accused(one) for one in said) >= called * jobs
        assert sum(bool(accused(one) - {0, 1}) for one in said) <= 0.05 * jobs


@pytest.mark.parametrize(
    ("jobs", "nodes"), [(60, 16), *(pytest.param(200, n, marks=pytest.mark.slow) for n in (8, 16))]
)
def test_of_nodes_that_scatter_one_is_slow_and_no_second_one(warehouse: Warehouse, jobs: int, nodes: int) -> None:
    """Nodes of four that differ by 4 %, with a tail to slow ones (Moyal) and without."""
    chance = np.random.default_rng([jobs, nodes, 3])
    for make in (BETWEEN["normal"], moyal):
        made = []
        for _ in range(jobs):
            of_nodes = (1 + 0.04 * make(chance, nodes)).repeat(4)[:, None]
            made.append(of_nodes * job(chance, 4 * nodes, 20))
            made[-1][:4] *= 1.3
        named(warehouse, made, per_node=4)
        of_jobs = "SELECT run_id, list(node) AS nodes FROM node_scores() WHERE {} GROUP BY run_id"
        shown_nodes = [row["nodes"] for row in warehouse.ask(of_jobs.format("is_slow IS NULL OR is_slow"))]
        slow = [set(row["nodes"]) for row in warehouse.ask(of_jobs.format("is_slow"))]
        assert sum("n0" in found for found in shown_nodes) >= 0.9 * jobs
        assert sum(bool(found - {"n0"}) for found in slow) <= 0.05 * jobs


def of_shape(shape: Any) -> Callable[[np.random.Generator, int], Times]:
    return lambda chance, size: np.asarray((shape.rvs(size=size, random_state=chance) - shape.mean()) / shape.std())


moyal = of_shape(scipy.stats.moyal())
# Those that the rule was made with, and five (from Weibull on) that were written down before they were simulated.
LONG_TAILS: dict[str, Callable[[np.random.Generator, int], Times]] = {
    "exponential": of_shape(scipy.stats.expon()),
    "Moyal": moyal,
    "lognormal": of_shape(scipy.stats.lognorm(0.5)),
    "Gumbel": of_shape(scipy.stats.gumbel_r()),
    "Student's t": of_shape(scipy.stats.t(5)),
    "Weibull": of_shape(scipy.stats.weibull_min(1.3)),
    "inverse Gaussian": of_shape(scipy.stats.invgauss(0.6)),
    "gamma": of_shape(scipy.stats.gamma(2)),
    "normal and exponential": of_shape(scipy.stats.exponnorm(2)),
    "logistic": of_shape(scipy.stats.logistic()),
}


@pytest.mark.parametrize(
    ("shape", "ranks", "scatter", "jobs"),
    [
        ("exponential", 8, 0.06, 60),
        ("lognormal", 16, 0.05, 60),
        ("Moyal", 64, 0.03, 40),
        ("inverse Gaussian", 4, 0.06, 60),
    ]
    + [
        pytest.param(shape, ranks, scatter, 200, marks=pytest.mark.slow)
        for shape in LONG_TAILS
        for ranks in (4, 8, 16, 64)
        for scatter in (0.005, 0.02, 0.03, 0.04, 0.06)
    ],
)
def test_the_end_of_a_long_tail_is_not_called_slow(
    warehouse: Warehouse, shape: str, ranks: int, scatter: float, jobs: int
) -> None:
    """None is slow, or one by 30 %: who else is accused?"""
    chance = np.random.default_rng([ranks, round(1000 * scatter), *shape.encode()])
    for slow in (0, 1):
        made = []
        for _ in range(jobs):
            levels = 1 + scatter * LONG_TAILS[shape](chance, ranks)[:, None]
            levels[:slow] *= 1.3
            made.append(levels * (1 + 0.01 * chance.standard_normal((ranks, 20))))
        said = named(warehouse, made)
        wrong = sum(bool(accused(one) - {*range(slow)}) for one in said)
        assert wrong <= 0.05 * jobs + 2 * np.sqrt(0.05 * 0.95 * jobs)


@pytest.mark.parametrize(("ranks", "scatter", "called"), [(8, 0.01, 0.8), (16, 0.01, 0.9), (64, 0.02, 0.9)])
def test_one_that_stands_apart_is_slow(warehouse: Warehouse, ranks: int, scatter: float, called: float) -> None:
    chance = np.random.default_rng([ranks, 4])
    made = []
    for _ in range(60):
        made.append(
            (1 + scatter * chance.standard_normal((ranks, 1))) * (1 + 0.01 * chance.standard_normal((ranks, 20)))
        )
        made[-1][0] *= 1.15
    said = named(warehouse, made)
    assert sum(one.get("slow") == {0} for one in said) >= called * 60


def test_who_may_be_the_end_of_a_tail_is_told_how_many_ranks_would_show_it(warehouse: Warehouse) -> None:
    levels = 1 + 0.025 * scipy.stats.norm.ppf((np.arange(8) + 0.5) / 8)
    levels[-1] = 1.125
    noise = np.random.default_rng(9).standard_normal((8, 20))
    named(warehouse, [levels[:, None] * (1 + 0.002 * noise)])
    (row,) = warehouse.ask("FROM outlier_gpus() WHERE verdict IN ('slow', 'unknown')")
    assert (row["rank"], row["verdict"]) == (7, "unknown")
    (enough,) = warehouse.column("SELECT enough FROM work_scores() WHERE rank = 7")
    assert (
        enough in (16, 32)
        and f"; {enough} ranks that differ as these do would show it" in row["reason"]
        and "it is the slowest" in row["reason"]
    )
    many = 1 + 0.025 * scipy.stats.norm.ppf((np.arange(2 * enough) + 0.5) / (2 * enough))
    many[-1] = 1.14
    noise = np.random.default_rng(9).standard_normal((2 * enough, 20))
    assert named(warehouse, [many[:, None] * (1 + 0.002 * noise)]) == [{"slow": {2 * enough - 1}}]


def test_the_device_times_of_our_own_runner_are_read(warehouse: Warehouse) -> None:
    chance = np.random.default_rng(1)
    times = job(chance, 8, 20)
    times[5] *= 1.2
    named(warehouse, [times])
    warehouse.connection.execute("UPDATE metrics SET name = 'device_s'")
    rows = warehouse.ask("FROM outlier_gpus() WHERE rank IS NOT NULL")
    assert {row["rank"]: (row["verdict"], row["cause"]) for row in rows if row["verdict"] != "ordinary"} == {
        5: ("slow", "gpu")
    }
    (reason,) = {row["reason"] for row in rows if row["verdict"] == "ordinary"}
    assert "includes its waiting for others" in reason
