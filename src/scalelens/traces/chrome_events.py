"""Events as Chrome's trace event format has them.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from scalelens.traces import marks
from scalelens.traces.cut import StoredEvent


class ChromeEvent(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An event as Chrome's format has it.  Raw is text that is written as it is: times are exact decimals."""

    ph: str
    name: str | None = None
    cat: str | None = None
    id: int | None = None
    pid: int
    tid: int
    ts: msgspec.Raw | None = None
    dur: msgspec.Raw | None = None
    s: str | None = None
    bp: str | None = None
    args: msgspec.Raw | dict[str, Any] | None = None


class Lanes:
    """Numbers of processes and threads: viewers want numbers where traces may have names."""

    def __init__(self) -> None:
        self.processes: dict[str, int] = {}
        self.threads: dict[tuple[str, str], int] = {}

    def of(self, process: str | None, thread: str | None) -> tuple[int, int]:
        process, thread = process or "", thread or ""
        return (
            _lane_number(process, self.processes, process, 1 << 24),
            _lane_number(thread, self.threads, (process, thread), 1 << 25),
        )

    def names(self) -> Iterator[ChromeEvent]:
        """Metadata events with the names of those that were not numbers."""
        for process, pid in self.processes.items():
            yield ChromeEvent(ph="M", name="process_name", pid=pid, tid=0, args={"name": process})
            if process == marks.PROCESS:  # a viewer shows them above all others
                yield ChromeEvent(ph="M", name="process_sort_index", pid=pid, tid=0, args={"sort_index": -1})
        for (process, thread), tid in self.threads.items():
            pid, _ = self.of(process, thread)
            yield ChromeEvent(ph="M", name="thread_name", pid=pid, tid=tid, args={"name": thread})


def _lane_number(text: str, known: dict[Any, int], key: Any, first: int) -> int:
    """The number that a text is; for a name the number that it was given before, or the next free one."""
    if text.isdecimal() and text.isascii() and len(text) < 10:
        return int(text)
    return known.setdefault(key, first + len(known))


def chrome_event(event: StoredEvent, lanes: Lanes, base_ns: int) -> ChromeEvent:
    pid, tid = lanes.of(event.process, event.thread)
    return ChromeEvent(
        ph=event.ph,
        name=event.name,
        cat=event.category,
        pid=pid,
        tid=tid,
        ts=_microseconds(event.start_ns - base_ns),
        dur=_microseconds(event.duration_ns or 0) if event.ph == "X" else None,
        s="t" if event.ph == "i" else None,
        args=msgspec.Raw(event.args) if event.args is not None and _is_object(event.args) else None,
    )


def _is_object(text: str) -> bool:
    """Whether arguments are JSON: those of a damaged trace may not be."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _microseconds(nanoseconds: int) -> msgspec.Raw:
    """Exact, as a decimal number."""
    sign, nanoseconds = "-" if nanoseconds < 0 else "", abs(nanoseconds)
    return msgspec.Raw(f"{sign}{nanoseconds // 1000}.{nanoseconds % 1000:03d}")


def arrows(events: Iterable[StoredEvent], lanes: Lanes, base_ns: int) -> Iterator[ChromeEvent]:
    """Flow events from each launch to the work it launched."""
    launches: dict[int, StoredEvent] = {}
    work: list[tuple[int, StoredEvent]] = []
    for event in events:
        if event.ph != "X" or event.correlation is None or event.correlation <= 0:
            continue
        if event.stream is not None and event.stream >= 0:
            work.append((event.correlation, event))
        else:
            launches.setdefault(event.correlation, event)
    for correlation, event in work:
        if launch := launches.get(correlation):
            yield _flow("s", correlation, launch, lanes, base_ns)
            yield _flow("f", correlation, event, lanes, base_ns)


def _flow(ph: str, correlation: int, event: StoredEvent, lanes: Lanes, base_ns: int) -> ChromeEvent:
    """The start (s) or the end (f) of an arrow, at the start of an event."""
    pid, tid = lanes.of(event.process, event.thread)
    return ChromeEvent(
        ph=ph, name="ac2g", cat="ac2g", id=correlation, pid=pid, tid=tid,
        ts=_microseconds(event.start_ns - base_ns), bp="e" if ph == "f" else None,
    )  # fmt: skip
