"""Jobs that are slow for a known cause: their logs, traces, clocks and memory, with the scatter of real ones."""

from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from little_warehouse import Row, Warehouse

Values = npt.NDArray[np.float64]
RANKS, PER_NODE, STEPS = 8, 2, 60
TRACED = range(40, 50)  # steps that a profiler traced
START = datetime(2026, 11, 20)
BETWEEN, DEVICES, JITTER = 0.01, 0.01, 0.01  # scatter of runs, of devices and of steps, as shares
CAUSES = ("nothing", "gpu", "node", "input", "throttling", "allocator", "checkpoints")


class GeneratedJob:
    """A job of four nodes, each of two ranks, slow for `cause`: a step lasts until its slowest rank is there.

    All that a log and a trace can tell is there whatever the cause, so that a wrong one could be named.
    """

    def __init__(self, run: str, cause: str, seed: int) -> None:
        self.run = run
        random = np.random.default_rng([seed, CAUSES.index(cause), run == "after"])
        steps = np.arange(STEPS)
        compute = 0.8 * (1 + BETWEEN * random.standard_normal())
        compute = compute * (1 + DEVICES * random.standard_normal((RANKS, 1)))
        compute = compute * (1 + JITTER * random.standard_normal((RANKS, STEPS)))
        slow = {"gpu": [random.integers(RANKS)], "node": [6, 7]}.get(cause, [])
        compute[slow] *= 1.2
        heated = np.clip((steps - random.integers(10, 25)) / 8, 0, 1) if cause == "throttling" else np.zeros(STEPS)
        self.slowdown = 1 + 0.15 * heated
        self.compute = compute * self.slowdown
        self.waits = (0.2 if cause == "input" else 0.01) * (1 + 0.1 * random.standard_normal(STEPS))
        self.saved = range(5, STEPS, 10) if cause == "checkpoints" else range(0)
        stalls = np.zeros(STEPS)
        stalls[list(self.saved)] = 2.0
        if cause == "allocator":  # cudaMalloc after an allocation that was retried
            stalls[random.choice(np.arange(5, STEPS), 8, replace=False)] = 0.8
        self.times = self.compute.max(axis=0) + 0.1 + self.waits + stalls
        self.clock = 1410 / self.slowdown * (1 + 0.003 * random.standard_normal(STEPS))
        self.allocated = 20e9 * (1 + 0.01 * random.standard_normal(STEPS))
        self.reserved = self.allocated * (np.linspace(1.1, 1.8, STEPS) if cause == "allocator" else 1.1)
        self.retries = np.cumsum(stalls > 0) if cause == "allocator" else np.zeros(STEPS)

    def insert(self, warehouse: Warehouse) -> None:
        """All its rows."""
        facts = {"run_id": self.run, "name": self.run, "devices": RANKS, "devices_per_node": PER_NODE}
        warehouse.insert("runs", [facts])
        ends = START + np.cumsum(self.times) * timedelta(seconds=1)
        common = {"run_id": self.run, "file_id": self.run, "attempt": 0, "averaged_steps": 1, "value_kind": "instant"}
        rows: list[Row] = [
            common | {"line": k, "step": k, "step_s": time, "ts": ends[k]} for k, time in enumerate(self.times)
        ]
        warehouse.insert("step_times", rows)
        more = {"phase": "train", "ts_origin": "utc"}
        warehouse.insert("steps", [row | more | {"rank": 0, "data_s": self.waits[row["line"]]} for row in rows])
        saves = [{"phase": "checkpoint", "step": step, "attempt": 0, "run_id": self.run} for step in self.saved]
        warehouse.insert("phases", saves)
        warehouse.insert("metrics", self._metrics())
        warehouse.insert("events", self._kernels())

    def _metrics(self) -> list[Row]:
        named = {
            ("sm_clock", "MHz"): self.clock, ("memory allocated", "bytes"): self.allocated,
            ("memory reserved", "bytes"): self.reserved, ("num_alloc_retries", "count"): self.retries,
        }  # fmt: skip
        return [
            {"run_id": self.run, "rank": 0, "step": step, "name": name, "value": float(value), "unit": unit,
             "stat": "value"}
            for (name, unit), values in named.items() for step, value in enumerate(values)
        ]  # fmt: skip

    def _kernels(self) -> list[Row]:
        """Of each traced step and rank a kernel that computes and a collective that lasts until the slowest is there."""
        rows = []
        begins = np.concatenate([[0], np.cumsum(self.times)])
        for rank in range(RANKS):
            for step in TRACED:
                computes, waits = (
                    self.compute[rank, step],
                    self.compute[:, step].max() + 0.05 - self.compute[rank, step],
                )
                common = {
                    "run_id": self.run, "file_id": f"{self.run}-{rank}", "rank": rank, "ph": "X", "category": "kernel",
                    "train_step": step,
                }  # fmt: skip
                start = round((begins[step] + self.waits[step]) * 1e9)
                rows += [
                    common | {"line": 2 * step, "name": "sgemm", "start_ns": start, "duration_ns": round(computes * 1e9)},
                    common
                    | {"line": 2 * step + 1, "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                       "start_ns": start + round(computes * 1e9), "duration_ns": round(waits * 1e9)},
                ]  # fmt: skip
        return rows
