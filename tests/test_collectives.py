"""Collectives over ranks: matching, clocks, waiting, bandwidth.  Times of the events are in microseconds."""

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from little_warehouse import Row, Warehouse
from scalelens.statistics import spans
from scalelens.statistics.significance import binomial_tail
from scalelens.statistics.spans import innermost, launch_paths

ARRIVALS = [[10.0, 30.0, 25.0], [120.0, 100.0, 115.0], [200.0, 201.0, 260.0], [300.0, 340.0, 310.0]]  # by call, rank
TAKES = 5.0  # a collective ends so long after the last has come


def kernel(rank: int, start: float, end: float, args: Row | None = None, **columns: Any) -> Row:
    """A kernel of NCCL in the trace of a rank."""
    return {
        "run_id": "r", "file_id": f"f{rank}", "rank": rank, "line": round(start * 1000), "ph": "X", "category": "kernel",
        "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "start_ns": round(start * 1000), "stream": 7,
        "duration_ns": round((end - start) * 1000), "args": json.dumps(args or {}), **columns,
    }  # fmt: skip


def fill(
    warehouse: Warehouse, arrivals: Sequence[Sequence[float]] = ARRIVALS, clocks: Sequence[float] = (0, 0, 0),
    sequence: bool = False, **columns: Any,
) -> list[Row]:  # fmt: skip
    """Calls of an all_reduce of 1 MB: when each rank arrives, by a clock that is ahead by `clocks`."""
    named: Row = {"collective": "allreduce", "process_group": "0", "group_size": len(clocks), "dtype": "Float"}
    rows = [
        kernel(
            rank, start + clocks[rank], max(starts) + TAKES + clocks[rank],
            {"In msg nelems": 250_000, "Out msg nelems": 250_000} | ({"Seq": call + 7} if sequence else {}),
            **named | {"message_bytes": 1_000_000} | columns,
        )
        for call, starts in enumerate(arrivals)
        for rank, start in enumerate(starts)
    ]  # fmt: skip
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    return rows


# Arrival and waiting


def test_lateness_is_that_in_the_group_where_a_rank_is_latest(warehouse: Warehouse) -> None:
    fill(warehouse)
    later = [[1000 + 3 * start for start in starts] for starts in ARRIVALS]
    warehouse.connection.execute("DELETE FROM runs")
    fill(warehouse, later, process_group="1")
    in_groups: dict[int, dict[str, float]] = {}
    for row in warehouse.ask(
        "SELECT rank, process_group, sum(blame_ns // (ranks - 1)) / 1e9 AS lateness_s FROM collective_arrivals() GROUP BY ALL"
    ):
        in_groups.setdefault(row["rank"], {})[row["process_group"]] = row["lateness_s"]
    found = {row["rank"]: (row["process_group"], row["lateness_s"]) for row in warehouse.ask("FROM late_ranks()")}
    assert sorted(found) == [0, 1, 2] and found[1] == ("1", pytest.approx(max(in_groups[1].values())))
    assert all(lateness == pytest.approx(max(in_groups[rank].values())) for rank, (_, lateness) in found.items())
    assert min(in_groups[1].values()) < max(in_groups[1].values())


