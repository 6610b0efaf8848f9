"""Trace of rocprof, as JSON (results.json).

Tool: rocprof of ROCm's first profiler: --hip-trace, --hsa-trace, --sys-trace
Versions: ROCm 4 to 6: real files of ROCm 5
Yields: events, params
Source: ROCm/rocprofiler: bin/tblextr.py and bin/dform.py, gen_api_json(), gen_ops_json()

Metadata names the processes.  What `GPUn` ran is category kernel, what is under `COPY` gpu_memcpy or gpu_memset;
calls are hip_api, hsa_api or kfd_api, ranges of roctx marker.  Of device work `process` is the number of the GPU as
rocprof counts it, `thread` and `stream` its stream; of the host they are the process and thread ids.

`ts` and `dur` are cut to whole microseconds: times are BeginNs and EndNs of the arguments where they are there.  They
count from a clock of the node: `trace_clock` is relative.  `correlation` is unknown: arrows (DataFlow) point at the
middle of a call.  The rank is that of the file name (rank0), else NULL.

Samples:
    { "traceEvents":[{}
    ,{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name","sort_index":0}
    ,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name","sort_index":1}
    ,{"ph":"X","name":"gemm_kernel(float*, int)","pid":"6","tid":"1","ts":"500100","dur":"4","args":{"BeginNs":"500100250","EndNs":"500104450","dev-id":"0","queue-id":"0","stream-id":"1","DurationNs":"4200"}}
    ]}
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scalelens.parsing import lazy_re as re
from scalelens.parsing.chrome_trace import UNREADABLE, Event, Items, Trace
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, Events, text_of
from scalelens.parsing.values import integer, rank_in_name

VERSION = 1
IN_HEAD = (b'{"args":{"name":"',)

# The list begins with an empty object and the names of processes; parsers/kineto.py leaves such a file alone.
_HEAD = re.compile(
    rb'\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}\s*,\s*\{"args":\{"name":"(?:CPU (?:HIP|HSA|KFD) API|COPY|GPU\d+|Markers)'
)
_DIGITS = 18  # that a column holds
_HOST = {"CPU HIP API": "hip_api", "CPU HSA API": "hsa_api", "CPU KFD API": "kfd_api", "Markers and Ranges": "marker"}
_GPU = re.compile(r"GPU(\d{1,4})", re.ASCII)
_COPY, _FILL = re.compile("Copy"), re.compile("FillBuffer")
_NO_WORK = re.compile("(?:Internal)?Marker|<barrier")  # of a stream


class _Args(msgspec.Struct, gc=False):
    begin: Any = msgspec.field(default=None, name="BeginNs")
    end: Any = msgspec.field(default=None, name="EndNs")
    device: Any = msgspec.field(default=None, name="dev-id")
    process: Any = msgspec.field(default=None, name="pid")
    name: Any = None


_ARGS = msgspec.json.Decoder(_Args)


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEAD.match(head.lstrip()))


def read(source: Source, rows: Rows) -> None:
    trace, events = Trace(source, named=True), Events(rows, None)
    names: dict[str | None, str] = {}
    rank = rank_in_name(source.name)
    first = True
    for items in trace.slices():
        if first and items and items[0] == type(items[0])():  # the writer begins its list with an empty object
            items, events.line = items[1:], 1
        first = False
        _learn(items, names)
        kept, columns = events.columns(items)
        if kept:
            columns["rank"] = pa.repeat(pa.scalar(rank, pa.int32()), len(kept))
            rows.put_columns("events", columns | _own_columns(kept, columns, names))
    events.finish(trace)


def _learn(items: Items, names: dict[str | None, str]) -> None:
    """What the metadata calls processes."""
    for event in items:
        if isinstance(event, Event) and event.ph == "M" and event.name == "process_name":
            names[text_of(event.pid)] = text_of(_arguments(event).name) or ""


def _own_columns(events: list[Event], columns: EventColumns, names: dict[str | None, str]) -> EventColumns:
    """Times in nanoseconds, and what kind of process an event is of."""
    starts = columns["start_ns"].to_numpy().copy()
    durations = columns["duration_ns"].fill_null(-1).to_numpy().copy()
    categories, processes, streams = [], [], []
    for k, event in enumerate(events):
        args = _arguments(event)
        begin, end = (integer(text_of(value) or "", _DIGITS) for value in (args.begin, args.end))
        if begin is not None and end is not None and begin <= end:
            starts[k], durations[k] = begin, end - begin
        process = names.get(text_of(event.pid), "")
        category, device = _kind(process, text_of(event.name) or "")
        categories.append(category)
        on_device = device or process == "COPY"
        number = text_of(args.device if on_device else args.process)
        processes.append(number or device or text_of(event.pid))
        streams.append(integer(text_of(event.tid) or "", _DIGITS) if on_device else None)
    return {
        "category": pa.array(categories, pa.string()),
        "process": pa.array(processes, pa.string()),
        "stream": pa.array(streams, pa.int64()),
        "start_ns": pa.array(starts),
        "duration_ns": pa.array(durations, mask=np.asarray(durations < 0)),
    }


def _kind(process: str, name: str) -> tuple[str | None, str | None]:
    """Category of an event, and the number of the GPU that its process is."""
    gpu = _GPU.fullmatch(process)
    if not gpu and process != "COPY":
        return _HOST.get(process), None
    device = gpu[1] if gpu else None
    if _NO_WORK.match(name):
        return "marker", device
    if _FILL.match(name):
        return "gpu_memset", device
    return "gpu_memcpy" if not gpu or _COPY.match(name) else "kernel", device


def _arguments(event: Event) -> _Args:
    try:
        return _ARGS.decode(event.args) if event.args else _Args()
    except UNREADABLE:
        return _Args()
