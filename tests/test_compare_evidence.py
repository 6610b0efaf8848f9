"""Causes that are generated, and told apart: what `compare` shows beside its verdict."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from little_warehouse import Warehouse

Values = npt.NDArray[np.float64]
RANKS, STEPS = 8, 60
START = datetime(2026, 11, 20)


def noisy(level: float, seed: int = 0) -> Values:
    return level * (1 + 0.005 * np.random.default_rng(seed).standard_normal(STEPS))


def job(
    warehouse: Warehouse, run: str, times: Sequence[float] | Values, waits: Values | None = None,
    compute: Values | None = None,
) -> None:  # fmt: skip
    """A job of two nodes whose steps take these times; each rank's wait for data and time of computing per step."""
    ends = START + np.cumsum(np.array(times)) * timedelta(seconds=1)
    warehouse.insert("runs", [{"run_id": run, "devices": RANKS, "devices_per_node": RANKS // 2, "nodes": 2}])
    common = {"run_id": run, "file_id": run, "attempt": 0, "averaged_steps": 1, "value_kind": "instant"}
    rows = [common | {"line": k, "step": k, "step_s": time, "ts": ends[k]} for k, time in enumerate(times)]
    warehouse.insert("step_times", rows)
    waits = noisy(0.01) if waits is None else waits
    logged = [row | {"phase": "train", "rank": r, "data_s": waits[row["line"]]} for row in rows for r in range(RANKS)]
    warehouse.insert("steps", [{key: value for key, value in row.items() if key != "ts"} for row in logged])
    compute = np.array([noisy(0.8, seed) for seed in range(RANKS)]) if compute is None else compute
    kernels = [
        {
            "run_id": run, "file_id": f"{run}-{rank}", "rank": rank, "line": step, "ph": "X", "name": "sgemm",
            "category": "kernel", "train_step": step, "start_ns": step * 10**10, "duration_ns": round(value * 1e9),
        }
        for (rank, step), value in np.ndenumerate(compute)
    ]  # fmt: skip
    warehouse.insert("events", kernels)


def signs(warehouse: Warehouse) -> dict[str, str]:
    return {
        row["cause"]: row["evidence"]
        for row in warehouse.ask("FROM compare_evidence(a := 'before', b := 'after')")
        if row["is_there"]
    }


def sentence(warehouse: Warehouse) -> str:
    return str(warehouse.ask("FROM compare(a := 'before', b := 'after')")[0]["sentence"])


def computing(slow_ranks: Sequence[int]) -> Values:
    return np.array([noisy(1.0 if rank in slow_ranks else 0.8, rank) for rank in range(RANKS)])


def metric(warehouse: Warehouse, run: str, name: str, values: Sequence[float] | Values, unit: str) -> None:
    rows = [
        {"run_id": run, "rank": 0, "step": step, "name": name, "value": float(value), "unit": unit, "stat": "value"}
        for step, value in enumerate(values)
    ]
    warehouse.insert("metrics", rows)


def test_the_same_job_again_shows_no_sign(warehouse: Warehouse) -> None:
    job(warehouse, "before", noisy(1.0))
    job(warehouse, "after", noisy(1.0, 1))
    assert signs(warehouse) == {}


def test_a_slow_gpu_that_all_others_wait_for(warehouse: Warehouse) -> None:
    """All ranks' steps take 1.2 s; rank 5 alone computes longer."""
    job(warehouse, "before", noisy(1.0))
    job(warehouse, "after", noisy(1.2, 1), compute=computing([5]))
    found = signs(warehouse)
    assert list(found) == ["gpu"]
    assert found["gpu"].startswith("rank 5: computes 1.247 times as long as its peers")
    assert sentence(warehouse).startswith("within these runs b is 19.9 % slower")


def test_a_slow_node(warehouse: Warehouse) -> None:
    """Three of four nodes are as they were: of two nothing could be said."""
    for run, slow in (("before", []), ("after", [6, 7])):
        job(warehouse, run, noisy(1.2 if slow else 1.0), compute=computing(slow))
    warehouse.connection.execute("UPDATE runs SET devices_per_node = 2, nodes = 4")
    assert signs(warehouse) == {"node": "all ranks of node 3"}


def test_a_slow_input_pipeline(warehouse: Warehouse) -> None:
    job(warehouse, "before", noisy(1.0))
    job(warehouse, "after", noisy(1.3, 1), waits=noisy(0.3, 2))
    found = signs(warehouse)
    assert list(found) == ["input"]
    assert found["input"].startswith("a step is 0.299 s longer, the wait for data 0.29 s")


def test_thermal_throttling(warehouse: Warehouse) -> None:
    slower = np.linspace(1.0, 1.12, STEPS)
    job(warehouse, "before", noisy(1.0))
    job(warehouse, "after", noisy(1.0, 1) * slower)
    for run, clocks in (("before", np.full(STEPS, 1410.0)), ("after", 1410 / slower)):
        metric(warehouse, run, "sm_clock", clocks, "MHz")
    found = signs(warehouse)
    assert list(found) == ["throttling"]
    assert found["throttling"].startswith("clock falls by 7") and "longer" in found["throttling"]


def test_a_fragmented_allocator(warehouse: Warehouse) -> None:
    for run, level, reserved in (("before", 1.0, 22e9), ("after", 1.1, 38e9)):
        job(warehouse, run, noisy(level))
        metric(warehouse, run, "memory allocated", np.full(STEPS, 20e9), "bytes")
        metric(warehouse, run, "memory reserved", np.full(STEPS, reserved), "bytes")
    assert signs(warehouse) == {"allocator": "reserved is 1.90 times what is allocated in b, 1.10 times in a"}


def test_checkpoints_every_ten_steps(warehouse: Warehouse) -> None:
    times = noisy(1.0, 1)
    times[5::10] += 2.0
    job(warehouse, "before", noisy(1.0))
    job(warehouse, "after", times)
    saves = [{"run_id": "after", "phase": "checkpoint", "step": step, "attempt": 0} for step in range(5, STEPS, 10)]
    warehouse.insert("phases", saves)
    found = signs(warehouse)
    assert list(found) == ["periodic"]
    assert found["periodic"].startswith("every 10th step of b takes 3.0 times the median")
    assert found["periodic"].endswith("6 checkpoints are logged")
