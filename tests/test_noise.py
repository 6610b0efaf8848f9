"""The noise between identical runs: limits hold on runs that they were not calibrated on, and what is smaller is not told."""

import csv
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest

from command_line import Run
from conftest import ROOT
from little_warehouse import Row, Warehouse
from scalelens import catalog
from scalelens.cli.compare import exit_code
from scalelens.statistics.comparisons import LARGEST_RATIO, chance_of_modes
from scalelens.statistics.noise import RUNS_A_SIDE, noise, runs_to_see, smallest_difference

Values = npt.NDArray[np.float64]
Random = np.random.Generator
PUBLISHED = ROOT.parent / "shared" / "corpus" / "noise"

# Logarithms of the times of identical runs: what machines do, in shapes drawn anew by seed.
MACHINES: dict[str, Callable[[Random, int], Values]] = {
    "quiet": lambda rng, n: rng.uniform(0.003, 0.01) * rng.standard_normal(n),
    "quiet and congested": lambda rng, n: (
        0.008 * rng.standard_normal(n) + rng.uniform(0.05, 0.15) * (rng.random(n) < rng.uniform(0.1, 0.4))
    ),
    "heavy tail": lambda rng, n: 0.01 * rng.standard_t(rng.uniform(3, 6), n),
    "one-sided": lambda rng, n: np.log1p(0.03 * rng.gamma(rng.uniform(1, 4), 1, n)),
    "lognormal": lambda rng, n: np.log1p(0.02 * rng.lognormal(0, 0.8, n)),
    "uniform": lambda rng, n: rng.uniform(0, 0.05, n),
}


def share_beyond(random: Random, logs: Values, runs: int, limit: float, shift: float = 0.0, many: int = 1000) -> float:
    """Share of pairs of disjoint groups of runs that lie beyond a limit, the first shifted."""
    apart = []
    for _ in range(many):
        order = random.permutation(len(logs))
        apart.append(logs[order[:runs]].mean() - logs[order[runs : 2 * runs]].mean() + shift)
    return float(np.mean(np.abs(apart) > np.log1p(limit)))


@pytest.mark.parametrize("name", ["frontier_nanogpt", "perlmutter_nanogpt", "perlmutter_deepcam"])
def test_limits_of_the_first_half_hold_on_the_second(name: str) -> None:
    """At most 6.5 % false alarms; a shift of the size of each limit is found in 80 % with the runs that it needs."""
    path = PUBLISHED / f"{name}.csv"
    if not path.exists():
        pytest.skip("the published series are not there")
    logs = np.log(np.loadtxt(path, delimiter=",", skiprows=1)[:, 1])
    half = len(logs) // 2
    random = np.random.default_rng(1)
    limits = {k: smallest_difference(logs[:half], k) for k in RUNS_A_SIDE}
    for k, limit in limits.items():
        assert share_beyond(random, logs[half:], k, limit, many=4000) <= 0.065
    for limit in limits.values():
        needed = runs_to_see(limit, list(limits.values()))
        assert needed is not None
        if 2 * needed <= len(logs) - half:
            beyond = smallest_difference(logs[:half], needed)
            assert share_beyond(random, logs[half:], needed, beyond, np.log1p(limit)) >= 0.8


@pytest.mark.parametrize(
    ("seed", "series"), [(1, 20), *(pytest.param(seed, 200, marks=pytest.mark.slow) for seed in (2, 3, 4))]
)
@pytest.mark.parametrize("machine", MACHINES)
def test_limits_hold_on_runs_that_come_later(machine: str, seed: int, series: int) -> None:
    """Of fifty runs that calibrate, over many machines of a kind: on average at most 6.5 %, and 80 % are found."""
    false, found = dict.fromkeys(RUNS_A_SIDE, 0.0), []
    for number in range(series):
        chosen = np.random.SeedSequence([seed, number])
        random = np.random.default_rng(chosen)
        logs = MACHINES[machine](random, 250)
        limits = [smallest_difference(logs[:50], k) for k in RUNS_A_SIDE]
        for k, limit in zip(RUNS_A_SIDE, limits, strict=True):
            false[k] += share_beyond(random, logs[50:], k, limit, many=200) / series
        needed = runs_to_see(limits[1], limits)
        if needed and needed <= 50:
            beyond = smallest_difference(logs[:50], needed)
            found.append(share_beyond(random, logs[50:], needed, beyond, np.log1p(limits[1]), many=100))
    assert max(false.values()) <= 0.065 + (0.015 if series < 100 else 0)
    assert np.mean(found) >= 0.8


