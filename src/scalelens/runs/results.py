"""Rows of result tables, and system files of MLPerf: they join the runs that they are about."""

import posixpath
from collections import defaultdict
from collections.abc import Mapping

from scalelens.runs.lookups import Lookup, Tie
from scalelens.runs.part import Part
from scalelens.runs.run import Run
from scalelens.runs.settings import Settings


def attach_results(
    results: list[Part], runs: list[Run], workpackages: Mapping[tuple[str, int], str], ties: list[Tie]
) -> None:
    """Each row of a result table joins the run that it sums up, or is a run of its own.

    A row that another file of the folder has in a second form (`results.json`, `summary.csv`), with the same name
    and result, is its twin.  `workpackages` are the folders of JUBE's workpackages, by content and number of a part.
    """
    of_job = Lookup[int]("job", ties)  # indexes of runs
    of_benchmark = Lookup[int]("benchmark", ties)  # indexes of runs, by folder
    for k, run in enumerate(runs):
        for root_and_job in {(part.root, job): None for part in run.parts if (job := part.job_id)}:
            of_job.offer(root_and_job, k, run.parts[0])
        folders = (workpackages.get((part.file_id, part.part)) for part in run.parts) if workpackages else ()
        for benchmark in {posixpath.dirname(folder): None for folder in folders if folder}:
            of_benchmark.offer(benchmark, k, run.parts[0])
    settings: dict[int, Settings] = {}
    of_name = Lookup[tuple[str, Run]]("result", ties)  # files of named results, each with its run
    for part in results:
        named = (
            (part.folder, part.facts.run_name, part.facts.result) if part.facts.run_name and part.facts.result else None
        )
        if named and (first := next((run for file, run in of_name.seek(named, part) if file != part.file_id), None)):
            first.parts.append(part._replace(joined_by="twin"))
            continue
        candidates = of_job.seek((part.root, part.job_id), part) if part.job_id else []
        candidates = candidates or sorted(k for folder in part.folders_above for k in of_benchmark.seek(folder, part))
        for k in candidates:
            if k not in settings:
                settings[k] = Settings(runs[k].parts)
            if settings[k].agree_with(part):
                settings[k].add(part)
                runs[k].parts.append(part)
                break
        else:
            runs.append(Run([part], "file"))
            if named:
                of_name.offer(named, (part.file_id, runs[-1]), part)


def attach_systems(systems: list[Part], runs: list[Run]) -> None:
    """Each system file joins the runs of the results that it describes."""
    of_folder: dict[str, list[Part]] = defaultdict(list)
    for part in systems:
        for folder in part.results:
            of_folder[folder].append(part)
    for run in runs if of_folder else ():
        for folder in run.parts[0].folders_above:
            run.parts.extend(of_folder.get(folder, ()))
