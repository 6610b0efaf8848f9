"""A random study of training runs, its rows in a warehouse and its numbers as arrays.

Weak scaling over five sizes with repeats; beside it other batches on one device, and another precision.  Each run has
epochs of equal length, with a training part and a validation, and now and then a slow step.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from little_warehouse import Row, Warehouse

Values = npt.NDArray[np.float64]

EPOCHS, BATCHES = 3, 40  # of a run
N_KEPT = (BATCHES - 2) * EPOCHS - 1  # records that no rule leaves out
PARTS = 4  # of a validation, each of one batch more than the one before
SLOWER_FROM, SLOWER = 4, 1.2  # the runs in fp32 get slower
SEQ_LENGTH, PARAMETERS = 128, 1e6
PEAK_TFLOPS, POWER_LIMIT_W = 250.0, 400.0
FACTS: Row = {
    "system": "s", "model": "m", "device_model": "oracle", "seq_length": SEQ_LENGTH, "parameters": PARAMETERS,
    "outcome": "completed",
}  # fmt: skip


@dataclass
class Run:
    """One run: times in seconds, arrays over steps of shape (EPOCHS, BATCHES), over epochs of shape (EPOCHS,)."""

    run_id: str
    devices: int
    batch: int
    precision: str
    day: int
    steps: Values
    validations: Values
    pauses: Values  # between the batches of an epoch
    tflops: Values
    rates: Values  # samples per second as printed
    scores: Values  # accuracy of each step
    losses: Values  # of the parts of a validation, shape (EPOCHS, PARTS)
    n_eff: float = 0.0  # uncorrelated records that the steps are worth

    @cached_property
    def counts(self) -> npt.NDArray[np.bool_]:
        """Steps that no rule leaves out: warm-up, first and last batches of epochs."""
        counts = np.ones((EPOCHS, BATCHES), bool)
        counts[:, [0, -1]] = False
        counts[0, :2] = False
        return counts

    @cached_property
    def kept(self) -> Values:
        return self.steps[self.counts]

    @cached_property
    def train_s(self) -> Values:
        return self.steps.sum(axis=1) + self.pauses

    @cached_property
    def epoch_s(self) -> Values:
        return self.train_s + self.validations


Study = dict[str, Run]


def random_study(seed: int, factor: float = 1.0) -> Study:
    """Runs by their id.  All times are multiplied by `factor`, rates divided."""
    rng = np.random.default_rng(seed)
    sizes = [(devices, 8 * devices, "bf16", 7 if devices < 3 else 2) for devices in (1, 2, 4, 8, 16)]
    others = [(1, 16, "bf16", 1), (1, 32, "bf16", 1), (1, 64, "bf16", 1), (1, 8, "fp32", 7)]
    runs: Study = {}
    of_epochs = np.arange(1, EPOCHS + 1)[:, None]
    for devices, batch, precision, repeats in sizes + others:
        level = (0.1 + 0.05 * batch / devices) * (1 + 0.06 * (devices - 1)) * (2.5 if precision == "fp32" else 1)
        for repeat in range(repeats):
            later = SLOWER if precision == "fp32" and repeat >= SLOWER_FROM else 1
            steps = later * level * rng.lognormal(0, 0.01) * rng.lognormal(0, 0.03, (EPOCHS, BATCHES))
            steps[rng.random(steps.shape) < 0.08] *= 1.7
            steps[0, 0] *= 9
            run_id = f"{precision}-{devices:02}-{batch:03}-{repeat}"
            extra = rng.uniform(0.5, 1.5, (2, EPOCHS)) * level
            rates, tflops = batch / steps * rng.uniform(0.9, 1.1), 50 / steps
            scores = np.linspace(0, 1, steps.size).reshape(steps.shape) + rng.normal(0, 0.05, steps.shape)
            losses = rng.uniform(0.9, 1.1, (EPOCHS, PARTS)) / of_epochs
            runs[run_id] = Run(run_id, devices, batch, precision, len(runs), factor * steps, factor * 4 * extra[0],
                factor * extra[1], tflops / factor, rates / factor, scores, losses)  # fmt: skip
    return runs


def rows_of(run: Run) -> dict[str, list[Row]]:
    """The rows of a run, by table.  Rates are logged beside the times, in lines of their own."""
    common: Row = {"run_id": run.run_id, "file_id": run.run_id, "attempt": 0}
    times: list[Row] = []
    printed: list[Row] = []
    phases: list[Row] = []
    for epoch in range(EPOCHS):
        for k in range(BATCHES):
            step = epoch * BATCHES + k + 1
            of_step = {**common, "epoch": float(epoch), "step": step, "averaged_steps": 1, "value_kind": "instant"}
            times.append(of_step | {"line": step, "step_s": run.steps[epoch, k], "samples": float(run.batch),
                "tokens": float(run.batch * SEQ_LENGTH), "tflops_per_device": run.tflops[epoch, k]})  # fmt: skip
            printed.append(of_step | {"line": 10_000 + step, "phase": "train", "samples_per_s": run.rates[epoch, k],
                "rate_scope": "global", "accuracy": run.scores[epoch, k]})  # fmt: skip
        for part, loss in enumerate(run.losses[epoch]):
            printed.append({**common, "line": 15_000 + PARTS * epoch + part, "phase": "validation", "epoch": float(epoch),
                "averaged_steps": part + 1, "value_kind": "interval_mean", "loss": loss})  # fmt: skip
        spans = {"epoch": run.epoch_s, "train": run.train_s, "validation": run.validations}
        for line, (phase, values) in enumerate(spans.items(), 20_000 + 3 * epoch):
            phases.append({**common, "line": line, "phase": phase, "epoch": float(epoch), "span_s": values[epoch],
                "origin": "logged", "samples": float(BATCHES * run.batch) if phase == "train" else None})  # fmt: skip
    facts: Row = {**FACTS, "run_id": run.run_id, "name": run.run_id, "devices": run.devices, "precision": run.precision,
        "nodes": max(run.devices // 4, 1), "global_batch_size": run.batch,
        "started_at": (20_000 + run.day) * 86_400 * 10**6}  # fmt: skip
    params: list[Row] = [{**common, "line": 1, "key": "recompute", "value": "none", "origin": "log"},
        {**common, "line": 1, "key": "cooling", "value": "air", "origin": "sidecar"}]  # fmt: skip
    return {"runs": [facts], "step_times": times, "steps": printed, "phases": phases, "params": params}


def fill(
    runs: Study, order: np.random.Generator | None = None, connection: duckdb.DuckDBPyConnection | None = None
) -> Warehouse:
    """A warehouse of these runs, the rows of each table in the order of the study or in a random one."""
    tables: dict[str, list[Any]] = {}
    for run in runs.values():
        for table, rows in rows_of(run).items():
            tables.setdefault(table, []).extend(rows)
    warehouse = Warehouse(connection)
    warehouse.connection.execute("DELETE FROM devices_catalog")
    warehouse.insert("devices_catalog", [{"place": 1, "device": "Oracle", "unit": "gpu", "pattern": "oracle",
        "bf16_tflops": PEAK_TFLOPS, "fp32_tflops": PEAK_TFLOPS / 4, "tdp_w": POWER_LIMIT_W, "source": "x"}])  # fmt: skip
    for table, rows in tables.items():
        warehouse.insert(table, [rows[k] for k in order.permutation(len(rows))] if order else rows)
    return warehouse
