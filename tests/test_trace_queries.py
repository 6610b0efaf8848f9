"""Queries over traces: numbers reckoned by hand.

The trace `traced` of `fixtures/queries/tables/events.csv` has two ranks of two steps; times below are in microseconds.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from little_warehouse import FIXTURES, Row, Warehouse
from scalelens.parsing.kernel_classes import classes, kernel_class

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
        "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16",
        "oneccl_reduce_base<float, 2, 16, 1, 1, 2>",
        "EpDispatchIntraNodeKernel_bf16",
        "void dpsk::ep::internode::combine<false, 8, __nv_bfloat16, 8, 2, 16, 24>(int4*, float*)",
        "void deep_ep::intranode::dispatch<8, 512>(int4*, float*)",
        "void my::intranode::notify_dispatch<8>(int const*)",
        "nvshmemi_transfer_rma_put",
        "void mscclpp::allreduceKernel<float>()",
        "void multimem_one_shot_reduce_kernel<c10::BFloat16>()",
        "put_signal_kernel",
        "aclnnMoeDistributeDispatch_MoeDistributeDispatch",
        "hcclAllReduce_0",
        "void mori::moe::EpCombineInterNodeKernel<float>(mori::moe::EpDispatchCombineArgs<float>)",
        "ep_combine_intranode_0",
        "void hybrid_ep::dispatch_kernel<128>()",
        "void moeA2ADispatchKernel<8, false>(int const*)",
        "void a2a_kernels::a2a_combine_recv_kernel<16>()",
        "hcom_send_",
        "all-reduce.12",
        "collective-permute-start.3",
    ],
    "memory": [
        "Memcpy DtoD (Device -> Device)",
        "hipMemset",
        "dma_request",
        "__amd_rocclr_copyBuffer",
        "zeCommandListAppendMemoryCopy(M2D)[4096 bytes]",
    ],
    "compute": [
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm>()",
        "void at::native::vectorized_elementwise_kernel<4, at::native::direct_copy_kernel_cuda>()",
        "void blockAllReduce<float>(float*)",
        "_combined_routing_memset",
        "triton_red_fused_mean_0",
        "triton_poi_fused_all_gather_into_tensor_wait_tensor_4",
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
        "Cijk_Alik_Bljk_BBS_BH_MT128x96x64_MI16x16x16x1",
        "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<float>()",
        "step_combine_interleaved",
        "void dpsk::ep::cuda::get_dispatch_layout<256, 32, 8>(long const*, int*)",
        "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, long*>>()",
        None,
    ],
    None: ["event_wait", "zeCommandListAppendBarrier"],
}


@pytest.fixture
def traced() -> Iterator[Warehouse]:
    """The trace of two ranks and two steps."""
    warehouse = Warehouse()
    events = FIXTURES / "tables" / "events.csv"
    warehouse.connection.execute(f"INSERT INTO events BY NAME FROM read_csv('{events}', nullstr = '')")
    yield warehouse


def event(name: str | None, category: str, start: float, end: float, **columns: Any) -> Row:
    """An event from start to end in microseconds, of one rank's trace."""
    ns = {"start_ns": round(start * 1000), "duration_ns": round((end - start) * 1000)}
    return {"run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "name": name, "category": category, **ns, **columns}


# Which class


@pytest.mark.parametrize(("kind", "names"), CLASSES.items())
def test_class_of_a_kernel_by_its_name(kind: str | None, names: list[str | None]) -> None:
    for name in names:
        assert kernel_class(name, "kernel") == kind, name
    columns = pa.array(["x", *names], pa.string()), pa.array(["cpu_op", *["kernel"] * len(names)])
    assert classes(*columns).to_pylist() == [None, *[kind] * len(names)]


def test_the_category_says_what_is_work_of_a_device() -> None:
    for category in ("gpu_memcpy", "gpu_memset", "memcpy", "memset"):
        assert kernel_class("fill", category) == "memory"
    for category in ("cpu_op", "cuda_sync", "gpu_user_annotation", "cuda_runtime", "user_annotation"):
        assert kernel_class("nccl:all_reduce", category) is None
    assert kernel_class("gemm", None) is None
    assert kernel_class("gen12_conv[SIMD16 {64; 1; 1} {32; 1; 1}]", "gpu_op") == "compute"


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


def test_a_step_on_the_device_lasts_until_its_last_stream_ends(warehouse: Warehouse) -> None:
    warehouse.insert("events", [
        event("ProfilerStep#2", "user_annotation", 100, 200, train_step=2),
        event("ProfilerStep#2", "gpu_user_annotation", 140, 200, train_step=2),
        event("ProfilerStep#2", "gpu_user_annotation", 150, 260, train_step=2),
    ])  # fmt: skip
    (row,) = warehouse.ask("FROM trace_steps()")
    assert (row["duration_ns"], row["device_start_ns"], row["device_duration_ns"]) == (100_000, 140_000, 120_000)


def test_steps_is_one_of_three(traced: Warehouse) -> None:
    with pytest.raises(duckdb.Error, match="steps is 'all', 'complete' or 'hta'"):
        traced.ask("FROM gpu_events(steps := 'some')")


# Where the time goes


def test_breakdown_of_ranks_and_steps(traced: Warehouse) -> None:
    """Rank 0, step 1: kernels 200-500 and 510-610, an all-reduce 550-800, a copy 850-900."""
    columns = "rank, train_step, span_ns, compute_ns, exposed_comm_ns, exposed_memory_ns, idle_ns"
    rows = traced.connection.execute(f"SELECT {columns} FROM temporal_breakdown(per := 'step')").fetchall()
    assert [(*row[:2], *(ns / 1000 for ns in row[2:])) for row in rows] == [
        (0, 1, 700, 400, 190, 50, 60), (0, 2, 750, 400, 300, 0, 50),
        (1, 1, 700, 500, 80, 50, 70), (1, 2, 750, 600, 100, 0, 50),
    ]  # fmt: skip
    # Per rank the time between the steps is idle.
    assert traced.column("SELECT idle_ns FROM temporal_breakdown()") == [410_000, 420_000]
    complete = traced.column("SELECT span_ns FROM temporal_breakdown(steps := 'complete')")
    assert complete == traced.column("SELECT span_ns FROM temporal_breakdown(steps := 'hta')") == [700_000, 700_000]
    with pytest.raises(duckdb.Error, match="per is 'rank' or 'step'"):
        traced.ask("FROM temporal_breakdown(per := 'node')")


def test_a_kernel_that_may_be_communication_is_named(warehouse: Warehouse) -> None:
    """No name is taken for communication that is not known; one is said to be in doubt by its stream or the trace."""
    work = {"run_id": "r", "file_id": "f", "rank": 0, "process": "0"}
    kernels = [
        event("gemm", "kernel", 0, 500, stream=7, **work),
        event("ncclDevKernel_AllReduce", "kernel", 0, 300, stream=20, **work),
        event("warp_speed_exchange", "kernel", 300, 400, stream=20, **work),
        event("fabric_sum", "kernel", 500, 600, stream=7, collective="allreduce", **work),
    ]
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", kernels)
    (row,) = warehouse.ask("FROM temporal_breakdown()")
    assert row["note"] == "may be communication, but counts as compute: fabric_sum, warp_speed_exchange"
    warehouse.connection.execute("DELETE FROM events WHERE name IN ('fabric_sum', 'warp_speed_exchange')")
    assert warehouse.column("SELECT note FROM temporal_breakdown()") == [None]
    warehouse.insert("events", [event("void fabric::recv(int)", "kernel", 600, 700, stream=7, **work)])
    (note,) = warehouse.column("SELECT note FROM temporal_breakdown()")
    assert note == "may be communication, but counts as compute: void fabric::recv(int)"


def test_tokens_between_experts_are_a_kind_of_their_own(warehouse: Warehouse) -> None:
    names = {
        "void deep_ep::internode::dispatch<false, 8>(int4*)": "expert_dispatch",
        "void dpsk::ep::intranode::combine<8>(int4*)": "expert_combine",
        "void deep_ep::internode::cached_notify<false>(int)": "expert_exchange",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL": "all_reduce",
    }
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [
        event(name, "kernel", 10 * n, 10 * n + 5, line=n, stream=20) for n, name in enumerate(names)
    ])  # fmt: skip
    assert warehouse.column("SELECT kind FROM collective_calls() ORDER BY start_ns") == [*names.values()]


