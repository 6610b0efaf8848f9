"""Kineto trace (Chrome trace event JSON).

Tool: PyTorch profiler, and others that write Chrome's trace event format
Versions: PyTorch 1.8 to 2.13: top-level arrays, objects with `traceEvents`, microseconds whole or with a fraction
Yields: events, params
Source: libkineto/src/output_json.cpp, ChromeTraceLogger; torch/profiler/profiler.py, export_chrome_trace()

Times are exact: the decimal text of `ts` becomes whole nanoseconds, added to `baseTimeNanoseconds` where there is one.
The params row `trace_clock` says what they count from: `unix`, or `relative` to a zero that the trace does not tell.
The rank is that of `distributedInfo`, else of the file name (rank0, rank-0, rank_0), else NULL.  Where neither states
one, an event whose arguments name its rank is of that one: several traces in one file (TraceLens' TraceFuse).

Complete events (X), pairs of begin and end (B E, as X), instants (i I R, as i) and counters (C) are rows; a line is an
event's place in the array.  Flows (s t f), metadata (M) and the rest are counted in params rows `trace_events_<ph>`.
A trace without a `correlation` has that of the flows `ac2g`, from a launch to its work.

An event that cannot be read is a problem, and so is a cut end; the others are kept.  Texts that are not quite JSON
(control characters, bytes that are not UTF-8, bare nan) are mended.  The trace is read twice: its base time and the
annotations of its steps may come after the events they belong to.

Samples:
    {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
    "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 5125096980867.834, "dur": 71.965, "args": {"External id": 3}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5125096980951.102, "dur": 8.608, "args": {"stream": 7, "correlation": 9}},
    {"ph": "s", "id": 9, "pid": 71, "tid": 71, "ts": 5125096980901.5, "cat": "ac2g", "name": "ac2g"},
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5125096990000.000}
    ], "traceName": "rank1.json"}
"""

from collections import defaultdict
from types import NoneType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.chrome_trace import ARRAY, LAUNCHES, UNREADABLE, Event, Exact, Trace
from scalelens.parsing.flow_links import FlowLinks
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, Events, microseconds_as_nanoseconds, text_of, texts
from scalelens.parsing.values import json_integer, rank_in_name

VERSION = 4

_STEP = re.compile(r"ProfilerStep#\d{1,18}\Z", re.ASCII)
_FACTS = (
    "trace_id", "host_name", "schemaVersion", "record_shapes", "profile_memory", "with_stack", "with_flops",
    "with_modules", "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version",
    "hip_driver_version", "roctracer_version", "pti_version", "level_zero_version",
)  # fmt: skip
# PyTorch's ScalarType by the name that `dtype` gives it.
_DTYPE_BYTES = {
    "byte": 1, "char": 1, "bool": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1,
    "short": 2, "uint16": 2, "half": 2, "bfloat16": 2, "int": 4, "uint32": 4, "float": 4, "complexhalf": 4,
    "long": 8, "uint64": 8, "double": 8, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip


class _Args(msgspec.Struct, gc=False):
    stream: Any = None
    queue: Any = msgspec.field(default=None, name="sycl queue")  # Intel's name for a stream
    correlation: Any = None
    collective: Any = msgspec.field(default=None, name="Collective name")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=None, name="Group size")
    elements: Any = msgspec.field(default=None, name="In msg nelems")
    dtype: Any = None
    rank: Any = None


# NCCL's profiler plugin: pairs of begin and end in categories of its own.
_OF_NCCL = re.compile(rb'\[\s*\{"name": ?"[^"]{1,80}", ?"cat": ?"[A-Z0-9_]+", ?"ph": ?"b"')
# rocprof's results.json: an empty object begins the list.
_OF_ROCPROF = re.compile(
    rb'\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}\s*,\s*\{"args":\{"name":"(?:CPU (?:HIP|HSA|KFD) API|COPY|GPU\d+|Markers)'
)
_ASCEND = "what an Ascend NPU does has no category in this trace: queries over devices need its kernel_details.csv"
_NO_ROWS = (
    "none of its events is complete, a pair of B and E, an instant or a counter: asynchronous events are not read"
)
_NOTHING = _Args()
_ARGS = msgspec.json.Decoder(list[_Args])


