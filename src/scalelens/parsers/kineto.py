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
(control characters, bytes that are not UTF-8, bare nan) are mended.  The base time and the annotations of steps may
come after the events they belong to: up to there columns are held, and a large trace is read twice.

Samples:
    {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
    "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 5125096980867.834, "dur": 71.965, "args": {"External id": 3}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5125096980951.102, "dur": 8.608, "args": {"stream": 7, "correlation": 9}},
    {"ph": "s", "id": 9, "pid": 71, "tid": 71, "ts": 5125096980901.5, "cat": "ac2g", "name": "ac2g"},
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 5125096990000.000}
    ], "traceName": "rank1.json"}
"""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.chrome_trace import ARRAY, LAUNCHES, UNREADABLE, Event, Exact, Items, Trace
from scalelens.parsing.flow_links import FlowLinks
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.trace_events import EventColumns, Events, microseconds_as_nanoseconds, text_of, texts
from scalelens.parsing.values import json_integer, rank_in_name

VERSION = 4
IN_HEAD = (b'"ph"', b'"traceEvents"', b'"schemaVersion"')

_STEP_MARK = b"ProfilerStep#"
_STEP = re.compile(r"ProfilerStep#\d{1,18}\Z", re.ASCII)
_FAR_NS = 1 << 61  # the sum of two times that are nearer is a time
HELD_BYTES = 64 << 20  # of columns; a trace that has more is read once more for what comes after its first events
_SMALL_BYTES = 16 << 20  # as stored; of a larger file nothing is held, because it would be too much
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
    rank: Any = None


class _Message(msgspec.Struct, gc=False):
    """What else the arguments of a collective say."""

    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=None, name="Group size")
    elements: Any = msgspec.field(default=None, name="In msg nelems")
    dtype: Any = None


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
_NOTHING, _NO_MESSAGE = _Args(), _Message()
_ARGS, _MESSAGES = msgspec.json.Decoder(_Args), msgspec.json.Decoder(_Message)


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
    alone = source.text_head().lstrip().startswith(b"[")  # Ascend's, and others without metadata around the events
    trace, notes = Trace(source, named=alone), _Notes()
    reading = _Reading(trace, alone, notes)
    pieces, held, held_bytes = reading.pieces(), list[EventColumns](), 0
    most = HELD_BYTES if source.size_bytes <= _SMALL_BYTES else 0
    around, steps = trace, reading.steps
    for columns in pieces:
        held.append(columns)
        held_bytes += sum(column.nbytes for column in columns.values())
        if held_bytes > most:
            break
    if held_bytes > most or reading.may_lack_links:
        around, steps = Trace(source, named=alone), _Steps()
        for items in around.slices(_STEP_MARK):
            steps.add(items)
    metadata = around.metadata()
    trace.torn = around.torn
    _facts(metadata, rows)
    known = _Surroundings.of(metadata, source.name)
    if all(reading.corrected(columns, known) for columns in held):
        notes.hand_over(rows)
        reading.goes_on(rows, known)
    else:
        held, reading = [], _Reading(trace, alone, rows, known)
        pieces = reading.pieces()
    links = FlowLinks(source) if around.found == {LAUNCHES} else None
    for columns in chain(_emptied(held), pieces):
        columns["train_step"] = steps.at(columns, known.base or 0)
        if links:
            columns["correlation"] = links.correlations(columns, known.base or 0)
        rows.put_columns("events", columns)
    reading.events.finish(trace)
    if reading.events.counts and not reading.has_rows:
        return _NO_ROWS
    return _ASCEND if reading.is_ascend else None


class _Surroundings(NamedTuple):
    """What the rows of events need of the metadata around them."""

    rank: int | None
    base: int | None  # what times count from, in nanoseconds since 1970

    @classmethod
    def of(cls, metadata: dict[str, Any], name: str) -> "_Surroundings":
        job = metadata.get("distributedInfo")
        rank = job.get("rank") if isinstance(job, dict) else None
        rank = rank_in_name(name) if rank is None else json_integer(rank, 32)
        return cls(rank, json_integer(metadata.get("baseTimeNanoseconds")))


class _Notes:
    """Takes params and problems in the place of `Rows`, which gets them after the facts of the metadata."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def param(self, *values: Any, **options: Any) -> None:
        self.kept.append(("param", values, options))

    def problem(self, *values: Any) -> None:
        self.kept.append(("problem", values, {}))

    def hand_over(self, rows: Rows) -> None:
        for name, values, options in self.kept:
            getattr(rows, name)(*values, **options)


