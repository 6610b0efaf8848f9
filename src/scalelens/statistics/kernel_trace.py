"""The kernel trace of a rank: its calls and its work, each work with the call that launched it."""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Times = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

ROLES = ("work", "begin", "end", "launch", "copy", "stream_wait", "stream_sync", "event_sync", "device_sync")
WORK, BEGIN, END, LAUNCH, COPY, STREAM_WAIT, STREAM_SYNC, EVENT_SYNC, DEVICE_SYNC = range(len(ROLES))


class Events(NamedTuple):
    """What one rank recorded, by start; shape (n,), times in ns.  -1 stands for none."""

    role: _Integers  # place in ROLES; begin and end are those of annotated steps, on the host
    start: _Times
    end: _Times
    thread: _Integers
    stream: (
        _Integers  # of work; of a call that waits: the stream that it waits for, of a stream_wait the one that waits
    )
    correlation: _Integers
    wait_stream: _Integers  # of a wait for an event: the stream that recorded it
    recorded: _Times  # when the host recorded that event, NaN where unknown


class _Stream(NamedTuple):
    """The works of a stream, in order."""

    works: list[int]
    launched: list[float]  # start of the call, -inf where it was not traced
    ended: list[float]

    def last(self, launched_before: float, ended_by: float = np.inf) -> int:
        """The last work that was launched before a time and had ended by another, -1 for none."""
        index = min(bisect_left(self.launched, launched_before), bisect_right(self.ended, ended_by)) - 1
        return self.works[index] if index >= 0 else -1


class Rank(NamedTuple):
    """The events of a rank, joined."""

    events: Events
    calls: _Integers  # places of what the host did, by start
    launch: _Integers  # of each event: the call that launched it, -1 for none
    streams: dict[int, _Stream]


def rank_of(events: Events) -> Rank:
    """Joins each work with its launch, the first call of its correlation."""
    works = np.flatnonzero(events.role == WORK)
    calls = np.flatnonzero(events.role != WORK)
    launch = np.full(len(events.role), -1)
    can_launch = calls[(events.role[calls] == LAUNCH) | (events.role[calls] == COPY)]
    known, first = np.unique(events.correlation[can_launch], return_index=True)
    if len(known):
        index = np.minimum(np.searchsorted(known, events.correlation[works]), len(known) - 1)
        found = known[index] == events.correlation[works]
        launch[works[found]] = can_launch[first[index[found]]]
    launched = np.where(launch >= 0, events.start[launch], -np.inf)
    streams = {}
    for code in np.unique(events.stream[works]):
        own = works[events.stream[works] == code]
        times = (np.maximum.accumulate(column[own]).tolist() for column in (launched, events.end))
        streams[int(code)] = _Stream(own.tolist(), *times)
    idle = np.ones(len(launch), bool)
    idle[launch[launch >= 0]] = False
    return Rank(events, calls[~(idle[calls] & np.isin(events.role[calls], (LAUNCH, COPY)))], launch, streams)