def recognise(head: bytes, name: str) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if re.match(rb'\{[^\[]{0,200}"(?:highres-ticks|span_indx|SpanNumber)"', text):  # TensorFlow's profiler, Paddle's
        return False
    if _OF_NCCL.match(text) or _OF_ROCPROF.match(text):
        return False
    if text.startswith(b"["):
        return bool(re.match(rb"\[\s*\{", text)) and all(
            re.search(key, text) for key in (rb'"ph"\s*:\s*"', rb'"(?:ts|pid)"\s*:')
        )
    # The metadata before the events may be longer than the head: process groups of thousands of ranks.
    kineto = rb'"(?:deviceProperties|distributedInfo|record_shapes|with_stack|trace_id|baseTimeNanoseconds)"\s*:'
    return text.startswith(b"{") and bool(
        ARRAY.search(text) or (re.search(rb'"schemaVersion"\s*:', text) and re.search(kineto, text))
    )


def read(source: Source, rows: Rows) -> str | None:
    alone = source.head().lstrip().startswith(b"[")  # Ascend's, and others without metadata around the events
    trace, is_ascend, has_rows = Trace(source, named=alone), False, False
    steps = _Steps(trace)
    links = FlowLinks(source) if trace.found == {LAUNCHES} else None
    metadata = trace.metadata()
    _facts(metadata, rows)
    job = metadata.get("distributedInfo")
    rank = job.get("rank") if isinstance(job, dict) else None
    rank = rank_in_name(source.name) if rank is None else json_integer(rank, 32)
    base = json_integer(metadata.get("baseTimeNanoseconds"))
    events = Events(rows, base)
    for items in trace.slices():
        before = events.counts["M"]
        kept, columns = events.columns(items)
        if alone and events.counts["M"] > before:
            is_ascend |= any(
                isinstance(e, Event) and e.ph == "M" and b'"Ascend Hardware"' in bytes(e.args) for e in items
            )
        has_rows |= bool(kept)
        if kept:
            columns |= _arguments(kept, rank)
            columns["train_step"] = steps.at(columns, base or 0)
            if links:
                columns["correlation"] = links.correlations(columns, base or 0)
            rows.put_columns("events", columns)
    events.finish(trace)
    if events.counts and not has_rows:
        return _NO_ROWS
    return _ASCEND if is_ascend else None


