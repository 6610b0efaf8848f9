"""The time of a step if something had been otherwise: replay of the kernel traces of a run's ranks.

The replay starts calls and work as soon as what they wait for allows; see kernel_dependencies.py and kernel_graph.py.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_graph import Graph, graph_of, replay
from scalelens.statistics.kernel_slowest import Asked, why_not, without_slowest
from scalelens.statistics.kernel_trace import BEGIN, END, WORK, Events, Rank, rank_of

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]

_MOST_UNKNOWN = 0.5  # of the works: with more, the host is not known well enough


class _StepTime(NamedTuple):
    """The time of a step of a rank, in s."""

    question: str
    healed: int | None  # the rank that is as others are, or the first such rank of a node or stage
    rank: int
    train_step: int | None
    measured_s: float
    replayed_s: float
    what_if_s: float | None
    reason: str | None  # why the question cannot be asked


class Steps(NamedTuple):
    """Shape (steps,), times in ns."""

    begins: _Integers  # places of their begins among the events
    begun: _Times
    done: _Times

    @property
    def times(self) -> _Times:
        return self.done - self.begun


class Trace(NamedTuple):
    """The events of a run, sorted by rank and start; shape (n,)."""

    rank: _Integers
    events: Events
    collective: _Integers  # number of the collective that the work takes part in, -1 for none
    communicates: _Mask
    train_step: _Integers  # of the begin and end of a step, -1 for none
    node: _Integers  # number of the node of the rank, -1 where unknown
    stage: _Integers  # pipeline stage of the rank, -1 where unknown


def ranks_of(trace: Trace) -> list[Rank]:
    """The events of each rank.  Raises ValueError where too much work has no launch."""
    firsts = np.searchsorted(trace.rank, np.arange(trace.rank.max() + 2))
    ranks = [
        rank_of(Events._make(column[first:end] for column in trace.events)) for first, end in itertools.pairwise(firsts)
    ]
    unknown = 1 - sum((rank.launch >= 0).sum() for rank in ranks) / max((trace.events.role == WORK).sum(), 1)
    if unknown > _MOST_UNKNOWN:
        raise ValueError(f"{unknown:.0%} of the work has no launch in the trace: when the host was ready is not known")
    return ranks


def what_if(trace: Trace) -> list[_StepTime]:
    """The time of each step of each rank as it would be, for each question."""
    ranks = ranks_of(trace)
    graph = graph_of(ranks, trace.collective)
    launched_by = np.concatenate([rank.launch for rank in ranks])
    role, events = trace.events.role, trace.events
    measured = steps_of(trace, launched_by, np.where(role == WORK, events.end, events.start))
    replayed = steps_of(trace, launched_by, replay(graph, graph.edges.host_ns, graph.works))
    times = []
    for asked in _asked(graph, trace, launched_by):
        instead = replayed if asked.reason else steps_of(trace, launched_by, replay(graph, asked.host, asked.works))
        for begin, *in_ns in zip(measured.begins, measured.times, replayed.times, instead.times, strict=True):
            step = int(trace.train_step[begin])
            measured_s, replayed_s, what_if_s = (float(time) / 1e9 for time in in_ns)
            times.append(
                _StepTime(
                    asked.question,
                    asked.healed,
                    int(trace.rank[begin]),
                    None if step < 0 else step,
                    measured_s,
                    replayed_s,
                    None if asked.reason else what_if_s,
                    asked.reason,
                )
            )
    return times


def _asked(graph: Graph, trace: Trace, launched_by: _Integers) -> Iterator[Asked]:
    """Each question, with the reason where it cannot be asked."""
    host = graph.edges.host_ns
    if trace.communicates.any():
        free = graph.works.copy()
        free[: len(graph.owner)][trace.communicates] = 0
        yield Asked("free communication", host, free)
    yield Asked("no host gaps", np.zeros(len(host)), graph.works)
    steps = steps_of(trace, launched_by, replay(graph, np.where(graph.meets, -np.inf, host), graph.works))
    own_ns = np.bincount(trace.rank[steps.begins], weights=steps.times).astype(np.float64)
    _, first_events = np.unique(trace.rank, return_index=True)
    groups = {"rank": np.arange(len(own_ns))}
    if len(own_ns) > 1:  # of one rank a single reason says it all
        groups |= {"node": trace.node[first_events], "stage": trace.stage[first_events]}
    for name, group in groups.items():
        reason = why_not(name, group, bool(graph.meets.any()))
        if reason:
            yield Asked(f"slowest {name}", host, graph.works, reason=reason)
        else:
            yield without_slowest(name, group, graph, trace.communicates, own_ns)


def steps_of(trace: Trace, launched_by: _Integers, times: _Times) -> Steps:
    """The steps of all ranks, where each event is at a time.

    A step ends when its host and the work that it launched are done.  It begins where the one before it ended, else on
    the host: so the steps add up to the whole, however far the hosts run ahead of their devices.
    """
    role, starts = trace.events.role, trace.events.start
    steps = []
    for rank in range(int(trace.rank.max()) + 1):
        first, end = np.searchsorted(trace.rank, [rank, rank + 1])
        begins, ends = (first + np.flatnonzero(role[first:end] == mark) for mark in (BEGIN, END))
        works = first + np.flatnonzero(role[first:end] == WORK)
        launch = launched_by[works]
        launched = np.where(launch >= 0, starts[first + launch], starts[works])
        step_of_work = np.searchsorted(starts[begins], launched, side="right") - 1
        done = times[ends]
        np.maximum.at(done, step_of_work[step_of_work >= 0], times[works[step_of_work >= 0]])
        done = np.maximum.accumulate(done)
        follows = np.diff(trace.train_step[begins], prepend=trace.train_step[begins[:1]]) == 1
        begun = np.where(follows, np.roll(done, 1), times[begins])
        steps.append(Steps(begins, begun, done))
    return Steps._make(np.concatenate(columns) for columns in zip(*steps, strict=True))
