"""A trace's events as columns of the table `events`.

A format of traces gets the columns that all of them share, and adds what its tool alone writes:

    events = Events(rows, base)
    for items in trace.slices():
        kept, columns = events.columns(items)
        rows.put_columns("events", columns | {"rank": ...})
    events.finish(trace)
"""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from itertools import chain, compress
from types import NoneType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing.chrome_trace import COMPLETE, PHASE_OF, SEPARATORS, Event, Exact, Items, Trace
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import UNREADABLE_TIME

_INSTANT = ("I", "R")  # older letters for i
_TIMED = {"X", "i", "C", *_INSTANT, "B", "E"}
_SOUND = PHASE_OF.keys()
_TIMED_TYPES = {kind for kind, ph in PHASE_OF.items() if ph in _TIMED}
_LETTER_OF = {kind: ord(ph) for kind, ph in PHASE_OF.items()}
_OTHERS = bytes({letter for kind, letter in _LETTER_OF.items() if kind not in _TIMED_TYPES})
_IS_ROW = np.ones(256, bool)
_IS_ROW[[*_OTHERS]] = False
_LAST_NANOSECOND = (1 << 63) - 1  # since 1970, or before it

EventColumns = dict[str, pa.Array]
_Numbers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class Events:
    """Turns slices of a trace into columns.  `base` is what its times are counted from, in nanoseconds since 1970.

    Where `base_follows`, because it may stand after the events, the format calls `tell_clock` itself.
    """

    def __init__(self, rows: Rows, base: int | None, base_follows: bool = False) -> None:
        self.rows, self.base, self.base_follows = rows, base, base_follows
        self.line = 0  # of the last item
        self.cut = False  # whether the last item could not be read
        self.mended = False
        self.first: tuple[int, int] | None = None  # line of the first event that has a time, and its start
        self.counts: Counter[str] = Counter()
        self.joined_args: bytes | None = None  # of the last slice; None where bytes had to be mended
        self.begun: defaultdict[tuple[str | None, str | None], list[tuple[int, Event, int]]] = defaultdict(list)

    def columns(self, items: Items) -> tuple[list[Event], EventColumns]:
        """The events that become rows, and their columns.  `joined_args` has the arguments of these, all in one."""
        self.joined_args = None
        if not items:
            return [], {}
        first = self.line + 1
        self.line += len(items)
        kinds = {*map(type, items)}
        sound = kinds <= _SOUND
        events, lines, letters = self._of_sound(items, kinds, first) if sound else self._of_any(items, first)
        begins, ends = b"B" in letters, b"E" in letters
        exact = not sound and Exact in {*map(type, events)}
        fields = _fields(events, sound)
        starts, timed = self._starts(fields.ts, exact)
        if not timed.all():
            for k in np.flatnonzero(~timed):
                self.rows.problem(int(lines[k]), UNREADABLE_TIME, text_of(events[k].name) or "")
            events, lines, starts = [events[k] for k in np.flatnonzero(timed)], lines[timed], starts[timed]
        if self.first is None and len(events):
            self.first = int(lines[0]), int(starts[0])
            if not self.base_follows:
                self.tell_clock()
        if begins or ends:
            events, lines, starts = self._pair(events, lines, starts)
        if not events:
            return [], {}
        if begins or ends or not timed.all():
            fields, letters = _fields(events, sound), "".join([event.ph for event in events]).encode()
        return events, self._shared(fields, letters, lines, starts, exact or ends)

    def tell_clock(self) -> None:
        """Says what the times count from.  Without a base, Kineto wrote microseconds since 1970."""
        if self.first:
            line, start = self.first
            clock = "unix" if self.base is not None or start > 1e18 else "relative"
            self.rows.param("trace_clock", clock, line, origin="inferred" if self.base is None else "log")

    def _of_sound(self, items: Items, kinds: set[Any], first: int) -> tuple[list[Event], _Numbers, bytes]:
        """The events that become rows, with their lines and the letters of their phases, which their types say."""
        self.cut = False
        letters = bytes(map(_LETTER_OF.__getitem__, map(type, items)))
        if kinds <= _TIMED_TYPES:
            return [*items], np.arange(first, first + len(items)), letters  # type: ignore[list-item]
        for ph in {PHASE_OF[kind] for kind in kinds - _TIMED_TYPES}:
            self.counts[ph] += letters.count(ph.encode())
        is_row = _IS_ROW[np.frombuffer(letters, np.uint8)]
        events: list[Any] = [*compress(items, is_row.tobytes())]
        return events, np.flatnonzero(is_row) + first, letters.translate(None, _OTHERS)

    def _of_any(self, items: Items, first: int) -> tuple[list[Event], _Numbers, bytes]:
        """The same of items among which some are damaged, or of no phase that is known."""
        phases = [None if isinstance(item, bytes) else item.ph for item in items]
        self.cut = phases[-1] is None
        kinds = {*phases}
        for ph in kinds - _TIMED:
            if ph:
                self.counts[ph if len(ph) == 1 else "other"] += phases.count(ph)
        if None in kinds or "" in kinds:
            self._no_events(items, first)
        chosen = [k for k, ph in enumerate(phases) if ph in _TIMED]
        events: list[Event] = [items[k] for k in chosen]  # type: ignore[misc]
        for event in events:
            if event.ph in _INSTANT:
                event.ph = "i"  # type: ignore[misc]
        letters = "".join([event.ph for event in events]).encode()
        return events, np.fromiter(chosen, np.int64, len(events)) + first, letters

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

    def _starts(self, times: list[Any], exact: bool) -> tuple[_Numbers, _Mask]:
        """When events start, counted from 1970 where there is a base, and which of these times can be."""
        starts, timed = microseconds_as_nanoseconds(times, exact)
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

    def _shared(
        self, fields: "_Fields", letters: bytes, lines: _Numbers, starts: _Numbers, exact: bool
    ) -> EventColumns:
        complete = np.frombuffer(letters, np.uint8) == ord("X")
        durations, known = microseconds_as_nanoseconds(fields.dur, exact)
        wrong = known & (durations < 0)
        for k in np.flatnonzero(~known & complete) if exact else ():
            unread: Any = fields.dur[k]
            wrong[k] = bytes(unread or b"null") != b"null"
        for k in np.flatnonzero(wrong & complete):
            reason = "the duration of the event cannot be right"
            self.rows.problem(int(lines[k]), reason, text_of(fields.name[k]) or "")
        arguments, self.joined_args = raw_texts(fields.args)
        self.mended |= self.joined_args is None
        categories = fields.cat if all(fields.cat) else [category or None for category in fields.cat]
        return {
            "line": pa.array(lines),
            "ph": _strings(letters, np.ones(len(letters), np.int32)),
            "name": texts(fields.name),
            "category": pc.utf8_lower(texts(categories)),
            "start_ns": pa.array(starts),
            "duration_ns": pa.array(durations, mask=~(known & complete & ~wrong)),
            "process": texts(fields.pid),
            "thread": texts(fields.tid),
            "args": arguments,
        }


