"""Replays of kernel traces: hand-made ones with known answers, and real ones, which must answer to a change."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import scalelens
from conftest import CORPUS
from little_warehouse import Row, Warehouse
from scalelens.ingestion.ingest import ingest
from scalelens.statistics.kernel_graph import Graph, graph_of, replay
from scalelens.statistics.kernel_replay import Trace, ranks_of
from scalelens.statistics.kernel_trace import WORK
from scalelens.statistics.sql_kernels import trace_of

DLRM = CORPUS / "traces/facebookresearch__param/et_replay/tests/data/dlrm_kineto.tar.gz"
US = 1000
LUMOS = 0.033
NCCL = "ncclDevKernel_AllReduce"
Times = Any


class Rank:
    """Writes the trace of a rank, times in microseconds: a step, calls of one thread, and work of streams."""

    def __init__(self, rank: int = 0, begin: int = -2000) -> None:
        self.rank, self.rows, self.correlations = rank, [], count(1)
        self.row("ProfilerStep#1", "user_annotation", begin, 0, train_step=1)
        for called in range(begin, -1000, 100):  # from which the latency of launches is known
            self.launch(called, called + 12, 1)

    def row(self, name: str, category: str, start: float, length: float, **fields: Any) -> Row:
        row = {
            "run_id": "r", "file_id": f"r{self.rank}", "line": len(self.rows), "rank": self.rank, "ph": "X", "name": name,
            "category": category, "start_ns": int(start * US), "duration_ns": int(length * US), "process": "0", **fields,
        }  # fmt: skip
        self.rows.append(row)
        return row

    def call(self, start: float, length: float, name: str) -> int:
        number = next(self.correlations)
        self.row(name, "cuda_runtime", start, length, correlation=number, thread="main")
        return number

    def launch(self, called: float, start: float, length: float, stream: int = 7, name: str = "gemm") -> None:
        """A launch of 10 microseconds and its kernel."""
        number = self.call(called, 10, "cudaLaunchKernel")
        self.row(name, "kernel", start, length, correlation=number, stream=stream)

    def write(self, warehouse: Warehouse, step_ends: float) -> None:
        self.rows[0]["duration_ns"] = int(step_ends * US) - self.rows[0]["start_ns"]
        warehouse.insert("events", self.rows)


def asked(warehouse: Warehouse) -> dict[str, Row]:
    """Answers of what_if in microseconds by question."""
    rows = warehouse.ask("FROM what_if()")
    for row in rows:
        row |= {name: row[name] and row[name] * 1e6 for name in ("measured_s", "replayed_s", "what_if_s")}
    return {row["question"]: row for row in rows}


def trace_in(connection: duckdb.DuckDBPyConnection) -> Trace:
    """The events of the only run, as trace_replays hands them over."""
    table = connection.sql("""
        SELECT coalesce(rank, 0)::BIGINT AS position, role, start_ns - min(start_ns) OVER () AS begin_ns,
            end_ns - min(start_ns) OVER () AS end_ns, thread, stream, correlation, wait_stream,
            recorded_ns - min(start_ns) OVER () AS recorded_ns, call,
            class IS NOT DISTINCT FROM 'communication' AS communicates, train_step,
            NULL::BIGINT AS node, NULL::BIGINT AS stage
        FROM replay_events() ORDER BY position, begin_ns, role = 'work', end_ns DESC, line""").to_arrow_table()
    return trace_of(
        pa.StructArray.from_arrays([column.combine_chunks() for column in table.columns], table.column_names)
    )


def changed(trace: Trace, work: int, factor: float) -> Times:
    """How much later each event is, in ns, if one work takes a multiple of its time."""
    graph = graph_of(ranks_of(trace), trace.collective)
    works = graph.works.copy()
    works[work] *= factor
    return replay(graph, graph.edges.host_ns, works) - replay(graph, graph.edges.host_ns, graph.works)


@pytest.fixture
def run(warehouse: Warehouse) -> Warehouse:
    warehouse.insert("runs", [{"run_id": "r"}])
    return warehouse


def test_a_step_that_waits_for_its_host_is_as_long_as_the_kernels_without_it(run: Warehouse) -> None:
    rank = Rank(begin=0)
    for called in range(0, 1200, 100):
        rank.launch(called, called + 12, 20)
    rank.write(run, 1200)
    row = asked(run)["no host gaps"]
    assert (row["measured_s"], row["replayed_s"]) == (pytest.approx(1200), pytest.approx(1200))
    assert row["what_if_s"] == pytest.approx(2 + 12 * 20)


@pytest.mark.parametrize("waits", [True, False])
def test_a_stream_waits_for_another(run: Warehouse, waits: bool) -> None:
    """By an event; without it, the start just after the end of the other stream's work says that it was waited for."""
    rank = Rank()
    rank.launch(0, 12, 120, stream=20, name=NCCL)
    if waits:
        rank.call(12, 1, "cudaStreamWaitEvent")
    rank.launch(20, 132, 50)
    rank.call(32, 150, "cudaDeviceSynchronize")
    rank.write(run, 182)
    row = asked(run)["free communication"]
    assert row["replayed_s"] == pytest.approx(2182)
    assert row["what_if_s"] == pytest.approx(2082)


