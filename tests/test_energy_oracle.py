"""Energy of random power readings is that of numpy's trapezoids, to 1e-12."""

import numpy as np
import pytest
from scipy.integrate import trapezoid  # numpy has it under this name since 2.0

from little_warehouse import Row, Warehouse
from random_study import Values

BASE_NS = 1_790_000_000 * 10**9
BEGINS_S, ENDS_S = 5.0, 35.0  # of the run, within the readings
BATCH, SEQ_LENGTH, STEPS, WARMUP = 16, 128, 60, 2
POWER_LIMIT_W = 400.0


def random_readings(rng: np.random.Generator) -> tuple[Values, Values]:
    """Times from about 0 s to 40 s, to the millisecond and uneven, and watts."""
    times = np.round(np.cumsum(rng.uniform(0.05, 0.15, 400)), 3)
    return times, rng.uniform(100, 400, 400)


def integral(times: Values, watts: Values, begins: float, ends: float) -> float:
    inside = times[(times > begins) & (times < ends)]
    knots = np.concatenate([[begins], inside, [ends]])
    return float(trapezoid(np.interp(knots, times, watts), knots))


def fill(warehouse: Warehouse, sensors: list[tuple[Values, Values]], steps: Values, until: Values) -> None:
    facts: Row = {
        "devices": 2,
        "nodes": 1,
        "device_model": "oracle",
        "global_batch_size": BATCH,
        "seq_length": SEQ_LENGTH,
    }
    warehouse.run("a", **facts)
    common: Row = {"run_id": "a", "file_id": "a", "attempt": 0, "ts_origin": "utc"}
    records = [{**common, "line": k, "step": k + 1, "step_s": steps[k], "averaged_steps": 1, "value_kind": "instant",
        "phase": "train", "ts": BASE_NS // 1000 + round(until[k] * 1e6)} for k in range(STEPS)]  # fmt: skip
    warehouse.insert("steps", records)
    warehouse.insert("step_times", records)
    warehouse.insert("phases", [{**common, "line": 900, "phase": "run", "span_s": ENDS_S - BEGINS_S,
        "ts": BASE_NS // 1000 + round(ENDS_S * 1e6)}])  # fmt: skip
    warehouse.insert("devices_catalog", [{"place": 1, "device": "Oracle", "unit": "gpu", "pattern": "oracle",
        "tdp_w": POWER_LIMIT_W, "source": "x"}])  # fmt: skip
    warehouse.insert("power", [
        {"run_id": "a", "file_id": "p", "line": line, "node": "n", "device": str(device), "scope": "gpu",
            "ts": BASE_NS + round(time * 1e9), "ts_origin": "utc", "power_w": watt}
        for device, sensor in enumerate(sensors) for line, (time, watt) in enumerate(zip(*sensor, strict=True))
    ])  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_energy_is_that_of_numpy(warehouse: Warehouse, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sensors = [random_readings(rng), random_readings(rng)]
    steps = np.round(rng.uniform(0.3, 0.5, STEPS), 3)
    until = np.round(BEGINS_S + 1 + np.cumsum(steps), 3)
    fill(warehouse, sensors, steps, until)
    joules = np.array([integral(*sensor, BEGINS_S, ENDS_S) for sensor in sensors])
    span_s = ENDS_S - BEGINS_S
    rows = warehouse.ask("FROM energy_integrated()")
    for row, energy_j, (times, _) in zip(rows, joules, sensors, strict=True):
        period, within = np.median(np.diff(times)), ((times >= BEGINS_S) & (times <= ENDS_S)).sum()
        assert numbers(row) == pytest.approx({"readings": within, "span_s": span_s, "energy_j": energy_j,
            "mean_w": energy_j / span_s, "coverage": 1.0, "sampling_s": period, "n_implausible": 0, "bridged_j": 0.0}, rel=1e-12)  # fmt: skip
    (row,) = warehouse.ask("FROM energy_efficiency()")
    step_j = np.array([sum(integral(*sensor, end - step, end) for sensor in sensors)
        for end, step in zip(until, steps, strict=True)])  # fmt: skip
    kept, total_j, total_wh = step_j[WARMUP:], joules.sum(), joules.sum() / 3600
    lowest = sum(watts.min() for _, watts in sensors)
    assert numbers(row) == pytest.approx({
        "devices": 2, "global_batch_size": BATCH, "units": 2, "energy_j": total_j, "unit_wh": total_wh / 2,
        "unit_w": total_j / span_s / 2, "tdp_w": POWER_LIMIT_W, "tdp_share": total_j / span_s / 2 / POWER_LIMIT_W,
        "coverage": 1.0, "idle_share": lowest * span_s / total_j, "steps_share": step_j.sum() / total_j,
        "samples": STEPS * BATCH, "samples_per_wh": STEPS * BATCH / total_wh,
        "tokens_per_wh": STEPS * BATCH * SEQ_LENGTH / total_wh, "batch_per_wh": BATCH / (total_wh / 2),
        "n_steps": STEPS - WARMUP, "step_j": np.median(kept), "step_j_low": kept.min(), "step_j_high": kept.max(),
    }, rel=1e-12)  # fmt: skip


def numbers(row: Row) -> Row:
    return {name: value for name, value in row.items() if isinstance(value, int | float)}