def test_kernels_hang_on_the_operators_around_their_launch(warehouse: Warehouse) -> None:
    host = {"process": "1", "thread": "1"}
    warehouse.insert("events", [
        event("aten::linear", "cpu_op", 0, 50, line=1, **host),
        event("aten::mm", "cpu_op", 10, 40, line=2, **host),
        event("aten::relu", "cpu_op", 50, 60, line=3, **host),
        event("cudaLaunchKernel", "cuda_runtime", 12, 14, line=4, correlation=1, **host),
        event("cudaLaunchKernel", "cuda_runtime", 45, 46, line=5, correlation=2, **host),
        event("cudaLaunchKernel", "cuda_runtime", 50, 51, line=6, correlation=3, **host),
        event("cudaLaunchKernel", "cuda_runtime", 70, 71, line=7, correlation=4, **host),
        event("cudaLaunchKernel", "cuda_runtime", 20, 21, line=8, correlation=5, process="1", thread="2"),
        event("gemm", "kernel", 20, 40, line=11, stream=7, correlation=1),
        event("bias", "kernel", 50, 55, line=12, stream=7, correlation=2),
        event("relu", "kernel", 60, 70, line=13, stream=7, correlation=3),
        event("relu", "kernel", 80, 85, line=14, stream=7, correlation=4),
        event("other", "kernel", 90, 95, line=15, stream=7, correlation=5),
        event("unlinked", "kernel", 96, 98, line=16, stream=7, correlation=9),
    ])  # fmt: skip
    rows = warehouse.connection.execute("SELECT operators, name, total_ns / 1000 FROM kernel_tree()").fetchall()
    assert rows == [
        ("aten::linear / aten::mm", "gemm", 20), ("aten::relu", "relu", 10), ("aten::linear", "bias", 5),
        (None, "other", 5), (None, "relu", 5), (None, "unlinked", 2),
    ]  # fmt: skip
    assert sum(warehouse.column("SELECT share FROM kernel_tree()")) == pytest.approx(1)