class _Fields(NamedTuple):
    """The fields of events, a list of each."""

    name: list[Any]
    cat: list[Any]
    pid: list[Any]
    tid: list[Any]
    ts: list[Any]
    dur: list[Any]
    args: list[Any]


def _fields(events: list[Event], sound: bool) -> _Fields:
    if not sound:
        return _Fields(*([getattr(event, of) for event in events] for of in _Fields._fields))
    # To zip the tuples of thousands of events takes three times as long.
    values = [*chain.from_iterable(map(msgspec.structs.astuple, events))]
    return _Fields(*(values[k :: len(_Fields._fields)] for k in range(len(_Fields._fields))))


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


def texts(values: Sequence[Any]) -> pa.Array:
    """A column of texts; other values are written as text."""
    with contextlib.suppress(pa.ArrowException):  # of a value that is not a text
        return pa.array(values, pa.string())
    if type(values[0]) is int:  # few processes and threads have many events
        with contextlib.suppress(pa.ArrowException, OverflowError):
            numbers = pa.array(values)
            if numbers.type == pa.int64():
                numbers = pc.dictionary_encode(numbers)
                return pc.take(pc.cast(numbers.dictionary, pa.string()), numbers.indices)
    if {*map(type, values)} <= {int, str, NoneType}:
        index_of = {value: k for k, value in enumerate({*values})}
        each = pa.array([text_of(value) for value in index_of], pa.string())
        return pc.take(each, pa.array(np.fromiter(map(index_of.__getitem__, values), np.int32, len(values))))
    return pa.array([text_of(value) for value in values], pa.string())


def raw_texts(values: Sequence[msgspec.Raw]) -> tuple[pa.Array, bytes | None]:
    """Raw JSON as a column of texts, NULL where empty, and all of it joined: None where bytes had to be mended."""
    joined = b"".join(values)
    try:
        joined.isascii() or str(joined, "utf-8")
    except UnicodeDecodeError:
        return pa.array([bytes(value).decode("utf-8", "replace") or None for value in values], pa.string()), None
    return _strings(joined, np.fromiter(map(len, values), np.int32, len(values))), joined


def _strings(joined: bytes, lengths: npt.NDArray[np.int32]) -> pa.Array:
    """A column of texts that lie one after the other in `joined`; NULL for those of length 0."""
    offsets = np.concatenate((np.zeros(1, np.int32), np.cumsum(lengths, dtype=np.int32)))
    _, given = pa.array(lengths > 0).buffers()
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(joined), given)


def text_of(value: Any) -> str | None:
    return value if value is None or type(value) is str else str(value)
