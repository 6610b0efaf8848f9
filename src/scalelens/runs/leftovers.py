"""Files without a run of their own, such as power files, join a run nearby, or each other, or stay alone."""

import posixpath

from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.power_launches import launches
from scalelens.runs.run import Run

_SENSED = {"power", "energy", "params", "metrics", "problems"}  # tables that a file of power or energy may fill


def attach_leftovers(leftovers: list[Part], runs: list[Run], ties: list[Tie]) -> None:
    """Adds each leftover to a run, or to the list of runs as a new one."""
    by_folder = Lookup[Run]("folder", ties)
    by_log = Lookup[Run]("log", ties)  # by the path of a log without its suffix
    for run in runs:
        for folder in {part.folder: part for part in run.parts}:
            by_folder.offer(folder, run, run.parts[0])
        for part in {_stem(part): part for part in run.parts if {"steps", "phases"} & set(part.facts.rows)}.values():
            by_log.offer(_stem(part), run, part)
    without_log = Lookup[Part]("folder without log", ties)
    for part in leftovers:
        nearby = _runs_nearby(part, by_folder, by_log)
        if len(nearby) == 1:
            nearby[0].parts.append(part)
        elif nearby or not _is_sensed(part):
            runs.append(Run([part], "file"))
        else:
            without_log.gather(part.folder, part, part)
    for _, group in without_log.groups():
        runs += launches(group)


def _runs_nearby(part: Part, by_folder: Lookup[Run], by_log: Lookup[Run]) -> list[Run]:
    """Runs with a log named like the part's folder; if there are none, those in its folder, then the one above."""
    upper, name = posixpath.split(part.folder)
    return (
        by_log.seek(f"{upper}/{name}", part)
        or by_log.seek(f"{posixpath.dirname(upper)}/{name}", part)
        or by_folder.seek(part.folder, part)
        or (by_folder.seek(upper, part) if _is_sensed(part) else [])
    )


def _is_sensed(part: Part) -> bool:
    """Whether a part contains power or energy, and nothing but measurements."""
    return bool({"power", "energy"} & set(part.facts.rows)) and set(part.facts.rows) <= _SENSED


def _stem(part: Part) -> str:
    return posixpath.splitext(part.path)[0]
