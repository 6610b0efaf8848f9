"""Profile of XLA as its profiler stores it: *.xplane.pb.

Tool: jax.profiler, TensorFlow profiler, PyTorch/XLA
Versions: JAX 0.11 on an H100, read and compared with its trace.json; other versions and TPUs by the definition alone
Yields: events, params
Source: tsl/profiler/protobuf/xplane.proto; xla/tsl/profiler/convert/xplane_to_trace_events.cc

A plane is a device or a host, a line one of its streams or threads.  Categories are those of trace.json
(parsers/xprof_trace.py): work of a device is what its streams hold, or the XLA Ops of a TPU.  `args` are the statistics
of an event.  `line` is the place of an event in the file, over all planes.

Times have picoseconds; they become the nearest nanosecond.  With the start of the profile, which the plane `Task
Environment` has, they count from 1970: `trace_clock` is unix.  Without it they are relative.  The rank is that of the
file name (rank0), else NULL.

JAX writes trace.json.gz next to it, of the same profile.  Where that is there, it alone gives events, so that nothing
counts twice; a file without it gives its own.
"""

import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.protobuf import fields, signed
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import rank_in_name
from scalelens.parsing.xla_lines import place_of

VERSION = 1
IN_HEAD = (b"/host:", b"/device:", b"Task Env")

# The first plane of the file: its id, which proto3 leaves out where it is 0, and its name.  Bytes that were taken for
# text, which has a mark of replacement in place of what is none, are no profile anymore.
_HEAD = re.compile(
    rb"\x0a(?!\xef\xbf\xbd)[\x80-\xff]{0,9}[\x00-\x7f](?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12[\x01-\x7f](?:/host:|/device:|Task Env)"
)
_SINCE_1970 = 10**17  # a line whose time is later counts from 1970
_MOST_ARGS = 8_000  # letters of the statistics of an event: those of a whole instruction of XLA are fewer
_UNTIMED = "events without times, which it only counts, are left out"


class _Plane(NamedTuple):
    """A plane of the file, with the names of its events and statistics by number."""

    name: str
    lines: list[bytes]
    names: dict[int, tuple[str, dict[str, Any]]]  # of events, and their statistics
    statistics: dict[int, str]
    facts: dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    return bool(_HEAD.match(head))


def read(source: Source, rows: Rows) -> str | None:
    beside = Path(source.path.removesuffix(".xplane.pb"))
    for written in (".trace.json.gz", ".trace.json"):
        if "!" not in source.path and beside.with_name(beside.name + written).is_file():
            return f"the same profile is in {beside.name}{written} next to it, which provides the events"
    planes: list[_Plane] = []
    damage = None
    try:
        planes += (_plane(content) for number, content in fields(source.read()) if number == 1)
    except (ValueError, TypeError, struct.error) as error:
        damage = str(error)
    facts = {name: value for plane in planes for name, value in plane.facts.items()}
    zero_ns = facts.get("profile_start_time")
    if "jax_version" in facts:
        rows.param("framework", "jax", origin="inferred")
    rows.param("device_model", facts.get("gpu_device_name") or facts.get("device_type_string"), origin="inferred")
    events = _Events(rows, zero_ns if isinstance(zero_ns, int) else None, rank_in_name(source.name))
    for plane in planes:
        events.add(plane)
    if damage:
        rows.problem(events.line + 1, f"the profile is cut or damaged after {len(planes)} planes ({damage})")
    if events.line:
        rows.param("trace_clock", "unix" if events.is_unix else "relative", origin="inferred")
    return _UNTIMED if events.untimed else None


def _plane(content: bytes) -> _Plane:
    """A plane.  Raises ValueError where it is damaged."""
    parts: dict[int, list[Any]] = {number: [] for number in (2, 3, 4, 5, 6)}
    for number, value in fields(content):
        if number in parts:
            parts[number].append(value)
    statistics = {number: _text(dict(fields(meta)).get(2)) for number, meta in map(_entry, parts[5])}
    plane = _Plane(_text(parts[2][0] if parts[2] else b""), parts[3], {}, statistics, {})
    plane.facts.update(_values(plane, parts[6]))
    for number, meta in map(_entry, parts[4]):
        of_event = list(fields(meta))
        named = dict(of_event)
        # A display name is short, where the name is a whole instruction.
        text = _text(named.get(4)) or _text(named.get(2))
        of_all = _values(plane, [value for field, value in of_event if field == 5])
        plane.names[number] = text, dict(_bounded(of_all.items()))
    return plane