def test_the_limit_of_one_run_is_a_quantile_of_all_pairs() -> None:
    """Of 1, 2 and 4 the pairs are a factor of 2, 2 and 4 apart: the 95 % quantile of the logarithms lies at 1.9 of 2."""
    logs = np.log(np.array([1.0, 2.0, 4.0]))
    assert np.log1p(smallest_difference(logs, 1)) == pytest.approx(1.9 * np.log(2))


def test_the_catalog_is_what_the_published_series_give() -> None:
    rows = catalog.rows("noise_catalog")
    assert max(row["largest_ratio"] for row in rows) == LARGEST_RATIO
    for row in rows:
        assert row["least_1"] > row["least_3"] > row["least_5"] > row["least_10"] > 0
        assert row["source"].startswith("https://") and row["n_runs"] >= 50
        path = PUBLISHED / f"{row['system'].lower()}_{row['workload'].split()[0].lower()}.csv"
        if path.exists():
            times = np.array([float(line["total_s"]) for line in csv.DictReader(path.open())])
            found = noise(times)
            assert len(times) == row["n_runs"]
            for name, value in found._asdict().items():
                if name in row:
                    assert row[name] == (None if value is None else pytest.approx(value, rel=1e-3)), name


def test_runs_that_a_difference_needs_fall_with_its_size() -> None:
    least = [0.2, 0.1, 0.08, 0.055]
    needed = [runs_to_see(size, least) or 999 for size in (0.01, 0.03, 0.05, 0.1, 0.2, 0.5, -0.5)]
    assert needed == sorted(needed, reverse=True) and needed[-1] == 1
    assert runs_to_see(0.0, least) is None and runs_to_see(0.001, least) is None


def test_a_slow_mode_is_told_with_whether_its_runs_follow_each_other() -> None:
    random = np.random.default_rng(3)
    times = np.exp(0.005 * random.standard_normal(60))
    scattered, together = times.copy(), times.copy()
    scattered[random.permutation(60)[:12]] *= 1.15
    together[20:32] *= 1.15
    for values, follow in ((scattered, False), (together, True)):
        found = noise(values)
        assert found.slow_share == pytest.approx(0.2) and found.slow_by == pytest.approx(0.15, abs=0.01)
        assert found.slow_p is not None and (found.slow_p < 0.001) == follow
    assert noise(times).slow_share is None
    assert set(noise(np.array([1.0]))) == {None}


def test_two_modes_put_few_runs_apart() -> None:
    assert chance_of_modes(1, 1) == pytest.approx(0.5)
    assert chance_of_modes(1, 5) == pytest.approx(0.067, abs=0.001)
    assert chance_of_modes(3, 3) == pytest.approx(2 / 64)


# In SQL


def repeats(
    warehouse: Warehouse, n: int, system: str, side: str = "r", level: float = 1.0, scatter: float = 0.02
) -> None:
    random = np.random.default_rng(n)
    for k in range(n):
        times = level * np.exp(scatter * random.standard_normal() + 0.003 * random.standard_normal(60))
        start = datetime(2026, 11, 1) + timedelta(days=k)
        warehouse.run(
            f"{side}{k:02}", times, system=system, model="m", devices=4, global_batch_size=8, started_at=start
        )  # fmt: skip


