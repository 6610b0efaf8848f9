"""StragglerAnalysis's table of operations (Parquet).

Tool: ByteDance-Seed/StragglerAnalysis
Versions: the traces published with the paper (2025)
Yields: events, params
Source: StragglerAnalysis, README and data/trace-*.parquet

A row is an operation of a rank in one step of Megatron's pipeline: compute of a micro-batch, send, receive, collective
of the data parallel group, optimizer.  One tensor parallel rank stands for its group, so that ranks are numbered with
gaps: the gap is the tensor parallel size.  `start_ts` and `duration` are seconds in single precision, counted from the
start of each step; the steps of a sample of the run are laid end to end here, on a clock without a zero.

The rank, its pipeline stage and the sizes must agree as in Megatron, where the stage is the slowest to vary.
"""

import io
from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scalelens.parsing.parquet_file import most_bytes, stated_bytes, text_bytes
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source

VERSION = 1
IN_HEAD = (b"optype",)

_TYPES = pa.schema(
    [(name, pa.int32()) for name in ("dp_rank", "stage", "rank", "mb_id")]
    + [("step", pa.int64()), ("optype", pa.string()), ("start_ts", pa.float64()), ("duration", pa.float64())]
)
_NEEDED = _TYPES.names
_ROWS, _BYTES_OF_ROW = 10_000, 4  # of any file, and more for each row: real ones take ten bytes and more
_COLLECTIVES = {"grads-reduce-scatter": "reduce_scatter", "params-all-gather": "all_gather"}
_COMMUNICATION = ("-send", "-recv", "-all-reduce", "-reduce-scatter", "-all-gather")


def recognise(head: bytes, name: str) -> bool:
    return head.startswith(b"PAR1") and all(word in head for word in (b"dp_rank", b"stage", b"optype"))


def read(source: Source, rows: Rows) -> None:
    try:
        file = pq.ParquetFile(io.BytesIO(source.read()), read_dictionary=["optype"])
        if file.metadata.num_rows > _ROWS + source.size_bytes // _BYTES_OF_ROW:
            raise ValueError("it states far more rows than its size allows")
        if stated_bytes(file.metadata, len(_NEEDED)) > most_bytes(source.size_bytes):
            raise ValueError("it states far more bytes than its size allows")
        read = file.read(_NEEDED).select(_NEEDED)
        if sum(map(text_bytes, read["optype"].chunks)) > most_bytes(source.size_bytes):
            raise ValueError("it holds far more text than its size allows")
        table = read.cast(_TYPES)
        columns = {name: table[name].to_pylist() for name in _NEEDED}
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        rows.problem(None, f"the table cannot be read: {str(error).splitlines()[0]}")
        return
    operations = [
        dict(zip(_NEEDED, values, strict=True), line=line)
        for line, values in enumerate(zip(*columns.values(), strict=True), 1)
    ]
    sound = [operation for operation in operations if _is_sound(operation)]
    for operation in operations:
        if not _is_sound(operation):
            rows.problem(operation["line"], "the operation lacks its rank, step or time", str(operation["optype"]))
    if sound:
        _facts(sound, rows)
        for line, event in _events(sound):
            rows.put("events", line, event)


def _is_sound(operation: dict[str, Any]) -> bool:
    """Whether an operation has what an event needs."""
    if (
        any(operation[key] is None for key in _NEEDED)
        or min(operation["rank"], operation["stage"], operation["dp_rank"]) < 0
    ):
        return False
    return (
        bool(np.isfinite(operation["start_ts"]))
        and 0 <= operation["duration"] < 1e6
        and 0 <= operation["start_ts"] < 1e6
    )


def _facts(operations: list[dict[str, Any]], rows: Rows) -> None:
    """Sizes of the job, if ranks and stages agree with them."""
    tp = gcd(*{operation["rank"] for operation in operations}) or 1
    pp, dp = (1 + max(operation[key] for operation in operations) for key in ("stage", "dp_rank"))
    rows.param("framework", "megatron-lm", origin="inferred")
    rows.param("trace_clock", "relative")
    if all(operation["rank"] == (operation["stage"] * dp + operation["dp_rank"]) * tp for operation in operations):
        for key, value in (("devices", tp * pp * dp), ("tp", tp), ("pp", pp), ("dp", dp)):
            rows.param(key, value, origin="inferred")
    else:
        rows.problem(None, "ranks and stages do not follow Megatron's order: the stages are not known")


def _events(operations: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Operations as events, step by step."""
    lengths: dict[int, int] = {}
    for operation in operations:
        lengths[operation["step"]] = max(
            lengths.get(operation["step"], 0), _nanoseconds(operation["start_ts"] + operation["duration"])
        )
    begins, at = {}, 0
    for step in sorted(lengths):
        begins[step], at = at, at + lengths[step]
    for operation in operations:
        name = operation["optype"]
        kind = "compute" if name.endswith("-compute") else "communication" if name.endswith(_COMMUNICATION) else "other"
        in_group = name in _COLLECTIVES
        yield operation["line"], {
            "rank": operation["rank"], "ph": "X", "name": name, "category": kind, "train_step": operation["step"],
            "start_ns": begins[operation["step"]] + _nanoseconds(operation["start_ts"]), "duration_ns": _nanoseconds(operation["duration"]),
            "process": f"stage {operation['stage']}", "thread": f"replica {operation['dp_rank']}",
            "collective": _COLLECTIVES.get(name), "process_group": f"replicas of stage {operation['stage']}" if in_group else None,
            "args": f'{{"mb_id": {operation["mb_id"]}}}' if operation["mb_id"] >= 0 else None,
        }  # fmt: skip


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
