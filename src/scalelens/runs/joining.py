"""Which run each part of each file belongs to, decided when a warehouse is opened.

A run is one training job with one configuration.  Two logs that both hold the same step of the same rank are two runs,
whatever their names say.  Otherwise the first rule that applies decides:

sidecar     a sidecar names the same run for them
folder      they belong to one JUBE workpackage, in its folders or in JUBE's files beside them, or to one run of MLflow
result      an MLPerf result is a run of its own
job id      they have the same job id, in names or contents, and were ingested from one root
folder      they complement each other: logs and traces of several ranks; a power file beside a log, in a folder below
            it, or in a folder with the name of the log; power files of one launch
file        the file is a run of its own

A row of a result table belongs to the run with its job id, or to a run of the same benchmark with the same settings.
A file that repeats the records of another in a second form is the `twin` of that one: it belongs to the same run, and
its records do not count.  So is a launcher's log of the steps that the ranks log themselves, in whichever folder.
A system file of an MLPerf submission belongs to all runs in the results folder that has its name, and to no other.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from scalelens.runs.captures import agrees, attach_captures
from scalelens.runs.run import Part, Run, repeats
from scalelens.runs.sidecar import Sidecars
from scalelens.runs.submissions import described_results, is_result
from scalelens.warehouse.live import Live
from scalelens.warehouse.records import Entry

MLFLOW = re.compile(r"(.*/[0-9a-f]{32})/(?:meta\.yaml(?:\.\w+)?|metrics/.*)\Z")
RANK_IN_NAME = re.compile(r"(?:rank|local_rank|worker)?[-_.]?\d+")
SENSED = {"power", "energy", "params", "metrics", "problems"}  # tables that a file of power or energy may fill
SENSED_WORDS = re.compile(r"combined|power|energy(?:[-_]from[-_]counter)?|\.(?:csv|h5)\b")


def runs_of(live: Live) -> list[Run]:
    """All runs of a warehouse.  They follow from its commit records alone; no row is read."""
    parts, twins, systems = sorted_parts(live)
    described_folders = described_folders_of(parts)
    groups: dict[tuple[str, object], list[Part]] = defaultdict(list)
    results: list[Part] = []
    for part in parts:
        rule, key = rule_of(part, described_folders)
        (results if rule == "result" else groups[rule, key]).append(part)
    runs: list[Run] = []
    left: list[Part] = []
    packages: dict[str, list[Run]] = {}  # runs by workpackage
    for (rule, key), group in groups.items():
        if rule == "workpackage":
            packages[str(key)] = list(runs_of_described_folder(group, left))
            runs += packages[str(key)]
        elif rule == "mlflow":
            runs.append(Run(group, "folder" if len(group) > 1 else "file"))
        else:
            runs += split_by_rank(group, rule, left)
    runs = attach_captures(runs)
    attach_leftovers(left, runs)
    attach_results(results, runs, packages)
    for part, twin in twins:
        next(run for run in runs if any(other.path == twin for other in run.parts)).parts.append(part)
    attach_systems(systems, runs)
    return runs


def sorted_parts(live: Live) -> tuple[list[Part], list[tuple[Part, str]], list[Part]]:
    """Parts that may make a run, twins of other files with the paths of these, and system files."""
    all_parts = parts_of(live)
    parts = [part for part in all_parts if not part.results]
    logs = {part.path for part in parts if part.facts.steps or part.path.endswith("/all_results.json")}
    twins = [(part, twin) for part in parts if (twin := part.twin(logs))]
    return [part for part in parts if not part.twin(logs)], twins, [part for part in all_parts if part.results]


def parts_of(live: Live) -> list[Part]:
    """Parts of all files, without those that hold nothing but problems, in order of their paths."""
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
            tuple(results.get(entry.file_id, ())), is_result(entry),
        )
        for entry in entries
        for statements, named_run in [(sidecars.statements_on(entry.path), sidecars.run_of(entry.path))]
        for number, facts in entry.parts.items()
        if set(facts.rows) != {"problems"}
    ]  # fmt: skip
    return sorted(parts, key=lambda part: (part.path, part.part))


def sidecars_of(live: Live) -> Sidecars:
    """The sidecars of a warehouse."""
    return Sidecars({path: entry.sidecar for path, entry in live.paths.items() if entry.sidecar})


def rule_of(part: Part, described_folders: dict[str, str]) -> tuple[str, object]:
    """The first rule that applies to a part, and the key that parts of the same run have in common by this rule."""
    if part.named_run is not None:
        return "sidecar", part.named_run
    for folder in (*part.describes, *folders_above(part.path)) if described_folders else ():
        if folder in described_folders:
            return "workpackage", described_folders[folder]
    if part.facts.summary:
        return "result", None
    if run_folder := MLFLOW.match(part.path):
        return "mlflow", run_folder[1]
    if part.is_result:
        return "result file", (part.path, part.part)
    if part.job_id:
        return "job id", (part.root, part.job_id)
    return "folder", part.folder


def attach_leftovers(left: list[Part], runs: list[Run]) -> None:
    """Parts without a run of their own, such as power files, join a run nearby, or each other, or stay alone."""
    by_folder: dict[str, list[Run]] = defaultdict(list)
    by_log: dict[str, list[Run]] = defaultdict(list)  # by the path of a log without its suffix
    for run in runs:
        for folder in {part.folder for part in run.parts}:
            by_folder[folder].append(run)
        for log in {
            posixpath.splitext(part.path)[0] for part in run.parts if {"steps", "phases"} & set(part.facts.rows)
        }:
            by_log[log].append(run)
    without_log: dict[str, list[Part]] = defaultdict(list)
    for part in left:
        upper, name = posixpath.split(part.folder)
        of_name = by_log.get(f"{upper}/{name}") or by_log.get(f"{posixpath.dirname(upper)}/{name}") or []
        nearby = of_name or by_folder.get(part.folder) or (is_sensed(part) and by_folder.get(upper)) or []
        if len(nearby) == 1:
            nearby[0].parts.append(part)
        elif nearby or not is_sensed(part):
            runs.append(Run([part], "file"))
        else:
            without_log[part.folder].append(part)
    for group in without_log.values():
        runs += launches(group)


def is_sensed(part: Part) -> bool:
    """Whether a part holds power or energy, and nothing but measurements."""
    return bool({"power", "energy"} & set(part.facts.rows)) and set(part.facts.rows) <= SENSED


def launches(parts: list[Part]) -> Iterator[Run]:
    """Runs of the power and energy files of a folder without a log.

    The files that one tool wrote in one launch have names that differ in the words power and energy.  If the names
    differ in numbers too, the files are of one launch if they name different ranks or measured at the same time.
    """
    files: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        stem = SENSED_WORDS.sub("", posixpath.basename(part.path))
        files[re.sub(r"[\W_]+", ".", stem).strip(".")].append(part)
    groups: list[list[Part]] = []
    for stem, of_stem in sorted(files.items(), key=lambda item: (not item[0], item[0])):
        alike = [group for group in groups if stem and is_one_launch(group, of_stem)]
        if alike:
            alike[0].extend(of_stem)
        elif stem or len(groups) != 1:
            groups.append(of_stem)
        else:
            groups[0].extend(of_stem)
    for group in groups:
        yield Run(group, "folder" if len({part.path for part in group}) > 1 else "file")


def is_one_launch(group: list[Part], others: list[Part]) -> bool:
    """Whether power files belong to one launch, by their names and then by ranks or times."""
    names = {re.sub(r"\d+", "#", SENSED_WORDS.sub("", posixpath.basename(part.path))) for part in (*group, *others)}
    if len({re.sub(r"[\W_]+", ".", name).strip(".") for name in names}) > 1:
        return False
    ranks, other_ranks = (set().union(*(part.ranks for part in parts)) for parts in (group, others))
    if ranks and other_ranks:
        return not ranks & other_ranks
    spans = [[part.facts.measured for part in parts if part.facts.measured] for parts in (group, others)]
    return any(
        begin <= other_end and other_begin <= end for begin, end in spans[0] for other_begin, other_end in spans[1]
    )


def attach_results(results: list[Part], runs: list[Run], packages: dict[str, list[Run]]) -> None:
    """Each row of a result table joins the run that it sums up, or is a run of its own."""
    of_job: dict[tuple[str, str | None], list[Run]] = defaultdict(list)
    for run in runs if results else ():
        for job in {(part.root, part.job_id) for part in run.parts if part.job_id}:
            of_job[job].append(run)
    for part in results:
        folders = folders_above(part.path)
        beside = [
            run
            for package, of_package in packages.items()
            if posixpath.dirname(package) in folders
            for run in of_package
        ]
        fitting = [run for run in of_job.get((part.root, part.job_id), beside) if agree(part, run)]
        if fitting:
            fitting[0].parts.append(part)
        else:
            runs.append(Run([part], "file"))


def attach_systems(systems: list[Part], runs: list[Run]) -> None:
    """Each system file joins the runs of the results that it describes."""
    of_folder: dict[str, list[Part]] = defaultdict(list)
    for part in systems:
        for folder in part.results:
            of_folder[folder].append(part)
    for run in runs if of_folder else ():
        for folder in folders_above(run.parts[0].path):
            run.parts.extend(of_folder.get(folder, ()))


def described_folders_of(parts: list[Part]) -> dict[str, str]:
    """Folders that parts of other files describe, and for each the folder that stands for its run."""
    described_folders: dict[str, str] = {}
    for part in sorted(parts, key=lambda part: -len(part.describes)):  # those that list several folders of a run first
        for folder in part.describes:
            described_folders.setdefault(folder, described_folders.get(part.describes[0], part.describes[0]))
    return described_folders


def folders_above(path: str) -> list[str]:
    """Folders that hold a file, the nearest first."""
    names = path.split("/")
    return ["/".join(names[:k]) for k in range(len(names) - 1, 1, -1)]


def runs_of_described_folder(group: list[Part], left: list[Part]) -> Iterator[Run]:
    """The run of a described folder: one, unless the folder has several logs with the same steps."""
    logs = [part for part in group if not part.facts.summary and not part.describes]
    descriptions = sorted((part for part in group if part not in logs), key=lambda part: not part.facts.steps)
    others: list[Part] = []
    runs = list(split_by_rank(logs, "folder", others))
    if len(runs) > 1:
        left.extend(others)
        others = []
    if not runs:
        runs.append(Run([], "folder"))
    runs[0].parts.extend([*descriptions, *others])
    yield from (run._replace(why="folder") for run in runs)


def agree(part: Part, run: Run) -> bool:
    """Whether a row of results and a run have equal values in all settings that both name."""
    return all(agrees(part, other) for other in run.parts)


def split_by_rank(group: list[Part], why: str, left: list[Part]) -> Iterator[Run]:
    """The runs of parts that share a name, a job id or a folder.  Parts whose run is unclear go to `left`."""
    carriers = [part for part in group if part.facts.steps]
    traced = [part for part in group if not part.facts.steps and part.facts.traced]
    others = [part for part in group if not part.facts.steps and not part.facts.traced]
    runs = complementing(carriers, why)
    traces = complementing(traced, why)
    if len(runs) == 1 and len(traces) == 1:
        runs[0].parts.extend(traces[0].parts)
    else:
        runs += traces
    launches = {part.path for part in carriers}
    if len(runs) == 1 or (why != "folder" and len(launches) == 1):
        runs[-1].parts.extend(others)  # how a job ended is a fact about its last launch
    elif why != "folder" and not runs and others:
        runs = [Run(others, why)]
    else:
        left.extend(others)
    for run in runs:
        yield run if len({part.path for part in run.parts}) > 1 else run._replace(why="file")


def complementing(parts: list[Part], why: str) -> list[Run]:
    """Parts as runs: together if no two hold the same rank, else those whose names differ only by the rank."""
    if not parts:
        return []
    ranked = [part for part in parts if part.ranks]
    launchers = [part for part in parts if not part.ranks]
    if launchers and all(repeats(part, ranked) for part in launchers):
        runs = complementing(ranked, why)
        if len(runs) == 1:
            return [Run([*runs[0].parts, *launchers], why)]
    sets = [part.ranks for part in parts]
    if len(parts) == 1 or (all(sets) and len(set().union(*sets)) == sum(map(len, sets))):
        return [Run(sorted(parts, key=lambda part: min(part.ranks, default=0)), why)]
    stems: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for part in parts:
        stems[RANK_IN_NAME.sub("#", part.path), part.part].append(part)
    if len(stems) > 1:
        return [run for group in stems.values() for run in complementing(group, why)]
    return [Run([part], why) for part in parts]