def test_work_that_starts_long_after_another_stream_did_not_wait_for_it(run: Warehouse) -> None:
    rank = Rank()
    rank.launch(0, 12, 120, stream=20, name=NCCL)
    rank.launch(20, 32, 150)
    rank.call(32, 150, "cudaDeviceSynchronize")
    rank.write(run, 182)
    assert asked(run)["free communication"]["what_if_s"] == pytest.approx(2182)


def test_a_host_that_reads_a_result_waits_for_it(run: Warehouse) -> None:
    """A copy to the host behind a collective, a call that waits for the copy, and 100 microseconds of the host."""
    rank = Rank()
    rank.launch(0, 12, 200, name=NCCL)
    rank.launch(20, 212, 2, name="Memcpy DtoH")
    rank.call(30, 185, "cudaStreamSynchronize")
    rank.launch(315, 327, 50)
    rank.call(326, 52, "cudaDeviceSynchronize")
    rank.write(run, 378)
    row = asked(run)["free communication"]
    assert row["replayed_s"] == pytest.approx(2378)
    assert row["what_if_s"] == pytest.approx(2378 - 180)  # the copy can start at 32, not at 212


@pytest.mark.parametrize("named", [True, False])
def test_an_event_that_the_trace_names_is_the_one_that_is_waited_for(run: Warehouse, named: bool) -> None:
    """Work waits for the event of stream 20; without its name, for the stream on which work was launched last."""
    rank = Rank()
    rank.launch(0, 12, 100, stream=20, name="first")
    record = rank.call(11, 1, "cudaEventRecord")
    rank.launch(20, 32, 100, stream=21, name="second")
    wait = rank.call(40, 1, "cudaStreamWaitEvent")
    if named:
        args = f'{{"wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": {record}}}'
        rank.row("Stream Wait Event", "cuda_sync", 40, 1, correlation=wait, stream=7, args=args)
    rank.launch(500, 512, 50, name="last")
    rank.write(run, 600)
    trace = trace_in(run.connection)
    first, second, last = np.flatnonzero((trace.events.role == WORK) & (trace.events.end > 2e6))
    assert changed(trace, first, 21)[last] == (1_600_000 if named else 0)
    assert changed(trace, second, 21)[last] == (0 if named else 1_620_000)


def test_a_launch_into_a_full_queue_waits_for_the_device(run: Warehouse) -> None:
    rank = Rank(begin=0)
    for number in range(400):
        rank.launch(20 * number, 12 + 100 * number, 100)
    number = next(rank.correlations)
    rank.row("cudaLaunchKernel", "cuda_runtime", 8000, 4014, correlation=number, thread="main")  # until work 119 ends
    rank.row("gemm", "kernel", 40012, 100, correlation=number, stream=7)
    rank.launch(12200, 40112, 10)
    rank.write(run, 40122)
    trace = trace_in(run.connection)
    first = np.flatnonzero(trace.events.role == WORK)[0]
    (last_call,) = np.flatnonzero(trace.events.start == 12_200_000)
    assert changed(trace, first, 2)[last_call] == 100_000


