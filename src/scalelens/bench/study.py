"""Which jobs a whole study has: each precision with each data set, on each size, several times.

The plan of a study is a CSV in its folder.  `scalelens ingest` reads it with the logs that came back, and the query
planned_runs says what is missing.
"""

import csv
import io
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from scalelens.bench.request import Request
from scalelens.errors import UserError

PLAN_NAME = "plan.csv"
PRECISIONS = {  # as the runners have them
    "vision": ("fp32", "tf32", "amp", "bf16"),
    "language": ("fp32", "bf16", "fp16"),
    "bert": ("fp32", "tf32", "amp", "bf16"),
}


class Study(NamedTuple):
    """What varies in a study besides the nodes."""

    precisions: tuple[str, ...]
    repeats: int = 3
    reduced_data: Path | None = None


class _Job(NamedTuple):
    """A job of a study: what it runs, and the name of its folder and script."""

    name: str
    nodes: int
    request: Request
    precision: str | None = None
    dataset: str | None = None
    repeat: int | None = None


def jobs_of_sizes(request: Request, nodes: list[int]) -> list[_Job]:
    """A job for each size."""
    return [_Job(f"n{size}", size, request) for size in nodes]


def jobs_of_study(request: Request, nodes: list[int], study: Study) -> list[_Job]:
    """All jobs of a study.  Repeats come last: after a part of the jobs, each size has run once.

    Raises UserError where a precision is unknown or given twice, or the reduced data have no full ones beside them.
    """
    known = PRECISIONS[request.workload]
    wrong = [name for name in study.precisions if name not in known]
    if wrong or not study.precisions:
        raise UserError(f"{request.workload} has no precision '{', '.join(wrong)}'", f"known are {', '.join(known)}")
    if "--precision" in request.options:
        raise UserError("--study runs each of --precisions, so it cannot be combined with --precision", "take it out")
    if study.repeats < 1:
        raise UserError("--repeats is 1 or more", "three show whether runs agree")
    data: dict[str, list[str]] = {"synthetic" if request.data is None else Path(request.data).name: request.options}
    if study.reduced_data is not None:
        data |= _with_reduced(request, study.reduced_data, data)
    return [
        _Job(f"{precision}-{_plain(name)}-n{size}-r{repeat}", size,
            replace(request, options=["--precision", precision, *options]), precision, name, repeat)
        for repeat, precision, (name, options), size in product(
            range(1, study.repeats + 1), dict.fromkeys(study.precisions), data.items(), nodes
        )
    ]  # fmt: skip


def _plain(name: str) -> str:
    """A name that neither a shell nor Slurm takes apart."""
    return re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII)


def _with_reduced(request: Request, reduced: Path, full: dict[str, list[str]]) -> dict[str, list[str]]:
    """The name of the reduced data, and the options that read them."""
    if request.data is None:
        raise UserError(
            "--reduced-data is compared with the full data, and --data is missing", "name it: --data FOLDER"
        )
    if _plain(reduced.name) in map(_plain, full):
        raise UserError(f"the full and the reduced data are both called {reduced.name}", "rename a folder, or link it")
    options = [str(reduced) if k and request.options[k - 1] == "--data" else word
               for k, word in enumerate(request.options)]  # fmt: skip
    return {reduced.name: options}


def plan_text(workload: str, jobs: list[_Job]) -> str:
    """The plan as a CSV, whose commands submit one job each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("planned_run", "nodes", "repeat", "precision", "dataset", "command"))
    for job in jobs:
        command = f"sbatch {script_name(workload, job)}"
        writer.writerow((job.name, job.nodes, job.repeat, job.precision, job.dataset, command))
    return text.getvalue()


def script_name(workload: str, job: _Job) -> str:
    return f"{workload}-{job.name}.sh"