class _Reading:
    """One reading of the events.  Until something else is `known`, what comes before them is taken for all metadata."""

    def __init__(self, trace: Trace, alone: bool, rows: Any, known: _Surroundings | None = None) -> None:
        self.trace, self.alone, self.known = trace, alone, known
        self.events = Events(rows, known and known.base, base_follows=known is None)
        self.steps = _Steps()  # whose annotations were read so far
        self.is_ascend = self.has_rows = self.has_links = False

    @property
    def may_lack_links(self) -> bool:
        """Whether there are arrows, and nothing else that could link work to its launch."""
        return not self.has_links and any(self.events.counts[ph] for ph in "stf")

    def pieces(self) -> Iterator[EventColumns]:
        """The columns of each slice, without those that need the whole trace."""
        for items in self.trace.slices():
            if self.known is None:
                self.known = _Surroundings.of(self.trace.metadata(), self.trace.source.name)
                self.events.base = self.known.base
            before = self.events.counts["M"]
            kept, columns = self.events.columns(items)
            if self.alone and self.events.counts["M"] > before:
                self.is_ascend |= any(
                    isinstance(e, Event) and e.ph == "M" and b'"Ascend Hardware"' in bytes(e.args) for e in items
                )
            if kept:
                self.has_rows = True
                if pc.any(pc.starts_with(columns["name"], _STEP_MARK.decode())).as_py():
                    self.steps.add(items)
                columns |= _arguments(kept, self.events.joined_args, self.known.rank)
                self.has_links |= columns["correlation"].null_count < len(kept)
                yield columns
            del items, kept  # their memory serves for the next ones

    def goes_on(self, rows: Rows, known: _Surroundings) -> None:
        """What follows goes to the rows themselves, by what is known for certain."""
        self.known = known
        self.events.rows, self.events.base, self.events.base_follows = rows, known.base, False
        self.events.tell_clock()

    def corrected(self, columns: EventColumns, known: _Surroundings) -> bool:
        """Puts into columns what became known after they were read; False where they have to be read again."""
        assert self.known
        if known.rank != self.known.rank:
            if known.rank is None:
                return False
            columns["rank"] = pa.repeat(pa.scalar(known.rank, pa.int32()), len(columns["rank"]))
        if known.base != self.known.base:
            starts, base = columns["start_ns"].to_numpy(), known.base or 0
            # Two bases, or times that may be beyond the last one once the base is added.
            if self.known.base is not None or abs(base) > _FAR_NS or np.abs(starts).max() > _FAR_NS:
                return False
            columns["start_ns"] = pa.array(starts + base)
        return True


def _emptied(held: list[EventColumns]) -> Iterator[EventColumns]:
    """What is in a list, which lets go of each."""
    held.reverse()
    while held:
        yield held.pop()


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


def _arguments(events: list[Event], joined: bytes | None, rank: int | None) -> EventColumns:
    """Columns that come from the arguments of events, and the rank: that of the file, where it is known."""
    args = _decoded(events, joined)
    streams, correlations = [a.stream for a in args], [a.correlation for a in args]
    collectives, ranks = [a.collective for a in args], [a.rank for a in args]
    queues = [a.queue for a in args]
    if queues.count(None) < len(queues):
        streams = [queue if stream is None else stream for stream, queue in zip(streams, queues, strict=True)]
    columns = {"stream": _integers(streams), "correlation": _integers(correlations)}
    of_file = pa.repeat(pa.scalar(rank, pa.int32()), len(events))
    is_merged = rank is None and ranks.count(None) < len(ranks)
    columns["rank"] = pa.array([json_integer(each, 32) for each in ranks], pa.int32()) if is_merged else of_file
    if collectives.count(None) < len(collectives):
        messages = [
            _NO_MESSAGE if of is None else _message(event) for event, of in zip(events, collectives, strict=True)
        ]
        columns["collective"] = texts(collectives)
        columns["process_group"] = texts([message.group for message in messages])
        columns["group_size"] = pa.array([json_integer(message.group_size, 32) for message in messages], pa.int64())
        columns["message_bytes"] = _integers([_message_bytes(message) for message in messages])
        columns["dtype"] = texts([message.dtype for message in messages])
    return columns


def _decoded(events: list[Event], joined: bytes | None) -> list[_Args]:
    """The arguments of each event; `joined` are all of them, one after the other."""
    with contextlib.suppress(*UNREADABLE):
        args: list[_Args] = _ARGS.decode_lines(joined or b"")
        if len(args) == len(events):
            return args
        given = [bool(event.args) for event in events]
        if joined and len(args) == sum(given):  # the others have none
            following = iter(args)
            return [next(following) if is_given else _NOTHING for is_given in given]
    return [_readable(event.args) if event.args else _NOTHING for event in events]


