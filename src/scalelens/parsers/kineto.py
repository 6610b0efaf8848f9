"""Kineto trace (Chrome trace event JSON).

Tool: PyTorch profiler, and others that write Chrome's trace event format
Versions: PyTorch 1.8 to 2.13; top-level arrays and objects with `traceEvents`, microseconds whole or with a fraction
Yields: events, params
Source: libkineto/src/output_json.cpp, ChromeTraceLogger; torch/profiler/profiler.py, export_chrome_trace()

Times are exact: the decimal text of `ts` becomes nanoseconds as an integer, added to `baseTimeNanoseconds` where the
trace has one.  The params row `trace_clock` says what they count from: `unix`, or `relative` to a zero that the trace
does not tell.  The rank is that of `distributedInfo`, else of the file name (rank0, rank-0, rank_0), else NULL.

Complete events (X), begin and end pairs (B E, as X), instants (i I R, as i) and counters (C) are rows.  Flows (s t f),
metadata (M) and the rest are counted in params rows `trace_events_<ph>`.  A line is an event's place in the array.

Texts that are no valid JSON (control characters, bytes that are not UTF-8, bare nan) are mended; an event that cannot be
read is one problem, and so is a cut end.  The trace is read twice, as its base time and its steps may follow the events.

Samples:
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 71, "tid": 71, "ts": 5125096980867.834, "dur": 71.965, "args": {"External id": 3}}
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 5125096980951.102, "dur": 8.608, "args": {"stream": 7, "correlation": 9}}
    {"ph": "X", "cat": "Operator", "name": "aten::fill_", "pid": 67, "tid": "4093687616", "ts": 1606910596297059, "dur": 7, "args": {"Device": 0}}
    {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1606910597297059}
    {"ph": "C", "name": "memory", "pid": 67, "ts": 1606910596297060, "args": {"allocated": 4096}}
"""  # noqa: E501

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any

import msgspec

from scalelens.rows import Rows
from scalelens.source import Source

VERSION = 1

LARGEST = 1 << 18  # beside damage, an event of more bytes than this is taken for damage itself
PROBLEMS = 100  # malformed events of a file that get a row each; the rest are counted
ARRAY = re.compile(rb'\A\s*\[|"traceEvents"\s*:\s*\[')
NEXT = re.compile(rb'(\})\s*,\s*(?=\{\s*"(?:ph|name|cat|pid|tid|ts|dur|id|args|s)")')
CLOSED = re.compile(rb"\s*,?\s*\]")
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
MENDABLE = re.compile(rb'"(?:[^"\\]|\\.)*+"|-?\b(?:nan|NaN|inf|Infinity)\b', re.DOTALL)
SALVAGE = re.compile(rb'"(baseTimeNanoseconds|rank|world_size)"\s*:\s*(\d{1,19})(?=\s*[,}])')
STEP = re.compile(r"ProfilerStep#(\d{1,18})\Z")
RANK = re.compile(r"(?<![a-z])(?<!local[-_])rank[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)
PHASES = {"X": "X", "i": "i", "I": "i", "R": "i", "C": "C"}
FACTS = (
    "trace_id", "host_name", "schemaVersion", "record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules",
    "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version", "hip_driver_version",
    "roctracer_version",
)  # fmt: skip
# Sizes of PyTorch's ScalarType, by the name that is in `dtype`.
DTYPE_BYTES = {
    "byte": 1, "char": 1, "bool": 1, "short": 2, "half": 2, "bfloat16": 2, "int": 4, "float": 4, "long": 8, "double": 8,
    "complexhalf": 4, "complexfloat": 8, "complexdouble": 16, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e5m2fnuz": 1,
    "float8_e4m3fnuz": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip

UNREADABLE = (ValueError, RecursionError)  # what msgspec raises on text that is not JSON, or not of the expected type
ABSENT = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    ph: str = ""
    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = ABSENT
    dur: msgspec.Raw = ABSENT
    args: msgspec.Raw = ABSENT


class Args(msgspec.Struct, gc=False):
    stream: Any = None
    correlation: Any = None
    collective: Any = msgspec.field(default=None, name="Collective name")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_size: Any = msgspec.field(default=None, name="Group size")
    elements: Any = msgspec.field(default=None, name="In msg nelems")
    dtype: Any = None


EVENTS = msgspec.json.Decoder(list[Event])
ARGS = msgspec.json.Decoder(Args)


def recognise(head: bytes, name: str) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"["):
        return bool(re.match(rb"\[\s*\{", text) and re.search(rb'"ph"\s*:\s*"', text) and re.search(rb'"(ts|pid)"\s*:', text))
    if not text.startswith(b"{"):
        return False
    # The metadata before the events may be longer than the head: process groups of thousands of ranks.
    keys = rb'"(deviceProperties|distributedInfo|record_shapes|with_stack|trace_id|baseTimeNanoseconds)"\s*:'
    return bool(ARRAY.search(text) or (re.search(rb'"schemaVersion"\s*:', text) and re.search(keys, text)))


def read(source: Source, rows: Rows) -> None:
    trace = Trace(source)
    steps = Steps(event for items in trace.slices() for event in items if isinstance(event, Event))
    around = trace.around()
    writer = Writer(rows, around, steps, source.name)
    line, broken = 0, 0
    for items in trace.slices():
        for item in items:
            line += 1
            if reason := "this is no event" if isinstance(item, bytes) else writer.put(item, line):
                broken += 1
                if broken <= PROBLEMS:
                    rows.problem(line, reason, item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item.name))
        if trace.mended and not writer.mended:
            writer.mended = line
    if broken > PROBLEMS:
        rows.problem(None, f"{broken - PROBLEMS} more events could not be read")
    if writer.mended:
        rows.problem(writer.mended, "about here, texts are no valid JSON (control characters, bytes not UTF-8, bare nan) and were mended")
    writer.finish(line)
    if not trace.closed:
        why = source.damage or ("the array of its events is not closed" if trace.found else "it holds no array of events")
        lost = "" if "baseTimeNanoseconds" in around else "; its base time may be lost"
        rows.problem(line or None, f"the trace is cut or damaged here: {why}{lost}")