def test_own_repeats_calibrate_from_ten_on_and_published_ones_below(warehouse: Warehouse) -> None:
    repeats(warehouse, 12, "here")
    repeats(warehouse, 4, "frontier", side="f")
    own, few = warehouse.ask("FROM noise()")
    assert (own["n_runs"], own["calibration"], own["system"]) == (12, "own", "here")
    assert own["scatter"] == pytest.approx(0.02, rel=0.4) and own["least_1"] > own["least_10"] > 0
    assert (few["n_runs"], few["calibration"]) == (4, "catalog")
    frontier = next(row for row in catalog.rows("noise_catalog") if row["system"] == "Frontier")
    assert few["least_3"] == frontier["least_3"] and "nanoGPT training on Frontier" in few["note"]


def test_other_devices_and_settings_are_no_repeats(warehouse: Warehouse) -> None:
    for run, facts in {"a": {"devices": 4}, "b": {"devices": 8}, "c": {}, "d": {}}.items():
        warehouse.run(run, [1.0, 1.1] * 20, model="m", **facts)
    assert warehouse.ask("FROM noise()") == []


def compared(warehouse: Warehouse) -> Row:
    (row,) = warehouse.ask("FROM compare(a := 'a', b := 'b')")
    return row


def two_runs(warehouse: Warehouse, ratio: float, first: Row | None = None, second: Row | None = None) -> Row:
    random = np.random.default_rng(5)
    for run, level, facts in (("a", 1.0, first), ("b", ratio, second)):
        times = level * np.exp(0.01 * random.standard_normal(100))
        warehouse.run(run, times, **({"model": "m", "devices": 4, "global_batch_size": 8} | (facts or {})))
    return compared(warehouse)


@pytest.mark.parametrize(
    ("ratio", "verdict", "by"),
    [
        (36.0, "slower", "precedent"),
        (1.6, "slower", "precedent"),
        (1.2, "inconclusive", None),
        (0.1, "faster", "precedent"),
    ],
)
def test_beyond_what_identical_runs_ever_showed_is_a_verdict(
    warehouse: Warehouse, ratio: float, verdict: str, by: str | None
) -> None:
    row = two_runs(warehouse, ratio)
    assert (row["verdict"], row["verdict_by"], row["interval_of"]) == (verdict, by, "steps")
    if by:
        assert "by precedent, from one run on each side" in row["sentence"] and row["runs_needed"] is None
        assert exit_code(row, 0.03, strict=True) == (1 if verdict == "slower" else 0)
        assert exit_code(row, 0.5, strict=False) == (1 if ratio > 30 else 0)
    else:
        assert row["runs_needed"] >= 3 and row["least_3"] > 0 and "assumed" in row["noise_of"]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({}, {"global_batch_size": None}, "batch of a side is not known"),
        ({"global_batch_size": None}, {"global_batch_size": None}, "batch of a side is not known"),
        ({}, {"model": "larger"}, "the work differs in model (m -> larger)"),
        ({}, {"seq_length": 4096}, "seq_length"),
    ],
)
def test_of_other_or_unknown_work_there_is_no_verdict_by_precedent(
    warehouse: Warehouse, first: Row, second: Row, said: str
) -> None:
    row = two_runs(warehouse, 10.0, first, second)
    assert row["verdict"] == "inconclusive" and said in row["note"]


@pytest.mark.parametrize(
    ("minutes", "nodes", "independent"), [(10, "n1", 1), (90, "n1", 4), (10, None, 4), (10, "n{}", 4)]
)
def test_runs_of_one_hour_on_the_same_nodes_count_as_one(
    warehouse: Warehouse, minutes: int, nodes: str | None, independent: int
) -> None:
    random = np.random.default_rng(9)
    for side, level in (("a", 1.0), ("b", 1.1)):
        for k in range(4):
            times = level * np.exp(0.001 * random.standard_normal(60))
            start = datetime(2026, 11, 1 + (side == "b")) + k * timedelta(minutes=minutes)
            warehouse.run(f"{side}{k}", times, model="m", devices=4, global_batch_size=8, started_at=start)
            job = {"run_id": f"{side}{k}", "job_id": f"{side}{k}"}
            warehouse.insert("jobs", [job | {"node_list": nodes.format(k)}] if nodes else [])
    condition = "run_id LIKE ''{}%''".format
    (row,) = warehouse.ask(f"FROM compare(a := '{condition('a')}', b := '{condition('b')}')")
    assert (row["a_runs"], row["b_runs"]) == (4, 4)
    assert row["verdict"] == ("inconclusive" if independent == 1 else "slower")
    assert ("4 runs of a on the same nodes within an hour count as one" in (row["note"] or "")) == (independent == 1)


