"""Which run each part of each file belongs to, decided when a warehouse is opened.

A run is one training job with one configuration.  Two logs that both contain the same step of the same rank are two
runs, whatever their names say.  Otherwise the first rule that applies decides:

sidecar     a sidecar names the same run for them
folder      they belong to one JUBE workpackage, in its folders or in JUBE's files next to them, to one MLflow run, or
            to one run of a tracker
export      they are scalars of one run that TensorBoard's page exported, which names it in each (run-RUN-tag-TAG.csv)
result      an MLPerf result is a run of its own
job id      they have the same job id, in names or contents, and were ingested from one root; a file that names none has
            that of a file with the same name and another suffix
name        a log without steps has the name of a log with steps, but for the suffix or the rank; what a process writes
            to its output and to its errors
folder      they complement each other: logs and traces of several ranks, in one folder or in those that torchrun makes
            (attempt_0/3/stdout.log), and what their launcher printed beside them; a power file next to the only log, in
            a folder below it, or in a folder with the name of the log; power files of one launch
times       they were written while the run was, and no other run nearby was; a tracker's file and the log beside its
            folder also if they name the same job
file        the file is a run of its own

Times that do not overlap keep apart what a folder would join.  Two training logs are never joined because they lie in
one folder, even if only one of them has steps, but for a launcher's beside those of its ranks.

A row of a result table belongs to the run with its job id, or to a run of the same benchmark with the same settings.
A file that repeats the records of another in a second form is the `twin` of that one: it belongs to the same run, and
its records do not count.  The same applies to a launcher's log of steps that the ranks log themselves, in any folder,
to a history that was exported from W&B beside the client's own record of the run, to what ms-swift printed above the
folder into which it wrote the same steps, and to a table that no format knows, or an event file of TensorBoard, with
the losses of a log at its steps.
A file with the power readings of another, summed over its devices or averaged over time, is a `copy` of it: its run is
that of the other, and its readings do not count.
A system file of an MLPerf submission belongs to all runs in the results folder with its name, and to no other.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from scalelens.parsing import lazy_re as re
from scalelens.runs.by_rank import merge_ranks, split_by_rank
from scalelens.runs.captures import attach_captures
from scalelens.runs.copies import Originals
from scalelens.runs.leftovers import attach_leftovers
from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.made_tables import attach_tables
from scalelens.runs.part import Part
from scalelens.runs.power_copies import copies_of_power
from scalelens.runs.results import attach_results, attach_systems
from scalelens.runs.run import Run
from scalelens.runs.sidecar import Sidecars
from scalelens.runs.submissions import described_results, is_result
from scalelens.runs.trackers import attach_exports, attach_trackers, with_twins
from scalelens.warehouse.live import Live
from scalelens.warehouse.records import Entry

_OF_A_PLAN = {"planned_runs"}  # of runs to come: the file belongs to none
_POWER_TABLES = {"power_csv"}  # likewise
# Of steps: anyone may have made them of a log, or its training wrote them beside it.
_TABLES = {"generic_csv", "generic_json", "generic_jsonl", "column_lines", "tfevents"}
# The folder or the archive of one run: of W&B, ClearML, Comet and Neptune.
_TRACKED = re.compile(
    r"(.*/(?:(?:offline-)?run-\d{8}_\d{6}-[^/]+|offline-[0-9a-f]{32}(?:\.zip)?|[0-9a-f]{32}\.zip|run__[0-9a-f-]{36}[^/]*))"
    r"[/!](?:files/)?[^/]+\Z"
)
_TRACKED_ALONE = re.compile(r"(.*\.wandb)(?:\.\w+)?\Z")  # a record, and the log within it
_MLFLOW = re.compile(r"(.*/[0-9a-f]{32})/(?:meta\.yaml(?:\.\w+)?|metrics/.*)\Z")


class Joined(NamedTuple):
    """Runs, and what they depend on."""

    runs: list[Run]
    described_folders: Mapping[str, str]  # folders that files describe, and for each the folder that stands for its run
    ties: list[Tie]  # what each file offers and seeks


def runs_of(live: Live) -> list[Run]:
    """All runs of a warehouse.  They follow from its commit records alone; no row is read."""
    return join(live).runs


def join(live: Live, described_folders: Mapping[str, str] | None = None) -> Joined:
    """Joins the parts of files to runs.  `described_folders` must be given if `live` is only a part of a warehouse."""
    ties: list[Tie] = []
    all_parts = _parts_of(live)
    own_parts = _with_jobs_of_namesakes([part for part in all_parts if not part.results], ties)
    parts, twins = _without_twins(own_parts, ties)
    if described_folders is None:
        described_folders = _described_folders_of(all_parts)
    groups = Lookup[Part]("group", ties)
    results: list[Part] = []
    for part in parts:
        rule, key = _rule_of(part, described_folders)
        if rule == "result":
            results.append(part)
        else:
            groups.gather((rule, key), part, part)
    runs: list[Run] = []
    leftovers: list[list[Part]] = []
    workpackages: dict[tuple[str, int], str] = {}  # by content and number of the first part of a run
    for (rule, key), group in groups.groups():
        if rule == "workpackage":
            of_package = list(_runs_of_workpackage(group, leftovers))
            workpackages |= {(run.parts[0].file_id, run.parts[0].part): key for run in of_package}
            runs += of_package
        elif rule in ("tracked", "tracker"):
            runs.append(Run(with_twins(group), "folder" if len(group) > 1 else "file"))
        elif rule == "mlflow":
            runs.append(Run(group, "folder" if len(group) > 1 else "file"))
        elif rule == "export":
            runs.append(Run(group, "name" if len(group) > 1 else "file"))
        else:
            runs += split_by_rank(group, rule, leftovers)
    runs = attach_trackers(attach_exports(attach_captures(merge_ranks(runs, ties), ties), ties), ties)
    runs = attach_tables(runs, ties)
    attach_leftovers(leftovers, runs, ties)
    attach_results(results, runs, workpackages, ties)
    _attach_twins(twins, runs)
    attach_systems([part for part in all_parts if part.results], runs)
    return Joined(runs, described_folders, ties)


def sidecars_of(live: Live) -> Sidecars:
    """The sidecars of a warehouse."""
    return Sidecars({path: entry.sidecar for path, entry in live.paths.items() if entry.sidecar})


def _parts_of(live: Live) -> list[Part]:
    """Parts of all files in the order of their paths, except those that tell of no run."""
    first_path: dict[str, Entry] = {}
    for _, entry in sorted(live.paths.items()):
        first_path.setdefault(entry.file_id, entry)
    entries = [
        msgspec.structs.replace(provider, path=first_path[file_id].path, root=first_path[file_id].root)
        for file_id, provider in live.providers.items()
        if file_id in first_path
    ]
    sidecars = sidecars_of(live)
    results = described_results(live)
    parts = [
        Part(
            entry.file_id, int(number), entry.path, entry.root, facts, statements, named_run,
            tuple(results.get(entry.file_id, ())), is_result(entry), is_table=not _TABLES.isdisjoint(entry.formats),
            is_power_table=not _POWER_TABLES.isdisjoint(entry.formats),
        )
        for entry in entries
        for statements, named_run in [(sidecars.statements_on(entry.path), sidecars.run_of(entry.path))]
        for number, facts in entry.parts.items()
        if set(facts.rows) not in ({"problems"}, _OF_A_PLAN, _OF_A_PLAN | {"problems"})
    ]  # fmt: skip
    return sorted(parts, key=lambda part: (part.path, part.part))


def _with_jobs_of_namesakes(parts: list[Part], ties: list[Tie]) -> list[Part]:
    """The parts; those that name no job have the one that other files with their base name."""
    of_base = Lookup[Part]("base", ties)
    for part in parts:
        if part.job_id:
            of_base.offer((part.root, part.base), part, part)

    def with_job(part: Part) -> Part:
        if part.job_id:
            return part
        named = [other for other in of_base.seek((part.root, part.base), part) if other.file_id != part.file_id]
        jobs = {other.job_id for other in named}
        return part._replace(namesakes_job=jobs.pop()) if len(jobs) == 1 else part

    return [with_job(part) for part in parts]


def _without_twins(parts: list[Part], ties: list[Tie]) -> tuple[list[Part], list[tuple[Part, str]]]:
    """Parts that may make a run, and twins with the paths of the files that they repeat."""
    originals, copies = Originals(parts, ties), copies_of_power(parts, ties)
    own: list[Part] = []
    twins: list[tuple[Part, str]] = []
    for part in parts:
        if path := originals.repeated_by(part):
            twins.append((part, path))
        elif copied := copies.get((part.file_id, part.part)):
            twins.append((part._replace(joined_by="copy", repeats=copied.path), copied.path))
        else:
            own.append(part)
    return own, twins


def _attach_twins(twins: list[tuple[Part, str]], runs: list[Run]) -> None:
    """Each twin joins the first run with the file that it repeats."""
    first_with: dict[str, Run] = {}
    for run in runs if twins else ():
        for part in run.parts:
            first_with.setdefault(part.path, run)
    for part, path in twins:
        first_with[path].parts.append(part)


def _described_folders_of(parts: list[Part]) -> dict[str, str]:
    """Folders that parts of other files describe, and for each the folder that stands for its run."""
    described_folders: dict[str, str] = {}
    for part in sorted(parts, key=lambda part: -len(part.describes)):  # those that list several folders of a run first
        for folder in part.describes:
            described_folders.setdefault(folder, described_folders.get(part.describes[0], part.describes[0]))
    return described_folders


def _rule_of(part: Part, described_folders: Mapping[str, str]) -> tuple[str, object]:
    """The first rule that applies to a part, and the key that parts of the same run have in common by this rule."""
    if part.named_run is not None:
        return "sidecar", part.named_run
    for folder in (*part.describes, *part.folders_above) if described_folders else ():
        if folder in described_folders:
            return "workpackage", described_folders[folder]
    if part.facts.summary:
        return "result", None
    if run_folder := _MLFLOW.match(part.path):
        return "mlflow", run_folder[1]
    if run_folder := _TRACKED.match(part.path) or _TRACKED_ALONE.match(part.path):
        return "tracked", run_folder[1]
    if part.facts.of_tracker:
        return "tracker", (part.path, part.part)
    if part.exported_run:
        return "export", (part.root, part.exported_run)
    if part.is_result:
        return "result file", (part.path, part.part)
    if part.job_id:
        return "job id", (part.root, part.job_id)
    return "folder", part.launch_folder


def _runs_of_workpackage(group: list[Part], leftovers: list[list[Part]]) -> Iterator[Run]:
    """The run of a JUBE workpackage: one, unless its folders have several logs with the same steps."""
    logs = [part for part in group if not part.facts.summary and not part.describes]
    others = [part for part in group if part.facts.summary or part.describes]
    descriptions = sorted(others, key=lambda part: not part.facts.steps)
    unclear: list[list[Part]] = []
    runs = list(split_by_rank(logs, "folder", unclear))
    if len(runs) > 1:
        leftovers.extend(unclear)
        unclear = []
    if not runs:
        runs.append(Run([], "folder"))
    own = [part for parts in unclear for part in parts]
    runs[0].parts.extend(part for part in own if part.facts.traced)
    runs[0].parts.extend([*descriptions, *(part for part in own if not part.facts.traced)])
    yield from (run._replace(why="folder") for run in runs)
