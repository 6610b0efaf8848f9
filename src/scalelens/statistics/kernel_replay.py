"""The time of a step if something had been otherwise: replay of the kernel traces of a run's ranks.

The replay starts calls and work as soon as what they wait for allows; see kernel_dependencies.py and kernel_graph.py.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_graph import Graph, graph_of, replay
from scalelens.statistics.kernel_trace import BEGIN, END, WORK, Events, Rank, rank_of

Times = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_UNKNOWN = 0.5  # of the works: with more, the host is not known well enough


class StepTime(NamedTuple):
    """The time of a step of a rank, in s."""

    question: str
    healed: int | None  # the rank that is as others are
    rank: int
    train_step: int | None
    measured_s: float
    replayed_s: float
    what_if_s: float


class Steps(NamedTuple):
    """Shape (steps,)."""

    begins: Whole  # places of their begins among the events
    times: Times  # in ns


class Trace(NamedTuple):
    """The events of a run, sorted by rank and start; shape (n,)."""

    rank: Whole
    events: Events
    collective: Whole  # number of the collective that the work takes part in, -1 for none
    communicates: Mask
    train_step: Whole  # of the begin and end of a step, -1 for none


def ranks_of(trace: Trace) -> list[Rank]:
    """The events of each rank.  Raises ValueError where too much work has no launch."""
    firsts = np.searchsorted(trace.rank, np.arange(trace.rank.max() + 2))
    ranks = [
        rank_of(Events._make(column[first:end] for column in trace.events)) for first, end in itertools.pairwise(firsts)
    ]
    unknown = 1 - sum((rank.launch >= 0).sum() for rank in ranks) / max((trace.events.role == WORK).sum(), 1)
    if unknown > MOST_UNKNOWN:
        raise ValueError(f"{unknown:.0%} of the work has no launch in the trace: when the host was ready is not known")
    return ranks


def what_if(trace: Trace) -> list[StepTime]:
    """The time of each step of each rank as it would be, for each question."""
    ranks = ranks_of(trace)
    graph = graph_of(ranks, trace.collective)
    launched_by = np.concatenate([rank.launch for rank in ranks])
    role, events = trace.events.role, trace.events
    measured = _steps(trace, launched_by, np.where(role == WORK, events.end, events.start))
    replayed = _steps(trace, launched_by, replay(graph, graph.edges.host_ns, graph.works))
    times = []
    for question, healed, host, works in _asked(graph, trace, launched_by):
        instead = _steps(trace, launched_by, replay(graph, host, works))
        for begin, *in_ns in zip(measured.begins, measured.times, replayed.times, instead.times, strict=True):
            step = int(trace.train_step[begin])
            in_s = (float(time) / 1e9 for time in in_ns)
            times.append(StepTime(question, healed, int(trace.rank[begin]), None if step < 0 else step, *in_s))
    return times


def _asked(graph: Graph, trace: Trace, launched_by: Whole) -> Iterator[tuple[str, int | None, Times, Times]]:
    """Each question, the rank that it heals, and the times of the host and of the nodes that go with it."""
    host, events = graph.edges.host_ns, len(graph.owner)
    if trace.communicates.any():
        free = graph.works.copy()
        free[:events][trace.communicates] = 0
        yield "free communication", None, host, free
    yield "no host gaps", None, np.zeros(len(host)), graph.works
    if graph.meets.any():
        steps = _steps(trace, launched_by, replay(graph, np.where(graph.meets, -np.inf, host), graph.works))
        own_ns = np.bincount(trace.rank[steps.begins], weights=steps.times)
        slowest = int(own_ns.argmax())
        share = float(np.median(own_ns) / max(own_ns[slowest], 1))
        works = graph.works.copy()
        works[:events][(graph.owner == slowest) & ~trace.communicates] *= share
        yield "slowest rank", slowest, np.where(graph.owner_of_edges() == slowest, host * share, host), works


def _steps(trace: Trace, launched_by: Whole, times: Times) -> Steps:
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
        steps.append(Steps(begins, done - begun))
    return Steps._make(np.concatenate(columns) for columns in zip(*steps, strict=True))