@pytest.mark.parametrize(
    ("n_repeats", "apart", "repeated", "compared", "precedent"),
    [
        (12, 1.04, {"system": "here"}, {"system": "here"}, 1.04),  # ten and more of one's own say it
        (9, 1.04, {"system": "here"}, {"system": "here"}, 1.366),  # fewer do not
        (12, 1.04, {"system": "there"}, {"system": "here"}, 1.366),  # nor those of another system
        (12, 1.04, {}, {}, 1.366),  # nor those of a system that may be another
        (12, 1.04, {"system": "here"}, {"system": "here", "devices": 64}, 1.366),  # nor those of fewer devices
        (2, 1.45, {"system": "here"}, {"system": "here"}, 1.45),  # two farther apart than published ones are enough
        (12, 1.6, {"system": "here"}, {"system": "here"}, 1.366),  # so far apart they are not taken for repeats
    ],
)
def test_own_repeats_say_what_identical_runs_show(
    warehouse: Warehouse, n_repeats: int, apart: float, repeated: Row, compared: Row, precedent: float
) -> None:
    for k in range(n_repeats):
        level = apart ** (k / (n_repeats - 1))
        warehouse.run(f"r{k}", level * np.linspace(0.99, 1.01, 41), model="other", devices=4, **repeated)
    row = two_runs(warehouse, 1.2, compared, compared)
    assert row["precedent"] == pytest.approx(precedent, rel=0.001)
    assert row["verdict_by"] == ("precedent" if precedent < 1.2 else None)
    assert ("identical runs here were never" in row["sentence"]) is (precedent < 1.2)


def test_repeats_on_fewer_devices_than_the_larger_side_are_no_precedent(warehouse: Warehouse) -> None:
    for k in range(12):
        warehouse.run(f"r{k}", 1.04 ** (k / 11) * np.linspace(0.99, 1.01, 41), model="other", devices=4, system="here")
    row = two_runs(warehouse, 1.2, {"system": "here"}, {"system": "here", "devices": 64})
    assert row["precedent"] == pytest.approx(1.366, rel=0.001)


def test_the_runs_that_are_compared_are_no_precedent_for_themselves(warehouse: Warehouse) -> None:
    row = two_runs(warehouse, 1.45)
    assert row["verdict_by"] == "precedent" and row["precedent"] == pytest.approx(1.366, rel=0.001)


def test_how_work_is_split_is_no_other_work(warehouse: Warehouse) -> None:
    for run, level, split in (("a", 1.0, 2), ("b", 10.0, 4)):
        times = level * np.exp(0.01 * np.random.default_rng(5).standard_normal(100))
        warehouse.run(run, times, model="m", devices=4, global_batch_size=8, tp=split)
    assert compared(warehouse)["verdict_by"] == "precedent"


def test_next_runs_names_what_the_noise_asks_for(warehouse: Warehouse) -> None:
    row = two_runs(warehouse, 1.05)
    plans = warehouse.ask("FROM next_runs(a := 'a', b := 'b')")
    assert [plan["repeats"] for plan in plans] == [row["runs_needed"]] * 2
    assert row["runs_needed"] > 3


def test_the_noise_stands_beside_a_comparison_and_a_history(run: Run, tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    for name, level in (("old", 0.5), ("new", 0.55)):
        rows = "".join(f"{step},{level + step % 3 / 100},8\n" for step in range(60))
        (folder / f"{name}.csv").write_text("step,step_time_s,global_batch_size\n" + rows)
    assert run("ingest", folder, "-w", folder / "warehouse").code == 0
    said = run("compare", "old", "new", "-w", folder / "warehouse").err
    assert "smallest difference that runs show: 1 a side 22.5 %" in said
    assert "runs on each side would settle it" in said
