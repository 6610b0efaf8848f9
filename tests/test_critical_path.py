"""The critical path across ranks: hand-made traces with known paths, and what a replay says of what is on it."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import scalelens
from command_line import Run, one_line
from little_warehouse import Row, Warehouse
from scalelens.errors import UserError
from scalelens.statistics.kernel_path import paths_of
from scalelens.statistics.kernel_trace import WORK
from test_trace_replays import NCCL, Rank, changed, straggler, trace_in

US = 1000


@pytest.fixture
def traces(warehouse: Warehouse) -> Warehouse:
    warehouse.insert("runs", [{"run_id": "r"}])
    return warehouse


def path(traces: Warehouse) -> dict[tuple[Any, ...], float]:
    """Microseconds of each kind, rank and name."""
    rows = traces.ask("FROM critical_path()")
    assert {row["step_ns"] for row in rows} == {sum(row["duration_ns"] for row in rows)}
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    return {(row["kind"], row["rank"], row["name"]): row["duration_ns"] / US for row in rows}


def test_the_path_leaves_a_collective_at_the_rank_that_came_last(traces: Warehouse) -> None:
    """Both ranks end at 332; rank 0 waits from 112 for the 300 microseconds of rank 1."""
    straggler(traces)
    found = path(traces)
    assert found[("compute", 1, "gemm")] == 300
    assert sum(time for (kind, _, name), time in found.items() if name == NCCL and kind == "communication") == 20
    assert all(kind != "compute" or rank == 1 for kind, rank, _ in found)
    assert sum(found.values()) == 2332


def test_a_host_that_is_late_is_on_the_path_and_its_device_is_not(traces: Warehouse) -> None:
    rank = Rank(begin=0)
    for called in range(0, 1200, 100):
        rank.launch(called, called + 12, 20)
    rank.write(traces, 1200)
    found = path(traces)
    assert found == {("host", 0, "end of the step"): 100, ("host", 0, "cudaLaunchKernel"): 1100}


def test_a_call_that_waits_leads_to_the_work_that_it_waited_for(traces: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.launch(0, 12, 200, name="long")
    rank.call(20, 194, "cudaStreamSynchronize")  # until 214
    rank.launch(300, 312, 50, name="last")
    rank.call(311, 55, "cudaDeviceSynchronize")
    rank.write(traces, 366)
    assert path(traces) == {
        ("launch", 0, "long"): 12, ("compute", 0, "long"): 200, ("host", 0, "cudaLaunchKernel"): 88,
        ("launch", 0, "last"): 12, ("compute", 0, "last"): 50, ("host", 0, "end of the step"): 4,
    }  # fmt: skip


def test_the_end_of_a_step_that_comes_just_after_its_work_waited_for_it(traces: Warehouse) -> None:
    """Without a call that waits in the trace; 300 microseconds later it would be the host's own time."""
    rank = Rank(begin=0)
    rank.launch(0, 12, 500)
    rank.write(traces, 530)
    assert path(traces) == {("launch", 0, "gemm"): 12, ("compute", 0, "gemm"): 500, ("host", 0, "end of the step"): 18}


def test_works_of_a_stream_that_overlap_by_rounding_follow_each_other(traces: Warehouse) -> None:
    """The first ends a nanosecond after the second starts; both were launched long before."""
    rank = Rank(begin=0)
    rank.launch(0, 12, 500.001, name="first")
    rank.launch(20, 512, 100, name="second")
    rank.call(40, 573, "cudaDeviceSynchronize")
    rank.write(traces, 615)
    assert path(traces) == {
        ("launch", 0, "first"): 12, ("compute", 0, "first"): 500, ("compute", 0, "second"): 100,
        ("host", 0, "end of the step"): 3,
    }  # fmt: skip


def test_work_that_starts_before_the_one_it_follows_has_ended_still_follows_it(traces: Warehouse) -> None:
    """By programmatic dependent launch, here 20 microseconds before."""
    rank = Rank(begin=0)
    rank.launch(0, 12, 500, name="first")
    rank.launch(20, 492, 120, name="second")
    rank.call(40, 573, "cudaDeviceSynchronize")
    rank.write(traces, 615)
    assert path(traces) == {
        ("launch", 0, "first"): 12, ("compute", 0, "first"): 480, ("compute", 0, "second"): 120,
        ("host", 0, "end of the step"): 3,
    }  # fmt: skip


