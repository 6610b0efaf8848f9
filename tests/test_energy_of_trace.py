"""Joules of the parts of a trace, against a power curve that is integrated piece by piece."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from little_warehouse import Row, Warehouse

T0 = 1_700_000_000 * 10**9
CLASSES = {"compute": "gemm", "communication": "ncclDevKernel_AllReduce", "memory": "Memcpy HtoD"}
Curve = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]  # nanoseconds, watts


def work(spans: list[tuple[str, int, int]], **columns: Any) -> list[Row]:
    return [
        {"run_id": "r", "file_id": "t", "rank": 0, "ph": "X", "line": line, "name": CLASSES[kind], "stream": line % 3,
         "category": "gpu_memcpy" if kind == "memory" else "kernel", "start_ns": start, "duration_ns": end - start, **columns}
        for line, (kind, start, end) in enumerate(spans)
    ]  # fmt: skip


def readings(curve: Curve, **columns: Any) -> list[Row]:
    common = {"run_id": "r", "file_id": "p", "node": "n", "device": "0", "scope": "gpu", "ts_origin": "utc", **columns}
    return [{**common, "line": line, "ts": int(at), "power_w": float(watts)}
            for line, (at, watts) in enumerate(zip(*curve, strict=True))]  # fmt: skip


def asked(warehouse: Warehouse, rows: dict[str, list[Row]], arguments: str = "") -> dict[str | None, Row]:
    warehouse.insert("runs", [{"run_id": "r"}])
    clock = {"run_id": "r", "file_id": "t", "key": "trace_clock", "value": "unix", "origin": "inferred"}
    for table, of_table in ({"params": [clock]} | rows).items():
        warehouse.insert(table, of_table)
    return {row["part"]: row for row in warehouse.ask(f"FROM energy_of_trace({arguments})")}


def integrals(curve: Curve, spans: list[tuple[str, int, int]]) -> dict[str, float]:
    """Joules by class: a midpoint rule between all times at which anything changes, where power is linear."""
    times, watts = curve
    edges = sorted({edge for _, start, end in spans for edge in (start, end)})
    cuts = sorted({*edges, *(int(at) for at in times if edges[0] < at < edges[-1])})
    energy: dict[str, float] = {}
    for a, b in pairwise(cuts):
        kinds = {kind for kind, start, end in spans if start <= a and b <= end}
        part = next((kind for kind in CLASSES if kind in kinds), "idle")
        part = part if part in ("compute", "idle") else f"exposed {part}"
        middle = np.interp((a - T0 + b - T0) / 2, times - T0, watts)
        energy[part] = energy.get(part, 0.0) + float(middle) * (b - a) / 1e9
    return energy


def random_spans(seed: int) -> tuple[Curve, list[tuple[str, int, int]]]:
    rng = np.random.default_rng(seed)
    times = T0 + np.cumsum(rng.integers(80_000_000, 120_000_000, 60))
    starts = T0 + 500_000_000 + rng.integers(0, 4_000_000_000, 40)
    spans = [
        (str(rng.choice(list(CLASSES))), int(start), int(start + rng.integers(1000, 90_000_000))) for start in starts
    ]
    return (times, rng.uniform(90, 700, len(times))), spans


@pytest.mark.parametrize("seed", range(4))
def test_classes_take_the_integral_over_their_time_and_add_up(warehouse: Warehouse, seed: int) -> None:
    curve, spans = random_spans(seed)
    rows = asked(warehouse, {"events": work(spans), "power": readings(curve)})
    expected = integrals(curve, spans)
    assert {part: row["energy_j"] for part, row in rows.items()} == pytest.approx(expected, rel=1e-7)
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    span = max(end for *_, end in spans) - min(start for _, start, _ in spans)
    assert sum(row["time_ns"] for row in rows.values()) == span
    assert {row["coverage"] for row in rows.values()} == {1.0}


def test_a_lag_moves_the_readings_back(warehouse: Warehouse) -> None:
    curve, spans = random_spans(5)
    late = (curve[0] + 300_000_000, curve[1])
    rows = asked(warehouse, {"events": work(spans), "power": readings(late)}, "lag_s := 0.3")
    assert {part: row["energy_j"] for part, row in rows.items()} == pytest.approx(integrals(curve, spans), rel=1e-7)


def test_annotations_count_on_the_device_and_once_where_they_overlap(warehouse: Warehouse) -> None:
    flat = (T0 + np.arange(0, 5_000_000_000, 100_000_000), np.full(50, 200.0))
    marks = [
        ("step 1", "user_annotation", 0, 900, 1), ("step 1", "gpu_user_annotation", 200, 700, 1),
        ("step 1", "gpu_user_annotation", 500, 1000, 1), ("step 2", "gpu_user_annotation", 1000, 1500, 2),
        ("save", "user_annotation", 1600, 1700, 3),
    ]  # fmt: skip
    events = work([("compute", T0, T0 + 2_000_000_000)]) + [
        {"run_id": "r", "file_id": "t", "rank": 0, "ph": "X", "line": 100 + line, "name": name, "category": category,
         "start_ns": T0 + start * 10**6, "duration_ns": (end - start) * 10**6, "args": f'{{"External id": {external}}}'}
        for line, (name, category, start, end, external) in enumerate(marks)
    ]  # fmt: skip
    rows = asked(warehouse, {"events": events, "power": readings(flat)}, "what := 'annotation'")
    assert {part: (row["calls"], row["time_ns"], round(row["energy_j"], 6)) for part, row in rows.items()} == {
        "step N": (2, 1_300_000_000, 260.0), "save": (1, 100_000_000, 20.0),
    }  # fmt: skip


def test_phases_of_inference_have_joules_per_token(warehouse: Warehouse) -> None:
    flat = (T0 + np.arange(0, 5_000_000_000, 100_000_000), np.full(50, 300.0))
    events = work([("compute", T0, T0 + 3_000_000_000)]) + [
        {"run_id": "r", "file_id": "t", "rank": 0, "ph": "X", "line": 100 + line, "name": name,
         "category": "gpu_user_annotation", "start_ns": T0 + start * 10**6, "duration_ns": 500 * 10**6}
        for line, (name, start) in enumerate([
            ("execute_context_1(100)_generation_0(0)", 0), ("execute_context_0(0)_generation_4(4)", 600),
            ("execute_context_0(0)_generation_6(6)", 1200),
        ])
    ]  # fmt: skip
    rows = asked(warehouse, {"events": events, "power": readings(flat)}, "what := 'phase'")
    assert {part: (row["calls"], row["tokens"], row["energy_j"], row["token_j"]) for part, row in rows.items()} == {
        "prefill": (1, 100, pytest.approx(150), pytest.approx(1.5)), "decode": (2, 10, pytest.approx(300), pytest.approx(30)),
    }  # fmt: skip


SPANS = [("compute", T0 + 10**9, T0 + 2 * 10**9)]
FLAT = (T0 + np.arange(0, 5_000_000_000, 100_000_000), np.full(50, 400.0))


def test_local_time_is_moved_by_the_only_zone_that_fits(warehouse: Warehouse) -> None:
    local = (FLAT[0] + 3600 * 10**9, FLAT[1])
    rows = asked(warehouse, {"events": work(SPANS), "power": readings(local, ts_origin="naive")})
    assert rows["compute"]["energy_j"] == pytest.approx(400)


@pytest.mark.parametrize(
    ("curve", "columns", "reason"),
    [
        ((FLAT[0] + 60 * 10**9, FLAT[1]), {}, "power was not measured in the time of the trace"),
        ((T0 + np.arange(-5000, 5000) * 10**9, np.full(10_000, 400.0)), {"ts_origin": "naive"}, "11 zones of the readings fit"),
        (FLAT, {"ts_origin": "relative"}, "the clock of the readings is not known"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_said(warehouse: Warehouse, curve: Curve, columns: Row, reason: str) -> None:
    (row,) = asked(warehouse, {"events": work(SPANS), "power": readings(curve, **columns)}).values()
    assert row["part"] is None and row["energy_j"] is None and row["note"].startswith(reason)


def test_of_several_sensors_as_many_count_as_devices_were_traced(warehouse: Warehouse) -> None:
    """The same device by two tools is one; a rank of two takes the mean of their devices."""
    two = readings(FLAT) + readings((FLAT[0], FLAT[1] / 2), device="1", file_id="q")
    rows = asked(warehouse, {"events": work(SPANS), "power": two})
    assert (rows["compute"]["energy_j"], rows["compute"]["sensors"]) == (pytest.approx(400), 1)
    warehouse.insert("events", work(SPANS, file_id="t1", rank=1))
    warehouse.insert("params", [{"run_id": "r", "file_id": "t1", "key": "trace_clock", "value": "unix"}])
    both = warehouse.ask("FROM energy_of_trace()")
    assert [(row["rank"], row["energy_j"], row["sensors"]) for row in both] == [
        (0, pytest.approx(300), 2), (1, pytest.approx(300), 2),
    ]  # fmt: skip
    assert both[0]["note"] == "mean of 2 sensors: which is of this rank is not known"


def test_time_without_readings_is_said(warehouse: Warehouse) -> None:
    rows = asked(warehouse, {"events": work([("compute", T0 + 4 * 10**9, T0 + 6 * 10**9)]), "power": readings(FLAT)})
    assert rows["compute"]["coverage"] == pytest.approx(0.45)
    assert rows["compute"]["energy_j"] == pytest.approx(400 * 0.9) and rows["compute"]["mean_w"] == pytest.approx(400)
    assert rows["compute"]["note"] == "power was measured in a part of this time alone"
