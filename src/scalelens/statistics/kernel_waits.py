"""What the calls and streams of a traced rank wait for.

A trace seldom says which event a call waits for.  Then it is taken to be work that had ended when the wait was over:
never later than what was recorded, but it may be work that nothing waited for.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from scalelens.statistics.kernel_trace import COPY, DEVICE_SYNC, EVENT_SYNC, LAUNCH, STREAM_SYNC, STREAM_WAIT, Rank

SLACK_NS = 5_000  # what starts so soon after another stream's work ended followed it; also the error of clocks
_FULL_QUEUE = 256  # works that are not yet done when a launch takes long
_LONG_LAUNCH_NS = 200_000

_Pair = tuple[int, int]


def waits_of_calls(rank: Rank) -> Iterator[_Pair]:
    """Each call that waits, with a work that it waits for."""
    events, work_of = rank.events, np.full(len(rank.launch), -1)
    launched = np.flatnonzero(rank.launch >= 0)
    work_of[rank.launch[launched]] = launched  # the last of several
    is_launch = np.isin(events.role, (LAUNCH, COPY))
    last_launch: dict[int, int] = {}  # of a thread: its last work
    for call in rank.calls.tolist():
        role, thread = int(events.role[call]), int(events.thread[call])
        if is_launch[call]:
            yield from _waits_of_launch(rank, call, int(work_of[call]))
            last_launch[thread] = int(work_of[call])
        elif role >= STREAM_SYNC:
            yield from ((call, work) for work in _waits_of_sync(rank, call, last_launch.get(thread, -1)) if work >= 0)


def _waits_of_launch(rank: Rank, call: int, work: int) -> Iterator[_Pair]:
    """A copy may wait for itself, and a launch for room in the device's queue."""
    events = rank.events
    if events.role[call] == COPY:
        if events.end[work] <= events.end[call]:
            yield call, work
    elif events.end[call] - events.start[call] > _LONG_LAUNCH_NS:
        waiting = sum(
            bisect_left(stream.launched, events.start[call]) - bisect_right(stream.ended, events.start[call])
            for stream in rank.streams.values()
        )
        latest = _latest(rank, call)
        if waiting >= _FULL_QUEUE and latest >= 0:
            yield call, latest


def _waits_of_sync(rank: Rank, call: int, launched: int) -> list[int]:
    """Works that a synchronizing call waits for; `launched` is the last work that its thread launched."""
    events, start = rank.events, rank.events.start[call]
    by = events.end[call] + SLACK_NS
    role, stream, recorder = (int(column[call]) for column in (events.role, events.stream, events.wait_stream))
    if role == DEVICE_SYNC:
        return [stream.last(start, by) for stream in rank.streams.values()]
    if role == EVENT_SYNC and recorder in rank.streams and events.recorded[call] <= start:
        return [rank.streams[recorder].last(events.recorded[call], by)]
    if role == STREAM_SYNC and stream < 0 and launched >= 0:
        stream = int(events.stream[launched])
        if events.end[rank.streams[stream].last(start)] > by:  # it waited for another one
            stream = -1
    if role == STREAM_SYNC and stream >= 0 and stream in rank.streams:
        return [rank.streams[stream].last(start, by)]
    return [_latest(rank, call)]


def _latest(rank: Rank, call: int) -> int:
    """The work that ended last before a call was over."""
    by = rank.events.end[call] + SLACK_NS
    ended = [stream.last(rank.events.start[call], by) for stream in rank.streams.values()]
    return max(ended, default=-1, key=lambda work: rank.events.end[work] if work >= 0 else -np.inf)


def waits_of_streams(rank: Rank) -> Iterator[_Pair]:
    """Each work that waited for an event of another stream, with the last work before that event."""
    events = rank.events
    pending: dict[int, list[int]] = {}  # waits of a thread, or of a stream where the trace names it
    launched = np.flatnonzero(rank.launch >= 0)
    after: dict[int, list[int]] = {}
    for work in launched.tolist():
        after.setdefault(int(rank.launch[work]), []).append(work)
    for call in rank.calls.tolist():
        if events.role[call] == STREAM_WAIT:
            stream = int(events.stream[call])
            pending.setdefault(stream if stream >= 0 else -1 - int(events.thread[call]), []).append(call)
        for work in after.get(call, ())[:1]:
            waits = [*pending.pop(int(events.stream[work]), ()), *pending.pop(-1 - int(events.thread[call]), ())]
            chosen: set[int] = set()
            for wait in waits:
                chosen |= {_recorded_before(rank, wait, work, chosen)}
            yield from ((earlier, work) for earlier in chosen if earlier >= 0)


def _recorded_before(rank: Rank, wait: int, work: int, chosen: set[int]) -> int:
    """The work that a wait for an event was for: the one that ended just before, else the one last launched."""
    events = rank.events
    recorder, by = int(events.wait_stream[wait]), float(events.start[work])
    if recorder in rank.streams:
        recorded = events.recorded[wait]
        return rank.streams[recorder].last(events.start[wait] if np.isnan(recorded) else recorded, by)
    found = [
        stream.last(float(events.start[wait]), by)
        for code, stream in rank.streams.items()
        if code != events.stream[work]
    ]
    found = [earlier for earlier in found if earlier >= 0 and earlier not in chosen]
    just_before = [earlier for earlier in found if by - events.end[earlier] <= SLACK_NS]
    by_launch = max(found, key=lambda earlier: rank.launch[earlier], default=-1)
    return max(just_before, key=lambda earlier: events.end[earlier], default=by_launch)