def test_overlap_of_ranks_and_steps(traced: Warehouse) -> None:
    asked = "SELECT overlapped_ns / 1000, communication_ns / 1000 FROM comm_overlap(per := 'step')"
    assert traced.connection.execute(asked).fetchall() == [(60, 250), (100, 400), (20, 100), (0, 100)]
    warehouse = Warehouse()
    warehouse.insert("events", [event("gemm", "kernel", 0, 5, stream=7)])
    assert warehouse.column("SELECT overlap_share FROM comm_overlap()") == [None]


def test_a_trace_without_work_of_a_device_has_no_rows(warehouse: Warehouse) -> None:
    """HTA fails on it."""
    warehouse.insert("events", [event("aten::mm", "cpu_op", 0, 50, line=1, process="1", thread="1")])
    for query in ("temporal_breakdown", "comm_overlap", "kernel_summary", "idle_causes", "queue_length"):
        assert warehouse.ask(f"FROM {query}()") == []
    assert warehouse.column("SELECT kernel_ns FROM op_summary()") == [0]


TIMES = st.lists(
    st.tuples(st.sampled_from(["compute", "communication", "memory"]), st.integers(0, 60), st.integers(0, 20)),
    min_size=1,
    max_size=12,
)
NAMES = {"compute": "gemm", "communication": "ncclDevKernel", "memory": "Memset"}


@settings(max_examples=40, deadline=None)
@given(TIMES)
def test_sweep_agrees_with_counting_every_nanosecond(work: list[tuple[str, int, int]]) -> None:
    warehouse = Warehouse()
    warehouse.insert("events", [
        {"run_id": "r", "file_id": "f", "line": line, "name": NAMES[kind], "category": "kernel", "stream": line,
         "start_ns": start, "duration_ns": duration}
        for line, (kind, start, duration) in enumerate(work)
    ])  # fmt: skip
    running: dict[int, set[str]] = defaultdict(set)
    for kind, start, duration in work:
        for instant in range(start, start + duration):
            running[instant].add(kind)
    first, last = min(start for _, start, _ in work), max(start + duration for _, start, duration in work)
    states = [running[instant] for instant in range(first, last)]
    (row,) = warehouse.ask("FROM temporal_breakdown()")
    assert row["span_ns"] == last - first
    assert row["compute_ns"] == sum("compute" in state for state in states)
    assert row["exposed_comm_ns"] == sum("communication" in s and "compute" not in s for s in states)
    assert row["exposed_memory_ns"] == sum(state == {"memory"} for state in states)
    assert row["idle_ns"] == sum(not state for state in states)


