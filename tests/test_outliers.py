"""Outlier GPUs: who is named, who is not, and what is said where it cannot be known."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from little_warehouse import Row, Warehouse

US = 1000


def compute(warehouse: Warehouse, seconds: npt.NDArray[np.float64], run: str = "r", **facts: Any) -> None:
    """A run whose trace says how long each rank computes in each step: seconds of shape (ranks, steps)."""
    warehouse.insert("runs", [{"run_id": run, **facts}])
    warehouse.insert("events", list(spans(seconds, run, "compute", 0.0)))


def spans(seconds: npt.NDArray[np.float64], run: str, category: str, offset: float) -> Iterable[Row]:
    for (rank, step), taken in np.ndenumerate(seconds):
        yield {
            "run_id": run, "file_id": f"{run}-{rank}", "rank": rank, "line": step, "ph": "X", "name": category,
            "category": category, "train_step": step, "start_ns": round((step * 100 + offset) * 1e9),
            "duration_ns": round(taken * 1e9),
        }  # fmt: skip


def noise(ranks: int, steps: int, seed: int, spread: float = 0.03) -> npt.NDArray[np.float64]:
    return 1 + spread * np.random.default_rng(seed).standard_normal((ranks, steps))


def verdicts(warehouse: Warehouse, question: str = "outlier_gpus()") -> dict[int, tuple[str, str | None]]:
    return {row["rank"]: (row["verdict"], row["cause"]) for row in warehouse.ask(f"FROM {question}")}


# By simulation


def timers(warehouse: Warehouse, seconds: npt.NDArray[np.float64]) -> None:
    """Runs whose logs say how long each rank computes in each step: seconds of shape (runs, ranks, steps)."""
    run, rank, step = (axis.ravel() for axis in np.indices(seconds.shape))
    warehouse.insert("runs", [{"run_id": str(n)} for n in range(len(seconds))])
    said = {"run_id": run.astype(str), "rank": rank, "step": step, "value": seconds.ravel()}
    warehouse.connection.register("said", pa.table(said))
    warehouse.connection.execute(
        "INSERT INTO metrics BY NAME SELECT *, 'cpu_s' AS name, 's' AS unit, 'value' AS stat FROM said"
    )
    warehouse.connection.unregister("said")


def alike(runs: int, ranks: int, steps: int, spread: float) -> npt.NDArray[np.float64]:
    """Times that scatter by `spread` from step to step, and by 1 % from rank to rank in all steps."""
    chance = np.random.default_rng(ranks * steps).standard_normal
    return (1 + 0.01 * chance((runs, ranks, 1))) * np.maximum(1 + spread * chance((runs, ranks, steps)), 0.1)


# By day few and many ranks, and few and many steps; what lies between is simulated at night.
SCATTER = [
    (16, 5, 0.03), (4, 24, 0.05), (64, 24, 0.1),
    *(pytest.param(*between, marks=pytest.mark.slow) for between in ((16, 20, 0.03), (8, 24, 0.07), (8, 100, 0.15))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "steps", "spread"),
    [*SCATTER, (16, 3, 0.07), pytest.param(16, 5, 0.15, marks=pytest.mark.slow), (8, 24, 0.3)],
)
def test_of_ranks_that_are_alike_none_is_named(warehouse: Warehouse, ranks: int, steps: int, spread: float) -> None:
    runs = 200
    timers(warehouse, alike(runs, ranks, steps, spread))
    named = warehouse.column("SELECT count(DISTINCT run_id) FROM outlier_gpus() WHERE verdict = 'slow'")[0]
    assert named / runs < 0.05


@pytest.mark.parametrize(("ranks", "steps", "spread"), SCATTER)
def test_a_rank_slower_by_a_fifth_is_named_and_only_it(
    warehouse: Warehouse, ranks: int, steps: int, spread: float
) -> None:
    """Slow, or, where few ranks cannot tell it from the end of a long tail, shown as the slowest."""
    runs = 200
    seconds = alike(runs, ranks, steps, spread)
    seconds[range(runs), np.arange(runs) % ranks] *= 1.2
    timers(warehouse, seconds)
    named = warehouse.ask(
        "SELECT run_id, list(rank) AS shown, list(rank) FILTER (verdict = 'slow') AS slow FROM outlier_gpus() "
        "WHERE verdict = 'slow' OR verdict = 'unknown' AND reason LIKE '%long tail%' GROUP BY run_id"
    )
    right = sum(
        rank in row["shown"] and (row["slow"] or [rank]) == [rank]
        for row in named
        for rank in [int(row["run_id"]) % ranks]
    )
    assert right / runs > 0.95
    assert len(named) - right < 0.05 * runs


# Named


def test_scores_agree_with_numpy(warehouse: Warehouse) -> None:
    seconds = noise(7, 9, 3)
    seconds[4, :6] *= 1.4
    compute(warehouse, seconds)
    kept = seconds[:, :8]  # the last step may be cut
    ratios = kept / np.median(kept, axis=0)
    levels = np.median(ratios, axis=1)
    spread = 1.4826 * np.median(abs(levels - np.median(levels)))
    for row in warehouse.ask("FROM work_scores()"):
        rank = row["rank"]
        assert row["n_steps"] == 8
        assert row["flagged"] == (ratios[rank] > 1.1).sum()
        assert row["ratio"] == pytest.approx(levels[rank], rel=1e-6)
        assert row["spread"] == pytest.approx(spread, rel=1e-5)
        assert row["z"] == pytest.approx((levels[rank] - 1) / max(spread, 0.02), rel=1e-5)
    assert verdicts(warehouse)[4] == ("slow", "gpu")
    assert [rank for rank, said in verdicts(warehouse).items() if said[0] != "ordinary"] == [4]


def test_q_is_that_of_holm(warehouse: Warehouse) -> None:
    seconds = np.ones((8, 13))
    for rank, steps in ((1, 3), (2, 2), (5, 2), (6, 1)):
        seconds[rank, :steps] *= 1.5
    compute(warehouse, seconds)
    rows = sorted(warehouse.ask("SELECT p, q FROM work_scores()"), key=lambda row: row["p"])
    p = [row["p"] for row in rows]
    expected = [min(max(p[m] * (8 - m) for m in range(n + 1)), 1) for n in range(8)]
    assert [row["q"] for row in rows] == pytest.approx(expected)


def test_peers_are_the_ranks_of_a_stage(warehouse: Warehouse) -> None:
    seconds = noise(8, 12, 5)
    seconds[4:] *= 1.6  # the second stage has more to do
    seconds[6] *= 1.3
    compute(warehouse, seconds, pp=2, devices=8)
    assert {rank for rank, said in verdicts(warehouse).items() if said[0] == "slow"} == {6}
    assert warehouse.column("SELECT stage FROM outlier_gpus() ORDER BY rank") == [0] * 4 + [1] * 4


@pytest.mark.parametrize(("threshold", "slow"), [(0.1, set()), (0.05, {4}), (0.5, set())])
def test_threshold_is_a_parameter(warehouse: Warehouse, threshold: float, slow: set[int]) -> None:
    seconds = noise(8, 60, 9, 0.01)
    seconds[4] *= 1.08
    compute(warehouse, seconds)
    said = verdicts(warehouse, f"outlier_gpus(threshold := {threshold})")
    assert {rank for rank, one in said.items() if one[0] == "slow"} == slow


# Nodes


def on_nodes(warehouse: Warehouse, seconds: npt.NDArray[np.float64], place: Callable[[int], str | None]) -> None:
    """A run of timers, whose lines bear a place."""
    warehouse.insert("runs", [{"run_id": "r", "devices": len(seconds)}])
    rows = [
        {"run_id": "r", "rank": rank, "step": step, "name": "cpu_s", "unit": "s", "stat": "value", "value": value}
        | {"place": place(rank)}
        for (rank, step), value in np.ndenumerate(seconds)
    ]
    warehouse.insert("metrics", rows)


def test_all_ranks_of_a_slow_node_are_named_and_it(warehouse: Warehouse) -> None:
    seconds = noise(16, 40, 14)
    seconds[8:] *= 1.15
    on_nodes(warehouse, seconds, lambda rank: f"n{rank // 8}/{rank % 8}")
    rows = warehouse.ask("FROM outlier_gpus() ORDER BY rank")
    assert [row["verdict"] for row in rows] == ["ordinary"] * 8 + ["slow"] * 8
    assert [(row["node"], row["device"]) for row in rows[7:9]] == [("n0", "7"), ("n1", "0")]
    assert "its node as a whole takes 1.1" in rows[8]["evidence"]
    assert rows[8]["reason"].startswith("the whole node is slow: something that its ranks share")
    assert rows[0]["ratio"] == pytest.approx(1, abs=0.02)  # beside typical ranks, not beside the middle of all
    nodes = {row["node"]: row for row in warehouse.ask("FROM node_scores()")}
    assert nodes["n1"]["is_slow"] and not nodes["n0"]["is_slow"]
    assert nodes["n1"]["ratio"] == pytest.approx(1 / nodes["n0"]["ratio"])
    assert (nodes["n1"]["ranks"], nodes["n1"]["compared"]) == (8, 2)


def test_slow_ranks_that_are_no_more_than_half_of_a_node_do_not_make_it_slow(warehouse: Warehouse) -> None:
    seconds = noise(16, 40, 15)
    seconds[8:10] *= 1.3
    on_nodes(warehouse, seconds, lambda rank: f"n{rank // 4}")
    assert not any(warehouse.column("SELECT is_slow FROM node_scores()"))
    assert {rank for rank, said in verdicts(warehouse).items() if said[0] == "slow"} == {8, 9}


def test_a_slow_rank_beside_a_slow_node(warehouse: Warehouse) -> None:
    seconds = noise(24, 40, 16)
    seconds[8:16] *= 1.3
    seconds[3] *= 1.3
    on_nodes(warehouse, seconds, lambda rank: f"n{rank // 8}")
    assert {rank for rank, said in verdicts(warehouse).items() if said[0] == "slow"} == {3, *range(8, 16)}


def test_nodes_of_which_only_the_size_is_known_are_blocks_of_ranks(warehouse: Warehouse) -> None:
    seconds = noise(16, 9, 17)
    seconds[:8] *= 1.2
    compute(warehouse, seconds, devices=16, nodes=2)
    rows = warehouse.ask("FROM outlier_gpus() ORDER BY rank")
    assert [row["verdict"] for row in rows] == ["slow"] * 8 + ["ordinary"] * 8
    assert {row["node"] for row in rows} == {"ranks 0-7", "ranks 8-15"}
    assert {row["cause"] for row in rows[:8]} == {"gpu"}


def test_where_each_rank_is(warehouse: Warehouse) -> None:
    def metric(run: str, rank: int, place: str | None, file: str = "f") -> Row:
        told = {"run_id": run, "rank": rank, "place": place, "file_id": file, "step": 1, "name": "cpu_s", "unit": "s"}
        return told | {"stat": "value", "value": 1.0}

    def kernel(rank: int, process: str) -> Row:
        span = {"run_id": "trace", "rank": rank, "ph": "X", "name": "gemm", "category": "kernel", "process": process}
        return span | {"file_id": f"t{rank}", "start_ns": 0, "duration_ns": 5}

    def param(run: str, key: str, value: str, file: str = "f") -> Row:
        return {"run_id": run, "file_id": file, "key": key, "value": value, "origin": "log"}

    names = ("place", "nccl", "trace", "local", "many", "nothing")
    warehouse.insert(
        "runs", [{"run_id": name, "devices": 2, "nodes": 1 if name == "local" else None} for name in names]
    )
    warehouse.insert("metrics", [
        metric("place", 0, "n7"), metric("place", 1, "n8/default3"), metric("nccl", 0, None), metric("nccl", 1, None),
        metric("local", 0, "0"), metric("local", 1, "default1"), metric("many", 0, None), metric("many", 1, None),
        metric("nothing", 0, None),
    ])  # fmt: skip
    warehouse.insert("events", [kernel(0, "4"), kernel(1, "5")])
    warehouse.insert("params", [
        param("nccl", "rank_places", "a/0 b/1"), param("trace", "host_name", "x", "t0"),
        param("trace", "host_name", "y", "t1"), param("many", "host", "z"),
    ])  # fmt: skip
    rows = warehouse.ask("FROM rank_places()")
    said = {(row["run_id"], row["rank"]): (row["node"], row["device"], row["source"]) for row in rows}
    assert said == {
        ("place", 0): ("n7", None, "log"), ("place", 1): ("n8", "3", "log"),
        ("nccl", 0): ("a", "0", "nccl"), ("nccl", 1): ("b", "1", "nccl"),
        ("trace", 0): ("x", "4", "file"), ("trace", 1): ("y", "5", "file"),
        ("local", 0): ("ranks 0-1", "0", "block"), ("local", 1): ("ranks 0-1", "1", "block"),
        ("many", 0): (None, None, None), ("many", 1): (None, None, None), ("nothing", 0): (None, None, None),
    }  # fmt: skip


# At times, and by a little


def test_a_rank_that_is_slow_at_times(warehouse: Warehouse) -> None:
    seconds = noise(8, 90, 18)
    seconds[2, ::3] *= 1.5
    compute(warehouse, seconds)
    said = verdicts(warehouse)
    assert said.pop(2) == ("intermittent", "gpu")
    assert set(said.values()) == {("ordinary", None)}
    assert (
        "in 30 of them 1.48 times as long" in warehouse.column("SELECT evidence FROM outlier_gpus() WHERE rank = 2")[0]
    )


def test_one_slow_step_is_not_called_intermittent(warehouse: Warehouse) -> None:
    seconds = noise(8, 6, 19)
    seconds[2, 1] *= 1.5
    compute(warehouse, seconds)
    assert set(verdicts(warehouse).values()) == {("ordinary", None)}


def test_few_steps_with_bursts_ask_for_more(warehouse: Warehouse) -> None:
    seconds = noise(8, 6, 20)
    seconds[2, 1:4:2] *= 1.5
    compute(warehouse, seconds)
    row = warehouse.ask("FROM outlier_gpus() WHERE rank = 2")[0]
    assert (row["verdict"], row["reason"]) == ("intermittent", "5 steps are too few for a pattern: profile more")


def test_devices_that_differ_by_a_little_are_a_finding_of_the_run(warehouse: Warehouse) -> None:
    seconds = noise(32, 100, 22) * (1 + 0.03 * np.random.default_rng(23).standard_normal((32, 1)))
    compute(warehouse, seconds)
    (row,) = warehouse.ask("FROM outlier_gpus() WHERE rank IS NULL")
    assert (row["verdict"], row["peers"]) == ("ordinary", 32)
    levels = np.median(seconds[:, :99], axis=1)
    share, low, high = map(float, re.findall(r"[\d.]+", row["evidence"].replace(" 95 %", ""))[:3])
    assert low < share < high and low < 3 < high
    assert f"longest: rank {levels.argmax()}," in row["evidence"]
    assert {said[0] for said in verdicts(warehouse).values()} == {"ordinary"}


def test_scatter_of_the_steps_is_no_difference_of_the_devices(warehouse: Warehouse) -> None:
    compute(warehouse, noise(32, 100, 24, 0.1))
    assert warehouse.column("SELECT count(*) FROM outlier_gpus() WHERE rank IS NULL") == [0]


def test_scale_of_the_times_does_not_matter(warehouse: Warehouse) -> None:
    seconds = noise(6, 10, 8)
    seconds[2] *= 1.25
    compute(warehouse, seconds)
    compute(warehouse, seconds * 0.001, "faster")
    rows = warehouse.ask("SELECT run_id, rank, verdict, round(z, 2) AS z FROM outlier_gpus() ORDER BY run_id, rank")
    assert [row | {"run_id": "r"} for row in rows[:6]] == rows[6:]


def drawing(warehouse: Warehouse, watts: npt.NDArray[np.float64], run: str = "r") -> None:
    """Samples of shape (devices, seconds), of four devices a node."""
    warehouse.insert(
        "power",
        [
            {
                "run_id": run, "file_id": f"{run}-power", "node": f"n{device // 4}", "device": f"pynvml:{device % 4}",
                "scope": "gpu", "ts": datetime(2026, 1, 2) + timedelta(seconds=second), "ts_origin": "utc",
                "power_w": watt, "line": device * watts.shape[1] + second,
            }
            for (device, second), watt in np.ndenumerate(watts)
        ],
    )  # fmt: skip


@pytest.mark.parametrize(("factor", "stands_out"), [(0.7, True), (1.2, True), (0.97, False)])
def test_power_of_a_device_stands_out(warehouse: Warehouse, factor: float, stands_out: bool) -> None:
    watts = 400 * noise(8, 40, 11, 0.02)
    watts[5] *= factor
    watts[:, :15] = 70  # at rest, while the job starts
    warehouse.insert("runs", [{"run_id": "r"}])
    drawing(warehouse, watts)
    rows = {(row["node"], row["device"]): row for row in warehouse.ask("FROM power_scores()")}
    odd = rows.pop(("n1", "pynvml:1"))
    assert (odd["stands_out"], odd["compared"]) == (stands_out, 8)
    assert odd["ratio"] == pytest.approx(factor, rel=0.02)
    assert not any(row["stands_out"] for row in rows.values())


def test_power_is_evidence_beside_who_is_slow_or_unknown(warehouse: Warehouse) -> None:
    seconds = noise(8, 12, 12)
    seconds[5] *= 1.3
    compute(warehouse, seconds)
    warehouse.insert("runs", [{"run_id": "s", "devices": 8}])
    warehouse.insert("steps", [{"run_id": "s", "phase": "train", "step": 1, "step_s": 1.0, "value_kind": "instant"}])
    watts = np.full((8, 40), 400.0)
    watts[5] = 280
    for run in ("r", "s"):
        drawing(warehouse, watts, run)
    told = "power: device n1:pynvml:1 draws 0.70 times as much as the others"
    rows = {(row["run_id"], row["rank"]): row["evidence"] for row in warehouse.ask("FROM outlier_gpus()")}
    assert [rank for (run, rank), evidence in rows.items() if run == "r" and "power" in evidence] == [5]
    assert rows["r", 5].endswith(told)
    assert rows["s", None] == told


def clocking(
    warehouse: Warehouse, mhz: npt.NDArray[np.float64], reasons: npt.NDArray[np.int64], run: str = "r"
) -> None:
    """Clocks and their limits in the lines of the power samples of `drawing`, shape (devices, seconds)."""
    rows: list[Row] = []
    for line, (device, second) in enumerate(np.ndindex(*mhz.shape)):
        place = f"n{device // 4}/pynvml:{device % 4}"
        common: Row = {"run_id": run, "file_id": f"{run}-power", "line": line, "place": place}
        rows.append({**common, "name": "sm_clock", "value": mhz[device, second] * 1e6, "unit": "Hz"})
        rows.append({**common, "name": "clock_event_reasons", "value": float(reasons[device, second])})
    warehouse.insert("metrics", rows)


@pytest.mark.parametrize(("factor", "stands_out"), [(0.7, True), (0.93, True), (0.97, False), (1.2, False)])
def test_clock_of_a_device_stands_out_where_it_works(warehouse: Warehouse, factor: float, stands_out: bool) -> None:
    """An idle device clocks down, and a limit that is named there counts for nothing."""
    watts, mhz = 400 * noise(8, 40, 11, 0.02), 1410 * noise(8, 40, 12, 0.005)
    reasons = np.zeros((8, 40), np.int64)
    mhz[5] *= factor
    reasons[5, 20:30], reasons[:, :15] = 0x44, 0x1
    watts[:, :15], mhz[:, :15] = 70, 210
    warehouse.insert("runs", [{"run_id": "r"}])
    drawing(warehouse, watts)
    clocking(warehouse, mhz, reasons)
    rows = {(row["node"], row["device"]): row for row in warehouse.ask("FROM clock_scores()")}
    odd = rows.pop(("n1", "pynvml:1"))
    assert (odd["stands_out"], odd["compared"], odd["n_samples"]) == (stands_out, 8, 25)
    assert odd["clock_mhz"] == pytest.approx(np.median(mhz[5, 15:]), rel=1e-12)
    levels = np.median(mhz[:, 15:], axis=1)
    assert odd["ratio"] == pytest.approx(levels[5] / np.median(levels), rel=1e-12)
    assert odd["limited_by"] == "power cap in 40 %, temperature (hardware) in 40 %"
    assert not any(row["stands_out"] or row["limited_by"] for row in rows.values())


def test_clocks_that_scatter_widely_name_no_device(warehouse: Warehouse) -> None:
    mhz = 1410 * np.linspace(0.85, 1.0, 8)[:, None] * np.ones((8, 40))
    warehouse.insert("runs", [{"run_id": "r"}])
    drawing(warehouse, np.full((8, 40), 400.0))
    clocking(warehouse, mhz, np.zeros((8, 40), np.int64))
    assert warehouse.column("SELECT stands_out FROM clock_scores()") == [False] * 8


def test_clock_is_evidence_beside_who_is_slow(warehouse: Warehouse) -> None:
    seconds = noise(8, 12, 12)
    seconds[5] *= 1.3
    compute(warehouse, seconds)
    mhz, reasons = np.full((8, 40), 1400.0), np.zeros((8, 40), np.int64)
    mhz[5], reasons[5] = 1050, 0x40
    drawing(warehouse, np.full((8, 40), 400.0))
    clocking(warehouse, mhz, reasons)
    told = "clock: device n1:pynvml:1 works at 0.75 times the clock of the others (temperature (hardware) in 100 %)"
    evidence = {row["rank"]: row["evidence"] for row in warehouse.ask("FROM outlier_gpus()")}
    assert [rank for rank, words in evidence.items() if "clock" in words] == [5]
    assert evidence[5].endswith(told)


def test_a_detector_in_the_training_is_evidence_beside_the_times_of_each_rank(warehouse: Warehouse) -> None:
    seconds = noise(8, 12, 12)
    seconds[5] *= 1.3
    compute(warehouse, seconds)
    score = {"run_id": "r", "file_id": "log", "name": "GPU relative performance", "stat": "value"}
    scores = [
        {**score, "line": line, "rank": rank, "value": 1 / (1.25 if rank == 5 else 1)}
        for line, rank in enumerate((5, 0))
    ]
    warehouse.insert("metrics", scores)
    rows = {row["rank"]: (row["verdict"], row["evidence"]) for row in warehouse.ask("FROM outlier_gpus()")}
    assert [rank for rank, (_, evidence) in rows.items() if "NVRx" in evidence] == [5]
    assert rows[5][0] == "slow"
    assert rows[5][1].endswith("NVRx: kernels slower than the fastest rank by 25 % in 1 of 1 reports")


# Not named, and why


@pytest.mark.parametrize(("slow", "verdict"), [(1.2, "unknown"), (1.05, "ordinary")])
def test_of_two_it_cannot_be_told_which_is_the_odd_one(warehouse: Warehouse, slow: float, verdict: str) -> None:
    seconds = noise(2, 20, 2, 0.005)
    seconds[1] *= slow
    compute(warehouse, seconds)
    assert verdicts(warehouse) == {0: ("ordinary", None), 1: (verdict, None)}
    reason = warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 1")[0]
    assert (reason or "").endswith("either could be the odd one") == (verdict == "unknown")
    assert warehouse.column("SELECT ratio FROM outlier_gpus() WHERE rank = 1")[0] == pytest.approx(slow, rel=0.01)


def test_one_step_may_be_an_accident(warehouse: Warehouse) -> None:
    seconds = np.ones((8, 1))
    seconds[3] = 2
    compute(warehouse, seconds)
    assert verdicts(warehouse)[3] == ("unknown", None)
    (reason,) = warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 3")
    assert reason == (
        "that it computes longer in 1 of 1 steps may be chance: q = 0.5; "
        "so few steps cannot make q small enough among 8 ranks: profile five or more"
    )


@pytest.mark.parametrize(("profiled", "verdict"), [(2, "unknown"), (5, "slow")])
def test_two_profiled_steps_of_64_ranks_cannot_tell_and_five_can(
    warehouse: Warehouse, profiled: int, verdict: str
) -> None:
    seconds = noise(64, profiled, 21)
    seconds[9] *= 1.25
    compute(warehouse, seconds)
    assert verdicts(warehouse)[9][0] == verdict
    (reason,) = warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 9")
    assert "among 64 ranks: profile five or more" in (reason or "") or verdict == "slow"


def test_peers_that_differ_among_themselves_name_no_one(warehouse: Warehouse) -> None:
    compute(warehouse, np.outer([1.0, 1.2, 1.5, 1.8], np.ones(12)))
    assert {said[0] for said in verdicts(warehouse).values()} == {"ordinary", "unknown"}
    (reason,) = warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 3")
    assert reason.startswith("its peers differ among themselves: spread")


def test_stages_that_are_not_known_name_no_one(warehouse: Warehouse) -> None:
    seconds = np.ones((8, 12))
    seconds[6:] = 1.5
    compute(warehouse, seconds)
    assert verdicts(warehouse)[7][0] == "slow"
    transfer = {
        "run_id": "r",
        "file_id": "r-0",
        "rank": 0,
        "ph": "X",
        "category": "kernel",
        "name": "ncclKernel_SendRecv",
    }
    warehouse.insert("events", [transfer | {"start_ns": 5, "duration_ns": 5, "collective": "send", "train_step": 1}])
    assert verdicts(warehouse)[7] == ("unknown", None)
    (reason,) = warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 7")
    assert "label the run with pp" in reason


def test_step_times_alone_do_not_tell(warehouse: Warehouse) -> None:
    def step(run: str, rank: int | None, step: int) -> Row:
        return {"run_id": run, "rank": rank, "phase": "train", "step": step, "step_s": 1.0, "value_kind": "instant"}

    warehouse.insert("runs", [{"run_id": run, "devices": devices} for run, devices in (("a", 8), ("b", 4), ("c", 1))])
    warehouse.insert("steps", [step("a", None, n) for n in range(50)])
    warehouse.insert("steps", [step("b", rank, n) for n in range(50) for rank in range(4)])
    warehouse.insert("steps", [step("c", 0, n) for n in range(50)])
    rows = warehouse.ask("SELECT rank, verdict, reason FROM outlier_gpus()")
    assert {(row["rank"], row["verdict"]) for row in rows} == {(None, "unknown")}
    assert [row["reason"] for row in rows] == [
        "step times of one rank alone cannot tell",
        "only step times of 4 ranks, which waiting makes equal, and nothing of their own work",
        "one device has no peer",
    ]


# Other causes


def test_a_rank_that_waits_for_its_data(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r", "devices": 6}])
    warehouse.insert(
        "steps",
        [
            {
                "run_id": "r", "rank": rank, "phase": "train", "step": step, "step_s": 1.0, "value_kind": "instant",
                "data_s": (0.3 if rank == 2 else 0.01) + 0.001 * chance,
            }
            for (rank, step), chance in np.ndenumerate(noise(6, 30, 4))
        ],
    )  # fmt: skip
    said = verdicts(warehouse)
    assert said.pop(2) == ("late", "input")
    assert set(said.values()) == {("unknown", None)}  # of their GPUs the log says nothing


def test_host_timers_of_each_rank(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r", "devices": 4, "pp": 1}])
    warehouse.insert(
        "metrics",
        [
            {
                "run_id": "r", "rank": rank, "step": step, "name": name, "unit": "ms", "stat": "value",
                "value": 100.0 * chance * (1.3 if rank == 3 else 1),
            }
            for name in ("forward-compute", "backward-compute")
            for (rank, step), chance in np.ndenumerate(noise(4, 20, 6, 0.01))
        ],
    )  # fmt: skip
    assert verdicts(warehouse)[3] == ("slow", None)
    row = warehouse.ask("FROM outlier_gpus() WHERE rank = 3")[0]
    assert row["compute_s"] == pytest.approx(0.26, rel=0.02)
    assert "they do not distinguish GPU and host" in row["reason"]


Work = Mapping[str, float]


def late_run(
    warehouse: Warehouse, works: Callable[[int], Work], groups: Sequence[Sequence[int]] = (range(6),), steps: int = 12,
    takes: Callable[[Sequence[int]], float] = lambda ranks: 0.01,
) -> None:  # fmt: skip
    """Ranks that do their works one after the other and then meet in an all_reduce of their group, step by step."""
    rows: list[Row] = []

    def span(rank: int, step: int, name: str, category: str, start: float, length: float, **columns: Any) -> None:
        rows.append({
            "run_id": "r", "file_id": f"f{rank}", "rank": rank, "line": len(rows), "ph": "X", "name": name,
            "category": category, "train_step": step, "start_ns": round(start * 1e9), "duration_ns": round(length * 1e9),
            **columns,
        })  # fmt: skip

    for step in range(steps):
        for group in groups:
            arrived = {}
            for rank in group:
                at = 10.0 * step
                span(rank, step, f"ProfilerStep#{step}", "user_annotation", at, 5)
                for kind, length in works(rank).items():
                    if kind == "data":
                        span(rank, step, "enumerate(DataLoader)#next", "user_annotation", at, length)
                    elif kind != "host":
                        span(rank, step, kind, kind, at, length)
                    at += length
                arrived[rank] = at
            end = max(arrived.values()) + takes(group)
            for rank, at in arrived.items():
                columns = {"collective": "allreduce", "process_group": str(group[0]), "group_size": len(group)}
                span(rank, step, "ncclDevKernel_AllReduce", "kernel", at, end - at, message_bytes=1000, **columns)
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)


@pytest.mark.parametrize(
    ("works", "cause"),
    [
        (lambda rank: {"host": 0.4 if rank == 3 else 0.1, "compute": 1.0}, "host"),
        (lambda rank: {"data": 0.4 if rank == 3 else 0.1, "compute": 1.0}, "input"),
        (lambda rank: {"host": 0.1, "compute": 1.09 if rank == 3 else 1.0}, "gpu"),
    ],
)
def test_cause_of_being_late(warehouse: Warehouse, works: Callable[[int], Work], cause: str) -> None:
    late_run(warehouse, works)
    said = verdicts(warehouse)
    assert said.pop(3) == ("late", cause)
    assert set(said.values()) == {("ordinary", None)}


def test_to_be_last_of_two_in_half_of_the_cases_is_chance(warehouse: Warehouse) -> None:
    """Of 16 ranks in pairs each is last at half of its collectives; one in 16 would be so seldom."""
    chance = np.random.default_rng(4)
    late_run(
        warehouse, lambda rank: {"host": chance.exponential(0.3), "compute": 1.0}, [(k, k + 1) for k in range(0, 16, 2)]
    )
    rows = warehouse.ask("FROM late_ranks()")
    assert sum(row["times_last"] >= row["collectives"] / 2 for row in rows) >= 8
    assert not [row["rank"] for row in rows if row["cause"]] and min(row["q"] for row in rows) > 0.05


def test_a_slow_gpu_is_late_as_well_and_called_slow(warehouse: Warehouse) -> None:
    late_run(warehouse, lambda rank: {"compute": 1.5 if rank == 3 else 1.0})
    said = verdicts(warehouse)
    assert said.pop(3) == ("slow", "gpu")
    assert set(said.values()) == {("ordinary", None)}
    assert warehouse.column("SELECT cause FROM late_ranks() WHERE rank = 3") == ["gpu"]


def test_lateness_that_comes_from_upstream_is_passed_on_not_caused(warehouse: Warehouse) -> None:
    late_run(warehouse, lambda rank: {"communication": 0.6 if rank == 3 else 0.1, "compute": 1.0})
    assert set(verdicts(warehouse).values()) == {("ordinary", None)}
    assert warehouse.column("SELECT reason FROM outlier_gpus() WHERE rank = 3") == [
        "late because it waits for other ranks itself"
    ]


def test_ranks_that_are_late_in_turns_are_not_named(warehouse: Warehouse) -> None:
    turns = iter(range(10_000))
    late_run(warehouse, lambda rank: {"host": 0.1 + 0.3 * (next(turns) % 7 == 0), "compute": 1.0})
    assert set(verdicts(warehouse).values()) == {("ordinary", None)}


def test_a_group_whose_collectives_take_longer(warehouse: Warehouse) -> None:
    groups = [range(n, n + 2) for n in range(0, 8, 2)]
    late_run(warehouse, lambda rank: {"compute": 1.0}, groups, takes=lambda ranks: 0.05 if ranks[0] == 4 else 0.01)
    said = verdicts(warehouse)
    assert {rank for rank, one in said.items() if one == ("late", "network")} == {4, 5}
    assert {one for rank, one in said.items() if rank not in (4, 5)} == {("ordinary", None)}
    assert "collectives of its group take 5.00 times" in warehouse.column(
        "SELECT evidence FROM outlier_gpus() WHERE rank = 4"
    )[0]  # fmt: skip
