"""Captures: what a launcher printed of steps that the ranks log themselves, kept in another folder than theirs.

A runner writes its logs where `--out` says, and Slurm writes the output of the same job elsewhere.  Both tell the same
steps, so they are one run.
"""

from scalelens.runs.run import Part, Run, repeats


def attach_captures(runs: list[Run]) -> list[Run]:
    """The runs, with each capture moved to the run whose steps it repeats, where there is exactly one such run."""
    ranked = [run for run in runs if any(part.facts.steps and part.ranks for part in run.parts)]
    remaining: list[Run] = []
    for run in runs:
        hosts = [host for host in ranked if is_capture_of(run, host)] if ranked and is_capture(run) else []
        if len(hosts) == 1:
            hosts[0].parts.extend(run.parts)
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


def agrees(part: Part, other: Part, apart: str = "") -> bool:
    """Whether two parts have equal values in all settings that both state, one setting apart.

    Of the same model a launcher may print the shape and the ranks the name.
    """
    settings = other.facts.settings
    return all(settings.get(key, value) == value for key, value in part.facts.settings.items() if key != apart)