def test_work_that_waits_for_no_known_reason_waited_for_its_busy_device(traces: Warehouse) -> None:
    """A kernel of another stream, launched early, starts 30 microseconds after the kernel that filled the device."""
    rank = Rank(begin=0)
    rank.launch(0, 12, 500, name="long")
    rank.launch(20, 542, 100, name="late", stream=8)
    rank.call(40, 603, "cudaDeviceSynchronize")
    rank.write(traces, 645)
    assert path(traces) == {
        ("launch", 0, "long"): 12, ("compute", 0, "long"): 500, ("gap", 0, "late"): 30, ("compute", 0, "late"): 100,
        ("host", 0, "end of the step"): 3,
    }  # fmt: skip


def test_work_without_launches_has_no_path(traces: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.row("gemm", "kernel", 0, 100, correlation=900, stream=7)
    rank.write(traces, 100)
    (row,) = traces.ask("FROM critical_path()")
    assert row["kind"] is None and row["reason"].startswith("100% of the work has no launch")


def simulated(seed: int, ranks: int = 3, layers: int = 6) -> Iterator[Rank]:
    """Ranks that compute and sum gradients on a stream of their own, and whose hosts wait now and then."""
    rng = random.Random(seed)
    host, free = [0.0] * ranks, [0.0] * ranks
    traces = [Rank(number) for number in range(ranks)]
    for layer in range(layers):
        for rank in range(ranks):
            start = max(host[rank] + 12, free[rank])
            length = rng.randrange(20, 300)
            traces[rank].launch(host[rank], start, length, name=f"gemm{layer}")
            free[rank] = start + length
            host[rank] += rng.choice((12, 12, 40, 150))
        starts = [max(host[rank] + 12, free[rank]) for rank in range(ranks)]
        end = max(starts) + rng.randrange(10, 80)
        for rank in range(ranks):
            traces[rank].launch(host[rank], starts[rank], end - starts[rank], name=NCCL)
            host[rank] += 15
            free[rank] = end
            if rng.random() < 0.4:  # the host reads a result
                traces[rank].call(host[rank], max(end + 3 - host[rank], 1), "cudaDeviceSynchronize")
                host[rank] = max(host[rank] + 1, end + 3) + 7
    for rank in range(ranks):
        traces[rank].call(host[rank], max(free[rank] + 2 - host[rank], 1), "cudaDeviceSynchronize")
        traces[rank].ends = max(free[rank] + 2, host[rank] + 1) + 5
        yield traces[rank]


@pytest.mark.parametrize("seed", range(6))
def test_only_what_is_on_the_path_delays_the_step(traces: Warehouse, seed: int) -> None:
    """The second computation: the replay of the trace with one work made longer, for each work in turn."""
    for rank in simulated(seed):
        rank.write(traces, rank.ends)
    trace = trace_in(traces.connection)
    pieces = paths_of(trace)
    assert [piece.begin_ns for piece in pieces[:-1]] == [piece.end_ns for piece in pieces[1:]], "without gaps"
    last = pieces[0].event
    on_path = {piece.event for piece in pieces if piece.kind == "work" and not trace.communicates[piece.event]}
    longer_ns = 0.05 * US
    for work in np.flatnonzero((trace.events.role == WORK) & ~trace.communicates & (trace.events.start > 2e6)):
        length = trace.events.end[work] - trace.events.start[work]
        delay = changed(trace, int(work), 1 + longer_ns / length)[last]
        assert (delay > 0.99 * longer_ns) == (int(work) in on_path), (seed, int(work), delay)
    assert len(on_path) >= 3


def test_steps_are_apart_and_each_adds_up(traces: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.launch(0, 12, 100)
    rank.call(20, 94, "cudaDeviceSynchronize")
    rank.row("ProfilerStep#2", "user_annotation", 120, 300, train_step=2)
    rank.launch(130, 142, 250)
    rank.call(150, 244, "cudaDeviceSynchronize")
    rank.write(traces, 118)
    rows: list[Row] = traces.ask("SELECT train_step, sum(duration_ns) AS ns, any_value(step_ns) AS step_ns FROM critical_path() "
                              "GROUP BY train_step ORDER BY train_step")  # fmt: skip
    assert [(row["train_step"], int(row["ns"]), row["step_ns"]) for row in rows] == [
        (1, 118_000, 118_000), (2, 302_000, 302_000),
    ]  # fmt: skip


def traced(folder: Path) -> Path:
    """A step of one rank whose host launches two kernels of 300 and 100 microseconds, reads a result, and ends."""
    host = {"ph": "X", "pid": 70, "tid": 70}
    spans = [
        ("ProfilerStep#1", "user_annotation", 0, 1000, {}), ("aten::mm", "cpu_op", 5, 30, {}),
        ("cudaLaunchKernel", "cuda_runtime", 10, 10, {"correlation": 1}), ("aten::add", "cpu_op", 45, 30, {}),
        ("cudaLaunchKernel", "cuda_runtime", 50, 10, {"correlation": 2}),
        ("cudaDeviceSynchronize", "cuda_runtime", 100, 330, {"correlation": 3}),
        ("ProfilerStep#2", "user_annotation", 1000, 100, {}),
    ]  # fmt: skip
    kernels = [("gemm", 25, 300, 1), ("add", 326, 100, 2)]
    events: list[dict[str, Any]] = [
        {**host, "name": name, "cat": category, "ts": start, "dur": length, "args": args}
        for name, category, start, length, args in spans
    ]
    events += [
        {"ph": "X", "pid": 0, "tid": 7, "name": name, "cat": "kernel", "ts": start, "dur": length,
         "args": {"stream": 7, "correlation": correlation, "device": 0}} for name, start, length, correlation in kernels
    ]  # fmt: skip
    trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}
    (folder / "rank0.json").write_text(json.dumps(trace))
    scalelens.ingest(folder, warehouse=folder / "w")
    return folder / "w"


def test_the_command_shows_a_step_and_a_rank(tmp_path: Path, run: Run) -> None:
    warehouse = traced(tmp_path)
    ran = run("trace", "critical-path", "--step", 1, "-w", warehouse, "--format", "csv")
    assert ran.code == 0
    header, *lines = ran.out.splitlines()
    assert header == "run_id,train_step,kind,rank,name,pieces,duration_ns,share,longest_ns,step_ns"
    told = {tuple(line.split(",")[2:5]): int(line.split(",")[6]) for line in lines}
    assert told == {
        ("compute", "0", "gemm"): 300_000, ("compute", "0", "add"): 100_000, ("gap", "0", "add"): 1000,
        ("launch", "0", "gemm"): 15_000, ("host", "0", "cudaLaunchKernel"): 10_000,
        ("host", "0", "end of the step"): 574_000,
    }  # fmt: skip
    one_line(run("trace", "critical-path", "--step", 7, "-w", warehouse), "steps that have a path: 1, 2")
    with pytest.raises(UserError, match="by is 'warehouse' or 'hta'"):
        scalelens.critical_path(warehouse, by="someone")


def test_hta_finds_the_same_work_on_the_path(tmp_path: Path) -> None:
    pytest.importorskip("hta.trace_analysis")
    warehouse = traced(tmp_path)
    ours = scalelens.critical_path(warehouse, step=1)
    hta = scalelens.critical_path(warehouse, by="hta", annotation="ProfilerStep#1")
    for name in ("gemm", "add"):
        of_hta = hta.filter((pl.col("name") == name) & (pl.col("bound_by") == "gpu_compute_bound"))["duration_us"].sum()
        assert (
            ours.filter((pl.col("name") == name) & (pl.col("kind") == "compute"))["duration_ns"].sum() == 1000 * of_hta
        )


def test_a_warehouse_without_traces_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step,step_s\n1,0.5\n2,0.5\n")
    scalelens.ingest(tmp_path / "a.csv", warehouse=tmp_path / "w")
    with pytest.raises(UserError, match="there is no critical path: the warehouse has no device trace"):
        scalelens.critical_path(tmp_path / "w")
