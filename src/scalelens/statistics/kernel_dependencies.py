"""What each event in the trace of a rank comes after, and by how much.

The dependencies are those of Daydream (ATC 2020) and of Lumos (arXiv 2504.09307): order within a thread and a stream,
from a launch to its work, from work to the call that waits for it, and between streams by events.
Two latencies of the device are taken from the trace, as medians over the rank: from the end of a launch to its work on
an idle stream, and between works of a stream that is busy.  Times of the host between calls stay as they were.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scalelens.statistics.kernel_trace import COPY, WORK, Rank
from scalelens.statistics.kernel_waits import SLACK_NS, waits_of_calls, waits_of_streams
from scalelens.statistics.plain_median import median

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

_ENOUGH_IDLE = 10  # works on idle streams, for the median of their latency


class Edges(NamedTuple):
    """An event comes no earlier than another plus both lags, in ns; shape (edges,).

    A call counts when it starts.  Work starts after what it waits for, and counts when it ends.
    """

    earlier: _Integers
    later: _Integers
    host_ns: _Times  # time of the host in between
    device_ns: _Times  # latency of the device


class _Latencies(NamedTuple):
    """Medians of a rank, in ns."""

    launch: float  # from the end of the call to the start of its work
    call: float  # duration of a launch
    works: float  # between works of a stream


def dependencies_of(rank: Rank) -> Edges:
    """What the events of a rank wait for."""
    waits = np.array([*waits_of_calls(rank)], np.int64).reshape(-1, 2)
    resumed = _resumed(rank, waits)
    latencies = _latencies_of(rank)
    between = np.array([*waits_of_streams(rank)], np.int64).reshape(-1, 2)
    edges = joined([
        _host_edges(rank, waits, resumed),
        _launch_edges(rank, waits, resumed, latencies),
        _edges_of_works(rank, _pairs_of_streams(rank), latencies),
        _edges_of_works(rank, between, latencies),
    ])  # fmt: skip
    return joined([edges, _edges_of_works(rank, _observed_waits(rank, edges), latencies)])


def joined(parts: list[Edges]) -> Edges:
    return Edges._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def _resumed(rank: Rank, waits: _Integers) -> _Times:
    """When each call went on: when the last work that it waits for had ended, else when it started."""
    resumed = rank.events.start.copy()
    np.maximum.at(resumed, waits[:, 0], rank.events.end[waits[:, 1]])
    return np.minimum(resumed, np.maximum(rank.events.end, rank.events.start))


def _latencies_of(rank: Rank) -> _Latencies:
    """The latencies of a rank; where its streams were hardly ever idle, a short one of all launches."""
    events = rank.events
    works = np.flatnonzero((events.role == WORK) & (rank.launch >= 0))
    call = rank.launch[works]
    before = _previous(events.stream, np.flatnonzero(events.role == WORK))[works]
    free = np.where(before >= 0, events.end[before], -np.inf)
    delay = events.start[works] - events.end[call]
    idle = free < events.start[call]
    busy = events.end[call] + SLACK_NS < free
    gaps = np.maximum(events.start[works] - free, 0)[busy]
    launch = median(delay[idle]) if idle.sum() >= _ENOUGH_IDLE else np.quantile(delay, 0.05) if len(delay) else 0
    lasted = median(events.end[call] - events.start[call]) if len(call) else 0
    return _Latencies(max(float(launch), 0), float(lasted), float(median(gaps)) if len(gaps) else 0)


def _previous(group: _Integers, indexes: _Integers) -> _Integers:
    """Of each place the one before it in its group, -1 for none; shape of the groups."""
    before = np.full(len(group), -1)
    order = indexes[np.argsort(group[indexes], kind="stable")]
    same = group[order[1:]] == group[order[:-1]]
    before[order[1:][same]] = order[:-1][same]
    return before


def _host_edges(rank: Rank, waits: _Integers, resumed: _Times) -> Edges:
    """A call starts after the last call that returned before, of any thread, and after its own thread's last one.

    Threads hand over to each other: the forward pass to autograd's, and that to the optimizer.
    """
    events, calls = rank.events, rank.calls
    own = _previous(events.thread, calls)[calls]
    returned = calls[np.argsort(events.end[calls], kind="stable")]
    index = np.searchsorted(events.end[returned], events.start[calls], side="right") - 1
    while (too_late := (index >= 0) & (returned[index] >= calls)).any():  # calls of no duration
        index[too_late] -= 1
    last = np.where(index >= 0, returned[index], -1)
    late, other = last >= 0, (own >= 0) & (own != last)
    gap = np.maximum(events.start[calls] - resumed[last], 0)
    rest = np.maximum(np.minimum(events.end[own], events.start[calls]) - resumed[own], 0)
    order = [
        Edges(last[late], calls[late], gap[late], np.zeros(late.sum())),
        Edges(own[other], calls[other], rest[other], np.zeros(other.sum())),
    ]
    return joined([*order, *(_after_waits(edges, waits) for edges in order)])


def _after_waits(edges: Edges, waits: _Integers) -> Edges:
    """What comes after a call that waits comes after the work that it waits for, too."""
    order = np.argsort(waits[:, 0], kind="stable")
    first = np.searchsorted(waits[order, 0], edges.earlier, side="left")
    count = np.searchsorted(waits[order, 0], edges.earlier, side="right") - first
    row = np.repeat(np.arange(len(first)), count)
    index = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]
    return Edges(waits[order[index], 1], edges.later[row], edges.host_ns[row], edges.device_ns[row])


def _launch_edges(rank: Rank, waits: _Integers, resumed: _Times, latencies: _Latencies) -> Edges:
    """Work starts a latency after its launch, and no later than it did after the call had started."""
    events = rank.events
    works = np.flatnonzero(rank.launch >= 0)
    call = rank.launch[works]
    waits_for_itself = np.zeros(len(events.role), bool)
    waits_for_itself[waits[events.role[waits[:, 0]] == COPY, 0]] = True
    begun = np.where(waits_for_itself, events.start, resumed)[call]
    lasted = np.where(waits_for_itself[call], latencies.call, events.end[call] - begun)
    lag = np.clip(lasted + latencies.launch, 0, np.maximum(events.start[works] - begun, 0))
    device = np.minimum(lag, latencies.launch)
    edges = Edges(call, works, lag - device, device)
    return joined([edges, _after_waits(edges, waits[~waits_for_itself[waits[:, 0]]])])


def _pairs_of_streams(rank: Rank) -> _Integers:
    """Each work with the next one of its stream, shape (pairs, 2)."""
    works = np.flatnonzero(rank.events.role == WORK)
    before = _previous(rank.events.stream, works)[works]
    return np.stack([before[before >= 0], works[before >= 0]], axis=1)


def _edges_of_works(rank: Rank, pairs: _Integers, latencies: _Latencies) -> Edges:
    """The later work of each pair follows the earlier one; where they overlapped, they still do."""
    earlier, later = pairs[:, 0], pairs[:, 1]
    gap = np.minimum(rank.events.start[later] - rank.events.end[earlier], latencies.works)
    return Edges(earlier, later, np.zeros(len(gap)), gap)


def _observed_waits(rank: Rank, edges: Edges) -> _Integers:
    """Pairs of work where the later one starts just as the earlier one, of another stream, ends.

    Only where nothing else that it waits for says why it starts so late.
    """
    events = rank.events
    counts = np.where(events.role == WORK, events.end, events.start)
    ready = np.full(len(counts), -np.inf)
    np.maximum.at(ready, edges.later, counts[edges.earlier] + edges.host_ns + edges.device_ns)
    works = np.flatnonzero(events.role == WORK)
    late = works[(events.start[works] - ready[works] > SLACK_NS) & np.isfinite(ready[works])]
    ended = works[np.argsort(events.end[works], kind="stable")]
    index = np.searchsorted(events.end[ended], events.start[late], side="right") - 1
    earlier = ended[np.maximum(index, 0)]
    follows = (index >= 0) & (events.start[late] - events.end[earlier] <= SLACK_NS) & (earlier != late)
    follows &= events.stream[earlier] != events.stream[late]
    return np.stack([earlier[follows], late[follows]], axis=1)
