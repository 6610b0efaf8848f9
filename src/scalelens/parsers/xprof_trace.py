"""Trace of TensorFlow's and JAX's profiler (trace.json, perfetto_trace.json).

Tool: TensorFlow profiler, jax.profiler
Versions: TensorFlow 2.2 and later, JAX: documents that begin with `"metadata":{"highres-ticks":true}`
Yields: events, params
Source: tsl/profiler/convert/trace_events_to_json.cc, TraceEventsToJson(); xla/tsl/profiler/convert/xplane_to_trace_events.cc

Times have picoseconds; they become the nearest nanosecond.  They count from the start of the profile, so `trace_clock`
is relative.  The trace knows no rank: it is that of the file name (rank0), else NULL.

Processes and threads are named by metadata that goes before the events.  What runs on a device's stream
(`/device:GPU:0`, `Stream #13(Compute)`) is category kernel, or gpu_memcpy or gpu_memset by its name; other threads of a
device (XLA Modules, Steps, Framework Ops) describe that work again and are gpu_user_annotation, but for `XLA Ops` of a
TPU, which has no streams: kernel, but for loops and branches (while, conditional, call), which are around theirs.
What runs on the host is cpu_op.  `correlation` is the argument correlation_id.  `train_step` is not known: the group_id
of events counts groups, not steps.

Samples:
    {"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0 NVIDIA A100"}},
    {"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
    {"ph":"X","pid":1,"tid":13,"ts":1520.125375,"dur":8.608,"name":"gemm_fusion_dot_7","args":{"correlation_id":"91"}},
    {}]}
"""

import re
from typing import Any

import msgspec
import pyarrow as pa

from scalelens.parsing.chrome_trace import UNREADABLE, Event, Items, Other, Trace
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, Events, text_of
from scalelens.parsing.values import integer, rank_in_name
from scalelens.parsing.xla_lines import place_of

VERSION = 3
IN_HEAD = (b'"highres-ticks"',)


class _Args(msgspec.Struct, gc=False):
    name: Any = None
    correlation_id: Any = None


_ARGS = msgspec.json.Decoder(_Args)


def recognise(head: bytes, name: str) -> bool:
    return bool(re.match(rb'\s*\{[^\[]{0,200}"highres-ticks"\s*:\s*true[^\[]{0,200}"traceEvents"\s*:\s*\[', head))


def read(source: Source, rows: Rows) -> None:
    trace, events, names = Trace(source, named=True), Events(rows, None), _Names()
    rank = rank_in_name(source.name)
    for items in trace.slices():
        if items and items[-1] == Other():  # the writer ends its list with an empty object
            items.pop()
        names.learn(items)
        kept, columns = events.columns(items)
        if kept:
            columns["rank"] = pa.repeat(pa.scalar(rank, pa.int32()), len(kept))
            rows.put_columns("events", columns | names.columns(kept))
    events.finish(trace)


class _Names:
    """What the metadata calls processes and threads."""

    def __init__(self) -> None:
        self.named: dict[tuple[str | None, str | None], str] = {}

    def learn(self, items: Items) -> None:
        for event in items:
            if isinstance(event, Event) and event.ph == "M" and event.name in ("process_name", "thread_name"):
                thread = text_of(event.tid) if event.name == "thread_name" else None
                self.named[text_of(event.pid), thread] = text_of(_arguments(event).name) or ""

    def columns(self, events: list[Event]) -> EventColumns:
        """Category, stream and correlation of events."""
        places = [self.place(event) for event in events]
        args = [_arguments(event) for event in events]
        return {
            "category": pa.array([category for category, _ in places], pa.string()),
            "stream": pa.array([stream for _, stream in places], pa.int64()),
            "correlation": pa.array([integer(a.correlation_id, digits=18) for a in args], pa.int64()),
        }

    def place(self, event: Event) -> tuple[str | None, int | None]:
        """Category and stream of an event, by the names of its process and thread."""
        process = self.named.get((text_of(event.pid), None), "")
        thread = self.named.get((text_of(event.pid), text_of(event.tid)), "")
        if event.ph == "C":
            return None, None
        return place_of(process, thread, text_of(event.name) or "")


def _arguments(event: Event) -> _Args:
    try:
        return _ARGS.decode(event.args) if event.args else _Args()
    except UNREADABLE:
        return _Args()