class Writer:
    """Turns events into rows."""

    def __init__(self, rows: Rows, around: dict[str, Any], steps: "Steps", name: str) -> None:
        self.rows, self.steps = rows, steps
        self.mended = 0
        self.counts: Counter[str] = Counter()
        self.begun: dict[tuple[str | None, str | None], list[tuple[int, dict[str, Any]]]] = {}
        job = around.get("distributedInfo")
        job = job if isinstance(job, dict) else {}
        in_name = RANK.search(name)
        self.rank = small(job.get("rank", int(in_name[1]) if in_name else None))
        self.base = integer(around.get("baseTimeNanoseconds"))
        rows.param("framework", "pytorch", origin="inferred")
        rows.param("devices", small(job.get("world_size")))
        for key in ("backend", "nccl_version"):
            rows.param(key, scalar(job.get(key)))
        devices = around.get("deviceProperties")
        names = {d.get("name"): None for d in devices if isinstance(d, dict)} if isinstance(devices, list) else {}
        rows.param("device_model", ", ".join(name for name in names if isinstance(name, str) and name) or None)
        for key in FACTS:
            rows.param(key, scalar(around.get(key)))
        self.unix = self.base is not None
        self.clocked = False

    def put(self, event: Event, line: int) -> str | None:
        """Takes an event.  Returns what is wrong with it."""
        ph = event.ph
        if ph in PHASES or ph == "B":
            values = self.values(event)
            if isinstance(values, str):
                return values
            if ph == "B":
                self.begun.setdefault((values["process"], values["thread"]), []).append((line, values))
                return None
            duration = nanoseconds(event.dur) if ph == "X" else None
            wrong = "its duration is negative" if duration is not None and duration < 0 else None
            self.rows.add("events", line, ph=PHASES[ph], duration_ns=None if wrong else duration, **values)
            return wrong
        if ph == "E":
            return self.end(event)
        if not ph:
            return "this is no event"
        self.counts[ph if len(ph) == 1 else "other"] += 1
        return None

    def values(self, event: Event) -> dict[str, Any] | str:
        """Columns of an event, or what is wrong with it."""
        time = nanoseconds(event.ts)
        start = None if time is None else integer(time + (self.base or 0))
        if start is None:
            return "its time cannot be read"
        if not self.clocked:
            self.clocked = True
            # Before there was a base, Kineto wrote microseconds since 1970.
            unix = self.base is not None or start > 1e18
            self.rows.param("trace_clock", "unix" if unix else "relative", origin="log" if self.base else "inferred")
        process, thread = text_of(event.pid), text_of(event.tid)
        values: dict[str, Any] = {
            "rank": self.rank, "name": text_of(event.name), "category": (text_of(event.cat) or "").lower() or None,
            "start_ns": start, "process": process, "thread": thread, "train_step": self.steps.at(time, process, thread),
        }  # fmt: skip
        if event.args is not ABSENT:
            raw = bytes(event.args)
            try:
                values["args"] = raw.decode()
            except UnicodeDecodeError:
                values["args"] = raw.decode("utf-8", "replace")
            if b'"stream"' in raw or b'"correlation"' in raw or b'"Collective name"' in raw:
                values |= from_args(raw)
        return values

    def end(self, event: Event) -> str | None:
        """Pairs an end with the innermost begin of its thread."""
        begun = self.begun.get((text_of(event.pid), text_of(event.tid)))
        if not begun:
            return "an end without a begin"
        line, values = begun.pop()
        time = nanoseconds(event.ts)
        duration = None if time is None else integer(time + (self.base or 0) - values["start_ns"])
        if duration is None or duration < 0:
            return "the time of the end cannot be right"
        if event.args is not ABSENT and "args" not in values:
            values["args"] = bytes(event.args).decode("utf-8", "replace")
        self.rows.add("events", line, ph="X", duration_ns=duration, **values)
        return None

    def finish(self, line: int) -> None:
        for ph, count in sorted(self.counts.items()):
            self.rows.param(f"trace_events_{ph}", count, line)
        if left := [place for begun in self.begun.values() for place, _ in begun]:
            self.rows.problem(min(left), f"{len(left)} events begin and do not end")


