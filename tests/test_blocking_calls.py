"""Calls that hold up the host: who made them, and the idle time of the device that goes with each."""

from typing import Any

import numpy as np

from little_warehouse import Row, Warehouse

NAMES = {
    "cudaStreamSynchronize_v3020": "wait", "hipDeviceSynchronize": "wait", "cuEventSynchronize": "wait",
    "cudaMemcpy": "copy", "hipMemcpyWithStream": "copy", "cudaMalloc": "memory", "cudaFree": "memory",
    "cuModuleLoadData": "module", "cuLibraryLoadData": "module",
    "cudaMemcpyAsync": None, "cudaLaunchKernel": None, "cudaMallocAsync": None, "cudaStreamWaitEvent": None,
}  # fmt: skip


def event(line: int, name: str, category: str, start: int, end: int, **columns: Any) -> Row:
    common = {"run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "process": "1", "thread": "1"}
    times = {"start_ns": start, "duration_ns": end - start}
    return common | {"line": line, "name": name, "category": category} | times | columns


def kernel(line: int, start: int, end: int, launched: int) -> list[Row]:
    return [
        event(line, "gemm", "kernel", start, end, stream=7, correlation=line, process="0", thread="7"),
        event(line + 1, "cudaLaunchKernel", "cuda_runtime", launched, launched, correlation=line),
    ]


def test_an_item_is_named_with_the_idle_time_within_and_after(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", [
        *kernel(10, 100, 200, 50),
        event(1, "train.py(12): step", "python_function", 0, 900),
        event(2, "aten::item", "cpu_op", 140, 290),
        event(3, "aten::_local_scalar_dense", "cpu_op", 150, 280),
        event(4, "cudaStreamSynchronize", "cuda_runtime", 160, 230),
        event(5, "cuStreamSynchronize", "cuda_driver", 170, 220),  # part of it
        *kernel(20, 300, 400, 290),
        *kernel(30, 405, 500, 295),
        event(6, "cudaFree", "cuda_runtime", 310, 350),  # while the device works, and more is queued
    ])  # fmt: skip
    item, free = warehouse.ask("FROM blocking_calls()")
    assert (item["kind"], item["name"], item["calls"], item["host_ns"]) == ("wait", "cudaStreamSynchronize", 1, 70)
    assert item["operators"] == "aten::item / aten::_local_scalar_dense"
    assert item["caller"] == "train.py(12): step"
    assert (item["idle_within_ns"], item["idle_after_ns"], item["share"]) == (30, 70, 100 / 400)
    assert (free["kind"], free["operators"], free["idle_within_ns"], free["idle_after_ns"]) == ("memory", None, 0, 0)


def test_kinds_follow_the_names(warehouse: Warehouse) -> None:
    warehouse.insert("runs", [{"run_id": "r"}])
    calls = [event(n, name, "cuda_runtime", 10 * n, 10 * n + 5) for n, name in enumerate(NAMES, 100)]
    warehouse.insert("events", [*kernel(1, 0, 10, 0), *kernel(5, 5000, 5010, 4000), *calls])
    found = {row["name"]: row["kind"] for row in warehouse.ask("FROM blocking_calls()")}
    assert found == {name: kind for name, kind in NAMES.items() if kind}


def test_idle_times_agree_with_counting_instants(warehouse: Warehouse) -> None:
    chance = np.random.default_rng(9)
    rows, expected = [], {}
    for trial in range(60):
        works = [sorted(chance.integers(0, 60, 2).tolist()) for _ in range(chance.integers(1, 6))]
        works = [(a, b + 1, int(chance.integers(0, a + 1))) for a, b in works]
        busy, last = np.zeros(400, bool), max(b for _, b, _ in works)
        for a, b, _ in works:
            busy[a:b] = True
        first, at, calls = min(a for a, _, _ in works), 0, []
        for _ in range(4):
            at += int(chance.integers(1, 12))
            calls.append((at, at + int(chance.integers(1, 9))))
            at = calls[-1][1]
        name = {"file_id": f"f{trial}", "rank": trial}
        for n, (a, b, launched) in enumerate(works):
            rows += [row | name for row in kernel(100 + 2 * n, a, b, launched)]
        rows += [event(n, "cudaDeviceSynchronize", "cuda_runtime", *call) | name for n, call in enumerate(calls)]
        within = sum(int((~busy[max(a, first) : min(b, last)]).sum()) for a, b in calls)
        after = 0
        for (_, end), following in zip(calls, [*(a for a, _ in calls[1:]), 1000], strict=True):
            later = sorted(work for work in works if work[0] >= end)
            if later and end >= first and not any(a < end < b for a, b, _ in works):
                candidates = [launched for a, _, launched in later if a == later[0][0]]
                after += min(later[0][0], following) - end if min(candidates) >= end else 0
        ties = len({a for a, _, _ in works}) < len(works)
        expected[trial] = None if ties else (within, after)
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    asked = "SELECT rank, sum(idle_within_ns), sum(idle_after_ns) FROM blocking_calls() GROUP BY rank"
    for row in warehouse.ask(asked):
        rank, within, after = row.values()
        if expected[rank] is not None:
            assert (within, after) == expected[rank], rank
