"""Which run each part of each file belongs to, decided when a warehouse is opened.

A run is one training job with one configuration.  Two logs that each hold the same step of the same rank are two
runs, whatever else says.  Otherwise files belong together by the same job id within one ingested root, by the same
folder where they complement each other (the logs and traces of several ranks, a power file beside a log), else a file
is its own run.

What lies in the folders of a JUBE workpackage, and what JUBE's files beside them say of it, is of one run before all
else.  The row of a result table is of the run of its job id, or of the same benchmark, whose settings it holds.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from scalelens.tables import OUTCOMES
from scalelens.warehouse import Entry, Live

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits, and no date.
JOB_ID = re.compile(r"(?:^|[-_.])(?!(?:19|20)\d{6}[._-])(\d{5,})\.(?:out|err|log|txt)$")
SAYS_NOTHING = re.compile(r".*/(?:rank|worker|stdout|stderr|out|output|log|train|main|job|result)?[-_]?\d{0,4}\.[^/]*$")
RANK_IN_NAME = re.compile(r"(?:rank|local_rank|worker)?[-_.]?\d+")


class Part(NamedTuple):
    """A part of a file, and what is known of it without reading its rows."""

    file_id: str
    part: int
    path: str
    root: str
    facts: dict[str, Any]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def describes(self) -> list[str]:
        """Folders that the part says something of, where it names them."""
        return [posixpath.normpath(f"{self.folder}/{name}") for name in self.facts.get("folders", ())]

    @property
    def job_id(self) -> str | None:
        named = JOB_ID.search(self.path.rpartition("/")[2])
        return self.facts.get("job_id") or (named[1] if named else None)


class Run(NamedTuple):
    """Parts that belong together; the first carries the steps, if any does."""

    parts: list[Part]
    why: str

    @property
    def run_id(self) -> str:
        first = self.parts[0]
        return first.file_id[:12] + (f"-{first.part}" if first.part else "")

    @property
    def outcome(self) -> tuple[str, int | None]:
        """How it ended, and the line that says so."""
        said = [
            (OUTCOMES.index(what), line)
            for part in self.parts
            for what, line in part.facts.get("outcomes", ())
            if what in OUTCOMES
        ]
        gravest, line = min(said, key=lambda one: (one[0], one[1] or 0), default=(OUTCOMES.index("unknown"), None))
        return OUTCOMES[gravest], line

    @property
    def name(self) -> str:
        first = self.parts[0]
        if described := next((folder for part in self.parts for folder in part.describes), None):
            return PurePath(described).name
        if len({part.path for part in self.parts if part.facts["steps"]}) > 1 or SAYS_NOTHING.match(first.path):
            return PurePath(first.folder).name
        stem = first.path.rpartition("/")[2].split(".", 1)[0] or first.path.rpartition("/")[2]
        return f"{stem} ({first.part + 1})" if first.part else stem


def runs_of(live: Live) -> list[Run]:
    """All runs of a warehouse, from what its commit records say of each file."""
    first_path: dict[str, Entry] = {}
    for _, entry in sorted(live.paths.items()):
        first_path.setdefault(entry.file_id, entry)
    entries = [
        msgspec.structs.replace(provider, path=first_path[file_id].path, root=first_path[file_id].root)
        for file_id, provider in live.providers.items()
        if file_id in first_path
    ]
    parts = [
        Part(entry.file_id, int(number), entry.path, entry.root, facts)
        for entry in entries
        for number, facts in entry.parts.items()
        if set(facts["rows"]) != {"problems"}
    ]
    parts.sort(key=lambda part: (part.path, part.part))
    runs: list[Run] = []
    left: list[Part] = []
    by_job: dict[tuple[str, str], list[Part]] = defaultdict(list)
    by_folder: dict[str, list[Part]] = defaultdict(list)
    by_home: dict[str, list[Part]] = defaultdict(list)
    results: list[Part] = []
    homes = homes_of(parts)
    for part in parts:
        home = next((homes[at] for at in (*part.describes, *above(part.path)) if at in homes), None) if homes else None
        if home:
            by_home[home].append(part)
        elif part.facts.get("summary"):
            results.append(part)
        elif part.job_id:
            by_job[part.root, part.job_id].append(part)
        else:
            by_folder[part.folder].append(part)
    described = {home: list(at_one_home(group, left)) for home, group in by_home.items()}
    runs += [run for of_home in described.values() for run in of_home]
    for group in by_job.values():
        runs += joined(group, "job id", left)
    for group in by_folder.values():
        runs += joined(group, "folder", left)
    at_home: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        for folder in {part.folder for part in run.parts}:
            at_home[folder].append(run)
    for part in left:
        of_folder = at_home[part.folder]
        if len(of_folder) == 1:
            of_folder[0].parts.append(part)
        else:
            runs.append(Run([part], "file"))
    of_job: dict[tuple[str, str | None], list[Run]] = defaultdict(list)
    for run in runs if results else ():
        for job in {(part.root, part.job_id) for part in run.parts if part.job_id}:
            of_job[job].append(run)
    for part in results:
        folders = above(part.path)
        beside = [run for home, of_home in described.items() if posixpath.dirname(home) in folders for run in of_home]
        fitting = [run for run in of_job.get((part.root, part.job_id), beside) if agree(part, run)]
        if fitting:
            fitting[0].parts.append(part)
        else:
            runs.append(Run([part], "file"))
    return runs


def homes_of(parts: list[Part]) -> dict[str, str]:
    """Folders that parts of other files describe, and for each the first one of the same run."""
    homes: dict[str, str] = {}
    for part in sorted(parts, key=lambda part: -len(part.describes)):  # several folders of one run: the first counts
        for folder in part.describes:
            homes.setdefault(folder, homes.get(part.describes[0], part.describes[0]))
    return homes


def above(path: str) -> list[str]:
    """Folders that hold a file, the nearest first."""
    names = path.split("/")
    return ["/".join(names[:k]) for k in range(len(names) - 1, 1, -1)]


def at_one_home(group: list[Part], left: list[Part]) -> Iterator[Run]:
    """The run of a described folder: one, unless several logs with the same steps lie there."""
    logs = [part for part in group if not part.facts.get("summary") and not part.describes]
    said = sorted((part for part in group if part not in logs), key=lambda part: not part.facts["steps"])
    others: list[Part] = []
    runs = list(joined(logs, "folder", others))
    if len(runs) > 1:
        left.extend(others)
        others = []
    if not runs:
        runs.append(Run([], "folder"))
    runs[0].parts.extend([*said, *others])
    yield from (run._replace(why="folder") for run in runs)


def agree(part: Part, run: Run) -> bool:
    """Whether a row of results and a run differ in no setting that both name."""
    settings = part.facts.get("settings", {})
    others = [one.facts["settings"] for one in run.parts if "settings" in one.facts]
    return all(other.get(key, value) == value for other in others for key, value in settings.items())


def joined(group: list[Part], why: str, left: list[Part]) -> Iterator[Run]:
    """The runs of parts that share a job id or a folder.  Parts that no run can be named for go to `left`."""
    carriers = [part for part in group if part.facts["steps"]]
    traced = [part for part in group if not part.facts["steps"] and part.facts.get("traced")]
    others = [part for part in group if not part.facts["steps"] and not part.facts.get("traced")]
    runs = complementing(carriers, why)
    traces = complementing(traced, why)
    if len(runs) == 1 and len(traces) == 1:
        runs[0].parts.extend(traces[0].parts)
    else:
        runs += traces
    launches = {part.path for part in carriers}
    if len(runs) == 1 or (why == "job id" and len(launches) == 1):
        runs[-1].parts.extend(others)  # what a job says of its end is of its last launch
    elif why == "job id" and not runs and others:
        runs = [Run(others, why)]
    else:
        left.extend(others)
    for run in runs:
        yield run if len({part.path for part in run.parts}) > 1 else run._replace(why="file")


def complementing(parts: list[Part], why: str) -> list[Run]:
    """Parts as runs: together where no two of them hold the same rank, else by name without the rank, else alone."""
    if not parts:
        return []
    sets = [ranks_of(part) for part in parts]
    if len(parts) == 1 or (all(sets) and len(set().union(*sets)) == sum(map(len, sets))):
        return [Run(sorted(parts, key=lambda part: min(ranks_of(part), default=0)), why)]
    stems: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for part in parts:
        stems[RANK_IN_NAME.sub("#", part.path), part.part].append(part)
    if len(stems) > 1:
        return [run for group in stems.values() for run in complementing(group, why)]
    return [Run([part], why) for part in parts]


def ranks_of(part: Part) -> set[int]:
    """Ranks whose steps or events the part holds; empty where it does not say."""
    ranks = part.facts["steps"] or part.facts.get("traced") or []
    return set() if any(rank in ("None", None) for rank in ranks) else {int(rank) for rank in ranks}
