"""The factors of the devices' efficiency: exact products, sums that other queries say, and what is not known."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import scalelens
from conftest import CORPUS
from little_warehouse import Row, Warehouse
from scalelens.ingestion.ingest import ingest

Times = npt.NDArray[np.int64]


def span(rank: int, step: int, name: str, category: str, start: int, length: int, run: str = "r") -> Row:
    return {
        "run_id": run, "file_id": f"{run}{rank}", "rank": rank, "ph": "X", "name": name, "category": category,
        "start_ns": start, "duration_ns": length, "train_step": step, "thread": "1", "process": "0",
    }  # fmt: skip


def trace(warehouse: Warehouse, kernels: Times, comms: Times, run: str = "r", length: int = 1000, **facts: Any) -> None:
    """A run whose ranks compute and then communicate in each step: nanoseconds of shape (ranks, steps)."""
    warehouse.insert("runs", [{"run_id": run, **facts}])
    rows = []
    for (rank, step), kernel in np.ndenumerate(kernels):
        at = step * length
        rows += [
            span(rank, step, f"ProfilerStep#{step}", "user_annotation", at, length, run),
            span(rank, step, "cudaLaunchKernel", "cuda_runtime", at, 100, run),
            span(rank, step, "gemm", "kernel", at, int(kernel), run),
            span(rank, step, "ncclDevKernel_AllReduce", "kernel", at + int(kernel) // 2, int(comms[rank, step]), run),
        ]
    warehouse.insert("events", rows)


def random_times(ranks: int, steps: int) -> tuple[Times, Times]:
    chance = np.random.default_rng(ranks + steps)
    return chance.integers(200, 500, (ranks, steps)), chance.integers(300, 480, (ranks, steps))


def test_factors_are_those_of_the_definition(warehouse: Warehouse) -> None:
    kernels, comms = random_times(5, 1)
    trace(warehouse, kernels, comms, devices=5)
    (row,) = warehouse.ask("FROM efficiency_tree()")
    compute, exposed = kernels[:, 0], np.maximum(comms - (kernels - kernels // 2), 0)[:, 0]
    spans = np.maximum(compute, compute // 2 + comms[:, 0])
    assert (row["ranks"], row["devices"], row["elapsed_ns"]) == (5, 5, spans.max())
    assert row["load_balance"] == pytest.approx(compute.mean() / compute.max(), rel=1e-12)
    assert row["communication_efficiency"] == pytest.approx(compute.max() / (compute + exposed).max(), rel=1e-12)
    assert row["orchestration_efficiency"] == pytest.approx((compute + exposed).max() / spans.max(), rel=1e-12)
    assert row["parallel_efficiency"] == pytest.approx(compute.mean() / spans.max(), rel=1e-12)


def test_a_step_lasts_until_the_next_begins(warehouse: Warehouse) -> None:
    kernels, comms = random_times(3, 4)
    trace(warehouse, kernels, comms)
    rows = warehouse.ask("FROM efficiency_tree(by_step := true)")
    assert [row["train_step"] for row in rows] == [0, 1, 2, 3]
    assert [row["elapsed_ns"] for row in rows[:3]] == [1000] * 3
    for row, compute in zip(rows, kernels.T, strict=True):
        assert row["mean_compute_ns"] == pytest.approx(compute.mean())
        assert row["parallel_efficiency"] == pytest.approx(compute.mean() / row["elapsed_ns"], rel=1e-12)
    assert len(warehouse.ask("FROM efficiency_tree(by_step := true, steps := 'complete')")) == 3


def test_perfect_devices_have_factors_of_one(warehouse: Warehouse) -> None:
    trace(warehouse, np.full((4, 1), 700), np.full((4, 1), 100), devices=4)
    (row,) = warehouse.ask("FROM efficiency_tree()")
    factors = ("load_balance", "communication_efficiency", "orchestration_efficiency", "parallel_efficiency")
    assert [row[factor] for factor in factors] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("ranks", "devices", "balance", "remark"),
    [
        (1, 8, None, "one rank of 8 devices was traced: the load balance is not known"),
        (2, 8, 0.75, "the load balance is that of 2 traced ranks of 8 devices"),
        (1, None, 1, "the number of devices is not known: one is assumed"),
        (1, 1, 1, None),
    ],
)
def test_balance_of_ranks_that_were_not_traced_is_not_made_up(
    warehouse: Warehouse, ranks: int, devices: int | None, balance: float | None, remark: str | None
) -> None:
    trace(warehouse, np.array([[600], [300]])[:ranks], np.full((2, 1), 100)[:ranks], devices=devices)
    (row,) = warehouse.ask("FROM efficiency_tree()")
    assert row["load_balance"] == balance
    assert (row["parallel_efficiency"] is None) == (balance is None)
    assert row["note"].startswith(remark or "no computation scalability")


def test_the_tree_of_the_host_stands_apart(warehouse: Warehouse) -> None:
    trace(warehouse, *random_times(2, 3))
    (row,) = warehouse.ask("FROM efficiency_tree()")
    assert (row["host_steps_ns"], row["host_runtime_ns"]) == (3000, 300)
    assert row["offload_efficiency"] == pytest.approx(0.9)
    warehouse.connection.execute("DELETE FROM events WHERE category = 'cuda_runtime'")
    (row,) = warehouse.ask("FROM efficiency_tree()")
    assert row["offload_efficiency"] is None


def test_computation_scales_against_the_base_of_the_series(warehouse: Warehouse) -> None:
    facts = {"model": "resnet50", "parameters": 25e6, "precision": "bf16", "device_model": "H100"}
    for run, devices, kernel in (("one", 1, 400), ("four", 4, 500)):
        size = {"devices": devices, "global_batch_size": 32 * devices}
        warehouse.run(run, [0.1] * 50, steps={"samples": 32.0 * devices}, **facts, **size)
        trace_of = np.full((devices, 3), kernel)
        warehouse.connection.execute(f"DELETE FROM runs WHERE run_id = '{run}'")
        trace(warehouse, trace_of, trace_of // 4, run, **facts, **size)
    rows = {row["run_id"]: row for row in warehouse.ask("FROM efficiency_tree()")}
    assert rows["one"]["computation_scalability"] == 1
    assert rows["four"]["computation_scalability"] == pytest.approx(0.8, rel=1e-12)
    assert rows["four"]["base_run_id"] == "one"
    assert rows["four"]["global_efficiency"] == pytest.approx(0.8 * rows["four"]["parallel_efficiency"], rel=1e-12)
    assert rows["four"]["note"] is None
    bars = warehouse.ask("SELECT * FROM waterfall() WHERE run_id = 'four' AND source = 'trace'")
    share_of = {row["part"]: row["percent"] / 100 for row in bars}
    left = rows["four"]["global_efficiency"]
    assert share_of["left"] == pytest.approx(left, rel=1e-12) and sum(share_of.values()) == pytest.approx(1, abs=1e-11)
    assert share_of["computation"] == pytest.approx((1 - left) * np.log(0.8) / np.log(left), rel=1e-12)
    (base,) = warehouse.ask("SELECT count(*) AS n FROM waterfall() WHERE run_id = 'one' AND part = 'computation'")
    assert base["n"] == 0
    assert rows["four"]["frequency_scalability"] is None
    clocks(warehouse, "four", 1200.0)
    rows = {row["run_id"]: row for row in warehouse.ask("FROM efficiency_tree()")}
    assert (rows["four"]["clock_mhz"], rows["four"]["frequency_scalability"]) == (1200, None), "the base has no clock"
    clocks(warehouse, "one", 1600.0)
    rows = {row["run_id"]: row for row in warehouse.ask("FROM efficiency_tree()")}
    assert (rows["one"]["frequency_scalability"], rows["one"]["cycle_scalability"]) == (1, 1)
    four = rows["four"]
    assert four["frequency_scalability"] == 0.75
    assert four["frequency_scalability"] * four["cycle_scalability"] == pytest.approx(0.8, rel=1e-12)
    assert four["computation_scalability"] == pytest.approx(0.8, rel=1e-12), (
        "the clock divides it and is no other factor"
    )


def clocks(warehouse: Warehouse, run: str, mhz: float) -> None:
    """A power file of one device: it works in every other sample, and clocks down between them."""
    file = {"run_id": run, "file_id": f"{run}-power"}
    samples = [
        {**file, "line": n, "node": "a", "device": "0", "scope": "gpu", "power_w": 100.0 + 300 * (n % 2)}
        for n in range(40)
    ]
    warehouse.insert("power", samples)
    warehouse.insert("metrics", [
        {**file, "line": n, "place": "a/0", "name": "sm_clock", "unit": "Hz", "value": 1e6 * (mhz if n % 2 else 300.0)}
        for n in range(40)
    ])  # fmt: skip


SETS = (
    "facebookresearch__HolisticTraceAnalysis/tests/data/df_index_resolver/df_index_resolver.json.gz",
    "facebookresearch__HolisticTraceAnalysis/tests/data/nccl_parser_config/nccl_data.json.gz",
    "AMD-AGI__TraceLens/tests/traces/mi300/resnet_act_checkpoint.json.gz",
    "AMD-AGI__TraceLens/tests/traces/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
    "facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz",
)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of real files beside the project")
def test_sums_are_those_of_the_breakdown_on_real_traces(tmp_path) -> None:
    ingest([CORPUS / "traces" / path for path in SETS], tmp_path / "w", jobs=1)
    connection = scalelens.connect(tmp_path / "w")
    for by_step, per in (("false", "rank"), ("true", "step")):
        compared = connection.execute(f"""
            SELECT count(*) AS n, bool_and(abs(t.mean_compute_ns * ranks - b.compute_ns) < 1) AS compute,
                bool_and(abs(t.mean_exposed_ns * ranks - b.exposed_ns) < 1) AS exposed, bool_and(elapsed_ns >= span_ns) AS spans,
                max(abs(parallel_efficiency / (t.mean_compute_ns / elapsed_ns) - 1)) AS off
            FROM efficiency_tree(by_step := {by_step}) AS t JOIN (
                SELECT run_id, train_step, sum(compute_ns) AS compute_ns, max(span_ns) AS span_ns,
                    sum(exposed_comm_ns + exposed_memory_ns) AS exposed_ns
                FROM temporal_breakdown(per := '{per}') GROUP BY ALL) AS b
            ON t.run_id = b.run_id AND t.train_step IS NOT DISTINCT FROM b.train_step""").fetchone()
        assert compared is not None
        rows, compute, exposed, spans, off = compared
        assert rows >= len(SETS) and compute and exposed and spans
        assert off < 1e-12
