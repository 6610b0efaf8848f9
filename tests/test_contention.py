"""Kernels during communication: by simulation no rank that only overlaps more is called slow, and slow ones are found.

Kernels scatter by 5 % from call to call, and all kernels of a rank by 1 % from step to step.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from little_warehouse import Warehouse
from scalelens.statistics.spans import time_beside

RANKS, STEPS, KERNELS = 8, 20, 30
BESIDE = 1.5  # times as long as without communication
STEP_NS = 10_000_000
ODD = 3  # the rank that differs
Times = npt.NDArray[np.float64]
Piece = dict[str, Any]  # columns of `events`
# How long the odd rank takes, and beside which share of its work communication runs: 0.4 for the others.  A rank that
# is slow comes last, so that its collectives are short.
SETTINGS = {"slow": (1.1, 0.4), "last": (1.1, 0.1), "overlaps": (1.0, 0.8), "both": (1.1, 0.8), "none": (1.0, 0.4)}
VERDICTS = {"slow": "slow", "last": "slow", "overlaps": "contention", "both": "slow", "none": "ordinary"}


def job(chance: np.random.Generator, setting: str) -> list[Piece]:
    """A piece for each rank and step: kernels one after the other, and a collective beside some of them."""
    pace, overlap = SETTINGS[setting]
    work = chance.lognormal(0, 1, KERNELS)
    work *= 0.5 * STEP_NS / work.sum()
    pieces = []
    for rank in range(RANKS):
        for step in range(STEPS):
            jitter = (1 + 0.01 * chance.standard_normal()) * (1 + 0.05 * chance.standard_normal(KERNELS))
            took = work * jitter * (pace if rank == ODD else 1)
            share = min((overlap if rank == ODD else 0.4) * chance.uniform(0.8, 1.2), 0.9)
            piece = beside(took, took.sum() * (0.9 - share), took.sum() * 0.9)
            pieces.append(piece | {"rank": rank, "train_step": step})
    return pieces


def beside(took: Times, begin: float, end: float) -> Piece:
    """Kernels of which the work from `begin` to `end` takes BESIDE times as long, and the collective that runs there."""
    edges = np.concatenate(([0], took.cumsum()))
    edges += (BESIDE - 1) * (np.clip(edges, begin, end) - begin)
    names = [f"gemm{n % 6}" for n in range(len(took))]
    return {
        "name": [*names, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"],
        "class": ["compute"] * len(took) + ["communication"],
        "start_ns": np.rint(np.append(edges[:-1], begin)).astype(np.int64),
        "end_ns": np.rint(np.append(edges[1:], begin + BESIDE * (end - begin))).astype(np.int64),
    }


def insert(warehouse: Warehouse, jobs: Sequence[list[Piece]]) -> None:
    warehouse.insert("runs", [{"run_id": str(n), "devices": RANKS} for n in range(len(jobs))])
    warehouse.connection.register(
        "said", pa.concat_tables([columns(str(n), piece) for n, one in enumerate(jobs) for piece in one])
    )
    warehouse.connection.execute("INSERT INTO events BY NAME FROM said")
    warehouse.connection.unregister("said")


def columns(run: str, piece: Piece) -> pa.Table:
    count, step = len(piece["name"]), piece["train_step"]
    return pa.table({
        "run_id": [run] * count, "file_id": [f"{run}-{piece['rank']}"] * count, "ph": ["X"] * count,
        "line": np.arange(count) + 1000 * step, "rank": np.full(count, piece["rank"], np.int32),
        "name": piece["name"], "class": piece["class"], "category": ["kernel"] * count,
        "start_ns": piece["start_ns"] + step * STEP_NS, "duration_ns": piece["end_ns"] - piece["start_ns"],
        "train_step": np.full(count, step),
    })  # fmt: skip


@pytest.mark.parametrize("jobs", [20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_rank_slower_by_a_tenth_is_named_and_one_that_only_overlaps_more_is_not(
    warehouse: Warehouse, setting: str, jobs: int
) -> None:
    chance = np.random.default_rng(len(setting))
    insert(warehouse, [job(chance, setting) for _ in range(jobs)])
    said = {(row["run_id"], row["rank"]): row["verdict"] for row in warehouse.ask("FROM outlier_gpus()")}
    right = sum(said[str(n), ODD] == VERDICTS[setting] for n in range(jobs))
    accused = {run for (run, rank), verdict in said.items()
               if verdict in ("slow", "intermittent") and (rank != ODD or VERDICTS[setting] != "slow")}  # fmt: skip
    assert right >= 0.95 * jobs
    assert len(accused) <= 0.02 * jobs


def within_collective(piece: Piece) -> list[int]:
    begin, end = piece["start_ns"][-1], piece["end_ns"][-1]
    spans = zip(piece["start_ns"][:-1], piece["end_ns"][:-1], strict=True)
    return [max(0, min(ends, end) - max(starts, begin)) for starts, ends in spans]


def test_the_factor_is_the_one_that_was_put_in_and_agrees_with_numpy(warehouse: Warehouse) -> None:
    pieces = job(np.random.default_rng(11), "both")
    insert(warehouse, [pieces])
    found = {row["rank"]: row for row in warehouse.ask("FROM contention(per := 'class')")}
    took = np.array([piece["end_ns"][:-1] - piece["start_ns"][:-1] for piece in pieces]).reshape(RANKS, STEPS, KERNELS)
    of_time = np.array([within_collective(piece) for piece in pieces]).reshape(took.shape)
    free = of_time <= 0.05 * took
    common = free.any(axis=1).sum(axis=0) >= RANKS / 2
    middles = np.array([np.median(took[:, :, k][free[:, :, k]]) if common[k] else np.nan for k in range(KERNELS)])
    usual = np.broadcast_to(middles, took.shape)
    pace = np.array([took[r][free[r] & common].sum() / usual[r][free[r] & common].sum() for r in range(RANKS)])
    paced = took / pace[:, None, None]
    alone = np.array(
        [np.median(paced[:, :, k][free[:, :, k]]) if free[:, :, k].any() else np.nan for k in range(KERNELS)]
    )
    for rank in range(RANKS):
        known = ~free[rank] & ~np.isnan(alone)
        work = (pace[rank] * np.broadcast_to(alone, (STEPS, KERNELS)))[known]
        factor = of_time[rank][known].sum() / (work - took[rank][known] + of_time[rank][known]).sum()
        assert found[rank]["pace"] == pytest.approx(pace[rank])
        assert found[rank]["beside_ns"] == of_time[rank].sum()
        assert found[rank]["added_ns"] == pytest.approx((took[rank][known] - work).sum(), abs=1)
        assert found[rank]["factor"] == pytest.approx(factor)
    assert found[ODD]["factor"] == pytest.approx(BESIDE, rel=0.02)
    assert found[ODD]["pace"] == pytest.approx(1.1, rel=0.02)
    kernels = warehouse.ask("FROM contention()")
    assert sum(row["total_ns"] for row in kernels) == took.sum()


def test_what_cannot_be_taken_out_is_not_called_slow(warehouse: Warehouse) -> None:
    """One kernel a step: during communication on one rank, without it on none of that name."""
    pieces = []
    for rank in range(RANKS):
        for step in range(STEPS):
            piece = beside(np.array([1e6]), 0, 1e6 if rank == ODD else 0)
            piece["name"][0] = f"gemm of rank {rank}"
            pieces.append(piece | {"rank": rank, "train_step": step})
    insert(warehouse, [pieces])
    (row,) = warehouse.ask(f"FROM outlier_gpus() WHERE rank = {ODD}")
    assert (row["verdict"], row["contention"], row["ratio"]) == ("unknown", None, 1.5)
    assert "no kernel shows how much longer that takes" in row["reason"]
    assert {said["note"] for said in warehouse.ask("FROM contention()")} == {
        "no communication runs at the same time", "too little of the rank's time is without communication",
    }  # fmt: skip


def test_time_beside_agrees_with_counting_instants() -> None:
    chance = np.random.default_rng(5)
    for _ in range(200):
        count = int(chance.integers(1, 12))
        starts = chance.integers(0, 40, count)
        ends = starts + chance.integers(0, 15, count)
        others = chance.random(count) < 0.4
        instants = np.arange(60)
        runs = np.zeros(60, bool)
        for start, end in zip(starts[others], ends[others], strict=True):
            runs |= (instants >= start) & (instants < end)
        expected = [int(runs[start:end].sum()) for start, end in zip(starts, ends, strict=True)]
        assert time_beside(starts, ends, others).tolist() == expected


def test_without_communication_nothing_is_beside_it(warehouse: Warehouse) -> None:
    piece = beside(np.array([1e6]), 0, 0) | {"rank": 0, "train_step": 0}
    piece["class"][1] = "compute"
    insert(warehouse, [[piece]])
    assert warehouse.ask("FROM kernels_beside()") == []