# Streams and operators


def test_what_a_stream_waited_for(traced: Warehouse) -> None:
    """Rank 0, stream 7: 10 us between kernels, 100 us for the all-reduce, twice for the host."""
    asked = "SELECT cause, gaps, idle_ns / 1000 FROM idle_causes({}) WHERE rank = 0 AND stream = 7"
    assert traced.connection.execute(asked.format("")).fetchall() == [
        ("host", 2, 540), ("kernel", 1, 10), ("other", 1, 100),
    ]  # fmt: skip
    assert traced.connection.execute(asked.format("kernel_wait_us := 5")).fetchall() == [
        ("host", 2, 540), ("other", 2, 110),
    ]  # fmt: skip


def test_work_that_overlaps_on_a_stream_leaves_no_gap_below_zero(warehouse: Warehouse) -> None:
    """And the gap after it is counted from the end of the longest, not of the last."""
    warehouse.insert("events", [
        event("long", "kernel", 0, 100, stream=7), event("short", "kernel", 10, 20, stream=7),
        event("next", "kernel", 130, 140, stream=7),
    ])  # fmt: skip
    gaps = warehouse.ask("SELECT gaps, min_ns, max_ns FROM idle_causes(kernel_wait_us := 50)")
    assert gaps == [{"gaps": 2, "min_ns": 0, "max_ns": 30_000}]


def test_a_graph_is_one_entry_of_the_queue(warehouse: Warehouse) -> None:
    graph = [event(f"k{n}", "kernel", 20 + 10 * n, 25 + 10 * n, stream=7, correlation=1, line=n) for n in range(5)]
    warehouse.insert("events", [event("cudaGraphLaunch", "cuda_runtime", 0, 10, correlation=1), *graph])
    (row,) = warehouse.ask("FROM queue_length(full_queue := 1)")
    assert (row["changes"], row["max_length"], row["full_ns"]) == (2, 1, 20_000)


def test_time_of_nested_operators(warehouse: Warehouse) -> None:
    on = {"process": "1", "thread": "1"}
    warehouse.insert("events", [
        event("outer", "cpu_op", 0, 100, line=1, **on),
        event("inner", "cpu_op", 0, 40, line=2, **on),  # begins with it
        event("empty", "cpu_op", 40, 40, line=3, **on),  # begins with the next
        event("inner", "cpu_op", 40, 100, line=4, **on),  # ends with it
        event("next", "cpu_op", 100, 130, line=5, **on),
        event("elsewhere", "cpu_op", 0, 130, line=6, process="1", thread="2"),
        event("cudaLaunchKernel", "cuda_runtime", 50, 55, line=7, correlation=1, **on),
        event("cudaLaunchKernel", "cuda_runtime", 100, 105, line=8, correlation=2, **on),
        event("gemm", "kernel", 60, 90, line=9, stream=7, correlation=1),
        event("add", "kernel", 110, 115, line=10, stream=7, correlation=2),
    ])  # fmt: skip
    columns = "line, depth, parent_line, self_ns / 1000, kernel_ns / 1000, subtree_kernel_ns / 1000"
    assert warehouse.connection.execute(f"SELECT {columns} FROM op_calls() ORDER BY line").fetchall() == [
        (1, 0, None, 0, 0, 30), (2, 1, 1, 40, 0, 0), (3, 2, 4, 0, 0, 0), (4, 1, 1, 60, 30, 30),
        (5, 0, None, 30, 5, 5), (6, 0, None, 130, 0, 0),
    ]  # fmt: skip
    sequences = warehouse.ask("SELECT name, sequence FROM kernel_sequences() ORDER BY name")
    assert sequences == [{"name": "inner", "sequence": "gemm"}, {"name": "next", "sequence": "add"}]
    assert warehouse.column("SELECT name FROM kernel_sequences(op := 'ut')") == ["outer"]


