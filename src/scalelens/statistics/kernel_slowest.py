"""The slowest rank, node or pipeline stage of a replayed trace, as fast as the median of the others."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_graph import Graph
from scalelens.statistics.plain_median import median

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class Asked(NamedTuple):
    """A question, and the times of the host, (edges,), and of the nodes of the graph, (nodes,), that go with it."""

    question: str
    host: _Times
    works: _Times
    healed: int | None = None
    reason: str | None = None


def why_not(name: str, group: _Integers, meet: bool) -> str | None:
    """Why the slowest rank, node or stage cannot be replaced, None where it can.

    `group` holds the number of each rank's node or stage, -1 where unknown, shape (ranks,); `meet` says whether the
    ranks meet in collectives.
    """
    if len(group) == 1:
        return "only one rank was traced"
    if (group < 0).any():
        return f"the {name} of a traced rank is not known"
    if len(np.unique(group)) == 1:
        return f"all traced ranks are of one {name}"
    return None if meet else "no collective is known in which the traced ranks wait for each other"


def without_slowest(name: str, group: _Integers, graph: Graph, communicates: _Mask, own_ns: _Times) -> Asked:
    """What to replay if the slowest group of ranks were as fast as the median of the others.

    `own_ns` is the time of each rank if none waited for another, shape (ranks,); `communicates` is of shape (events,).
    A group takes as long as the median of its ranks, so that one slow rank of many does not make its node slow.
    """
    own_of = {int(number): float(median(own_ns[group == number])) for number in np.unique(group)}
    slowest = max(own_of, key=own_of.__getitem__)
    others = [own for number, own in own_of.items() if number != slowest]
    share = float(median(others)) / max(own_of[slowest], 1)
    works = graph.works.copy()
    works[: len(graph.owner)][(group[graph.owner] == slowest) & ~communicates] *= share
    host = graph.edges.host_ns
    host = np.where(group[graph.owner_of_edges()] == slowest, host * share, host)
    return Asked(f"slowest {name}", host, works, healed=int(np.flatnonzero(group == slowest)[0]))
