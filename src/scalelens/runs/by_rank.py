"""Splits parts that share a name, a job id or a folder into runs: no run holds the same step of a rank twice."""

import re
from collections import defaultdict
from collections.abc import Iterator

from scalelens.runs.copies import RankLogs
from scalelens.runs.part import Part
from scalelens.runs.run import Run

_RANK_IN_NAME = re.compile(r"(?:rank|local_rank|worker)?[-_.]?\d+")


def split_by_rank(group: list[Part], why: str, leftovers: list[Part]) -> Iterator[Run]:
    """The runs of a group of parts.  Parts whose run is unclear are added to `leftovers`."""
    logs = [part for part in group if part.facts.steps]
    traced = [part for part in group if not part.facts.steps and part.facts.traced]
    others = [part for part in group if not part.facts.steps and not part.facts.traced]
    runs = _complementing(logs, why)
    traces = _complementing(traced, why)
    if len(runs) == 1 and len(traces) == 1:
        runs[0].parts.extend(traces[0].parts)
    else:
        runs += traces
    launches = {part.path for part in logs}
    if len(runs) == 1 or (why != "folder" and len(launches) == 1):
        runs[-1].parts.extend(others)  # how a job ended is a fact about its last launch
    elif why != "folder" and not runs and others:
        runs = [Run(others, why)]
    else:
        leftovers.extend(others)
    for run in runs:
        yield run if len({part.path for part in run.parts}) > 1 else run._replace(why="file")


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
    if len(parts) == 1 or (all(sets) and len(set().union(*sets)) == sum(map(len, sets))):
        return [Run(sorted(parts, key=lambda part: min(part.ranks, default=0)), why)]
    stems: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for part in parts:
        stems[_RANK_IN_NAME.sub("#", part.path), part.part].append(part)
    if len(stems) > 1:
        return [run for group in stems.values() for run in _complementing(group, why)]
    return [Run([part], why) for part in parts]