def _entry(content: bytes) -> tuple[int, bytes]:
    """Key and value of an entry of a map."""
    entry = dict(fields(content))
    return int(entry.get(1, 0)), entry.get(2, b"")


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _values(plane: _Plane, statistics: list[bytes]) -> dict[str, Any]:
    """Statistics by name."""
    found = {}
    for content in statistics:
        of_one = dict(fields(content))
        name = plane.statistics.get(of_one.pop(1, 0))
        for field, value in of_one.items():
            if name and (read := _value(plane, field, value)) is not None:
                found[name] = read
    return found


def _value(plane: _Plane, field: int, value: Any) -> Any:
    """A statistic: a double, an integer without or with a sign, a text, or the name of another statistic."""
    if field == 2 and isinstance(value, bytes) and len(value) == 8:
        number = struct.unpack("<d", value)[0]
        return number if abs(number) < 1e300 else None
    if isinstance(value, int):
        return plane.statistics.get(value) if field == 7 else signed(value) if field == 4 else value
    return _text(value) if field == 5 else None


def _bounded(statistics: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Statistics without those that are too long together: a name of a few bytes may stand for any text of the file."""
    left = _MOST_ARGS
    for name, value in statistics:
        length = len(name) + (len(value) if isinstance(value, str) else 8)
        if length <= left:
            left -= length
            yield name, value


class _Events:
    """Rows of the events of all planes."""

    def __init__(self, rows: Rows, zero_ns: int | None, rank: int | None) -> None:
        self.rows, self.zero_ns, self.rank = rows, zero_ns, rank
        self.line = self.untimed = 0
        self.is_unix = zero_ns is not None
        self._known: dict[bytes, dict[str, Any]] = {}  # statistics recur

    def add(self, plane: _Plane) -> None:
        self._known.clear()
        for content in plane.lines:
            try:
                self._line(plane, content)
            except (ValueError, TypeError, struct.error, OverflowError) as error:
                self.rows.problem(self.line + 1, f"a line of {plane.name} is damaged ({error})")

    def _line(self, plane: _Plane, content: bytes) -> None:
        found, events = {}, []
        for number, value in fields(content):
            if number == 4:
                events.append(value)
            else:
                found[number] = value
        thread = _text(found.get(11)) or _text(found.get(2)) or str(found.get(1, 0))
        since_ns = signed(found.get(3, 0))
        if since_ns > _SINCE_1970:
            self.is_unix = True
        elif self.zero_ns:
            since_ns += self.zero_ns
        for event in events:
            self.line += 1
            self._event(plane, thread, since_ns, event)

    def _event(self, plane: _Plane, thread: str, since_ns: int, content: bytes) -> None:
        found, statistics = {}, []
        for number, value in fields(content):
            if number == 4:
                statistics.append(value)
            else:
                found[number] = value
        if 5 in found and 2 not in found:
            self.untimed += 1
            return
        name, args = plane.names.get(found.get(1, 0), ("", {}))
        args = {**args, **dict(_bounded(self._statistics(plane, statistics)))}
        category, stream = place_of(plane.name, thread, name)
        correlation = args.get("correlation_id")
        self.rows.add(
            "events", self.line, rank=self.rank, ph="X", name=name or None, category=category,
            start_ns=since_ns + _nanoseconds(signed(found.get(2, 0))),
            duration_ns=max(_nanoseconds(signed(found.get(3, 0))), 0),
            process=plane.name, thread=thread, stream=stream, args=json.dumps(args),
            correlation=correlation if isinstance(correlation, int) and 0 <= correlation < 1 << 63 else None,
        )  # fmt: skip

    def _statistics(self, plane: _Plane, contents: list[bytes]) -> Iterator[tuple[str, Any]]:
        for content in contents:
            known = self._known.get(content)
            if known is None:
                if len(self._known) > 100_000:
                    self._known.clear()
                known = self._known[content] = _values(plane, [content])
            yield from known.items()


def _nanoseconds(picoseconds: int) -> int:
    return (picoseconds + 500) // 1000
