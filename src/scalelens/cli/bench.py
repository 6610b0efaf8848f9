"""Run a reference workload, here or as a scaling study under Slurm."""

import subprocess
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scalelens.bench.request import Request, Runtime
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Run"
CONTEXT_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}  # the runner has options of its own

_Out = Annotated[
    Path | None,
    typer.Option(help="Folder for logs and traces, or for the study.", show_default="results/WORKLOAD-1, -2, ..."),
]
_Stage = Annotated[bool, typer.Option("--stage", help="With --slurm: copy --data to the storage of each node first.")]
_IsStudy = Annotated[
    bool, typer.Option("--study", help="With --slurm: a whole study, of precisions, data sets and repeats.")
]
_Precisions = Annotated[str | None, typer.Option(help="With --study.", show_default="fp32,amp; for language fp32,bf16")]
_Repeats = Annotated[int, typer.Option(min=1, help="With --study: runs of each kind and size.")]
_ReducedData = Annotated[Path | None, typer.Option(help="With --study: a smaller data set, run in addition to --data.")]
_Container = Annotated[
    str | None, typer.Option(metavar="IMAGE", help="With --slurm: run in this image, a file or an address.")
]
_OneAtATime = Annotated[
    bool, typer.Option("--one-at-a-time", help="With --slurm: each job starts after the previous one ends.")
]
_ContainerRuntime = Annotated[
    Runtime | None, typer.Option(help="With --container.", show_default="the system's, else apptainer")
]


class _Workload(StrEnum):
    vision = "vision"
    language = "language"
    bert = "bert"


def bench(
    context: typer.Context,
    workload: Annotated[_Workload, typer.Argument(help="vision: images; language: GPT on megatron-core; bert.")],
    nproc: Annotated[int | None, typer.Option(min=1, help="Devices per node; by default 1 on this machine.")] = None,
    out: _Out = None,
    power: Annotated[bool, typer.Option("--power", help="Measure power, with jpwr or a built-in sampler.")] = False,
    slurm: Annotated[bool, typer.Option("--slurm", help="Write a Slurm job script for each size, and submit.")] = False,
    nodes: Annotated[str, typer.Option(help="With --slurm: 1..64 means 1,2,4,...,64; 1,2,6 means these three.")] = "1",
    system: Annotated[
        str | None, typer.Option(help="With --slurm: lumi, leonardo, marenostrum5, meluxina, karolina, ...")
    ] = None,
    account: Annotated[str | None, typer.Option(help="With --slurm.")] = None,
    partition: Annotated[str | None, typer.Option(help="With --slurm, instead of the system's usual one.")] = None,
    qos: Annotated[str | None, typer.Option(help="With --slurm, instead of the system's usual one.")] = None,
    time: Annotated[str, typer.Option(help="With --slurm: time limit of a job.")] = "00:30:00",
    container: _Container = None,
    container_runtime: _ContainerRuntime = None,
    stage: _Stage = False,
    one_at_a_time: _OneAtATime = False,
    study: _IsStudy = False,
    precisions: _Precisions = None,
    repeats: _Repeats = 3,
    reduced_data: _ReducedData = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --slurm: write scripts, submit nothing.")] = False,
) -> None:  # fmt: skip
    """Run a reference workload, here or as a scaling study under Slurm.  Any other option goes to the runner.

    Examples:

    scalelens bench vision --nproc 2 --device cpu --steps 20

    scalelens bench language --nproc 2 --device cpu --tp 2 --out results/tp2

    scalelens bench vision --slurm --nodes 1..64 --system lumi --dry-run --precision amp --batch-per-device 256

    scalelens bench vision --slurm --study --system lumi --nodes 1..16 --data imagenet --reduced-data tiny --dry-run

    scalelens bench language --slurm --system leonardo --nodes 8 --container nemo.sif --data /data/text --stage
    """
    from scalelens.bench import launching
    from scalelens.bench.study import Study

    out = out or launching.new_folder(workload.value)
    if study and not slurm:
        raise UserError("--study writes jobs for Slurm, and --slurm is missing", "add --slurm, with --dry-run to try")
    if not slurm:
        code = launching.run_here(workload.value, nproc or 1, out, power, context.args)
        if code:
            raise typer.Exit(code if code > 0 else 128 - code)
        errors.print(f"next: scalelens ingest {out}", markup=False)
        return
    request = Request(
        workload.value, context.args, nproc, time, power, account, partition, qos, container, container_runtime, stage
    )
    sizes = launching.sizes(nodes)
    whole = Study(_precisions(workload, precisions), repeats, reduced_data) if study else None
    *scripts, submit_script = launching.write_study(request, sizes, system, out, one_at_a_time, whole)
    _list_scripts(scripts, submit_script, out)
    if not dry_run:
        _submit(submit_script)


def _precisions(workload: _Workload, names: str | None) -> tuple[str, ...]:
    names = names or ("fp32,bf16" if workload is _Workload.language else "fp32,amp")
    return tuple(filter(None, (name.strip() for name in names.split(","))))


def _list_scripts(scripts: list[Path], submit_script: Path, out: Path) -> None:
    """Prints the paths of a study's scripts, and how many of them the user must complete."""
    for path in (*scripts, submit_script):
        errors.print(f"{path}", markup=False)
    incomplete = sum("FILL IN" in path.read_text() for path in scripts)
    if incomplete:
        errors.print(f"{incomplete} scripts have lines to fill in: grep -A1 'FILL IN' {out}/*.sh", markup=False)


def _submit(script: Path) -> None:
    """Submits the jobs of a study by its script.  Raises UserError where that fails."""
    try:
        code = subprocess.run(["bash", str(script)], check=False).returncode
    except OSError as error:
        raise UserError(f"cannot submit the jobs ({error.strerror})", f"run {script} yourself") from None
    if code:
        raise UserError("the jobs were not submitted", f"see above; then run {script}")