def _readable(raw: msgspec.Raw | bytes) -> _Args:
    try:
        return _ARGS.decode(raw)
    except UNREADABLE:
        return _NOTHING


def _message(event: Event) -> _Message:
    try:
        return _MESSAGES.decode(event.args)
    except UNREADABLE:
        return _NO_MESSAGE


def _message_bytes(message: _Message) -> int | None:
    elements, size = json_integer(message.elements), _DTYPE_BYTES.get(str(message.dtype).lower())
    return None if elements is None or size is None else elements * size


# The rank that an annotation names itself, and the process and thread of one of a device.
_Whose = tuple[int | None, tuple[str | None, str | None] | None]


class _Steps:
    """The spans of the annotations ProfilerStep#N: of the host of each rank, and of each stream of a device."""

    def __init__(self) -> None:
        self._found: defaultdict[_Whose, list[tuple[int, int, int]]] = defaultdict(list)

    def add(self, items: Items) -> None:
        """Adds the annotations that are among the items of a trace."""
        spans = [e for e in items if isinstance(e, Event) and type(e.name) is str and _STEP.match(e.name)]
        exact = Exact in {*map(type, spans)}
        starts, started = microseconds_as_nanoseconds([event.ts for event in spans], exact)
        durations, lasted = microseconds_as_nanoseconds([event.dur for event in spans], exact)
        for k in np.flatnonzero(started & lasted):
            event, start = spans[k], int(starts[k])
            if event.ph == "X":
                stream = (text_of(event.pid), text_of(event.tid)) if event.cat == "gpu_user_annotation" else None
                rank = json_integer(_readable(event.args or b"{}").rank, 32) if stream is None else None
                step = int(event.name[len(_STEP_MARK) :])
                self._found[rank, stream].append((start, start + int(durations[k]), step))

    @functools.cached_property
    def _spans(self) -> list[tuple[_Whose, Any]]:
        """Starts, ends and steps; the host comes first: a stream with spans of its own overrides it."""
        order = sorted(self._found, key=lambda whose: whose[1] is not None)
        return [(whose, np.array(sorted(self._found[whose])).T) for whose in order]

    def at(self, columns: EventColumns, base: int) -> pa.Array:
        """The step in which something starts: by the annotation of its own stream, else by that of the host."""
        times = columns["start_ns"].to_numpy() - base
        step, inside = np.zeros(len(times), np.int64), np.zeros(len(times), bool)
        places = _Places(columns["process"], columns["thread"])
        for (rank, stream), (starts, ends, steps) in self._spans:
            here = places.on(*stream) if stream else slice(None)
            own = times[here]
            k = np.searchsorted(starts, own, "right") - 1
            within = (k >= 0) & (own < ends[k])
            if rank is not None and columns["rank"].null_count < len(times):
                within &= (pc.coalesce(columns["rank"], pa.scalar(rank, columns["rank"].type)).to_numpy() == rank)[here]
            step[here] = np.where(within, steps[k], step[here])
            inside[here] |= within
        return pa.array(step, mask=~inside)


class _Places:
    """Where in two columns, of processes and threads, a process and a thread are."""

    def __init__(self, *columns: pa.Array) -> None:
        self.columns = columns

    @functools.cached_property
    def _numbers(self) -> list[tuple[Any, list[str | None]]]:
        """Of each column a number for each row, and the text that it stands for."""
        encoded = [pc.dictionary_encode(column, "encode") for column in self.columns]
        return [(column.indices.to_numpy(), column.dictionary.to_pylist()) for column in encoded]

    def on(self, *values: str | None) -> Any:
        """The rows that have these values."""
        (first, firsts), (second, seconds) = self._numbers
        if values[0] not in firsts or values[1] not in seconds:
            return np.zeros(0, np.int64)
        return np.flatnonzero((first == firsts.index(values[0])) & (second == seconds.index(values[1])))


def _integers(values: Sequence[Any]) -> pa.Array:
    """A column of whole numbers, NULL for other values."""
    if values.count(None) == len(values):
        return pa.nulls(len(values), pa.int64())
    try:
        if {*map(type, values)} <= {int, NoneType}:
            return pa.array(values, pa.int64())
    except OverflowError:
        pass
    return pa.array([json_integer(value) for value in values], pa.int64())