def straggler(run: Warehouse) -> None:
    """Rank 1 computes 300 microseconds where rank 0 computes 100; their all-reduce takes 20."""
    for number, length in enumerate((100, 300)):
        rank = Rank(number)
        rank.launch(0, 12, length)
        rank.launch(12, 12 + length, 320 - length, name=NCCL)
        rank.call(30, 302, "cudaDeviceSynchronize")
        rank.write(run, 332)


def test_ranks_wait_for_the_slowest(run: Warehouse) -> None:
    straggler(run)
    rows = asked(run)
    for row in rows.values():
        assert (row["measured_s"], row["replayed_s"]) == (pytest.approx(2332), pytest.approx(2332))
    assert rows["slowest rank"]["healed"] == "rank 1"
    # By themselves the ranks take 2132 and 2332.
    share = 2132 / 2332
    assert rows["slowest rank"]["what_if_s"] == pytest.approx(share * (2000 + 10 + 300) + 2 + 20)
    assert rows["free communication"]["what_if_s"] == pytest.approx(2312)  # rank 0 still waits
    assert rows["no host gaps"]["what_if_s"] == pytest.approx(2 + 10 + 300 + 20)


def ranks_with_kernels_of(run: Warehouse, lengths: tuple[int, ...], **of_collective: str) -> None:
    """Each rank computes so many microseconds, then all meet in an all-reduce of 20."""
    for number, length in enumerate(lengths):
        rank = Rank(number)
        rank.launch(0, 12, length)
        rank.launch(12, 12 + length, max(lengths) + 20 - length, name=NCCL)
        if of_collective:
            stages = [member for member in range(len(lengths)) if member % 2 == number % 2]
            group = {"Process Group Name": str(number % 2), "Process Group Ranks": str(stages)} | of_collective
            rank.row("nccl:send", "user_annotation", 12, 1, args=json.dumps(group))
        rank.call(30, max(lengths) + 2, "cudaDeviceSynchronize")
        rank.write(run, max(lengths) + 32)


def of_hosts(run: Warehouse, *hosts: str) -> None:
    rows = [
        {"run_id": "r", "file_id": f"r{rank}", "key": "host_name", "value": host} for rank, host in enumerate(hosts)
    ]
    run.insert("params", rows)


@pytest.mark.parametrize(
    ("lengths", "own"), [((100, 100, 300, 300, 100, 100), 300), ((100, 100, 300, 310, 100, 100), 305)]
)
def test_a_slow_node_as_fast_as_the_median_of_the_others(run: Warehouse, lengths: tuple[int, ...], own: int) -> None:
    ranks_with_kernels_of(run, lengths)
    of_hosts(run, "n0", "n0", "n1", "n1", "n2", "n2")
    rows = asked(run)
    assert rows["slowest node"]["healed"] == "n1"
    share = (2032 + 100) / (2032 + own)
    assert rows["slowest node"]["what_if_s"] == pytest.approx(share * (2000 + 10 + max(lengths)) + 2 + 20)
    assert rows["slowest rank"]["what_if_s"] > rows["slowest node"]["what_if_s"]  # the node has another slow rank


def test_one_slow_rank_does_not_make_its_node_slow(run: Warehouse) -> None:
    ranks_with_kernels_of(run, (100, 100, 300, 140, 140, 140))
    of_hosts(run, "n0", "n0", "n0", "n1", "n1", "n1")
    rows = asked(run)
    assert rows["slowest rank"]["healed"] == "rank 2"
    assert rows["slowest node"]["healed"] == "n1"
    assert rows["slowest node"]["what_if_s"] == pytest.approx(2332)  # the step still waits for rank 2


