"""Trace of PaddlePaddle's profiler (*.paddle_trace.json).

Tool: paddle.profiler, export_chrome_tracing()
Versions: PaddlePaddle 2.3 and later
Yields: events, params
Source: paddle/fluid/platform/profiler/chrometracing_logger.cc, ChromeTracingLogger

A name ends with its duration ("relu[1.250 ms]"), which is taken off; without it the calls of a kernel would have no name
in common.  `ts` is whole microseconds; the argument start_time has nanoseconds since the first event, so that times are
exact among each other, and known to the microsecond.  `correlation` is the argument `correlation id`.

Categories are those that Kineto gives to the same: cuda_runtime, kernel, memcpy, memset, operator; steps, phases of
training and what the program marks are user_annotation.  ProfileStep#N is called ProfilerStep#N, and `train_step` is
that in which something starts.  The rank is that of the file name (rank0), else NULL.

Samples:
    { "schemaVersion": "1.0.0", "displayTimeUnit": "ms", "span_indx": "0", "traceEvents": [
    { "name": "ProfileStep#2[1.500 ms]", "pid": 71, "tid": "71(Python)", "ts": 1790857026000100, "dur": 1500.250,
      "ph": "X", "cat": "ProfileStep", "args": { "start_time": "0.000 us", "end_time": "1500.250 us" } },
    { "name": "gemm[0.009 ms]", "pid": 0, "tid": 7, "ts": 1790857026000140, "dur": 8.608, "ph": "X", "cat": "Kernel",
      "args": { "start_time": "40.125 us", "end_time": "48.733 us", "device": 0, "stream": 7, "correlation id": 9 } },
    {}]}
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scalelens.parsing import lazy_re as re
from scalelens.parsing.chrome_trace import UNREADABLE, Event, Exact, Item, Items, Other, Trace
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, Events, microseconds_as_nanoseconds
from scalelens.parsing.values import json_count, rank_in_name

VERSION = 1
IN_HEAD = (b'"schemaVersion"',)

_HEAD = re.compile(
    rb'\s*\{\s*"schemaVersion"\s*:\s*"[\d.]+"\s*,\s*"displayTimeUnit"\s*:\s*"\w+"\s*,\s*"(?:span_indx|SpanNumber)"'
)
_DURATION = re.compile(r"\[\d+(?:\.\d+)? [mun]?s\]\Z")
_STEP = re.compile(r"ProfileStep#(\d{1,18})\Z", re.ASCII)
_CATEGORIES = {
    "cudaruntime": "cuda_runtime", "kernel": "kernel", "memcpy": "memcpy", "memset": "memset", "operator": "operator",
    "operatorinner": "operator", "dygraphoperator": "operator", "pythonop": "operator",
}  # fmt: skip


class _Args(msgspec.Struct, gc=False):
    start_time: Any = None
    stream: Any = None
    correlation: Any = msgspec.field(default=None, name="correlation id")


_ARGS = msgspec.json.Decoder(_Args)


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEAD.match(head))


def read(source: Source, rows: Rows) -> None:
    trace = Trace(source)
    reader = Reader(trace)
    events = Events(rows, None)
    rows.param("framework", "paddle", origin="inferred")
    rank = rank_in_name(source.name)
    for items in trace.slices():
        kept, columns = events.columns(reader.mended(items))
        if kept:
            columns["rank"] = pa.repeat(pa.scalar(rank, pa.int32()), len(kept))
            rows.put_columns("events", columns | reader.columns(kept, columns))
    devices = trace.metadata().get("deviceProperties")
    models = [device.get("name") for device in devices if isinstance(device, dict)] if isinstance(devices, list) else []
    rows.param("device_model", ", ".join(dict.fromkeys(map(str, models))) or None)
    events.finish(trace)


class Reader:
    """What this tool writes differently from Kineto, as Kineto has it."""

    def __init__(self, trace: Trace) -> None:
        self.zero: int | None = None  # nanoseconds since 1970 of start_time 0
        spans = [e for items in trace.slices(b"ProfileStep#") for e in self.mended(items) if _is_step(e)]
        exact = Exact in {*map(type, spans)}
        began, lasted = (
            microseconds_as_nanoseconds([getattr(span, key) for span in spans], exact)[0] for key in ("ts", "dur")
        )
        starts = self.starts(spans, began)
        ends = starts + lasted
        steps = [int(event.name.partition("#")[2]) for event in spans]  # type: ignore[union-attr]
        self.spans = np.array(sorted(zip(starts, ends, steps, strict=True)), np.int64).reshape(-1, 3).T

    def mended(self, items: Items) -> Items:
        """Events with names and categories as in other traces, without the empty object that ends the list."""
        kept = [item for item in items if item != Other()]
        for event in kept:
            if isinstance(event, Event) and event.ph == "X":
                event.name = _DURATION.sub("", str(event.name))
                event.name = _STEP.sub(r"ProfilerStep#\1", event.name)
                category = str(event.cat).lower().replace("_", "")
                event.cat = _CATEGORIES.get(category, "user_annotation")
        return kept

    def starts(self, events: Any, given: Any) -> Any:
        """Starts to the nanosecond, where events say when they start since the first."""
        printed = [re.match(r"(\d{1,12})\.(\d{3}) us\Z", str(_arguments(event).start_time)) for event in events]
        since = np.array([int(match[1] + match[2]) if match else -1 for match in printed], np.int64)
        if self.zero is None and (since >= 0).any():
            first = int(np.argmax(since >= 0))
            self.zero = int(given[first]) - int(since[first])
        return np.where(since >= 0, (self.zero or 0) + since, given)

    def columns(self, events: list[Event], columns: EventColumns) -> EventColumns:
        """Columns that come from the arguments of events, and the step in which each starts."""
        args = [_arguments(event) for event in events]
        starts = self.starts(events, columns["start_ns"].to_numpy())
        begins, ends, steps = self.spans
        last = np.searchsorted(begins, starts, "right") - 1
        inside = (last >= 0) & (starts < ends[last]) if len(begins) else np.zeros(len(starts), bool)
        return {
            "start_ns": pa.array(starts),
            "stream": pa.array([json_count(a.stream) for a in args], pa.int64()),
            "correlation": pa.array([json_count(a.correlation) for a in args], pa.int64()),
            "train_step": pa.array(steps[last] if len(begins) else starts, mask=~inside),
        }


def _is_step(item: Item | bytes) -> bool:
    return isinstance(item, Event) and item.ph == "X" and str(item.name).startswith("ProfilerStep#")


def _arguments(event: Event) -> _Args:
    try:
        return _ARGS.decode(event.args) if event.args else _Args()
    except UNREADABLE:
        return _Args()
