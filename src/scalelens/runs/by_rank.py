"""Splits parts that share a name, a job id or a folder into runs: no run holds the same step of a rank twice.

Only the two outputs of one process may: a progress bar in its errors counts the steps that its output reports.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import compress

from scalelens.runs.copies import RankLogs
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.run import Run
from scalelens.runs.times import MINUTE_NS, span_of, started_together

_SECONDS_NS = 2 * 10**9  # ranks begin a step at once; what they do before the first one may take one of them longer
_RANK_IN_NAME = re.compile(r"(?:rank|local_rank|worker)?[-_.]?\d+")


def split_by_rank(group: list[Part], why: str, leftovers: list[list[Part]]) -> Iterator[Run]:
    """The runs of a group of parts.  Those whose run other files decide are added to `leftovers`, in groups."""
    logs, errors = _without_errors([part for part in group if part.facts.steps])
    traced = [part for part in group if not part.facts.steps and part.facts.traced]
    others = [part for part in group if not part.facts.steps and not part.facts.traced]
    runs = _complementing(logs, why)
    _add_errors(errors, runs)
    traces = _complementing(traced, why)
    launches = {part.path for part in logs}
    if why == "folder":
        leftovers.extend(trace.parts for trace in traces)
        leftovers.extend([part] for part in others)
    else:
        if len(runs) == 1 and len(traces) == 1:
            runs[0].parts.extend(traces[0].parts)
        else:
            runs += traces
        if len(runs) == 1 or len(launches) == 1:
            runs[-1].parts.extend(others)  # how a job ended is a fact about its last launch
        elif not runs and others:
            runs = [Run(others, why)]
        else:
            leftovers.extend([part] for part in others)
    for run in runs:
        yield run if len({part.path for part in run.parts}) > 1 else run._replace(why="file")


def merge_ranks(runs: list[Run], ties: list[Tie]) -> list[Run]:
    """The runs, with those of a folder as one that hold the same steps of other ranks and began at the same time.

    The job's id may stand in the logs of some ranks alone.
    """
    of_folder = Lookup[Run]("ranks of a folder", ties)
    merged: list[Run] = []
    for run in runs:
        logs = [part for part in run.parts if part.facts.steps]
        if logs and all(part.logs_ranks and part.named_run is None for part in logs):
            of_folder.gather((logs[0].root, logs[0].folder), run, logs[0])
        else:
            merged.append(run)
    for _, in_folder in of_folder.groups():
        run_of = {(run.parts[0].file_id, run.parts[0].part): run for run in in_folder}
        for firsts in started_together([run.parts[0] for run in in_folder], _SECONDS_NS):
            together = [run_of[part.file_id, part.part] for part in firsts]
            merged += [_as_one(together)] if _are_of_one_launch(together) else together
    return merged


def _as_one(runs: list[Run]) -> Run:
    with_job = next(run for run in runs if run.parts[0].job_id)
    others = [part._replace(joined_by="times") for run in runs if run is not with_job for part in run.parts]
    return with_job._replace(parts=sorted([*with_job.parts, *others], key=_by_rank), why="job id")


def _by_rank(part: Part) -> tuple[bool, bool, int]:
    """The order of the parts of a run: logs by rank, traces, others."""
    return not part.facts.steps, not part.facts.traced, min(part.ranks, default=0) if part.facts.steps else 0


def _are_of_one_launch(runs: list[Run]) -> bool:
    """Whether logs have times, hold each rank once and the same first step, and one run of them names the job."""
    logs = [part for run in runs for part in run.parts if part.facts.steps]
    ranks = [part.ranks for part in logs]
    first_steps = {min(first for first, _ in part.facts.steps.values()) for part in logs}
    return (
        sum(run.parts[0].job_id is not None for run in runs) == 1 < len(runs)
        and all(span_of([part]) for part in logs)
        and len(set().union(*ranks)) == sum(map(len, ranks))
        and len(first_steps) == 1
    )


def _without_errors(logs: list[Part]) -> tuple[list[Part], list[Part]]:
    """Logs, and apart from them the error outputs of processes whose output is one of the logs."""
    outputs = {(part.base, part.part) for part in logs if not part.is_error_output}
    of_outputs = [part.is_error_output and (part.base, part.part) in outputs for part in logs]
    errors = [*compress(logs, of_outputs)]
    return [part for part, is_error in zip(logs, of_outputs, strict=True) if not is_error], errors


def _of_one_launch(parts: list[Part], within_ns: int) -> list[list[Part]]:
    """Parts by their settings, then by the time at which they began."""
    by_settings: dict[frozenset[tuple[str, str]], list[Part]] = defaultdict(list)
    for part in parts:
        settings = part.facts.settings.items() - {("model", part.facts.settings.get("model"))}
        by_settings[frozenset(settings)].append(part)
    if frozenset() in by_settings:  # a setting that only some state separates none
        return started_together(parts, within_ns)
    return [group for alike in by_settings.values() for group in started_together(alike, within_ns)]


def _add_errors(errors: list[Part], runs: list[Run]) -> None:
    """Adds error outputs to the runs of the outputs."""
    with_output = {(part.base, part.part): run for run in runs for part in run.parts} if errors else {}
    for part in errors:
        with_output[part.base, part.part].parts.append(part._replace(joined_by="name"))


def _complementing(parts: list[Part], why: str) -> list[Run]:
    """Parts as runs: one run if no two hold the same rank, otherwise one for all names that differ only by the rank."""
    if not parts:
        return []
    launchers = [part for part in parts if not part.ranks]
    ranked = [part for part in parts if part.ranks]
    if launchers and (logs := RankLogs.of(ranked)) and all(logs.repeated_by(part) for part in launchers):
        runs = _complementing(ranked, why)
        if len(runs) == 1:
            return [Run([*runs[0].parts, *launchers], why)]
    sets = [part.ranks for part in parts]
    are_disjoint = all(sets) and len(set().union(*sets)) == sum(map(len, sets))
    if why == "folder":
        groups = _of_one_launch(parts, MINUTE_NS if are_disjoint and not parts[0].facts.traced else _SECONDS_NS)
        if len(groups) > 1:
            return [run for group in groups for run in _complementing(group, why)]
    if len(parts) == 1 or are_disjoint:
        return [Run(sorted(parts, key=lambda part: min(part.ranks, default=0)), why)]
    stems: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for part in parts:
        stems[_RANK_IN_NAME.sub("#", part.path), part.part].append(part)
    if len(stems) > 1:
        return [run for group in stems.values() for run in _complementing(group, why)]
    return [Run([part], why) for part in parts]