def test_a_slow_stage_by_the_groups_that_the_trace_describes(run: Warehouse) -> None:
    """Ranks 0 and 1 are the first stage of two pipelines, 2 and 3 the second, 4 and 5 the last."""
    lengths = (100, 100, 100, 100, 300, 300)
    ranks_with_kernels_of(run, lengths, **{"Process Group Description": "PIPELINE_MODEL_PARALLEL_GROUP"})
    row = asked(run)["slowest stage"]
    assert row["healed"] == "stage 2"
    assert row["what_if_s"] == pytest.approx(2132 / 2332 * (2000 + 10 + 300) + 2 + 20)


def test_why_no_node_or_stage_can_be_called_the_slowest(run: Warehouse) -> None:
    straggler(run)
    rows = asked(run)
    assert rows["slowest node"]["reason"] == "the node of a traced rank is not known"
    assert rows["slowest stage"]["reason"] == "the stage of a traced rank is not known"
    of_hosts(run, "n0", "n0")
    rows = asked(run)
    assert rows["slowest node"]["reason"] == "all traced ranks are of one node"
    assert (rows["slowest node"]["what_if_s"], rows["slowest node"]["slowdown"]) == (None, None)


def test_times_twice_as_long_make_steps_twice_as_long(run: Warehouse) -> None:
    straggler(run)
    before = asked(run)
    run.connection.execute("UPDATE events SET start_ns = 2 * start_ns, duration_ns = 2 * duration_ns")
    for question, row in asked(run).items():
        times = ("measured_s", "replayed_s") if row["reason"] else ("measured_s", "replayed_s", "what_if_s")
        for name in times:
            assert row[name] == pytest.approx(2 * before[question][name], rel=1e-9)


def test_order_of_rows_changes_nothing(run: Warehouse) -> None:
    straggler(run)
    before = asked(run)
    run.connection.execute("CREATE OR REPLACE TEMP TABLE mixed AS FROM events ORDER BY hash(line, rank)")
    run.connection.execute("DELETE FROM events")
    run.connection.execute("INSERT INTO events FROM mixed; DROP TABLE mixed")
    assert asked(run) == before


def test_a_trace_without_launches_has_no_replay(run: Warehouse) -> None:
    straggler(run)
    run.connection.execute("DELETE FROM events WHERE name = 'cudaLaunchKernel'")
    (row,) = run.ask("FROM what_if()")
    assert (row["question"], row["what_if_s"]) == (None, None)
    assert row["reason"].startswith("100% of the work has no launch in the trace")


def test_no_answer_where_the_replay_misses_the_step(run: Warehouse) -> None:
    rank = Rank(begin=0)
    rank.launch(0, 12, 20)
    rank.launch(20, 900, 20)  # nothing in the trace says why it starts so late
    rank.launch(40, 922, 20)
    rank.call(60, 890, "cudaDeviceSynchronize")
    rank.write(run, 950)
    row = asked(run)["no host gaps"]
    assert row["replay_error"] < -0.5
    assert row["what_if_s"] is None
    assert row["reason"].startswith("the unchanged replay misses the step")


# Real traces.


