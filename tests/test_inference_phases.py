"""Iterations of serving engines, by the annotations that they write."""

import json
from typing import Any

import pytest

from little_warehouse import Row, Warehouse


def mark(line: int, name: str, start: int, end: int, external: int | None = None, device: bool = False) -> Row:
    return {
        "run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "line": line, "name": name, "start_ns": start,
        "category": "gpu_user_annotation" if device else "user_annotation", "duration_ns": end - start,
        "args": None if external is None else json.dumps({"External id": external}),
    }  # fmt: skip


def phases(warehouse: Warehouse, rows: list[Row], question: str = "inference_phases()") -> list[tuple[Any, ...]]:
    warehouse.insert("runs", [{"run_id": "r"}])
    warehouse.insert("events", rows)
    columns = "phase, requests, iterations, tokens, prefill_tokens, decode_tokens, host_ns, device_ns, tokens_per_s"
    return [tuple(row.values()) for row in warehouse.ask(f"SELECT {columns} FROM {question}")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("execute_context_3(512)_generation_0(0)", ("prefill", 3, 512, 512, 0)),
        ("execute_context_0(0)_generation_7(7)", ("decode", 7, 7, 0, 7)),
        ("execute_8192_context_9(sq8155sk8430sqsq74sqsk76)_generation_37(sq37sk34489sqsq37sqsk3)",
            ("mixed", 46, 8192, 8155, 37)),
        ("step[EXTEND bs=15 toks=15360]", ("prefill", 15, 15360, 15360, 0)),
        ("step[DECODE bs=32]", ("decode", 32, 32, 0, 32)),
        ("step[TARGET_VERIFY bs=4 toks=20]", ("target_verify", 4, 20, None, None)),
        ("[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs", ("mixed", 8, None, None, 5)),
        ("[Executor] _forward_step 13: 0 ctx reqs, 5 gen reqs", ("decode", 5, 5, 0, 5)),
    ],
)  # fmt: skip
def test_what_an_annotation_says(warehouse: Warehouse, name: str, expected: tuple[Any, ...]) -> None:
    (found,) = phases(warehouse, [mark(1, name, 0, 10)])
    assert (found[0], found[1], *found[3:6]) == expected


def test_time_and_rate_of_each_phase(warehouse: Warehouse) -> None:
    """Two streams are one iteration, an annotation without work on the device adds to no rate, one within another once."""
    rows = [
        mark(1, "execute_context_0(0)_generation_4(4)", 0, 30, 1),
        mark(2, "execute_context_0(0)_generation_4(4)", 10, 60, 1, device=True),
        mark(3, "execute_context_0(0)_generation_4(4)", 20, 90, 1, device=True),
        mark(4, "execute_context_0(0)_generation_8(8)", 100, 130, 2),
        mark(5, "execute_context_0(0)_generation_8(8)", 140, 160, 2, device=True),
        mark(6, "execute_context_0(0)_generation_2(2)", 200, 210, 3),
        mark(7, "execute_context_1(500)_generation_0(0)", 300, 400, 4),
        mark(8, "step[EXTEND bs=1 toks=500]", 310, 390, 5),
        mark(9, "optimizer", 0, 500, 6),
    ]
    decode, prefill = phases(warehouse, rows)
    assert decode == ("decode", pytest.approx(14 / 3), 3, 14, 0, 14, 70, 100, pytest.approx(12 / 100 * 1e9))
    assert prefill == ("prefill", 1, 1, 500, 500, 0, 100, None, None)
    sizes = warehouse.ask("FROM inference_phases(by_requests := true)")
    assert [(row["phase"], row["requests"]) for row in sizes] == [
        ("decode", 2), ("decode", 4), ("decode", 8), ("prefill", 1),
    ]  # fmt: skip


def test_without_twins_time_on_the_device_is_that_of_the_work_launched_within(warehouse: Warehouse) -> None:
    host = {"process": "1", "thread": "1"}
    rows = [mark(1, "step[DECODE bs=4]", 100, 200) | host]
    for line, launched, start, end, thread in ((10, 110, 150, 180, "1"), (20, 190, 300, 350, "1"),
                                               (30, 205, 400, 450, "1"), (40, 120, 500, 600, "2")):  # fmt: skip
        common = {"run_id": "r", "file_id": "f", "rank": 0, "ph": "X", "correlation": line}
        rows += [
            common | {"line": line, "name": "gemm", "category": "kernel", "stream": 7, "start_ns": start,
                      "duration_ns": end - start},
            common | {"line": line + 1, "name": "cudaLaunchKernel", "category": "cuda_runtime", "start_ns": launched,
                      "duration_ns": 1, "process": "1", "thread": thread},
        ]  # fmt: skip
    (found,) = phases(warehouse, rows)
    assert found == ("decode", 4, 1, 4, 0, 4, 100, 200, pytest.approx(4 / 200 * 1e9))


def test_no_engine_has_no_row(warehouse: Warehouse) -> None:
    assert phases(warehouse, [mark(1, "execute_everything", 0, 10), mark(2, "step[1]", 0, 5)]) == []
