"""Which run each part of each file belongs to, decided when a warehouse is opened.

A run is one training job with one configuration.  Two logs that each hold the same step of the same rank are two
runs, whatever else says.  Otherwise files belong together by what a sidecar names their run, by the same job id within
one ingested root, by the same folder where they complement each other (the logs and traces of several ranks, a power
file beside a log), else a file is its own run.  A file that repeats the records of another in a second form is that
one's twin: of its run, its records not counted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from scalelens.sidecar import Said, Sidecars
from scalelens.tables import OUTCOMES
from scalelens.warehouse import Entry, Live

# slurm-1809577.out, name-1809577.out, name_1809577.err, 1809577.out: at least five digits, and no date.
JOB_ID = re.compile(r"(?:^|[-_.])(?!(?:19|20)\d{6}[._-])(\d{5,})\.(?:out|err|log|txt)$")
SAYS_NOTHING = re.compile(
    r".*/(?:rank|worker|stdout|stderr|out|output|log|train|main|job|result|meta)?[-_]?\d{0,4}\.[^/]*$"
)
MLFLOW = re.compile(r"(.*/[0-9a-f]{32})/(?:meta\.yaml(?:\.\w+)?|metrics/.*)\Z")
RANK_IN_NAME = re.compile(r"(?:rank|local_rank|worker)?[-_.]?\d+")


class Part(NamedTuple):
    """A part of a file, and what is known of it without reading its rows."""

    file_id: str
    part: int
    path: str
    root: str
    facts: dict[str, Any]
    said: dict[str, Said]  # by sidecars
    named_run: tuple[Any, ...] | None  # what names its run, where a sidecar does

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def job_id(self) -> str | None:
        named = JOB_ID.search(self.path.rpartition("/")[2])
        if "job_id" in self.said:
            return self.said["job_id"].value
        return self.facts.get("job_id") or (named[1] if named else None)

    @property
    def twin(self) -> str | None:
        """The file of which this one repeats the records: OpenMMLab writes X.log and X.log.json."""
        return self.path.removesuffix(".json") if self.path.endswith(".log.json") else None


class Run(NamedTuple):
    """Parts that belong together; the first carries the steps, if any does."""

    parts: list[Part]
    why: str

    @property
    def run_id(self) -> str:
        first = self.parts[0]
        return first.file_id[:12] + (f"-{first.part}" if first.part else "")

    def why_of(self, part: Part) -> str:
        """The rule that joined a part."""
        return "twin" if part.twin in {other.path for other in self.parts} else self.why

    @property
    def said(self) -> dict[str, Said]:
        """What sidecars say of it: of each fact and label what they say of the first part that has it."""
        said: dict[str, Said] = {}
        for part in self.parts:
            said = {**part.said, **said}
        nodes, per_node = said.get("nodes"), said.get("devices_per_node")
        if nodes and per_node and "devices" not in said:
            devices = str(int(nodes.value) * int(per_node.value))
            said["devices"] = nodes._replace(value=devices, origin="inferred")
        return said

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
        logs = {part.path for part in self.parts if part.facts["steps"] and self.why_of(part) != "twin"}
        if len(logs) > 1 or SAYS_NOTHING.match(first.path):
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
    sidecars = sidecars_of(live)
    parts = [
        Part(entry.file_id, int(number), entry.path, entry.root, facts, said, named_run)
        for entry in entries
        for said, named_run in [(sidecars.said_of(entry.path), sidecars.run_of(entry.path))]
        for number, facts in entry.parts.items()
        if set(facts["rows"]) != {"problems"}
    ]
    parts.sort(key=lambda part: (part.path, part.part))
    logs = {part.path for part in parts if part.facts["steps"]}
    twins = [part for part in parts if part.twin in logs]
    parts = [part for part in parts if part.twin not in logs]
    runs: list[Run] = []
    left: list[Part] = []
    by_name: dict[tuple[Any, ...], list[Part]] = defaultdict(list)
    by_job: dict[tuple[str, str], list[Part]] = defaultdict(list)
    by_folder: dict[str, list[Part]] = defaultdict(list)
    tracked: dict[str, list[Part]] = defaultdict(list)  # by the folder of an MLflow run
    for part in parts:
        if part.named_run is not None:
            by_name[part.named_run].append(part)
        elif in_run := MLFLOW.match(part.path):
            tracked[in_run[1]].append(part)
        elif part.job_id:
            by_job[part.root, part.job_id].append(part)
        else:
            by_folder[part.folder].append(part)
    for group in by_name.values():
        runs += joined(group, "sidecar", left)
    runs += [Run(group, "folder" if len(group) > 1 else "file") for group in tracked.values()]
    for group in by_job.values():
        runs += joined(group, "job id", left)
    for group in by_folder.values():
        runs += joined(group, "folder", left)
    at_home: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        for folder in {part.folder for part in run.parts}:
            at_home[folder].append(run)
    for part in left:
        home = at_home[part.folder]
        if len(home) == 1:
            home[0].parts.append(part)
        else:
            runs.append(Run([part], "file"))
    for twin in twins:
        next(run for run in runs if any(part.path == twin.twin for part in run.parts)).parts.append(twin)
    return runs


def sidecars_of(live: Live) -> Sidecars:
    """The sidecars of a warehouse."""
    return Sidecars({path: entry.sidecar for path, entry in live.paths.items() if entry.sidecar})


def joined(group: list[Part], why: str, left: list[Part]) -> Iterator[Run]:
    """The runs of parts that share a name, a job id or a folder.  Parts that no run can be named for go to `left`."""
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
    if len(runs) == 1 or (why != "folder" and len(launches) == 1):
        runs[-1].parts.extend(others)  # what a job says of its end is of its last launch
    elif why != "folder" and not runs and others:
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
