"""The critical path of a step across the ranks of a run: the chain of work and waiting that decided how long it took.

The path is followed backwards through the recorded times, from the last thing that the step did: each event was started
by the last of the things that it waits for, as kernel_dependencies.py and kernel_graph.py know them.  At a collective
the path goes on at the rank that came last.  So its pieces follow each other without gaps, and add up to the step to
the nanosecond.
"""

from bisect import bisect_right
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
    """When each node of the graph began and was done, as recorded; shape (nodes,)."""

    begun: _Times
    done: _Times
    event: _Integers  # the event of each node; of a collective none, -1


class _Nodes(NamedTuple):
    """The same as lists, and what each node waits for: a path looks at few nodes, one after the other."""

    begun: list[float]
    done: list[float]
    event: list[int]
    waits: list[int]  # nodes that others wait for, those of the node at place p from firsts[p] on
    host_ns: list[float]  # the lag of each wait
    device_ns: list[float]
    firsts: list[int]
    place: list[int]  # of each node among `firsts`


class _Works(NamedTuple):
    """The work of a rank by its end; of works that end at once the last event comes first."""

    ends: list[float]
    events: list[int]


def paths_of(trace: Trace) -> list[_Piece]:
    """The path of each step, the last piece first.  Raises ValueError where too much work has no launch."""
    ranks = ranks_of(trace)
    graph = graph_of(ranks, trace.collective)
    launched_by = np.concatenate([rank.launch for rank in ranks])
    times = np.where(trace.events.role == WORK, trace.events.end, trace.events.start)
    nodes = _nodes(graph, _recorded(graph, trace, times))
    works = {rank: _works_of(trace, rank) for rank in np.unique(trace.rank).tolist()}
    steps = steps_of(trace, launched_by, times)
    pieces: list[_Piece] = []
    numbers = trace.train_step[steps.begins]
    for number in np.unique(numbers):
        of_step = numbers == number
        last, begun_ns = _ends_of(steps, of_step, times)
        step = None if number < 0 else int(number)
        pieces += (_Piece(step, *piece) for piece in _path(trace, nodes, works, last, begun_ns))
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
    return _Recorded(begun, done, event)


def _nodes(graph: Graph, recorded: _Recorded) -> _Nodes:
    place = np.empty_like(graph.order)
    place[graph.order] = np.arange(len(graph.order))
    edges = graph.edges
    columns = (
        recorded.begun, recorded.done, recorded.event, graph.order[edges.earlier], edges.host_ns, edges.device_ns,
        graph.firsts, place,
    )  # fmt: skip
    return _Nodes(*(column.tolist() for column in columns))


def _works_of(trace: Trace, rank: int) -> _Works:
    events = np.flatnonzero((trace.events.role == WORK) & (trace.rank == rank))
    events = events[np.lexsort((-events, trace.events.end[events]))]
    return _Works(trace.events.end[events].tolist(), events.tolist())


def _path(
    trace: Trace, nodes: _Nodes, works: dict[int, _Works], node: int, begun_ns: float
) -> Iterator[tuple[str, int, int, int]]:
    """Pieces from the end of a node back to the begin of the step: kind, event, begin and end."""
    role, events = trace.events.role, len(trace.events.role)
    at = nodes.done[node]
    event = node
    while at > begun_ns:
        if node < events and role[node] == WORK:
            begin = max(nodes.begun[node], begun_ns)
            if begin < at:
                yield _WORK, node, int(begin), int(at)
                at = begin
        event = nodes.event[node] if nodes.event[node] >= 0 else event
        before, ready_ns = _started_by(nodes, node, at)
        if event == node and role[node] == END:
            before = _waited_for(nodes, works[int(trace.rank[node])], node, before)
        elif event >= 0 and role[event] == WORK and at - ready_ns > SLACK_NS:
            before = _busy_with(trace, nodes, works[int(trace.rank[event])], event, at, before)
        until = begun_ns if before is None else min(max(nodes.done[before], begun_ns), at)
        if until < at:
            yield _kind(role, nodes, before, event), event, int(until), int(at)
            at = until
        if before is None:
            return
        node = before


def _busy_with(trace: Trace, nodes: _Nodes, works: _Works, event: int, at: float, before: int | None) -> int | None:
    """What kept a work waiting longer than all that it is known to wait for: the work of its device that ended last.

    It waited for an event that the trace does not name, or for room on the device.
    """
    starts = trace.events.start
    for place in range(bisect_right(works.ends, at + SLACK_NS) - 1, -1, -1):
        last = works.events[place]
        if last != event and starts[last] < at:
            return last if before is None or works.ends[place] > nodes.done[before] else before
    return before


def _waited_for(nodes: _Nodes, works: _Works, end: int, before: int | None) -> int | None:
    """What the end of a step waited for: the last work of its rank, if that was done just before and nothing later was.

    Programs that wait by means that the profiler does not record would else seem to be busy on the host.
    """
    done = nodes.done[end]
    place = bisect_right(works.ends, done) - 1
    if place < 0 or done - works.ends[place] > _JUST_BEFORE_NS:
        return before
    return works.events[place] if before is None or nodes.done[before] < works.ends[place] else before


def _kind(role: _Integers, nodes: _Nodes, before: int | None, event: int) -> str:
    """What fills the time from a node to the event that waited for it."""
    if role[event] != WORK:
        return _HOST
    is_call = before is not None and nodes.event[before] >= 0 and role[nodes.event[before]] != WORK
    return _LAUNCH if is_call else _GAP


def _started_by(nodes: _Nodes, node: int, at: float) -> tuple[int | None, float]:
    """Of all that a node waits for, what let it start last by the lags in between, and when it was let.

    None where it waits for nothing.  Of several that would have let it start at the same time, it is the one that was
    done last.
    """
    place = nodes.place[node]
    possible = []
    for edge in range(nodes.firsts[place], nodes.firsts[place + 1]):
        before = nodes.waits[edge]
        done = nodes.done[before]
        ready = done + nodes.host_ns[edge] + nodes.device_ns[edge]
        # Work may start before the one that it follows has ended, which its lag says.  Beyond the slack, which is for
        # clocks and rounding, a wait that was guessed is wrong.
        if min(done, ready) <= at + SLACK_NS:
            possible.append((ready, done, before))
    if not possible:
        return None, -np.inf
    let_ns = max(ready for ready, _, _ in possible)
    last = max((wait for wait in possible if wait[0] >= let_ns - _TIE_NS), key=lambda wait: wait[1])
    return last[2], let_ns
