"""The critical path of a step across the ranks of a run: the chain of work and waiting that decided how long it took.

The path is followed backwards through the recorded times, from the last thing that the step did: each event was started
by the last of the things that it waits for, as kernel_dependencies.py and kernel_graph.py know them.  At a collective
the path goes on at the rank that came last.  So its pieces follow each other without gaps, and add up to the step to
the nanosecond.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_graph import Graph, graph_of
from scalelens.statistics.kernel_replay import Steps, Trace, ranks_of, steps_of
from scalelens.statistics.kernel_trace import END, WORK
from scalelens.statistics.kernel_waits import SLACK_NS

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

_JUST_BEFORE_NS = 50_000  # from the end of the last work to that of its step on the host
_TIE_NS = 1
_WORK, _HOST, _LAUNCH, _GAP = "work", "host", "launch", "gap"


class _Piece(NamedTuple):
    """A piece of the path, in ns since the first event of the run."""

    train_step: int | None
    kind: str  # work; host: until its next call; launch: from the call to its work; gap: between works of the device
    event: int  # place among the events: the work, or what the piece led to
    begin_ns: int
    end_ns: int


class _Recorded(NamedTuple):
    """When each node of the graph began and was done, as recorded, and what it waits for; shape (nodes,)."""

    begun: _Times
    done: _Times
    event: _Integers  # the event of each node; of a collective none, -1
    place: _Integers  # of each node in the order of the graph


def paths_of(trace: Trace) -> list[_Piece]:
    """The path of each step, the last piece first.  Raises ValueError where too much work has no launch."""
    ranks = ranks_of(trace)
    graph = graph_of(ranks, trace.collective)
    launched_by = np.concatenate([rank.launch for rank in ranks])
    times = np.where(trace.events.role == WORK, trace.events.end, trace.events.start)
    recorded = _recorded(graph, trace, times)
    steps = steps_of(trace, launched_by, times)
    pieces: list[_Piece] = []
    numbers = trace.train_step[steps.begins]
    for number in np.unique(numbers):
        of_step = numbers == number
        last, begun_ns = _ends_of(steps, of_step, times)
        step = None if number < 0 else int(number)
        pieces += (_Piece(step, *piece) for piece in _path(graph, trace, recorded, last, begun_ns))
    return pieces


def _ends_of(steps: Steps, of_step: npt.NDArray[np.bool_], times: _Times) -> tuple[int, float]:
    """The event with which a step ends on its last rank, and when the step begins on its first one."""
    done = float(steps.done[of_step].max())
    return int(np.flatnonzero(times == done)[0]), float(steps.begun[of_step].min())


def _recorded(graph: Graph, trace: Trace, times: _Times) -> _Recorded:
    """Arrivals at a collective are where its ranks started it, and it goes on when the last has come."""
    events, count = len(graph.owner), len(graph.order)
    begun, done, event = np.full(count, -np.inf), np.full(count, -np.inf), np.full(count, -1)
    begun[:events], done[:events], event[:events] = trace.events.start, times, np.arange(events)
    earlier, later = graph.order[graph.edges.earlier], graph.order[graph.edges.later]
    of_arrival = (earlier >= events) & ~graph.meets & (later < events)
    from_meeting = of_arrival & np.isin(earlier, later[graph.meets])
    of_arrival &= ~from_meeting
    arrivals, members = earlier[of_arrival], later[of_arrival]
    begun[arrivals] = done[arrivals] = trace.events.start[members]
    event[arrivals] = members
    for at, meeting in zip(earlier[graph.meets], later[graph.meets], strict=True):
        begun[meeting] = done[meeting] = max(done[meeting], done[at])
    begun[later[from_meeting]] = np.minimum(done[earlier[from_meeting]], times[later[from_meeting]])
    place = np.empty_like(graph.order)
    place[graph.order] = np.arange(count)
    return _Recorded(begun, done, event, place)


def _path(
    graph: Graph, trace: Trace, recorded: _Recorded, node: int, begun_ns: float
) -> Iterator[tuple[str, int, int, int]]:
    """Pieces from the end of a node back to the begin of the step: kind, event, begin and end."""
    role, events = trace.events.role, len(graph.owner)
    at = recorded.done[node]
    event = node
    while at > begun_ns:
        if node < events and role[node] == WORK:
            begin = max(recorded.begun[node], begun_ns)
            if begin < at:
                yield _WORK, node, int(begin), int(at)
                at = begin
        event = int(recorded.event[node]) if recorded.event[node] >= 0 else event
        before, ready_ns = _started_by(graph, recorded, node, at)
        if event == node and role[node] == END:
            before = _waited_for(trace, recorded, node, before)
        elif event >= 0 and role[event] == WORK and at - ready_ns > SLACK_NS:
            before = _busy_with(trace, recorded, event, at, before)
        until = begun_ns if before is None else min(max(recorded.done[before], begun_ns), at)
        if until < at:
            yield _kind(role, recorded, before, event), event, int(until), int(at)
            at = until
        if before is None:
            return
        node = before


def _busy_with(trace: Trace, recorded: _Recorded, event: int, at: float, before: int | None) -> int | None:
    """What kept a work waiting longer than all that it is known to wait for: the work of its device that ended last.

    It waited for an event that the trace does not name, or for room on the device.
    """
    is_work = (trace.events.role == WORK) & (trace.rank == trace.rank[event])
    done = np.where(
        is_work & (trace.events.start < at) & (trace.events.end <= at + SLACK_NS), trace.events.end, -np.inf
    )
    done[event] = -np.inf
    last = int(np.argmax(done))
    return last if done[last] > (-np.inf if before is None else recorded.done[before]) else before


def _waited_for(trace: Trace, recorded: _Recorded, end: int, before: int | None) -> int | None:
    """What the end of a step waited for: the last work of its rank, if that was done just before and nothing later was.

    Programs that wait by means that the profiler does not record would else seem to be busy on the host.
    """
    done = np.where((trace.events.role == WORK) & (trace.rank == trace.rank[end]), trace.events.end, -np.inf)
    done[done > recorded.done[end]] = -np.inf
    last = int(np.argmax(done))
    is_just_before = recorded.done[end] - done[last] <= _JUST_BEFORE_NS
    return last if is_just_before and (before is None or recorded.done[before] < done[last]) else before


def _kind(role: _Integers, recorded: _Recorded, before: int | None, event: int) -> str:
    """What fills the time from a node to the event that waited for it."""
    if role[event] != WORK:
        return _HOST
    known = before is not None and recorded.event[before] >= 0
    return _LAUNCH if known and role[recorded.event[before]] != WORK else _GAP


def _started_by(graph: Graph, recorded: _Recorded, node: int, at: float) -> tuple[int | None, float]:
    """Of all that a node waits for, what let it start last by the lags in between, and when it was let.

    None where it waits for nothing.  Of several that would have let it start at the same time, it is the one that was
    done last.
    """
    place = recorded.place[node]
    edges = slice(graph.firsts[place], graph.firsts[place + 1])
    before = graph.order[graph.edges.earlier[edges]]
    done = recorded.done[before]
    ready = done + graph.edges.host_ns[edges] + graph.edges.device_ns[edges]
    # Work may start before the one that it follows has ended, which its lag says.  Beyond the slack, which is for
    # clocks and rounding, a wait that was guessed is wrong.
    possible = np.flatnonzero(np.minimum(done, ready) <= at + SLACK_NS)
    if not len(possible):
        return None, -np.inf
    last = possible[ready[possible] >= ready[possible].max() - _TIE_NS]
    return int(before[last[np.argmax(done[last])]]), float(ready[possible].max())
