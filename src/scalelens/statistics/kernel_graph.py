"""The traced ranks of a run as one graph of times: each event comes after others, by lags, and then takes its own time.

The ranks meet in their collectives: those wait for the last rank to arrive, and then take the shortest time that any
rank recorded, which is that of the last one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_dependencies import Edges, dependencies_of, joined
from scalelens.statistics.kernel_trace import WORK, Rank
from scalelens.statistics.kernel_waits import SLACK_NS

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class Graph(NamedTuple):
    """Nodes are the events of all ranks, rank after rank, then the arrivals at collectives, then the collectives."""

    owner: _Integers  # rank of each event, (events,)
    starts: _Times  # recorded, (events,)
    works: _Times  # how long each node takes by itself: nothing for a call, a collective without its waiting, (nodes,)
    edges: Edges  # sorted by `later`; their nodes are places in `order`
    meets: _Mask  # whether an edge leads from a rank's arrival to the collective, (edges,)
    order: _Integers  # nodes such that each comes after what it waits for
    firsts: _Integers  # first edge of each place of the order, (nodes + 1,)

    def owner_of_edges(self) -> _Integers:
        """The rank whose host each edge takes time of; shape (edges,).  Those to and from collectives take none."""
        return self.owner[np.minimum(self.order[self.edges.earlier], len(self.owner) - 1)]


def graph_of(ranks: list[Rank], collective: _Integers) -> Graph:
    """The graph of ranks; `collective` says of each event in which it takes part, -1 for none, shape (events,).

    Raises ValueError where events wait for each other in a circle.
    """
    sizes = [len(rank.launch) for rank in ranks]
    moved = []
    for rank, offset in zip(ranks, np.cumsum([0, *sizes]), strict=False):
        edges = dependencies_of(rank)
        moved.append(edges._replace(earlier=edges.earlier + offset, later=edges.later + offset))
    columns = ([getattr(rank.events, name) for rank in ranks] for name in ("start", "end", "role"))
    starts, ends, roles = (np.concatenate(column) for column in columns)
    works = np.where(roles == WORK, ends - starts, 0)
    edges, works, first_meeting = _with_collectives(joined(moved), starts, works, collective)
    order = _order(edges, len(works))
    index = np.empty_like(order)
    index[order] = np.arange(len(order))
    by_later = np.argsort(index[edges.later], kind="stable")
    edges = edges._replace(earlier=index[edges.earlier], later=index[edges.later])
    edges = Edges._make(column[by_later] for column in edges)
    firsts = np.searchsorted(edges.later, np.arange(len(order) + 1))
    meets = order[edges.later] >= first_meeting
    return Graph(np.repeat(np.arange(len(ranks)), sizes), starts, works, edges, meets, order, firsts)


def _with_collectives(edges: Edges, starts: _Times, works: _Times, collective: _Integers) -> tuple[Edges, _Times, int]:
    """Edges and works with the nodes of arrivals and collectives, and the first node of the collectives.

    Where a rank left before the last one came, it did not wait for it: there each rank goes on by itself.
    """
    members = np.flatnonzero(collective >= 0)
    _, group, size = np.unique(collective[members], return_inverse=True, return_counts=True)
    last, left, shortest = (np.full(len(size), bound) for bound in (-np.inf, np.inf, np.inf))
    np.maximum.at(last, group, starts[members])
    np.minimum.at(left, group, (starts + works)[members])
    np.minimum.at(shortest, group, works[members])
    met = ((left >= last - SLACK_NS) & (size > 1))[group]
    members, group = members[met], group[met]
    works = works.copy()
    works[members] = shortest[group]
    arrivals = len(starts) + np.arange(len(members))
    first_meeting = len(starts) + len(members)
    arrival_of = np.arange(len(starts))
    arrival_of[members] = arrivals
    # From arrival to collective, from there to the event, and from arrival to event for ranks that do not wait.
    earlier = np.concatenate([arrivals, first_meeting + group, arrivals])
    later = np.concatenate([first_meeting + group, members, members])
    nothing = np.zeros(len(earlier))
    edges = joined([edges._replace(later=arrival_of[edges.later]), Edges(earlier, later, nothing, nothing)])
    return edges, np.concatenate([works, np.zeros(len(members) + len(size))]), first_meeting


def _order(edges: Edges, count: int) -> _Integers:
    """Nodes such that each comes after what it waits for."""
    by_earlier = np.argsort(edges.earlier, kind="stable")
    firsts = np.searchsorted(edges.earlier[by_earlier], np.arange(count + 1)).tolist()
    later = edges.later[by_earlier].tolist()
    waiting = np.bincount(edges.later, minlength=count).tolist()
    order = [node for node in range(count) if not waiting[node]]
    for node in order:  # it grows meanwhile
        for after in later[firsts[node] : firsts[node + 1]]:
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    if len(order) < count:
        raise ValueError("events wait for each other in a circle")
    return np.array(order, np.int64)


def replay(graph: Graph, host: _Times, works: _Times) -> _Times:
    """When each call starts and each work ends, as soon as all that it waits for allows; shape (events,), in ns.

    `host` is the time of the host on each edge, shape (edges,), and `works` the time that each node takes, (nodes,).
    What waits for nothing starts when it did.  An edge of -inf waits for nothing.
    """
    lags = (host + graph.edges.device_ns).tolist()
    earlier, firsts, own = graph.edges.earlier.tolist(), graph.firsts.tolist(), works[graph.order].tolist()
    begins = np.zeros(len(works))
    begins[: len(graph.starts)] = graph.starts
    recorded = begins[graph.order].tolist()
    ends = [0.0] * len(own)
    first = 0
    for node, end in enumerate(firsts[1:]):
        start = max([ends[earlier[n]] + lags[n] for n in range(first, end)]) if end > first else recorded[node]
        ends[node] = start + own[node]
        first = end
    times = np.empty(len(own))
    times[graph.order] = ends
    return times[: len(graph.starts)]
