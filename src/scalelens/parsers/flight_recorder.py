"""Dump of PyTorch's flight recorder: the last collectives that a rank called, and how far each came.

Tool: torch.distributed, on a timeout of ProcessGroupNCCL or by _dump_fr_trace() and _dump_fr_trace_json()
Versions: dumps of version 2.4 to 2.10; a real one of 2.10 by gloo, those of NCCL by the source alone
Yields: events, params
Source: torch/csrc/distributed/c10d/FlightRecorder.hpp and FlightRecorderDetail.hpp

A file is one rank's, as JSON or as a pickle, and only its name says of which: nccl_trace_rank_3.  A pickle is read
without Python's unpickler (parsing/plain_pickle.py).

A call is an instant of category flight_recorder at the time when the host called, and its line is its place in the
dump.  `args` keeps its numbers within the group (collective_seq_id, p2p_seq_id, op_id), its state, when the watchdog
saw it started and completed, and `duration_ms` where TORCH_NCCL_ENABLE_TIMING measured it on the device.  The counters
of `pg_status` are left out: they say what the calls say.

Samples:
    {"comm_lib_version":"","entries":[{"collective_seq_id":1,"input_dtypes":["Float"],"input_sizes":[[1000]],"profiling_name":"gloo:all_reduce",
"""

import json
from collections.abc import Iterator
from math import prod
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.plain_pickle import filled_dicts
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count

VERSION = 1
IN_HEAD = (b"profiling_name", b"pg_config")

_PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?}", re.DOTALL)
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*{")
_ENTRIES = re.compile(r'"entries"\s*:\s*\[\s*')
_BETWEEN = re.compile(r"[\s,]+")
_RANK = re.compile(r"rank_?(\d{1,7})(?:\D|$)|_(\d{1,7})(?:\.(?:json|pkl|pickle))?$")
_KEPT = (
    "record_id", "collective_seq_id", "p2p_seq_id", "op_id", "state", "retired", "is_p2p", "duration_ms", "timeout_ms",
    "time_discovered_started_ns", "time_discovered_completed_ns",
)  # fmt: skip
_ELEMENT_BYTES = {
    "Bool": 1, "Byte": 1, "Char": 1, "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8, "Double": 8,
    "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1, "ComplexFloat": 8,
    "ComplexDouble": 16,
}  # fmt: skip
_MOST_TENSORS, _MOST_DIMENSIONS = 4096, 64  # of a call; a pickle may name one list a million times

_Dict = dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    if not (_PICKLE.match(head) or _JSON.match(head)):
        return False
    words = (b"profiling_name", b"collective_seq_id") if b"profiling_name" in head else (b"pg_config", b"pg_status")
    return all(word in head for word in words)


def read(source: Source, rows: Rows) -> str | None:
    match = _RANK.search(source.name)
    rank = int(match[1] or match[2]) if match else None
    rows.param("framework", "pytorch", origin="inferred")
    rows.param("trace_clock", "unix", origin="inferred")
    if _PICKLE.match(source.head()):
        dicts = filled_dicts(source.read())
    else:
        dicts = _dicts_of_json(source.text().decode("utf-8-sig", "replace"))
    calls: list[_Dict] = []
    groups: dict[str, _Dict] = {}
    try:
        for found in dicts:
            if "profiling_name" in found:
                calls.append(found)
            elif {"name", "ranks"} <= found.keys():
                groups[str(found["name"])] = found
    except ValueError as error:
        rows.problem(len(calls) + 1, f"{error}: what was read before is kept")
    sizes = {name: _ranks_in(group["ranks"]) for name, group in groups.items()}
    for number, call in enumerate(calls, 1):
        _event(number, call, sizes, rank, rows)
    return "its name does not say which rank it is of, as in nccl_trace_rank_3" if rank is None else None


def _dicts_of_json(text: str) -> Iterator[_Dict]:
    """The calls, one by one, then the groups.  Raises ValueError where the text is cut or damaged."""
    decoder = json.JSONDecoder()
    start = _ENTRIES.search(text)
    end = start.end() if start else 0
    while start and text[end : end + 1] == "{":
        try:
            call, end = decoder.raw_decode(text, end)
        except (ValueError, RecursionError):
            raise ValueError("the dump is cut or damaged here") from None
        yield call
        end = between.end() if (between := _BETWEEN.match(text, end)) else end
    try:
        groups = json.loads(text).get("pg_config") or {}
    except (ValueError, RecursionError, AttributeError):
        raise ValueError("the dump is cut or damaged here") from None
    yield from (group for group in groups.values() if isinstance(group, dict))


def _event(number: int, call: _Dict, sizes: dict[str, int | None], rank: int | None, rows: Rows) -> None:
    """One call as an event."""
    name, created = call.get("profiling_name"), json_count(call.get("time_created_ns"))
    if not isinstance(name, str) or created is None:
        rows.problem(number, "the call has no name or no time", str(name))
        return
    group = call.get("process_group")
    group = group if isinstance(group, list | tuple) and all(isinstance(part, str) for part in group) else ()
    dtype = texts[0] if isinstance(texts := call.get("input_dtypes"), list) and texts else None
    kept = {key: call[key] for key in _KEPT if isinstance(call.get(key), int | float | str)}
    rows.add(
        "events", number, rank=rank, ph="i", name=name, category="flight_recorder", start_ns=created,
        collective=name.partition(":")[2].split(" ")[0] or name, process_group=group[0] if group else None,
        group_size=sizes.get(group[0]) if group else None, dtype=dtype if isinstance(dtype, str) else None,
        message_bytes=_message_bytes(call.get("input_sizes"), call.get("input_dtypes")),
        thread=thread if isinstance(thread := call.get("thread_id"), str) else None,
        args=json.dumps(kept | ({"group": group[1]} if len(group) > 1 else {})),
    )  # fmt: skip


def _message_bytes(sizes: Any, dtypes: Any) -> int | None:
    """Bytes of the tensors that a rank puts in; None where a size or type is not known."""
    if not isinstance(sizes, list) or not isinstance(dtypes, list) or not 0 < len(sizes) <= _MOST_TENSORS:
        return None
    total = 0
    for size, dtype in zip(sizes, dtypes, strict=False):
        counts = (
            [json_count(count) for count in size]
            if isinstance(size, list) and len(size) <= _MOST_DIMENSIONS
            else [None]
        )
        if None in counts or dtype not in _ELEMENT_BYTES:
            return None
        total += prod(count for count in counts if count is not None) * _ELEMENT_BYTES[dtype]
    return total if len(sizes) == len(dtypes) and total < 1 << 62 else None


def _ranks_in(ranks: Any) -> int | None:
    """How many ranks `[0, 1, 8]` names; None where it names none."""
    return len(re.findall(r"\d+", ranks)) or None if isinstance(ranks, str) else None