def _facts(metadata: dict[str, Any], rows: Rows) -> None:
    """Facts about the run, from the metadata around the events."""
    job, devices = metadata.get("distributedInfo"), metadata.get("deviceProperties")
    facts = {key: metadata.get(key) for key in _FACTS}
    if isinstance(job, dict):
        facts |= {"devices": json_integer(job.get("world_size"), 32)}
        facts |= {key: job.get(key) for key in ("backend", "nccl_version")}
    names = [d.get("name") for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []
    facts["device_model"] = ", ".join(dict.fromkeys(name for name in names if name and isinstance(name, str))) or None
    if metadata.keys() & {"schemaVersion", "distributedInfo", "deviceProperties"}:
        rows.param("framework", "pytorch", origin="inferred")
    for key, value in facts.items():
        rows.param(key, value if isinstance(value, str | int | float) else None)


def _arguments(events: list[Event], rank: int | None) -> EventColumns:
    """Columns that come from the arguments of events, and the rank: that of the file, where it is known."""
    raw = [event.args or b"{}" for event in events]
    joined = b",".join(raw)
    try:
        args = _ARGS.decode(b"[" + joined + b"]")
    except UNREADABLE:
        args = [_readable(text) for text in raw]
    streams = [a.stream for a in args]
    if b'"sycl queue"' in joined:
        streams = [a.queue if a.stream is None else a.stream for a in args]
    columns = {"stream": _integers(streams), "correlation": _integers([a.correlation for a in args])}
    of_file = pa.repeat(pa.scalar(rank, pa.int32()), len(events))
    is_merged = rank is None and any(a.rank is not None for a in args)
    columns["rank"] = pa.array([json_integer(a.rank, 32) for a in args], pa.int32()) if is_merged else of_file
    if b'"Collective name"' in joined:
        args = [_NOTHING if a.collective is None else a for a in args]
        columns["collective"] = texts([a.collective for a in args])
        columns["process_group"] = texts([a.group for a in args])
        columns["group_size"] = pa.array([json_integer(a.group_size, 32) for a in args], pa.int64())
        columns["message_bytes"] = _integers([_message_bytes(a) for a in args])
        columns["dtype"] = texts([a.dtype for a in args])
    return columns


def _readable(raw: msgspec.Raw | bytes) -> _Args:
    try:
        return _ARGS.decode(b"[" + raw + b"]")[0]
    except UNREADABLE:
        return _NOTHING


def _message_bytes(args: _Args) -> int | None:
    elements, size = json_integer(args.elements), _DTYPE_BYTES.get(str(args.dtype).lower())
    return None if elements is None or size is None else elements * size


# The rank that an annotation names itself, and the process and thread of one of a device.
_Whose = tuple[int | None, tuple[str | None, str | None] | None]


class _Steps:
    """The spans of the annotations ProfilerStep#N: of the host of each rank, and of each stream of a device."""

    def __init__(self, trace: Trace) -> None:
        spans_of: defaultdict[_Whose, list[tuple[int, int, int]]] = defaultdict(list)
        for items in trace.slices(b"ProfilerStep#"):
            spans = [e for e in items if isinstance(e, Event) and type(e.name) is str and _STEP.match(e.name)]
            exact = Exact in {*map(type, spans)}
            starts, started = microseconds_as_nanoseconds([event.ts for event in spans], exact)
            durations, lasted = microseconds_as_nanoseconds([event.dur for event in spans], exact)
            for k in np.flatnonzero(started & lasted):
                event, start = spans[k], int(starts[k])
                if event.ph == "X":
                    stream = (text_of(event.pid), text_of(event.tid)) if event.cat == "gpu_user_annotation" else None
                    rank = json_integer(_readable(event.args or b"{}").rank, 32) if stream is None else None
                    spans_of[rank, stream].append(
                        (start, start + int(durations[k]), int(event.name[len("ProfilerStep#") :]))
                    )
        # The host comes first: a stream with spans of its own overrides it.
        self.spans = {
            whose: np.array(sorted(spans_of[whose])).T for whose in sorted(spans_of, key=lambda w: w[1] is not None)
        }

    def at(self, columns: EventColumns, base: int) -> pa.Array:
        """The step in which something starts: by the annotation of its own stream, else by that of the host."""
        times = columns["start_ns"].to_numpy() - base
        step, inside = np.zeros(len(times), np.int64), np.zeros(len(times), bool)
        for (rank, stream), (starts, ends, steps) in self.spans.items():
            k = np.searchsorted(starts, times, "right") - 1
            within = (k >= 0) & (times < ends[k])
            if rank is not None and columns["rank"].null_count < len(times):
                within &= columns["rank"].fill_null(rank).to_numpy() == rank
            if stream:
                within &= _on(columns["process"], stream[0]) & _on(columns["thread"], stream[1])
            step, inside = np.where(within, steps[k], step), inside | within
        return pa.array(step, mask=~inside)


def _on(column: pa.Array, value: str | None) -> Any:
    """Where a column has a value."""
    is_value = pc.is_null(column) if value is None else pc.fill_null(pc.equal(column, value), False)
    return is_value.to_numpy(zero_copy_only=False)


def _integers(values: list[Any]) -> pa.Array:
    """A column of whole numbers, NULL for other values."""
    try:
        if {*map(type, values)} <= {int, NoneType}:
            return pa.array(values, pa.int64())
    except OverflowError:
        pass
    return pa.array([json_integer(value) for value in values], pa.int64())
