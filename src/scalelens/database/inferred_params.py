"""Devices and global batch of each run for which they follow from other facts, as rows of `params`.

Nodes and the devices of a node give the devices, unless a look at a node is all that tells its devices.  A sidecar's
batch per device is as good as its global batch.  Micro-batch, devices and accumulation give it where nothing states it;
where what is stated is less than the devices compute at once, that number is a row too, and the two are a
contradiction.  In Python, since DuckDB takes longer to plan these few formulas than to read what they rest on.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from scalelens import catalog
from scalelens.tables import STORED, schema

_COUNTS = (
    "devices", "nodes", "devices_per_node", "micro_batch_size", "global_batch_size", "tp", "pp", "dp", "cp",
    "ds_sequence_parallel_size",
)  # fmt: skip
MICRO_BATCH, PER_DEVICE, PER_NODE = "micro_batch_size", "batch_per_device", "devices_per_node"
NEEDED = (MICRO_BATCH, PER_DEVICE, PER_NODE)  # without one of them nothing follows
_BATCH = "global_batch_size"
_MOST = 2**63  # of a whole number in SQL
_MOST_DEVICES = 2**31


class StatedFact(NamedTuple):
    """What counts as a run's value of a key, with its place; `whole` and `number` where it is one."""

    run_id: str
    key: str
    text: str
    whole: int | None
    number: float | None
    origin: str
    file_id: str
    part: str
    line: int | None


def _accumulation_keys() -> list[str]:
    """Names under which frameworks state how many micro-batches they add up."""
    names = {row["setting"]: row["keys"] for row in catalog.cells_of("settings.csv")}
    return names["gradient_accumulation"].split()


def keys() -> list[str]:
    """Keys of `params` from which devices or a global batch follow."""
    return [*_COUNTS, *_accumulation_keys(), PER_DEVICE, "device_unit", "framework"]


def inferred_params(stated: list[StatedFact]) -> pa.Table | None:
    """Rows of `params` with their `run_id`, from the facts of `keys()`; None where nothing follows."""
    accumulations = _accumulation_keys()
    of_runs: dict[str, dict[str, StatedFact]] = {}
    for fact in stated:
        of_runs.setdefault(fact.run_id, {})[fact.key] = fact
    rows = [
        {"run_id": run_id, "file_id": source.file_id, "part": source.part, "line": source.line}
        | {"key": key, "value": str(value), "origin": origin}
        for run_id, facts in of_runs.items()
        for key, value, source, origin in _of_run(facts, accumulations)
    ]
    columns = pa.schema([("run_id", pa.string()), *schema(STORED["params"])])
    return pa.Table.from_pylist(rows, schema=columns) if rows else None


def _of_run(facts: dict[str, StatedFact], accumulations: list[str]) -> Iterator[tuple[str, object, StatedFact, str]]:
    """Key, value, source and origin of what follows for one run."""
    counts = {key: float(fact.whole) for key, fact in facts.items() if fact.whole is not None}
    if (of_nodes := _of_nodes(facts, counts)) is not None:
        yield "devices", of_nodes, facts["nodes"], "inferred"
        counts["devices"] = float(of_nodes)
    stated, micro_batch = counts.get(_BATCH), counts.get(MICRO_BATCH, 0.0)
    origin = facts[_BATCH].origin if _BATCH in facts else None
    of_devices = _of_devices(facts, counts)
    if of_devices is not None:
        yield _BATCH, of_devices, facts[PER_DEVICE], "inferred" if origin == "sidecar" else "sidecar"
        stated = of_devices if stated is None else stated
    replicas = _replicas(facts, counts)
    if micro_batch <= 0 or replicas is None:
        return
    source, at_once = facts[MICRO_BATCH], micro_batch * replicas
    accumulation = max((counts[key] for key in accumulations if key in counts), default=None)
    # A pipeline is filled with several micro-batches, and Composer splits the batch of a device as its memory asks:
    # without their number nothing follows.
    is_told = accumulation is not None or (counts.get("pp", 1) == 1 and _text(facts, "framework") != "composer")
    accumulated = at_once * (1 if accumulation is None else accumulation)
    if stated is None and is_told and 0 < accumulated < _MOST:
        yield _BATCH, int(accumulated), source, "inferred"
        how = ", with accumulation" if accumulation is not None and accumulation > 1 else ""
        yield "global_batch_size_origin", f"micro-batch and devices{how}", source, "inferred"
    elif stated is not None and stated < at_once < _MOST and origin != "inferred":
        # What a parser inferred rests on the same facts.
        yield _BATCH, int(at_once), source, "inferred"
        devices = counts.get("devices", replicas)
        yield (
            "global_batch_size_excluded_by",
            f"micro-batch {micro_batch:.0f} on {devices:.0f} devices",
            source,
            "inferred",
        )


def _of_nodes(facts: dict[str, StatedFact], counts: dict[str, float]) -> int | None:
    """The product of nodes and their devices; a job may use fewer devices than a look at a node shows."""
    if "devices" in facts or not {"nodes", PER_NODE} <= counts.keys():
        return None
    looked_at = facts[PER_NODE].origin in ("environment", "nccl") and facts["nodes"].origin != facts[PER_NODE].origin
    devices = counts["nodes"] * counts[PER_NODE]
    return int(devices) if 0 < devices < _MOST_DEVICES and not looked_at else None


def _of_devices(facts: dict[str, StatedFact], counts: dict[str, float]) -> int | None:
    """The global batch by a sidecar's batch per device."""
    per_device = facts[PER_DEVICE].number if PER_DEVICE in facts else None
    if per_device is None or "devices" not in counts:
        return None
    product = per_device * counts["devices"]
    is_whole = math.isfinite(product) and abs(product - round(product)) < 1e-6 * product < 1e-6 * _MOST
    return round(product) if is_whole else None


def _replicas(facts: dict[str, StatedFact], counts: dict[str, float]) -> float | None:
    """How many replicas of the model compute at once."""
    if "dp" in counts:
        return counts["dp"]
    context = counts.get("cp", counts.get("ds_sequence_parallel_size", 1))
    devices_per_replica = counts.get("tp", 1) * counts.get("pp", 1) * context
    # How many IPUs a replica has follows from no parallel size.
    if "devices" not in counts or not devices_per_replica or _text(facts, "device_unit") == "ipu":
        return None
    replicas, left = divmod(counts["devices"], devices_per_replica)
    return None if left else replicas


def _text(facts: dict[str, StatedFact], key: str) -> Any:
    return facts[key].text if key in facts else None
