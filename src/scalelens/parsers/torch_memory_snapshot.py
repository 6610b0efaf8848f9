"""Snapshot of PyTorch's caching allocator: segments and blocks of a device, and the history of allocations.

Tool: torch.cuda.memory._dump_snapshot(), or what torch.cuda.memory._snapshot() and torch.cuda.memory_snapshot() return,
    stored by pickle or as JSON
Versions: PyTorch 1.13 to 2.13
Yields: events, params
Source: torch/cuda/memory.py, _snapshot() and _dump_snapshot(); torch/csrc/cuda/Module.cpp, THCPModule_memorySnapshot

A pickle is read without Python's unpickler (parsing/plain_pickle.py).  Everything becomes a row of `events`:

  memory_segment     memory taken from the device; its name is large or small
  memory_block       a part of a segment; its name is the state: active_allocated, active_awaiting_free, inactive
  memory_history     an instant of the history, if it was recorded: alloc, free_requested, free_completed, segment_alloc,
                     segment_free, segment_map, segment_unmap, oom, snapshot
  memory_annotation  an annotation of the program, if these were recorded

`args` has device, address and bytes, for blocks and allocations also requested_bytes, and from the stack `site`, the
innermost frame outside of PyTorch, and `path`, the frames that lead to it.  The bytes of the history are those that
were asked for: the allocator rounds them up.  A line is an object's place in the file.  PyTorch before 2.2 gives no times.

Only the file's name says of which rank it is: rank3_memory.pickle.

Samples:
    [{"device": 0, "address": 140352552271872, "total_size": 2097152, "stream": 0, "segment_type": "small", "blocks": [{
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.call_sites import MOST_FRAMES, CallSite, call_site
from scalelens.parsing.plain_pickle import filled_dicts
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import json_count, rank_in_name

VERSION = 1
IN_HEAD = (b"total_size", b"device_traces")

_PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95.{8})?[}\]]", re.DOTALL)
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*[\[{]")
_ACTIONS = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom",
    "snapshot",
}  # fmt: skip
_WITH_SITE = {"alloc", "oom", "segment_alloc", "segment_map"}
_STATES = {"active_allocated", "active_awaiting_free", "active_pending_free", "inactive"}
_MOST_BYTES = 1 << 50
_NANOSECONDS = 1000  # of a microsecond

_Dict = dict[str, Any]


def recognise(head: bytes, name: str) -> bool:
    if not (_PICKLE.match(head) or _JSON.match(head)):
        return False
    if b"total_size" in head and b"blocks" in head and b"segment_type" in head:
        return True
    return b"segments" in head and b"device_traces" in head


def read(source: Source, rows: Rows) -> str | None:
    rows.param("framework", "pytorch", origin="inferred")
    is_pickle = _PICKLE.match(source.head())
    snapshot = _Snapshot(rows, rank_in_name(source.name))
    try:
        dicts = filled_dicts(source.read()) if is_pickle else _dicts_of_json(source.text())
        for found in dicts:
            snapshot.take(found)
    except ValueError as error:
        rows.problem(snapshot.number + 1, f"{error}: what was read before is kept")
    snapshot.finish()
    return snapshot.note()


def _dicts_of_json(text: bytes) -> Iterator[_Dict]:
    """The objects of a JSON text, inner ones first.  Raises ValueError where it is cut or damaged."""
    found: list[_Dict] = []

    def made(an_object: _Dict) -> _Dict:
        found.append(an_object)
        return an_object

    try:
        json.loads(text.decode("utf-8-sig", "replace"), object_hook=made)
    except (ValueError, RecursionError):
        yield from found
        raise ValueError("the snapshot is cut or damaged here") from None
    yield from found


def _bytes(value: Any) -> int | None:
    """A number of bytes; None for what no device has."""
    count = json_count(value)
    return count if count is not None and count < _MOST_BYTES else None


def _pool(pool: Any) -> list[int] | None:
    """The id of a pool of memory, two integers; None for the usual one."""
    is_id = isinstance(pool, list | tuple) and len(pool) == 2 and all(isinstance(part, int) for part in pool)
    return [*pool] if is_id and any(pool) else None


def _shown(value: Any) -> str:
    """What is in the place of a value: a pickle may nest lists deeper than Python can print."""
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else type(value).__name__


class _Entry(NamedTuple):
    """What is kept of an entry of the history, of which there may be millions."""

    number: int
    action: Any
    address: Any
    size: Any
    stream: Any
    time_us: Any
    device_free: Any
    site: CallSite | None


class _Snapshot:
    """Objects of a file, which come inner ones first: blocks before their segment, history before the list of a device."""

    def __init__(self, rows: Rows, rank: int | None) -> None:
        self.rows, self.rank = rows, rank
        self.number = 0  # of the object that was read last
        self.segments = self.entries = self.sites = 0
        self.timed = False
        self._blocks: list[tuple[int, _Dict]] = []  # of the segment that follows
        self._history: dict[int, _Entry] = {}  # by the identity of the dict, which the list of its device names
        self._devices: list[int] = []
        self._annotations: list[tuple[int, _Dict]] = []
        self._sites: dict[tuple[int, ...], CallSite | None] = {}
        self._named: set[int] = set()  # lists that were walked: a file may name one a million times

    def take(self, found: _Dict) -> None:
        if "action" in found:
            self.number += 1
            self._history[id(found)] = self._kept(found)
            found.clear()
        elif "blocks" in found and "address" in found:
            self.number += 1
            self._segment(found)
        elif "state" in found and "size" in found:
            self.number += 1
            self._blocks.append((self.number, found))
        elif "stage" in found and "time_us" in found:
            self.number += 1
            self._annotations.append((self.number, found))
        elif "device_traces" in found and isinstance(traces := found["device_traces"], list | tuple):
            self._name_devices(traces)

    def _segment(self, segment: _Dict) -> None:
        number, device, address = self.number, json_count(segment.get("device")), json_count(segment.get("address"))
        size = _bytes(segment.get("total_size"))
        blocks, self._blocks = self._blocks, []
        if size is None:
            self.rows.problem(number, "the segment has no size", _shown(segment.get("total_size")))
            return
        self.segments += 1
        if device is not None:
            self._devices.append(device)
        expandable = segment.get("is_expandable")
        args = {
            "device": device, "address": address, "bytes": size, "pool": _pool(segment.get("segment_pool_id")),
            "is_expandable": expandable if isinstance(expandable, bool) else None,
        }  # fmt: skip
        kind = segment.get("segment_type")
        self._add(
            number, "memory_segment", kind if kind in ("large", "small") else "large", None, segment.get("stream"), args
        )
        at = address
        for line, block in blocks:
            at = self._block(line, block, device, address, at)

    def _block(self, line: int, block: _Dict, device: int | None, segment: int | None, at: int | None) -> int | None:
        """A block's row.  Where the next one starts: old versions do not say it."""
        size, state = _bytes(block.get("size")), block.get("state")
        if size is None or not isinstance(state, str) or state not in _STATES:
            self.rows.problem(line, "the block has no size or no state", _shown(state))
            return None
        address = json_count(block.get("address"))
        address = at if address is None else address
        requested, frames = _bytes(block.get("requested_size")), block.get("frames")
        history = block.get("history")  # PyTorch 1.13 and 2.0
        if isinstance(history, list) and history and isinstance(history[0], dict):
            requested = _bytes(history[0].get("real_size")) if requested is None else requested
            frames = history[0].get("frames") if frames is None else frames
        is_used = state != "inactive"
        args = {"device": device, "address": address, "segment": segment, "bytes": size}
        if is_used:
            args["requested_bytes"] = requested
        name = "active_awaiting_free" if state == "active_pending_free" else state
        self._add(line, "memory_block", name, self._site_of(frames) if is_used else None, None, args)
        return None if address is None else address + size

    def _name_devices(self, traces: Any) -> None:
        for device, trace in enumerate(traces):
            is_new = isinstance(trace, list | tuple) and id(trace) not in self._named
            self._named.add(id(trace))
            for entry in trace if is_new else ():
                if known := self._history.pop(id(entry), None):
                    self._entry(known, device)

    def finish(self) -> None:
        """What no list of a device names, because the file is cut: of the device, if the segments are of one."""
        devices = set(self._devices)
        device = devices.pop() if len(devices) == 1 else None
        for entry in self._history.values():
            self._entry(entry, device)
        for line, block in self._blocks:
            self._block(line, block, device, None, None)
        self._add_annotations()
        if self.timed:
            self.rows.param("trace_clock", "unix", origin="inferred")

    def _kept(self, found: _Dict) -> _Entry:
        action = found.get("action")
        site = self._site_of(found.get("frames")) if isinstance(action, str) and action in _WITH_SITE else None
        get = found.get
        return _Entry(
            self.number, action, get("addr"), get("size"), get("stream"), get("time_us"), get("device_free"), site
        )

    def _entry(self, entry: _Entry, device: int | None) -> None:
        size = _bytes(entry.size)
        if not isinstance(entry.action, str) or entry.action not in _ACTIONS or size is None:
            self.rows.problem(entry.number, "the entry has no known action or no size", _shown(entry.action))
            return
        self.entries += 1
        args = {"device": device, "address": json_count(entry.address), "bytes": size}
        if entry.action == "oom":
            args["device_free_bytes"] = _bytes(entry.device_free)
        self._add(entry.number, "memory_history", entry.action, entry.site, entry.stream, args, entry.time_us)

    def _add(
        self, line: int, category: str, name: str, site: CallSite | None, stream: Any, args: _Dict, time: Any = None
    ) -> None:
        if site:
            args |= {"site": site.site, "path": site.path}
        time_us = json_count(time)
        self.timed |= bool(time_us)
        kept = {key: value for key, value in args.items() if value is not None}
        self.rows.add(
            "events", line, rank=self.rank, ph="i", name=name, category=category,
            start_ns=time_us * _NANOSECONDS if time_us else None,
            stream=stream if isinstance(stream, int) and abs(stream) < 1 << 63 else None, args=json.dumps(kept),
        )  # fmt: skip

    def _site_of(self, frames: Any) -> CallSite | None:
        if not isinstance(frames, list) or not frames:
            return None
        key = tuple(map(id, frames[:MOST_FRAMES]))
        if key not in self._sites:
            self._sites[key] = call_site(frames)
        self.sites += 1
        return self._sites[key]

    def _add_annotations(self) -> None:
        """Annotations with their duration: each end closes the last begin of its name on its device."""
        open_: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        for number, said in self._annotations:
            name, time_us, device = said.get("name"), json_count(said.get("time_us")), json_count(said.get("device"))
            if not isinstance(name, str) or not time_us:
                continue
            begun = open_.setdefault((name, device), [])
            if said.get("stage") == "START":
                begun.append((number, time_us))
            elif begun:
                line, start_us = begun.pop()
                self.rows.add(
                    "events", line, rank=self.rank, ph="X", name=name, category="memory_annotation",
                    start_ns=start_us * _NANOSECONDS, duration_ns=max(time_us - start_us, 0) * _NANOSECONDS,
                    args=json.dumps({"device": device}),
                )  # fmt: skip

    def note(self) -> str | None:
        if not self.segments and not self.entries:
            return "the snapshot is empty: PyTorch held no memory of a device when it was taken"
        if not self.entries:
            return (
                "its history was not recorded: it shows what is held, not the peak; call "
                "torch.cuda.memory._record_memory_history() before the training"
            )
        if not self.sites:
            return "its history has no stacks: record it with context='all' to see which lines allocate"
        return None
