"""The critical path across ranks: hand-made traces with known paths, and what a replay says of what is on it."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from little_warehouse import Row, Warehouse
from scalelens.statistics.kernel_path import paths_of
from scalelens.statistics.kernel_trace import WORK
from test_trace_replays import NCCL, Rank, changed, straggler, trace_in

US = 1000


@pytest.fixture
def run(warehouse: Warehouse) -> Warehouse:
    warehouse.insert("runs", [{"run_id": "r"}])
    return warehouse


def path(run: Warehouse) -> dict[tuple[Any, ...], float]:
    """Microseconds of each kind, rank and name."""
    rows = run.ask("FROM critical_path()")
    assert {row["step_ns"] for row in rows} == {sum(row["duration_ns"] for row in rows)}
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    return {(row["kind"], row["rank"], row["name"]): row["duration_ns"] / US for row in rows}


def test_the_path_leaves_a_collective_at_the_rank_that_came_last(run: Warehouse) -> None:
    """Both ranks end at 332; rank 0 waits from 112 for the 300 microseconds of rank 1."""
    straggler(run)
    found = path(run)
    assert found[("compute", 1, "gemm")] == 300
    assert sum(time for (kind, _, name), time in found.items() if name == NCCL and kind == "communication") == 20
    assert all(kind != "compute" or rank == 1 for kind, rank, _ in found)
    assert sum(found.values()) == 2332


def test_a_host_that_is_late_is_on_the_path_and_its_device_is_not(run: Warehouse) -> None:
    rank = Rank(begin=0)
    for called in range(0, 1200, 100):
        rank.launch(called, called + 12, 20)
    rank.write(run, 1200)
    found = path(run)
    assert found == {("host", 0, "end of the step"): 100, ("host", 0, "cudaLaunchKernel"): 1100}


def test_a_call_that_waits_leads_to_the_work_that_it_waited_for(run: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.launch(0, 12, 200, name="long")
    rank.call(20, 194, "cudaStreamSynchronize")  # until 214
    rank.launch(300, 312, 50, name="last")
    rank.call(311, 55, "cudaDeviceSynchronize")
    rank.write(run, 366)
    assert path(run) == {
        ("launch", 0, "long"): 12, ("compute", 0, "long"): 200, ("host", 0, "cudaLaunchKernel"): 88,
        ("launch", 0, "last"): 12, ("compute", 0, "last"): 50, ("host", 0, "end of the step"): 4,
    }  # fmt: skip


def test_the_end_of_a_step_that_comes_just_after_its_work_waited_for_it(run: Warehouse) -> None:
    """Without a call that waits in the trace; 300 microseconds later it would be the host's own time."""
    rank = Rank(begin=0)
    rank.launch(0, 12, 500)
    rank.write(run, 530)
    assert path(run) == {("launch", 0, "gemm"): 12, ("compute", 0, "gemm"): 500, ("host", 0, "end of the step"): 18}


def test_work_without_launches_has_no_path(run: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.row("gemm", "kernel", 0, 100, correlation=900, stream=7)
    rank.write(run, 100)
    (row,) = run.ask("FROM critical_path()")
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
def test_only_what_is_on_the_path_delays_the_step(run: Warehouse, seed: int) -> None:
    """The second computation: the replay of the trace with one work made longer, for each work in turn."""
    traces = list(simulated(seed))
    for rank in traces:
        rank.write(run, rank.ends)
    trace = trace_in(run.connection)
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


def test_steps_are_apart_and_each_adds_up(run: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.launch(0, 12, 100)
    rank.call(20, 94, "cudaDeviceSynchronize")
    rank.row("ProfilerStep#2", "user_annotation", 120, 300, train_step=2)
    rank.launch(130, 142, 250)
    rank.call(150, 244, "cudaDeviceSynchronize")
    rank.write(run, 118)
    rows: list[Row] = run.ask("SELECT train_step, sum(duration_ns) AS ns, any_value(step_ns) AS step_ns FROM critical_path() "
                              "GROUP BY train_step ORDER BY train_step")  # fmt: skip
    assert [(row["train_step"], int(row["ns"]), row["step_ns"]) for row in rows] == [
        (1, 118_000, 118_000), (2, 302_000, 302_000),
    ]  # fmt: skip
