"""Kineto trace (Chrome trace event JSON).

Tool: PyTorch profiler, and others that write Chrome's trace event format
Versions: PyTorch 1.8 to 2.13: top-level arrays, objects with `traceEvents`, microseconds whole or with a fraction
Yields: events, params
Source: libkineto/src/output_json.cpp, ChromeTraceLogger; torch/profiler/profiler.py, export_chrome_trace()

Times are exact: the decimal text of `ts` becomes whole nanoseconds, added to `baseTimeNanoseconds` where there is one.
The params row `trace_clock` says what they count from: `unix`, or `relative` to a zero that the trace does not tell.
The rank is that of `distributedInfo`, else of the file name (rank0, rank-0, rank_0), else NULL.

Complete events (X), pairs of begin and end (B E, as X), instants (i I R, as i) and counters (C) are rows; a line is an
event's place in the array.  Flows (s t f), metadata (M) and the rest are counted in params rows `trace_events_<ph>`.

An event that cannot be read is a problem, and so is a cut end; the others are kept.  Texts that are not quite JSON
(control characters, bytes that are not UTF-8, bare nan) are mended.  The trace is read twice: its base time and the
annotations of its steps may stand behind the events they belong to.

Samples:
    {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
    "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 5125096980867.834, "dur": 71.965, "args": {"External id": 3}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5125096980951.102, "dur": 8.608, "args": {"stream": 7, "correlation": 9}},
    {"ph": "s", "id": 9, "pid": 71, "tid": 71, "ts": 5125096980901.5, "cat": "ac2g", "name": "ac2g"},
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5125096990000.000}
    ], "traceName": "rank1.json"}
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from itertools import chain
from typing import Any

import msgspec

from scalelens.rows import Rows
from scalelens.source import Source
from scalelens.trace import ABSENT, ARRAY, BLANK, UNREADABLE, Event, Items, Trace

VERSION = 1

NAME_RANK = re.compile(r"(?<![a-z])(?<!local[-_])rank[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)
STEP = re.compile(r"ProfilerStep#\d{1,18}\Z", re.ASCII)
ROW = {"X": "X", "i": "i", "I": "i", "R": "i", "C": "C"}
FACTS = (
    "trace_id", "host_name", "schemaVersion", "record_shapes", "profile_memory", "with_stack", "with_flops",
    "with_modules", "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version",
    "hip_driver_version", "roctracer_version",
)  # fmt: skip
# PyTorch's ScalarType by the name that `dtype` gives it.
DTYPE_BYTES = {
    "byte": 1, "char": 1, "bool": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1, "float8_e4m3fnuz": 1,
    "short": 2, "uint16": 2, "half": 2, "bfloat16": 2, "int": 4, "uint32": 4, "float": 4, "complexhalf": 4,
    "long": 8, "uint64": 8, "double": 8, "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip


class Args(msgspec.Struct, gc=False):
    stream: Any = None
    correlation: Any = None
    collective: Any = msgspec.field(default=None, name="Collective name")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=None, name="Group size")
    elements: Any = msgspec.field(default=None, name="In msg nelems")
    dtype: Any = None


ARGS = msgspec.json.Decoder(Args)


def recognise(head: bytes, name: str) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return bool(re.match(rb"\[\s*\{", text)) and all(
            re.search(key, text) for key in (rb'"ph"\s*:\s*"', rb'"(?:ts|pid)"\s*:')
        )
    # The metadata before the events may be longer than the head: process groups of thousands of ranks.
    kineto = rb'"(?:deviceProperties|distributedInfo|record_shapes|with_stack|trace_id|baseTimeNanoseconds)"\s*:'
    return text.startswith(b"{") and bool(
        ARRAY.search(text) or (re.search(rb'"schemaVersion"\s*:', text) and re.search(kineto, text))
    )


def read(source: Source, rows: Rows) -> None:
    trace = Trace(source)
    steps = Steps(trace.slices())
    metadata = trace.metadata()
    facts(metadata, rows)
    writer = Writer(rows, metadata, steps, source.name)
    line, item = 0, None
    for line, item in enumerate(chain.from_iterable(trace.slices()), 1):
        if isinstance(item, bytes):
            text = item.strip(BLANK).decode("utf-8", "replace")
            rows.problem(line, "this is no whole event: it is damaged, or the trace is cut", text)
        elif wrong := writer.put(item, line):
            rows.problem(line, wrong, text_of(item.name) or "")
    writer.finish()
    if trace.mended or writer.mended:
        rows.problem(None, "texts that are not quite JSON were mended: control characters, bytes not UTF-8, bare nan")
    if not trace.closed and not isinstance(item, bytes):
        what = "is not closed" if trace.found else "is missing"
        rows.problem(line or None, f"the array of events {what}: the trace is cut")
    if trace.closed and trace.torn:
        rows.problem(line or None, "what stands around the events is damaged or cut")


def facts(metadata: dict[str, Any], rows: Rows) -> None:
    """Facts about the run from what stands around the events."""
    job, devices = metadata.get("distributedInfo"), metadata.get("deviceProperties")
    found = {key: metadata.get(key) for key in FACTS}
    if isinstance(job, dict):
        found |= {"devices": integer(job.get("world_size"), 32)}
        found |= {key: job.get(key) for key in ("backend", "nccl_version")}
    names = [d.get("name") for d in devices if isinstance(d, dict)] if isinstance(devices, list) else []
    found["device_model"] = ", ".join(dict.fromkeys(name for name in names if name and isinstance(name, str))) or None
    if metadata.keys() & {"schemaVersion", "distributedInfo", "deviceProperties"}:
        rows.param("framework", "pytorch", origin="inferred")
    for key, value in found.items():
        rows.param(key, value if isinstance(value, str | int | float) else None)


class Writer:
    """Turns events into rows."""

    def __init__(self, rows: Rows, metadata: dict[str, Any], steps: "Steps", name: str) -> None:
        self.rows, self.steps = rows, steps
        self.counts: Counter[str] = Counter()
        self.begun: defaultdict[tuple[Any, Any], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        job, named = metadata.get("distributedInfo"), NAME_RANK.search(name)
        rank = job.get("rank") if isinstance(job, dict) else None
        self.rank = integer(int(named[1]) if rank is None and named else rank, 32)
        self.base = integer(metadata.get("baseTimeNanoseconds"))
        self.clock: str | None = None
        self.mended = False

    def put(self, event: Event, line: int) -> str | None:
        """Takes an event.  Returns what is wrong with it."""
        ph = event.ph
        if ph not in ROW and ph not in ("B", "E"):
            if ph:
                self.counts[ph if len(ph) == 1 else "other"] += 1
            return None if ph else "this is no event: it has no phase"
        time = nanoseconds(event.ts)
        start = None if time is None else integer(time + (self.base or 0))
        if time is None or start is None:
            return "its time cannot be read"
        if ph == "E":
            return self.end(event, start)
        if not self.clock:
            # Before there was a base, Kineto wrote microseconds since 1970.
            self.clock = "unix" if self.base is not None or start > 1e18 else "relative"
            self.rows.param("trace_clock", self.clock, line, origin="inferred" if self.base is None else "log")
        process, thread = text_of(event.pid), text_of(event.tid)
        values: dict[str, Any] = {
            "rank": self.rank, "name": text_of(event.name), "category": (text_of(event.cat) or "").lower() or None,
            "start_ns": start, "process": process, "thread": thread, "train_step": self.steps.at(time, process, thread),
            "ph": ROW.get(ph, "X"),
        }  # fmt: skip
        if event.args is not ABSENT:
            values |= self.args(bytes(event.args))
        if ph == "B":
            self.begun[process, thread].append((line, values))
            return None
        duration = nanoseconds(event.dur) if ph == "X" else None
        wrong = "its duration cannot be right" if duration is not None and not 0 <= duration < 1 << 63 else None
        values["duration_ns"] = None if wrong else duration
        self.rows.put("events", line, values)
        return wrong

    def end(self, event: Event, end: int) -> str | None:
        """Pairs an end with the innermost begin of its thread."""
        begun = self.begun[text_of(event.pid), text_of(event.tid)]
        if not begun:
            return "it ends what did not begin"
        line, values = begun.pop()
        if end < values["start_ns"]:
            return "it ends before it begins"
        if event.args is not ABSENT and "args" not in values:
            values |= self.args(bytes(event.args))
        values["duration_ns"] = end - values["start_ns"]
        self.rows.put("events", line, values)
        return None

    def args(self, raw: bytes) -> dict[str, Any]:
        """Columns that come from the arguments of an event."""
        try:
            values: dict[str, Any] = {"args": raw.decode()}
        except UnicodeDecodeError:
            self.mended, values = True, {"args": raw.decode("utf-8", "replace")}
        if b'"stream"' not in raw and b'"correlation"' not in raw and b'"Collective name"' not in raw:
            return values
        try:
            args = ARGS.decode(raw)
        except UNREADABLE:
            return values
        values["stream"], values["correlation"] = integer(args.stream), integer(args.correlation)
        if args.collective is not None:
            elements, size = integer(args.elements), DTYPE_BYTES.get(str(args.dtype).lower())
            values["message_bytes"] = None if elements is None or size is None else integer(elements * size)
            values["group_size"] = integer(args.group_size, 32)
            values["collective"], values["process_group"] = text_of(args.collective), text_of(args.group)
            values["dtype"] = text_of(args.dtype)
        return values

    def finish(self) -> None:
        for ph, count in sorted(self.counts.items()):
            self.rows.param(f"trace_events_{ph}", count)
        if left := [line for begun in self.begun.values() for line, _ in begun]:
            self.rows.problem(min(left), f"{len(left)} events begin and do not end")


class Steps:
    """The spans of the annotations ProfilerStep#N: of the host, and of each stream of a device."""

    def __init__(self, slices: Iterable[Items]) -> None:
        spans: defaultdict[tuple[Any, Any] | None, list[tuple[int, int, int]]] = defaultdict(list)
        for items in slices:
            for event in [e for e in items if type(e) is Event and type(e.name) is str and STEP.match(e.name)]:
                start, duration = nanoseconds(event.ts), nanoseconds(event.dur)
                if event.ph == "X" and start is not None and duration is not None:
                    stream = (text_of(event.pid), text_of(event.tid)) if event.cat == "gpu_user_annotation" else None
                    spans[stream].append((start, start + duration, int(event.name[len("ProfilerStep#") :])))
        self.spans = {stream: sorted(found) for stream, found in spans.items()}
        self.starts = {stream: [span[0] for span in found] for stream, found in self.spans.items()}

    def at(self, time: int, process: str | None, thread: str | None) -> int | None:
        """The step in which something starts: by the annotation of its own stream, else by that of the host."""
        for stream in ((process, thread), None):
            if starts := self.starts.get(stream):
                _, end, step = self.spans[stream][bisect_right(starts, time) - 1]
                if starts[0] <= time < end:
                    return step
        return None


def nanoseconds(microseconds: msgspec.Raw) -> int | None:
    """Decimal text of microseconds in whole nanoseconds, exactly."""
    text = bytes(microseconds)
    whole, _, fraction = text.partition(b".")
    try:
        if text and len(fraction) <= 3:
            return int(whole + fraction.ljust(3, b"0"))
    except ValueError:  # an exponent, or a string
        pass
    try:
        number = Decimal(text.strip(b'"').decode())
        return round(number * 1000) if abs(number) < 1 << 62 else None
    except (ValueError, ArithmeticError):
        return None


def integer(value: Any, bits: int = 64) -> int | None:
    return value if type(value) is int and -1 << bits - 1 <= value < 1 << bits - 1 else None


def text_of(value: Any) -> str | None:
    return value if value is None or type(value) is str else str(value)