def test_who_arrives_last_and_what_that_costs(warehouse: Warehouse) -> None:
    fill(warehouse)
    rows = warehouse.ask("FROM collectives()")
    assert [row["last_rank"] for row in rows] == [1, 0, 2, 1]
    assert [row["first_rank"] for row in rows] == [0, 1, 0, 0]
    assert [row["skew_ns"] for row in rows] == [20_000, 20_000, 60_000, 40_000]
    assert [row["margin_ns"] for row in rows] == [5_000, 5_000, 59_000, 30_000]
    assert rows[0]["mean_wait_ns"] == pytest.approx((20_000 + 0 + 5_000) / 3)
    assert {(row["matched_by"], row["note"], row["end_skew_ns"]) for row in rows} == {("order", None, 0)}
    skew = {row["rank"]: row for row in warehouse.ask("FROM collective_skew()")}
    assert {rank: row["times_last"] for rank, row in skew.items()} == {0: 1, 1: 2, 2: 1}
    assert {rank: row["wait_ns"] for rank, row in skew.items()} == {0: 120_000, 1: 79_000, 2: 40_000}
    assert {rank: row["blame_ns"] for rank, row in skew.items()} == {0: 10_000, 1: 70_000, 2: 118_000}
    assert sum(row["blame_share"] for row in skew.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("starts", "blame"),
    [
        ([0, 5, 20], [0, 0, 2 * 15_000]),  # for each of two others what it is later than the last but one
        ([0, 20, 20], [0, 0, 0]),  # two come last together
        ([20, 20, 20], [0, 0, 0]),
        ([0, 0, 20], [0, 0, 2 * 20_000]),
    ],
)
def test_the_last_alone_is_blamed(warehouse: Warehouse, starts: Sequence[float], blame: Sequence[int]) -> None:
    fill(warehouse, [[100 + start for start in starts]])
    assert warehouse.column("SELECT blame_ns FROM collective_arrivals() ORDER BY rank") == blame
    assert warehouse.column("SELECT blame_ns FROM collective_skew() ORDER BY rank") == blame
    assert warehouse.column("SELECT times_last FROM late_ranks() ORDER BY rank") == [int(ns > 0) for ns in blame]


def test_a_rank_alone_waits_for_no_one_that_is_known(warehouse: Warehouse) -> None:
    rows = [row for row in fill(Warehouse()) if row["rank"] == 1]
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    found = warehouse.ask("FROM collectives()")
    assert {row["skew_ns"] for row in found} == {None}
    assert {row["note"] for row in found} == {"1 of 3 ranks traced: the time holds waiting"}
    assert warehouse.column("SELECT DISTINCT blame_ns FROM collective_arrivals()") == [None]
    assert warehouse.ask("FROM collective_skew()") == []


# Bandwidth


@pytest.mark.parametrize(
    ("collective", "counted", "factor"),
    [
        ("allreduce", "in", 2 * 3 / 4),
        ("_allgather_base", "out", 3 / 4),
        ("reduce_scatter_tensor_coalesced", "in", 3 / 4),
        ("all_to_allv", "in", 3 / 4),
        ("broadcast", "in", 1.0),
        ("_reduce_oop", "in", 1.0),
        ("scatter", "in", None),
    ],
)
def test_bandwidth(warehouse: Warehouse, collective: str, counted: str, factor: float | None) -> None:
    elements = {"In msg nelems": 500, "Out msg nelems": 2000}
    columns = {
        "collective": collective,
        "process_group": "0",
        "group_size": 4,
        "dtype": "BFloat16",
        "message_bytes": 1000,
    }
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [kernel(rank, rank, 14, elements, **columns) for rank in range(4)])
    (row,) = warehouse.ask("FROM collectives()")
    message = {"in": 1000, "out": 4000}[counted]
    assert (row["message_bytes"], row["time_ns"]) == (message, 11_000)
    assert row["algo_gb_per_s"] == pytest.approx(message / 11e-6 / 1e9)
    assert row["bus_gb_per_s"] == (None if factor is None else pytest.approx(message / 11e-6 / 1e9 * factor))