class Trace:
    """The text of a trace: its events a slice at a time, and the metadata around them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.head = self.tail = b""
        self.found = self.closed = self.mended = False

    def slices(self) -> Iterator[list[Event | bytes]]:
        """Events in order.  What is damaged is there as bytes."""
        self.found = self.closed = self.mended = False
        blocks = self.source.utf8()
        text = self._open(blocks)
        if not self.found:
            return
        for block in chain(blocks, (None,)):
            text += block or b""
            cut = (len(text), len(text)) if block is None else boundary(text)
            if cut is None and len(text) < LARGEST:
                continue
            items, text = self._decode(text, cut, final=block is None)
            yield items
            if self.closed:
                self.tail = text + b"".join(block for block in blocks if block)
                return

    def around(self) -> dict[str, Any]:
        """Metadata before and behind the events, after `slices` came to its end."""
        head, tail = self.head.strip().strip(b"{,"), self.tail.strip().strip(b",")
        found: dict[str, Any] = {}
        for text in (b"{" + head + b"}", b"{" + (tail or b"}")):
            try:
                part = msgspec.json.decode(mend(text))
                found |= part if isinstance(part, dict) else {}
            except UNREADABLE:
                numbers = {key.decode(): int(value) for key, value in SALVAGE.findall(text)}
                found |= {"distributedInfo": numbers, **numbers}
        return found

    def _open(self, blocks: Iterator[bytes]) -> bytes:
        text = b""
        for block in blocks:
            seen = max(len(text) - 64, 0)
            text += block
            if array := ARRAY.search(text, seen):
                self.found, self.head = True, text[: array.start()]
                return text[array.end() :]
        self.head = text
        return b""

    def _decode(self, text: bytes, cut: tuple[int, int] | None, final: bool) -> tuple[list[Event | bytes], bytes]:
        """Events of the text up to the cut, and what is left.  Damage costs the time to look at each event alone."""
        if cut:
            for attempt in (bytes, mend):
                piece = attempt(text[: cut[0]])
                try:
                    items, end = decoded(piece)
                except UNREADABLE:
                    continue
                self.mended |= attempt is mend
                self.closed = end is not None
                return items, piece[end:] + text[cut[0] :] if self.closed else text[cut[1] :]
        return self._one_by_one(text, final)

    def _one_by_one(self, text: bytes, final: bool) -> tuple[list[Event | bytes], bytes]:
        items: list[Event | bytes] = []
        at, bad = 0, -1
        while (start := text.find(b"{", at)) >= 0:
            if bad < 0 and text[at:start].strip(b", \t\r\n"):
                bad = at
            end = closing(text, start)
            if end is None and not final and len(text) - start < LARGEST:
                return items + ([text[bad:start]] if bad >= 0 else []), text[start:]
            event = None if end is None else self._event(text[start:end])
            if end is None or event is None:
                bad, at = (start if bad < 0 else bad), start + 1
                continue
            items += [event] if bad < 0 else [text[bad:start], event]
            at, bad = end, -1
            if closed := CLOSED.match(text, at):
                self.closed = True
                return items, text[closed.end() :]
        rest = text[at if bad < 0 else bad :]
        self.tail = rest
        return items + ([rest] if rest.strip(b", \t\r\n") else []), b""

    def _event(self, text: bytes) -> Event | None:
        for attempt in (bytes, mend):
            try:
                (event,) = EVENTS.decode(b"[" + attempt(text) + b"]")
            except UNREADABLE:
                continue
            self.mended |= attempt is mend
            return event if event.ph else None
        return None


class Steps:
    """The spans of the annotations ProfilerStep#N: of the host, and of each stream of a device."""

    def __init__(self, events: Iterator[Event]) -> None:
        spans: dict[tuple[str | None, str | None] | None, list[tuple[int, int, int]]] = {}
        for event in events:
            if type(event.name) is str and event.ph == "X" and (step := STEP.match(event.name)):
                start, duration = nanoseconds(event.ts), nanoseconds(event.dur)
                if start is not None and duration is not None:
                    lane = (text_of(event.pid), text_of(event.tid)) if event.cat == "gpu_user_annotation" else None
                    spans.setdefault(lane, []).append((start, start + duration, int(step[1])))
        self.spans = {lane: sorted(found) for lane, found in spans.items()}
        self.starts = {lane: [span[0] for span in found] for lane, found in self.spans.items()}

    def at(self, time: int | None, process: str | None, thread: str | None) -> int | None:
        """Step in which an event of a thread starts.  Work of a device has its stream's annotation, else the host's."""
        for lane in ((process, thread), None) if time is not None else ():
            starts = self.starts.get(lane)
            if starts and (k := bisect_right(starts, time) - 1) >= 0 and time < self.spans[lane][k][1]:
                return self.spans[lane][k][2]
        return None


