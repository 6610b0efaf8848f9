"""Queries over traces: numbers reckoned by hand.

The trace `traced` of `fixtures/queries/tables/events.csv` has two ranks of two steps; times below are in microseconds.
"""

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from test_queries import FIXTURES, Row, Warehouse

CLASSES = {
    "communication": [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
        "rcclDevKernel_Generic_1",
        "void mscclKernel_Sum_float_LL<true>(ncclDevComm*)",
        "oneccl_allreduce_small",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "void tensorrt_llm::kernels::twoShotAllReduceKernel<float, 8>()",
        "one_shot_all_reduce_kernel",
        "userbuffers_fp16_sum_inplace_gpu_rr_rw",
    ],
    "memory": ["Memcpy DtoD (Device -> Device)", "hipMemset", "dma_request", "__amd_rocclr_copyBuffer"],
    "compute": [
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm>()",
        "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda>()",
        "void blockAllReduce<float>(float*)",
        "_combined_routing_memset",
        "triton_red_fused_mean_0",
        None,
    ],
    None: ["event_wait"],
}


@pytest.fixture
def traced() -> Iterator[Warehouse]:
    """The trace of two ranks and two steps."""
    warehouse = Warehouse()
    events = FIXTURES / "tables" / "events.csv"
    warehouse.connection.execute(f"INSERT INTO events BY NAME FROM read_csv('{events}', nullstr = '')")
    yield warehouse


@pytest.fixture
def warehouse() -> Warehouse:
    return Warehouse()


def event(name: str | None, category: str, start: float, end: float, **columns: Any) -> Row:
    """An event from start to end in microseconds, of one rank's trace."""
    ns = {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000)}
    return {"run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "name": name, "category": category, **ns, **columns}


# Which class


@pytest.mark.parametrize(("kind", "names"), CLASSES.items())
def test_class_of_a_kernel_by_its_name(warehouse: Warehouse, kind: str | None, names: list[str | None]) -> None:
    for name in names:
        got = warehouse.connection.execute("SELECT kernel_class(?, 'kernel')", [name]).fetchall()
        assert got == [(kind,)], name


def test_the_category_says_what_is_work_of_a_device(warehouse: Warehouse) -> None:
    for category in ("gpu_memcpy", "gpu_memset", "memcpy", "memset"):
        assert warehouse.column(f"SELECT kernel_class('fill', '{category}')") == ["memory"]
    for category in ("cpu_op", "cuda_sync", "gpu_user_annotation", "cuda_runtime", "user_annotation"):
        assert warehouse.column(f"SELECT kernel_class('nccl:all_reduce', '{category}')") == [None]
    assert warehouse.column("SELECT kernel_class('gemm', NULL)") == [None]


# Which events


def test_a_host_operator_that_names_a_stream_is_no_work(warehouse: Warehouse) -> None:
    """Triton's: its kernel is counted, once."""
    warehouse.insert("events", [
        event("triton_poi_fused_0", "cpu_op", 0, 50, stream=7),
        event("triton_poi_fused_0", "kernel", 10, 20, stream=7, correlation=1),
    ])  # fmt: skip
    assert warehouse.column("SELECT category FROM gpu_events()") == ["kernel"]
    assert warehouse.column("SELECT category FROM gpu_events(steps := 'hta')") == ["kernel"]


def test_work_belongs_to_the_step_that_launched_it(warehouse: Warehouse) -> None:
    warehouse.insert("events", [
        event("ProfilerStep#1", "user_annotation", 0, 100, train_step=1),
        event("ProfilerStep#2", "user_annotation", 100, 200, train_step=2),
        event("cudaLaunchKernel", "cuda_runtime", 90, 95, correlation=1, train_step=1),
        event("late", "kernel", 110, 120, stream=7, correlation=1, train_step=2),
        event("unlinked", "kernel", 130, 140, stream=7, correlation=2, train_step=2),
        event("outside", "kernel", 230, 240, stream=7, correlation=3),
    ])  # fmt: skip
    asked = "SELECT name, train_step FROM gpu_events(steps := '{}') ORDER BY start_ns"
    assert warehouse.ask(asked.format("all")) == [
        {"name": "late", "train_step": 1},
        {"name": "unlinked", "train_step": 2},
        {"name": "outside", "train_step": None},
    ]
    assert warehouse.ask(asked.format("complete")) == [{"name": "late", "train_step": 1}]
    assert warehouse.ask(asked.format("hta")) == [{"name": "late", "train_step": 1}]


def test_a_single_step_is_complete(warehouse: Warehouse) -> None:
    warehouse.insert("events", [
        event("ProfilerStep#7", "user_annotation", 0, 100, train_step=7),
        event("gemm", "kernel", 10, 20, stream=7, correlation=2, train_step=7),
        event("outside", "kernel", 130, 140, stream=7, correlation=3),
    ])  # fmt: skip
    assert warehouse.column("SELECT name FROM gpu_events(steps := 'complete')") == ["gemm"]
    assert len(warehouse.column("SELECT name FROM gpu_events(steps := 'hta')")) == 2


def test_hta_keeps_what_was_launched_before_the_last_annotation_on_host_or_device(warehouse: Warehouse) -> None:
    steps = [
        event("ProfilerStep#1", "user_annotation", 0, 100, train_step=1),
        event("ProfilerStep#2", "user_annotation", 100, 200, train_step=2),
    ]
    work = [
        event("cudaLaunchKernel", "cuda_runtime", 120, 125, correlation=1, train_step=2),
        event("gemm", "kernel", 150, 160, stream=7, correlation=1, train_step=2),
    ]
    warehouse.insert("events", steps + work)
    assert warehouse.column("SELECT name FROM gpu_events(steps := 'hta')") == []
    warehouse.insert("events", [event("ProfilerStep#2", "gpu_user_annotation", 140, 200, train_step=2)])
    assert warehouse.column("SELECT name FROM gpu_events(steps := 'hta')") == ["gemm"]
    warehouse.insert("events", [event("job_run", "mtia_runtime", 110, 115, correlation=1, train_step=2)])
    assert len(warehouse.column("SELECT name FROM gpu_events(steps := 'hta')")) == 2, "once per call"
    assert len(warehouse.column("SELECT name FROM gpu_events()")) == 1


def test_steps_is_one_of_three(traced: Warehouse) -> None:
    with pytest.raises(duckdb.Error, match="steps is 'all', 'complete' or 'hta'"):
        traced.ask("FROM gpu_events(steps := 'some')")