def test_a_message_without_metadata_comes_from_the_annotation_around_its_launch(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r", "devices": 2}])
    for rank in range(2):
        name = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"
        host: Row = {"stream": None, "process": "1", "thread": "2"}
        shapes = {"Input Dims": [[64, 4]], "Input type": ["float"]}
        warehouse.insert(
            "events",
            [
                kernel(rank, 50 + rank, 62, name=name, correlation=3),
                kernel(rank, 1, 9, shapes, name="nccl:all_to_all", category="user_annotation", **host),
                kernel(rank, 11, 13, shapes, name="nccl:broadcast", category="user_annotation", **host),
                kernel(rank, 4, 5, name="cudaLaunchKernel", category="cuda_runtime", correlation=3, **host),
            ],
        )
    (row,) = warehouse.ask("FROM collectives()")
    assert (row["kind"], row["message_bytes"], row["group_size"]) == ("all_to_all", 1024, 2)
    assert row["bus_gb_per_s"] == pytest.approx(1024 / 11_000 / 2)


# Matching


def test_calls_are_matched_by_sequence_where_every_call_has_one(warehouse: Warehouse) -> None:
    rows = [row for row in fill(Warehouse(), sequence=True) if (row["rank"], row["start_ns"]) != (1, 100_000)]
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    found = warehouse.ask("FROM collectives()")
    assert [(row["ranks"], row["matched_by"]) for row in found] == [(n, "sequence") for n in (3, 2, 3, 3)]
    assert [row["last_rank"] for row in found] == [1, 0, 2, 1]
    assert "2 of 3" in found[1]["note"] and found[0]["note"] is None


def test_a_lost_call_is_said_and_nothing_is_matched_wrongly(warehouse: Warehouse) -> None:
    rows = [row for row in fill(Warehouse()) if (row["rank"], row["start_ns"]) != (1, 100_000)]
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    calls = warehouse.ask("FROM collective_calls()")
    assert {row["call"] for row in calls} == {None}
    assert {row["note"] for row in calls} == {"the ranks have 3 to 4 calls of all_reduce in this group: not matched"}
    assert len(warehouse.ask("FROM collectives()")) == 11
    assert warehouse.ask("FROM collective_skew()") == []


def test_a_lost_call_spoils_its_own_step_alone(warehouse: Warehouse) -> None:
    rows = [row | {"train_step": row["start_ns"] // 200_000} for row in fill(Warehouse())]
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [row for row in rows if (row["rank"], row["start_ns"]) != (1, 100_000)])
    found = warehouse.ask("FROM collectives() WHERE call IS NOT NULL")
    assert [(row["train_step"], row["matched_by"], row["last_rank"]) for row in found] == [
        (1, "order_in_step", 2), (1, "order_in_step", 1),
    ]  # fmt: skip
    assert len(warehouse.ask("FROM collectives() WHERE call IS NULL")) == 5


@pytest.mark.parametrize("ahead_us", [0, 3_600_000_000])
def test_an_order_in_which_a_rank_leaves_before_another_comes_is_none(warehouse: Warehouse, ahead_us: int) -> None:
    """A late rank's trace begins two calls later, and the times of its kernels put four calls of two steps into one."""
    starts_us = [0, 20_000, 30_000, 300_000, 310_000, 450_000, 460_000, 900_000]
    rows = fill(warehouse, [[start + rank for rank in range(3)] for start in starts_us], (0, 0, ahead_us))
    for position, row in enumerate(rows):
        row["train_step"] = 1 + (position // 3 - (2 if row["rank"] == 2 else 0)) // 4
    warehouse.connection.execute("DELETE FROM events")
    warehouse.insert("events", [row for position, row in enumerate(rows) if position not in (2, 5)])
    calls = warehouse.ask("FROM collective_calls()")
    assert {(row["call"], row["matched_by"]) for row in calls} == {(None, None)}
    assert {row["note"] for row in calls} == {
        "by their order a rank would leave an all_reduce before another comes: not matched"
    }
    assert warehouse.ask("FROM late_ranks()") == []
    for row in rows:
        row["train_step"] = 1
    warehouse.connection.execute("DELETE FROM events")
    warehouse.insert("events", rows)
    assert warehouse.column("SELECT DISTINCT matched_by FROM collective_calls()") == ["order"]


def test_a_rank_that_has_none_of_a_kind_is_a_mismatch(warehouse: Warehouse) -> None:
    rows = fill(Warehouse())
    warehouse = Warehouse()
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    extra = {"collective": "broadcast", "process_group": "0", "group_size": 3}
    warehouse.insert("events", [kernel(0, 400, 410, **extra), kernel(1, 401, 410, **extra)])
    notes = warehouse.column("SELECT DISTINCT note FROM collective_calls() WHERE kind = 'broadcast'")
    assert notes == ["1 of the 3 traced ranks have no broadcast in this group: not matched"]
    assert warehouse.column("SELECT count(DISTINCT call) FROM collective_calls()") == [4]


def test_groups_of_one_name_and_other_ranks_are_two(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    for rank in range(4):
        members = "[0, 1]" if rank < 2 else "[2, 3]"
        args = {"Process Group Ranks": members}
        warehouse.insert(
            "events", [kernel(rank, rank, 9, args, collective="allreduce", process_group="1", group_size=2)]
        )
    rows = warehouse.ask("FROM collectives()")
    assert [(row["process_group"], row["last_rank"]) for row in rows] == [("1 [0, 1]", 1), ("1 [2, 3]", 3)]


def test_send_and_recv_are_matched_between_their_two_ranks(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    common: Row = {"process_group": "2", "group_size": 3}
    chain = [
        kernel(0, 10, 20, {"Dst Rank": 1}, collective="send", **common),
        kernel(1, 2, 20, {"Src Rank": 0}, collective="recv", **common),
        kernel(1, 30, 40, {"Dst Rank": 2}, collective="send", **common),
        kernel(2, 5, 40, {"Src Rank": 1}, collective="recv", **common),
    ]
    warehouse.insert("events", chain)
    rows = warehouse.ask("FROM collectives()")
    assert [(row["kind"], row["process_group"], row["last_rank"], row["skew_ns"]) for row in rows] == [
        ("send_recv", "2 0 to 1", 0, 8_000), ("send_recv", "2 1 to 2", 1, 25_000),
    ]  # fmt: skip


def test_collectives_of_the_host_where_no_device_has_them(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    host: Row = {"name": "gloo:all_reduce", "category": "user_annotation", "stream": None}
    warehouse.insert("events", [kernel(0, 0, 9, **host), kernel(1, 4, 9, **host)])
    (row,) = warehouse.ask("FROM collectives()")
    assert (row["kind"], row["last_rank"], row["skew_ns"]) == ("all_reduce", 1, 4_000)


def test_order_of_rows_does_not_matter(warehouse: Warehouse) -> None:
    rows = fill(warehouse)
    asked = [f"FROM {name}()" for name in ("collective_calls", "collectives", "collective_skew")]
    first = [warehouse.ask(question) for question in asked]
    random.Random(1).shuffle(rows)
    other = Warehouse()
    other.insert("runs", [{"run_id": "r"}])
    other.insert("events", rows)
    assert [other.ask(question) for question in asked] == first


# Clocks


def test_offset_of_the_clocks_is_taken_off(warehouse: Warehouse) -> None:
    fill(warehouse)
    right = warehouse.ask("SELECT rank, times_last, wait_ns, blame_ns FROM collective_skew()")
    other = Warehouse()
    fill(other, clocks=(0, -5_000, 800))
    assert other.ask("SELECT rank, times_last, wait_ns, blame_ns FROM collective_skew()") == right
    offsets = other.ask("FROM clock_offsets()")
    assert [(row["rank"], row["offset_ns"], row["note"]) for row in offsets] == [
        (0, 0, None), (1, -5_000_000, None), (2, 800_000, None),
    ]  # fmt: skip


def test_ends_that_differ_little_are_no_offset(warehouse: Warehouse) -> None:
    fill(warehouse, clocks=(0, 8, -8))
    assert warehouse.column("SELECT offset_ns FROM clock_offsets()") == [0, 0, 0]
    assert warehouse.column("SELECT offset_ns FROM clock_offsets(tolerance_us := 5)") == [0, 8_000, -8_000]


def test_an_offset_that_cannot_be_estimated_is_said(warehouse: Warehouse) -> None:
    fill(warehouse, ARRIVALS[:2])
    assert warehouse.column("SELECT offset_ns FROM clock_offsets()") == [0, None, None]
    assert "fewer than three common collectives" in warehouse.ask("FROM collectives()")[0]["note"]
    other = Warehouse()
    fill(other, collective="broadcast")  # its root does not wait for the others: ends say nothing
    assert other.ask("FROM clock_offsets()") == []
    assert other.column("SELECT DISTINCT offset_ns FROM collective_arrivals()") == [None]


def test_ranks_of_one_host_share_its_clock(warehouse: Warehouse) -> None:
    fill(warehouse, clocks=(0, 500, 500))
    hosts = [{"run_id": "r", "file_id": f"f{rank}", "key": "host_name", "value": "ab"[rank > 0]} for rank in range(3)]
    warehouse.insert("params", hosts)
    rows = warehouse.ask("FROM clock_offsets()")
    assert [(row["host"], row["offset_ns"]) for row in rows] == [("a", 0), ("b", 500_000), ("b", 500_000)]


def test_leaving_before_the_last_has_come_is_doubted(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    columns = {"collective": "allreduce", "process_group": "0", "group_size": 2}
    warehouse.insert("events", [kernel(0, 0, 10, **columns), kernel(1, 50, 60, **columns)])
    (row,) = warehouse.ask("FROM collectives()")
    assert "a rank leaves before the last arrives" in row["note"]


# Functions


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.01, 0.99))
def test_binomial_tail_is_that_of_scipy(successes: int, trials: int, rate: float) -> None:
    (tail,) = binomial_tail(np.array([float(successes)]), np.array([float(trials)]), np.array([rate]))
    if trials == 0:
        assert np.isnan(tail)
    elif successes <= trials:
        assert tail == pytest.approx(stats.binom.sf(successes - 1, trials, rate), rel=1e-9, abs=1e-300)


def nested(seed: int) -> tuple[list[int], list[int]]:
    """Spans of a thread, each within another or beside it."""
    chance = random.Random(seed)
    starts, ends = [], []

    def split(low: int, high: int, depth: int) -> None:
        while high - low > 3 and depth < 5:
            begin = chance.randint(low, high)
            end = chance.randint(begin, high)
            starts.append(begin)
            ends.append(end)
            split(begin, end, depth + 1)
            low = end + 1

    split(0, 400, 0)
    return starts, ends


@settings(max_examples=50)
@given(st.integers(0, 10_000))
def test_innermost_is_the_shortest_span_around(seed: int) -> None:
    starts, ends = nested(seed)
    times = list(range(0, 420, 7))
    for time, place in zip(times, innermost(starts, ends, times), strict=True):
        around = [n for n in range(len(starts)) if starts[n] <= time <= ends[n]]
        if place is None:
            assert not around
        else:
            latest = max(starts[n] for n in around)
            assert starts[place - 1] == latest
            assert place - 1 in around


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_a_path_holds_the_spans_around_a_launch(seed: int, block: int) -> None:
    starts, ends = (np.array(edges) for edges in nested(seed))
    lines, names, times = np.arange(len(starts)), np.arange(len(starts)) % 5, np.arange(0, 420, 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spans, "BLOCK", block)
        path_of_time, paths = launch_paths(lines, starts, ends, names, times)
    for time, path in zip(times, path_of_time, strict=True):
        around = sorted((n for n in lines if starts[n] <= time <= ends[n]), key=lambda n: (starts[n], -ends[n], n))
        found = []
        while path >= 0:
            path, name = paths[path]
            found.append(name)
        assert found[::-1] == [names[n] for n in around]


def test_of_ranges_that_cross_neither_is_within_the_other() -> None:
    starts, ends, times = np.array([0, 5, 6]), np.array([10, 15, 12]), np.array([3, 8, 11, 14, 20])
    path_of_time, paths = launch_paths(np.arange(3), starts, ends, np.arange(3), times)
    assert [paths[path] if path >= 0 else None for path in path_of_time] == [(-1, 0), (1, 2), (1, 2), (-1, 1), None]
