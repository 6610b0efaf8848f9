"""Captures: what a launcher printed of steps that the ranks log themselves, stored in another folder.

A runner writes its logs where `--out` says, and Slurm writes the output of the same job elsewhere.  Both report the
same steps, so they are one run.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from datetime import datetime, timedelta

from scalelens.runs.copies import QUARTER, RankLogs
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.run import Run
from scalelens.runs.settings import Settings

_SECOND = timedelta(seconds=1)


class _Host:
    """A run whose ranks log their steps, and what a capture is compared with."""

    def __init__(self, run: Run, logs: RankLogs) -> None:
        self.parts, self.logs = run.parts, logs
        self.jobs = _jobs(run.parts)
        self.settings = Settings(run.parts)
        self.end = _end(run.parts)

    def has_capture(self, run: Run) -> bool:
        """Whether all of a run repeats these steps, and states no other job or settings."""
        return (
            all(part.named_run is None and self.logs.repeated_by(part) for part in run.parts)
            # Launchers may print the shape of a model where the ranks print its name.
            and all(self.settings.agree_with(part, ignored="model") for part in run.parts)
            and len(self.jobs | _jobs(run.parts)) <= 1
        )

    def take(self, run: Run) -> None:
        self.parts.extend(run.parts)
        self.jobs |= _jobs(run.parts)
        self.end = max(self.end, _end(run.parts))
        for part in run.parts:
            self.settings.add(part)


def attach_captures(runs: list[Run], ties: list[Tie]) -> list[Run]:
    """The runs, with each capture moved to the run whose steps it repeats, if it is clear which one that is."""
    hosts = Lookup[_Host]("rank logs", ties)
    for run in runs:
        if logs := RankLogs.of(run.parts):
            hosts.offer((run.parts[0].root, logs.times[0].toordinal()), _Host(run, logs), run.parts[0])
    for _, of_day in hosts.groups():
        of_day.sort(key=_phase)
    remaining: list[Run] = []
    for run in runs:
        if not _may_be_capture(run):
            remaining.append(run)
            continue
        first = run.parts[0]
        day = min(part.facts.started_at for part in run.parts if part.facts.started_at).toordinal()
        # In any time zones, the host started on the same day, the day before, or the day after.
        days = [hosts.seek((first.root, nearby), first) for nearby in (day - 1, day, day + 1)]
        if host := _nearest(run, days):
            of_day = next(of_day for of_day in days if host in of_day)
            of_day.remove(host)
            host.take(run)
            insort(of_day, host, key=_phase)
        else:
            remaining.append(run)
    return remaining


def _may_be_capture(run: Run) -> bool:
    """Whether a run contains nothing but steps without ranks, with their times."""
    facts = [part.facts for part in run.parts]
    return all(set(one.steps) == {"None"} and one.started_at and one.ended_at for one in facts)


def _nearest(run: Run, days: list[list[_Host]]) -> _Host | None:
    """The host that ended when the capture did; None if two ended within a second of each other."""
    phase = _phase_of(_end(run.parts))
    nearest: tuple[timedelta, _Host] | None = None
    ways = (way(of_day, phase) for of_day in days for way in (_later, _earlier))
    for distance, host in heapq.merge(*ways, key=lambda pair: pair[0]):
        if nearest and distance >= nearest[0] + _SECOND:
            break
        if host.has_capture(run):
            if nearest:
                return None
            nearest = distance, host
    return nearest[1] if nearest else None


# Clocks in two time zones differ by quarters of an hour, so ends are compared by their phase, the time since the last
# quarter.  The hosts of a day are sorted by it, and are searched from the phase of a capture in both directions, as on
# the face of a clock, up to half a quarter.


def _later(hosts: list[_Host], phase: timedelta) -> Iterator[tuple[timedelta, _Host]]:
    """Hosts that ended at a phase or up to half a quarter later, the nearest first, with the time between."""
    start = bisect_left(hosts, phase, key=_phase)
    for k in range(len(hosts)):
        host = hosts[(start + k) % len(hosts)]
        distance = (_phase(host) - phase) % QUARTER
        if distance > QUARTER / 2:
            return
        yield distance, host


def _earlier(hosts: list[_Host], phase: timedelta) -> Iterator[tuple[timedelta, _Host]]:
    """Hosts that ended less than half a quarter earlier, the nearest first, with the time between."""
    start = bisect_left(hosts, phase, key=_phase)
    for k in range(len(hosts)):
        host = hosts[start - 1 - k]
        distance = (phase - _phase(host)) % QUARTER
        if not timedelta() < distance < QUARTER / 2:
            return
        yield distance, host


def _phase(host: _Host) -> timedelta:
    return _phase_of(host.end)


def _phase_of(time: datetime) -> timedelta:
    return timedelta(minutes=time.minute % 15, seconds=time.second, microseconds=time.microsecond)


def _jobs(parts: list[Part]) -> set[str]:
    return {job for part in parts if (job := part.job_id)}


def _end(parts: list[Part]) -> datetime:
    return max(end for part in parts if (end := part.facts.ended_at))
