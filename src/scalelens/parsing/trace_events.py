"""A trace's events as columns of the table `events`.

A format of traces gets the columns that all of them share, and adds what its tool alone writes:

    events = Events(rows, base)
    for items in trace.slices():
        kept, columns = events.columns(items)
        rows.put_columns("events", columns | {"rank": ...})
    events.finish(trace)
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from types import NoneType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing.chrome_trace import COMPLETE, SEPARATORS, Event, Exact, Items, Trace
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import UNREADABLE_TIME

_INSTANT = ("I", "R")  # older letters for i
_TIMED = {"X", "i", "C", *_INSTANT, "B", "E"}
_LAST_NANOSECOND = (1 << 63) - 1  # since 1970, or before it

EventColumns = dict[str, pa.Array]
_Numbers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class Events:
    """Turns slices of a trace into columns.  `base` is what its times are counted from, in nanoseconds since 1970."""

    def __init__(self, rows: Rows, base: int | None) -> None:
        self.rows, self.base = rows, base
        self.line = 0  # of the last item
        self.cut = False  # whether the last item could not be read
        self.mended = self.dated = False
        self.counts: Counter[str] = Counter()
        self.begun: defaultdict[tuple[str | None, str | None], list[tuple[int, Event, int]]] = defaultdict(list)

    def columns(self, items: Items) -> tuple[list[Event], EventColumns]:
        """The events that become rows, and their columns."""
        damaged = bytes in {*map(type, items)}
        phases = [None if damaged and type(item) is bytes else item.ph for item in items]  # type: ignore[union-attr]
        first = self.line + 1
        self.line += len(items)
        if not items:
            return [], {}
        self.cut = phases[-1] is None
        kinds = {*phases}
        for ph in kinds - _TIMED:
            if ph:
                self.counts[ph if len(ph) == 1 else "other"] += phases.count(ph)
        if None in kinds or "" in kinds:
            self._no_events(items, first)
        chosen = [k for k, ph in enumerate(phases) if ph in _TIMED] if kinds - _TIMED else range(len(items))
        events: list[Event] = [items[k] for k in chosen]  # type: ignore[misc]
        if kinds & {*_INSTANT}:
            for event in events:
                if event.ph in _INSTANT:
                    event.ph = "i"  # type: ignore[misc]
        lines = np.fromiter(chosen, np.int64, len(events)) + first
        exact = Exact in {*map(type, events)}
        starts, timed = self._starts(events, exact)
        if not timed.all():
            for k in np.flatnonzero(~timed):
                self.rows.problem(int(lines[k]), UNREADABLE_TIME, text_of(events[k].name) or "")
            events, lines, starts = [events[k] for k in np.flatnonzero(timed)], lines[timed], starts[timed]
        if not self.dated and len(events):  # without a base, Kineto wrote microseconds since 1970
            self.dated, clock = True, "unix" if self.base is not None or starts[0] > 1e18 else "relative"
            origin = "inferred" if self.base is None else "log"
            self.rows.param("trace_clock", clock, int(lines[0]), origin=origin)
        if "B" in kinds or "E" in kinds:
            events, lines, starts = self._pair(events, lines, starts)
        return (events, self._shared(events, lines, starts, exact or "E" in kinds)) if events else ([], {})

    def finish(self, trace: Trace) -> None:
        """Reports what concerns the whole trace."""
        for ph, count in sorted(self.counts.items()):
            self.rows.param(f"trace_events_{ph}", count)
        problem, last = self.rows.problem, self.line or None
        if left := [line for begun in self.begun.values() for line, *_ in begun]:
            problem(min(left), f"{len(left)} events begin and do not end")
        if trace.mended or self.mended:
            problem(None, "texts that are not quite JSON were mended: control characters, bytes not UTF-8, bare nan")
        if not trace.closed and not self.cut:
            what = "is not closed" if trace.has_array else "is missing"
            problem(last, f"the array of events {what}: the trace is cut")
        if trace.closed and trace.torn:
            problem(last, "the file is damaged or cut outside of its events")

    def _no_events(self, items: Items, first: int) -> None:
        for line, item in enumerate(items, first):
            if isinstance(item, bytes):
                text = item.strip(SEPARATORS).decode("utf-8", "replace")
                self.rows.problem(line, "the event is damaged, or the trace is cut", text)
            elif not item.ph:
                self.rows.problem(line, "the event has no phase", text_of(getattr(item, "name", None)) or "")

    def _starts(self, events: list[Event], exact: bool) -> tuple[_Numbers, _Mask]:
        """When events start, counted from 1970 where there is a base, and which of these times can be."""
        starts, timed = microseconds_as_nanoseconds([event.ts for event in events], exact)
        base = self.base or 0
        timed &= (starts <= _LAST_NANOSECOND - base) & (starts >= -_LAST_NANOSECOND - base)
        return np.where(timed, starts, 0) + base, timed

    def _pair(self, events: list[Event], lines: _Numbers, starts: _Numbers) -> tuple[list[Event], _Numbers, _Numbers]:
        """Pairs an end with the innermost begin of its thread: together they are one complete event."""
        paired = []
        for line, event, start in zip(lines.tolist(), events, starts.tolist(), strict=True):
            begun = self.begun[text_of(event.pid), text_of(event.tid)] if event.ph in "BE" else []
            if event.ph == "B":
                event.args = event.args.copy()  # it would keep the text of its slice
                begun.append((line, event, start))
            elif event.ph != "E":
                paired.append((line, event, start))
            elif not begun:
                self.rows.problem(line, "the event ends what did not begin", text_of(event.name) or "")
            else:
                at, whole, began = begun.pop()
                if start < began:
                    self.rows.problem(line, "the event ends before it begins", text_of(event.name) or "")
                    continue
                args = whole.args or event.args
                whole = COMPLETE(whole.name, whole.cat, whole.pid, whole.tid, whole.ts, (start - began) / 1000, args)
                paired.append((at, whole, began))
        numbers = np.array([(line, start) for line, _, start in paired], np.int64).reshape(-1, 2)
        return [event for _, event, _ in paired], numbers[:, 0], numbers[:, 1]

    def _shared(self, events: list[Event], lines: _Numbers, starts: _Numbers, exact: bool) -> EventColumns:
        letters = "".join([event.ph for event in events]).encode()  # one of each: the others are not _TIMED
        complete = np.frombuffer(letters, np.uint8) == ord("X")
        durations, known = microseconds_as_nanoseconds([event.dur for event in events], exact)
        wrong = known & (durations < 0)
        for k in np.flatnonzero(~known & complete) if exact else ():
            unread: Any = events[k].dur
            wrong[k] = bytes(unread or b"null") != b"null"
        for k in np.flatnonzero(wrong & complete):
            self.rows.problem(int(lines[k]), "the duration of the event cannot be right", text_of(events[k].name) or "")
        arguments, mended = raw_texts([event.args for event in events])
        self.mended |= mended
        return {
            "line": pa.array(lines),
            "ph": _strings(letters, np.ones(len(events), np.int32)),
            "name": texts([event.name for event in events]),
            "category": pc.utf8_lower(texts([event.cat or None for event in events])),
            "start_ns": pa.array(starts),
            "duration_ns": pa.array(durations, mask=~(known & complete & ~wrong)),
            "process": texts([event.pid for event in events]),
            "thread": texts([event.tid for event in events]),
            "args": arguments,
        }


def microseconds_as_nanoseconds(microseconds: Sequence[Any], exact: bool) -> tuple[_Numbers, _Mask]:
    """Microseconds in whole nanoseconds, and which of them are known; `exact` if they are those of Exact events."""
    if exact:
        decimals = [decimal_nanoseconds(value) for value in microseconds]
        known = np.array([value is not None for value in decimals], bool)
        return np.array([value or 0 for value in decimals], np.int64), known
    values = np.array(microseconds, np.float64)
    known = ~np.isnan(values)
    values = np.where(known, values, 0)
    whole = np.trunc(values)
    return whole.astype(np.int64) * 1000 + np.rint((values - whole) * 1000).astype(np.int64), known


def decimal_nanoseconds(microseconds: Any) -> int | None:
    """Decimal text of microseconds in whole nanoseconds; None for other text, and for what is beyond 292 years."""
    text = bytes(microseconds) if type(microseconds) is msgspec.Raw else str(microseconds).encode()
    try:
        number = Decimal(text.strip(b'"').decode())
        nanoseconds = round(number * 1000) if abs(number) < 1 << 62 else _LAST_NANOSECOND + 1
    except (ValueError, ArithmeticError):
        return None
    return nanoseconds if abs(nanoseconds) <= _LAST_NANOSECOND else None


def texts(values: list[Any]) -> pa.Array:
    """A column of texts; other values are written as text."""
    try:
        return pa.array(values, pa.string())
    except pa.ArrowException:
        pass
    if {*map(type, values)} <= {int, str, NoneType}:  # few processes and threads have many events
        index_of = {value: k for k, value in enumerate({*values})}
        each = pa.array([text_of(value) for value in index_of], pa.string())
        return each.take(pa.array(np.fromiter(map(index_of.__getitem__, values), np.int32, len(values))))
    return pa.array([text_of(value) for value in values], pa.string())


def raw_texts(values: list[msgspec.Raw]) -> tuple[pa.Array, bool]:
    """Raw JSON as a column of texts, NULL where it is empty, and whether bytes had to be mended."""
    joined = b"".join(values)
    try:
        joined.isascii() or str(joined, "utf-8")
    except UnicodeDecodeError:
        return pa.array([bytes(value).decode("utf-8", "replace") or None for value in values], pa.string()), True
    return _strings(joined, np.fromiter(map(len, values), np.int32, len(values))), False


def _strings(joined: bytes, lengths: npt.NDArray[np.int32]) -> pa.Array:
    """A column of texts that lie one after the other in `joined`; NULL for those of length 0."""
    offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)))
    _, given = pa.array(lengths > 0).buffers()
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(joined), given)


def text_of(value: Any) -> str | None:
    return value if value is None or type(value) is str else str(value)