def test_bytes_that_a_trace_does_not_tell_are_not_known(warehouse: Warehouse) -> None:
    for line, args in enumerate((None, '{"bytes": "13248"}', '{"bytes": nan, "cut', '{"bytes": 1000, "size": 5}')):
        copy = event("Memcpy DtoD (Device -> Device)", "gpu_memcpy", line, line + 1, line=line, args=args)
        warehouse.insert("events", [copy])
    assert warehouse.column("SELECT moved_bytes FROM memory_events() ORDER BY line") == [None, 13248, None, 1000]
    (row,) = warehouse.ask("FROM memory_copies()")
    assert (row["copies"], row["total_bytes"], row["gb_per_s"]) == (4, 14248, 14248 / 2000)


def test_diff_of_traces(traced: Warehouse) -> None:
    traced.insert("events", [
        event("fused", "kernel", 0, 5, file_id="t1", rank=1, line=99, stream=7),
        event("sgemm_128x64_nn", "kernel", 0, 100, file_id="t1", rank=1, line=98, stream=7),
    ])  # fmt: skip
    changes = dict(traced.connection.execute("SELECT name, change FROM trace_diff()").fetchall())
    assert (changes["fused"], changes["sgemm_128x64_nn"], changes["aten::mm"]) == ("added", "increased", "unchanged")
    back = dict(traced.connection.execute("SELECT name, change FROM trace_diff('rank = 1', 'rank = 0')").fetchall())
    assert (back["fused"], back["sgemm_128x64_nn"]) == ("deleted", "decreased")


def test_runs_select_traces(traced: Warehouse) -> None:
    traced.insert("runs", [{"run_id": "traced", "name": "it"}])
    assert len(traced.ask("FROM temporal_breakdown(runs := 'name = ''it''')")) == 2
    assert traced.ask("FROM temporal_breakdown(runs := 'name = ''other''')") == []
    for query in ("op_calls", "kernel_sequences", "annotation_summary", "trace_steps"):
        assert traced.ask(f"FROM {query}(runs := 'name = ''it''')")
        assert traced.ask(f"FROM {query}(runs := 'name = ''other''')") == []


def test_annotations_with_sizes_are_one_and_twins_count_once(warehouse: Warehouse) -> None:
    def twin(name: str, start: float, end: float, external: int | None, stream: int) -> Row:
        args = None if external is None else f'{{"External id": {external}}}'
        return event(name, "gpu_user_annotation", start, end, thread=str(stream), line=int(start), args=args)

    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [
        event("step[DECODE bs=16]", "user_annotation", 0, 30, line=900),
        event("step[DECODE bs=8]", "user_annotation", 40, 50, line=901),
        event("conv2d", "user_annotation", 60, 61, line=902),
        twin("step[DECODE bs=16]", 10, 40, 1, 7), twin("step[DECODE bs=16]", 20, 70, 1, 20),
        twin("step[DECODE bs=8]", 80, 90, 2, 7), twin("other", 100, 105, None, 7), twin("other", 110, 115, None, 20),
    ])  # fmt: skip
    asked = "SELECT side, name, names, calls, total_ns / 1000 AS us FROM annotation_summary({})"
    assert [tuple(row.values()) for row in warehouse.ask(asked.format(""))] == [
        ("device", "step[DECODE bs=N]", 2, 2, 70), ("device", "other", 1, 2, 10),
        ("host", "step[DECODE bs=N]", 2, 2, 40), ("host", "conv2d", 1, 1, 1),
    ]  # fmt: skip
    apart = warehouse.ask(asked.format("steps := 'hta'"))
    assert ("device", "step[DECODE bs=16]", 1, 2, 80) in [tuple(row.values()) for row in apart]


def test_a_kernel_without_a_name_is_a_sentence_of_the_report() -> None:
    """A damaged trace ended the report with a TypeError."""
    from scalelens.report.findings import kernels

    rows = pl.DataFrame({"run_id": ["r"], "name": pl.Series([None], dtype=pl.String), "calls": [2], "share": [0.5]})
    (sentence,) = kernels.sentences(rows, {"r": "damaged"})
    assert sentence.text == "damaged: work without a name takes 50.0 % of the device's work, in 2 calls."
