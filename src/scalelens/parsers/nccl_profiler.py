"""Events of NCCL's example profiler plugin (ncclTrace_<rank>.json).

Tool: NVIDIA NCCL and AMD RCCL, the profiler plugin of ext-profiler/example (NCCL_PROFILER_PLUGIN=example)
Versions: NCCL 2.23 to 2.29; no real file was at hand: by the source
Yields: events, params
Source: NCCL, ext-profiler/example/print_event.c (print_event.cc since 2.29)

Each pair of begin (b) and end (e) of one category and id is one event of category nccl_profiler: groups, collectives,
point-to-point calls, launches, and below them what the proxy thread and the network do.  They are of the host: a
collective lasts from its call until the proxy is done, which is not the time of its kernel.  `args` is what the plugin
says, with the plugin's own category as `kind`; `Rank` in it counts within the communicator, whose hash is the
`process_group`.  `message_bytes` are those that a rank puts in; of a ReduceScatter or AllToAll the plugin does not say
them.  Times count from the start of the plugin: `trace_clock` is relative.  The rank is that of the file name (rank0),
else NULL.  An event that ends without a begin, or begins without an end, is a problem.

Samples:
    [
    {"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 0, "pid": 4411, "tid": 1, "ts": 812.500000, "args": {"SeqNum": 3, "CommHash": 17205, "Rank": 1, "Count": 4096, "Datatype": "ncclFloat32", "Algorithm": "RING", "Protocol": "LL", "nChannels": 2}},
    {"name": "AllReduce", "cat": "COLL", "ph": "e", "id": 0, "pid": 4411, "tid": 1, "ts": 905.250000},
    {}]
"""

import json
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import decimal_nanoseconds
from scalelens.parsing.values import json_count, rank_in_name
from scalelens.tabular.cells import lines_of

VERSION = 1
IN_HEAD = (b'"cat":',)

_KINDS = rb"(?:GROUP|COLL|P2P)(?:_API)?|KERNEL_LAUNCH|PROXY|NET|NET_IB|NET_SOCK|GPU|CE_COLL|CE_SYNC|CE_BATCH"
_FIRST = re.compile(rb'\s*\[\s*\{"name": ?"[^"]{1,80}", ?"cat": ?"(?:' + _KINDS + rb')", ?"ph": ?"b"')
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")  # AllReduce is all_reduce in other traces
_OPERATIONS = ("COLL", "P2P", "CE_COLL")
_PUTS_IN = ("all_reduce", "all_gather", "broadcast", "reduce", "send", "recv")  # whose count is of what a rank puts in
_ELEMENT_BYTES = {
    "ncclInt8": 1, "ncclChar": 1, "ncclUint8": 1, "ncclFloat8e4m3": 1, "ncclFloat8e5m2": 1, "ncclFloat16": 2, "ncclHalf": 2,
    "ncclBfloat16": 2, "ncclInt32": 4, "ncclInt": 4, "ncclUint32": 4, "ncclFloat32": 4, "ncclFloat": 4, "ncclInt64": 8,
    "ncclUint64": 8, "ncclFloat64": 8, "ncclDouble": 8,
}  # fmt: skip
_Begun = dict[tuple[str, str, str], list[tuple[int, int, dict[str, Any]]]]


def recognise(head: bytes, name: str) -> bool:
    return bool(_FIRST.match(head))


def read(source: Source, rows: Rows) -> None:
    rank = rank_in_name(source.name)
    rows.param("trace_clock", "relative", 1, origin="inferred")
    begun: _Begun = {}
    for line, text, _ in lines_of(source):
        body = text.strip().lstrip("[").rstrip(",]").strip()
        if body in ("", "{}"):
            continue
        try:
            event = json.loads(body, parse_float=str)
        except (ValueError, RecursionError):
            event = None
        start = decimal_nanoseconds(event.get("ts")) if isinstance(event, dict) else None
        if not isinstance(event, dict) or event.get("ph") not in ("b", "e") or start is None:
            rows.problem(line, "the event is damaged, or the file is cut", text)
            continue
        whose = (str(event.get("cat")), str(event.get("id")), str(event.get("name")))
        if event["ph"] == "b":
            begun.setdefault(whose, []).append((line, start, event))
        elif not begun.get(whose):
            rows.problem(line, "the event ends what did not begin", text)
        else:
            _add(*begun[whose].pop(), start, rank, rows)
    for left in sorted(line for events in begun.values() for line, *_ in events):
        rows.problem(left, "the event begins and does not end")


def _add(line: int, start: int, event: dict[str, Any], end: int, rank: int | None, rows: Rows) -> None:
    if end < start:
        rows.problem(line, "the event ends before it begins", str(event.get("name")))
        return
    args: dict[str, Any] = found if isinstance(found := event.get("args"), dict) else {}
    kind, name, group = event.get("cat"), str(event.get("name")), args.get("CommHash")
    collective = _WORD.sub("_", name).lower() if kind in _OPERATIONS else None
    count, size = json_count(args.get("Count")), _ELEMENT_BYTES.get(str(args.get("Datatype")))
    message_bytes = count * size if collective in _PUTS_IN and count is not None and size is not None else None
    rows.add(
        "events", line, rank=rank, ph="X", name=name, category="nccl_profiler", start_ns=start, duration_ns=end - start,
        process=str(event.get("pid")), thread=str(event.get("tid")), collective=collective,
        process_group=None if group is None else str(group), message_bytes=message_bytes,
        dtype=str(args["Datatype"]) if "Datatype" in args else None, args=json.dumps({"kind": kind, **args}),
    )  # fmt: skip