def decoded(text: bytes) -> tuple[list[Event | bytes], int | None]:
    """Events of a piece of the array, and where the array ended in it.  A cut at a wrong place does not decode."""
    try:
        return EVENTS.decode(b"[" + text + b"]"), None  # type: ignore[return-value]
    except msgspec.DecodeError as error:
        behind = re.search(r"trailing characters \(byte (\d+)\)", str(error))
        if not behind:
            raise
        end = int(behind[1]) - 1
        return EVENTS.decode(b"[" + text[:end]), end  # type: ignore[return-value]


def boundary(text: bytes) -> tuple[int, int] | None:
    """Where the last event but one ends and the last begins."""
    for window in (1 << 16, len(text)):
        last = None
        for last in NEXT.finditer(text, max(len(text) - window, 0)):
            pass
        if last:
            return last.end(1), last.end()
    return None


def closing(text: bytes, start: int) -> int | None:
    """End of the object that begins at `start`."""
    depth = 0
    for token in TOKEN.finditer(text, start, start + LARGEST):
        if (mark := token[0]) in b"{[":
            depth += 1
        elif mark in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def mend(text: bytes) -> bytes:
    """JSON text in which control characters are escaped, bytes that are not UTF-8 replaced, and bare nan is null."""

    def mended(found: re.Match[bytes]) -> bytes:
        word = found[0]
        if not word.startswith(b'"'):
            return b"null"
        word = re.sub(rb"[\x00-\x1f]", lambda c: b"\\u%04x" % ord(c[0]), word)
        return re.sub(rb'\\(.)', lambda c: c[0] if c[1] in b'"\\/bfnrtu' else b"\\" + c[0], word)

    return MENDABLE.sub(mended, text.decode("utf-8", "replace").encode())


def from_args(raw: bytes) -> dict[str, Any]:
    """Columns that come from the arguments of an event."""
    try:
        args = ARGS.decode(raw)
    except UNREADABLE:
        return {}
    if args.collective is None:
        return {"stream": integer(args.stream), "correlation": integer(args.correlation)}
    elements, size = integer(args.elements), DTYPE_BYTES.get(str(args.dtype).lower())
    return {
        "stream": integer(args.stream), "correlation": integer(args.correlation), "collective": text_of(args.collective),
        "process_group": text_of(args.group), "group_size": small(args.group_size), "dtype": text_of(args.dtype),
        "message_bytes": None if elements is None or size is None else integer(elements * size),
    }  # fmt: skip


def nanoseconds(microseconds: msgspec.Raw) -> int | None:
    """Decimal text of microseconds in whole nanoseconds, exactly."""
    text = bytes(microseconds)
    whole, _, fraction = text.partition(b".")
    try:
        if len(fraction) <= 3:
            return int(whole + fraction.ljust(3, b"0"))
    except ValueError:
        pass
    try:
        number = Decimal(text.strip(b'"').decode())
        return round(number * 1000) if abs(number) < 1 << 62 else None
    except (InvalidOperation, ValueError):
        return None


def integer(value: Any) -> int | None:
    return value if type(value) is int and -1 << 63 <= value < 1 << 63 else None


def small(value: Any) -> int | None:
    return value if type(value) is int and -1 << 31 <= value < 1 << 31 else None


def scalar(value: Any) -> str | int | float | None:
    return value if isinstance(value, str | int | float) and len(str(value)) <= 200 else None


def text_of(value: Any) -> str | None:
    return value if value is None or type(value) is str else str(value)
