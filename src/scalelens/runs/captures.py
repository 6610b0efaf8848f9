"""Captures: what a launcher printed of steps that the ranks log themselves, kept in another folder than theirs.

A runner writes its logs where `--out` says, and Slurm writes the output of the same job elsewhere.  Both tell the same
steps, so they are one run.
"""

from datetime import timedelta

from scalelens.runs.run import Part, Run, repeats

QUARTER, SECOND = timedelta(minutes=15), timedelta(seconds=1)


def attach_captures(runs: list[Run]) -> list[Run]:
    """The runs, with each capture moved to the run whose steps it repeats, where it is clear which one that is."""
    ranked = [run for run in runs if any(part.facts.steps and part.ranks for part in run.parts)]
    remaining: list[Run] = []
    for run in runs:
        hosts = [host for host in ranked if is_capture_of(run, host)] if ranked and is_capture(run) else []
        if host := nearest(run, hosts):
            host.parts.extend(run.parts)
        else:
            remaining.append(run)
    return remaining


def is_capture(run: Run) -> bool:
    """Whether a run is nothing but steps without ranks, so that it may be what a launcher printed of another."""
    return all(set(part.facts.steps) == {"None"} for part in run.parts)


def is_capture_of(run: Run, host: Run) -> bool:
    """Whether all of a run repeats the steps of another, ingested with it, and states no other job or settings."""
    jobs = {part.job_id for part in (*run.parts, *host.parts)} - {None}
    return (
        len(jobs) <= 1
        and run.parts[0].root == host.parts[0].root
        and all(part.named_run is None and repeats(part, host.parts) for part in run.parts)
        and all(agrees(part, other, apart="model") for part in run.parts for other in host.parts)
    )


def nearest(run: Run, hosts: list[Run]) -> Run | None:
    """The host that ended when the capture did; None where two ended within a second of each other."""
    by_distance = sorted(hosts, key=lambda host: end_apart(run, host))
    if len(hosts) > 1 and end_apart(run, by_distance[1]) < end_apart(run, by_distance[0]) + SECOND:
        return None
    return by_distance[0] if by_distance else None


def end_apart(run: Run, host: Run) -> timedelta:
    """How far apart the ends of two runs are, whatever their time zones."""
    end, other = (max(part.facts.ended_at for part in one.parts if part.facts.ended_at) for one in (run, host))
    return abs(end - other - QUARTER * round((end - other) / QUARTER))


def agrees(part: Part, other: Part, apart: str = "") -> bool:
    """Whether two parts have equal values in all settings that both state, one setting apart.

    Of the same model a launcher may print the shape and the ranks the name.
    """
    settings = other.facts.settings
    return all(settings.get(key, value) == value for key, value in part.facts.settings.items() if key != apart)