@pytest.fixture(scope="module")
def dlrm(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    if not CORPUS.is_dir():
        pytest.skip("no corpus of real files beside the project")
    folder: Path = tmp_path_factory.mktemp("w") / "w"
    ingest([DLRM], folder, jobs=1)
    return scalelens.connect(folder)


@pytest.fixture(scope="module")
def trace(dlrm: duckdb.DuckDBPyConnection) -> Trace:
    return trace_in(dlrm)


@pytest.fixture(scope="module")
def graph(trace: Trace) -> Graph:
    return graph_of(ranks_of(trace), trace.collective)


def test_the_unchanged_replay_meets_each_step_and_rank(dlrm: duckdb.DuckDBPyConnection) -> None:
    rows = dlrm.execute("SELECT replay_error FROM trace_replays() WHERE question = 'no host gaps'").fetchall()
    errors = [error for (error,) in rows]
    print("replay errors of 8 ranks:", [f"{error:.2%}" for error in errors])
    assert len(errors) == 8
    assert max(abs(error) for error in errors) < LUMOS
    assert any(errors)  # it is a replay, not the record


def test_a_late_rank_makes_all_late_and_an_early_one_none(trace: Trace, graph: Graph) -> None:
    """Rank 7 comes last to the first collective, by 505 us; rank 0 comes 2,135 us before it."""
    unchanged = replay(graph, graph.edges.host_ns, graph.works)
    first = np.flatnonzero(trace.collective == trace.collective[trace.collective >= 0].min())
    assert len(first) == 8

    def delayed(rank: int, by_ns: float) -> Times:
        """What is later by how much if a kernel of that rank, which its first collective waits for, takes longer."""
        host = graph.edges.host_ns.copy()
        host[np.flatnonzero(graph.owner_of_edges() == rank)[0]] += by_ns  # its host, before its first call
        return replay(graph, host, graph.works) - unchanged

    late = delayed(7, 2e6)
    assert late[first] == pytest.approx(2e6, abs=1)
    ends = [late[trace.rank == rank].max() for rank in range(8)]
    assert min(ends) > 1.9e6
    assert max(ends) <= 2e6 + 1
    absorbed = delayed(0, 2e6)
    assert absorbed[first] == pytest.approx(0, abs=1)
    assert absorbed[trace.rank == 0].max() == pytest.approx(2e6, abs=1)


def test_slower_kernels_lengthen_the_step_by_what_waits_for_them(trace: Trace, graph: Graph) -> None:
    """A millisecond more in a kernel before a synchronizing call is a millisecond more; in the last kernels it is not."""
    unchanged = replay(graph, graph.edges.host_ns, graph.works)
    later = []
    for kernel in np.flatnonzero((trace.events.role == WORK) & (trace.rank == 7) & ~trace.communicates):
        works = graph.works.copy()
        works[kernel] += 1e6
        change = replay(graph, graph.edges.host_ns, works) - unchanged
        assert change.min() >= -1e-3
        assert change[kernel] == pytest.approx(1e6)
        assert change.max() <= 1e6 + 1e-3
        later.append(change[trace.rank != 7].max())
    assert max(later) == pytest.approx(1e6, abs=1e3)  # where other ranks wait for it in a collective
    assert min(later) == 0


def test_more_time_never_shortens_and_fewer_dependencies_never_lengthen(trace: Trace, graph: Graph) -> None:
    unchanged = replay(graph, graph.edges.host_ns, graph.works)
    free = graph.works.copy()
    free[: len(trace.rank)][trace.communicates] = 0
    assert (replay(graph, graph.edges.host_ns, free) <= unchanged + 1e-3).all()
    chance = np.random.default_rng(1)
    for _ in range(5):
        kept = np.where(chance.random(len(graph.edges.later)) < 0.05, -1e18, graph.edges.host_ns)
        begun = replay(
            graph, np.where(np.diff(graph.firsts)[graph.edges.later] > 1, kept, graph.edges.host_ns), graph.works
        )
        assert (begun <= unchanged + 1e-3).all()


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of real files beside the project")
def test_one_training_with_a_slow_and_a_fast_input_is_the_same_without_its_hosts(tmp_path: Path) -> None:
    """PyTorch's samples of ResNet-50 on a V100: without workers that load data a step takes half as long again."""
    ingest([CORPUS / "traces/pytorch__kineto/tb_plugin/samples"], tmp_path / "w", jobs=1)
    rows = scalelens.query("what_if", tmp_path / "w").rows(named=True)
    slow, fast = sorted((row for row in rows if row["question"] == "no host gaps"), key=lambda row: -row["measured_s"])
    assert slow["measured_s"] > 1.4 * fast["measured_s"]
    assert slow["what_if_s"] == pytest.approx(fast["what_if_s"], rel=0.1)
    assert max(abs(row["replay_error"]) for row in (slow, fast)) < LUMOS
