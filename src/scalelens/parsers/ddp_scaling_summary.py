"""Summary of a DDP scaling benchmark, one JSON file per size.

Tool: pytorch-ddp-scaling-benchmark
Versions: 2026
Yields: params, steps, metrics
Source: willgpaik/pytorch-ddp-scaling-benchmark, results/*.json; by its output

Each rank gives the mean of its step times over the timed part of the run, `n_steps` of them, and their percentiles,
which are metrics: single steps are not in the file.  `images_per_sec` is the rate of a rank, and the batch of a rank
over it is the mean; the rate of the whole job is a metric of no rank.

Samples:
    {"tag": "2gpu_weak_resnet50_bf16", "scaling_mode": "weak", "world_size": 2, "batch_size_per_gpu": 128,
     "mean_step_sec": 0.256, "p50_step_sec": 0.2555, "images_per_sec_global": 1000.0,
     "per_rank": [{"rank": 0, "mean_step_sec": 0.256, "images_per_sec": 500.0, "n_steps": 240}]}
"""

import json
from collections.abc import Mapping
from typing import Any

from scalelens.rows import Rows
from scalelens.source import Source

VERSION = 1

KEYS = (b'"scaling_mode"', b'"world_size"', b'"mean_step_sec"', b'"p50_step_sec"')
LIMIT = 64 << 20
FACTS = {
    "world_size": "devices", "nodes": "nodes", "gpus_per_node": "devices_per_node", "model": "model",
    "batch_size_per_gpu": "micro_batch_size", "global_batch_size": "global_batch_size", "precision": "precision",
    "device_name": "device_model", "image_size": "image_size", "scaling_mode": "scaling_mode", "compile": "compile",
    "channels_last": "channels_last", "torch_version": "torch_version", "cuda_version": "cuda_version",
}  # fmt: skip
OF_JOB = {
    "images_per_sec_global": "samples/s", "straggler_ratio": None, "warmup_sec_actual": "s", "bench_sec_actual": "s",
    "warmup_steps": None,
}  # fmt: skip
OF_RANK = {"stdev_step_sec": "s", "p50_step_sec": "s", "p95_step_sec": "s", "p99_step_sec": "s"}


def recognise(head: bytes, name: str) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and all(key in head for key in KEYS)


def read(source: Source, rows: Rows) -> None:
    text = b"".join(source.utf8())
    try:
        said = json.loads(text[:LIMIT])
    except (ValueError, RecursionError):
        rows.problem(1, "the JSON is cut or damaged", text[:500].decode("utf-8", "replace"))
        return
    if not isinstance(said, dict):
        rows.problem(1, "the JSON is no object", text[:500].decode("utf-8", "replace"))
        return
    rows.param("framework", "pytorch", origin="inferred")
    for key, fact in FACTS.items():
        if isinstance(said.get(key), str | int):
            rows.param(fact, said[key])
    steps = whole(said.get("bench_steps"))
    rows.metrics(None, None, None, steps, metrics(said, OF_JOB))
    ranks = said.get("per_rank")
    for entry in ranks if isinstance(ranks, list) else ():
        of_rank(entry, said, steps, rows)


def of_rank(entry: Any, said: dict[str, Any], steps: int | None, rows: Rows) -> None:
    rank = whole(entry.get("rank")) if isinstance(entry, dict) else None
    step_s = number(entry.get("mean_step_sec")) if isinstance(entry, dict) else None
    if rank is None or rank >= 1 << 31 or step_s is None:
        rows.problem(None, "the entry of a rank has no number of the rank, or no mean", str(entry))
        return
    memory = number(entry.get("peak_mem_gb"))
    rows.add(
        "steps", None, attempt=0, rank=rank, phase="train", step=steps, step_s=step_s, value_kind="run_mean",
        averaged_steps=whole(entry.get("n_steps")), samples=number(said.get("global_batch_size")),
        samples_per_s=number(entry.get("images_per_sec")), rate_scope="rank",
        peak_memory_bytes=None if memory is None else memory * 2**30,
    )  # fmt: skip
    named = metrics(entry, OF_RANK)
    sampled = entry.get("gpu_sampling")
    for what, unit in (("power_w", "W"), ("sm_clock_mhz", "MHz"), ("gpu_activity_pct", "%")):
        found = sampled.get(what) if isinstance(sampled, dict) else None
        for stat in ("min", "mean", "max"):
            value = number(found.get(stat)) if isinstance(found, dict) else None
            named += [] if value is None else [(f"{what} {stat}", value, unit)]
    rows.metrics(None, rank, None, steps, named)


def metrics(said: dict[str, Any], names: Mapping[str, str | None]) -> list[tuple[str, float, str | None]]:
    found = [(name, number(said.get(name)), unit) for name, unit in names.items()]
    return [(name, value, unit) for name, value, unit in found if value is not None]


def number(value: Any) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 else None
    )


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None
