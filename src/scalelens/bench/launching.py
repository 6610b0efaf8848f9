"""Starts the runners: on this machine by torchrun, on a cluster by Slurm scripts that a user can read and change."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from scalelens.bench.job_script import entries, job_script, submit_script, systems
from scalelens.bench.limits import check_limits, check_size
from scalelens.bench.request import Request
from scalelens.bench.study import PLAN_NAME, Study, jobs_of_sizes, jobs_of_study, plan_text, script_name
from scalelens.errors import UserError
from scalelens.whole_files import write_file

_RUNNERS = Path(__file__).parent.parent / "runners"
_NEEDS = {"vision": "torch", "language": "megatron.core", "bert": "torch"}


def sizes(text: str) -> list[int]:
    """`1..64` doubles from the first to the last, `1,2,6` names them."""
    first, dots, last = text.partition("..")
    try:
        if dots:
            numbers = [int(first) << k for k in range(int(last).bit_length()) if int(first) << k <= int(last)]
        else:
            numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise UserError(
            f"'{text}' does not name numbers of nodes", "write --nodes 1..64, which doubles, or --nodes 1,2,6"
        )
    return sorted(set(numbers))


def run_here(workload: str, nproc: int, out: Path, power: bool, options: list[str]) -> int:
    """Runs a workload on this machine; what it prints goes to OUT/job.out too.  Returns its exit code."""
    package = _NEEDS[workload]
    if find_spec("torch") is None or find_spec(package.partition(".")[0]) is None:
        raise UserError(f"{package} is not installed here", "pip install 'scalelens[run]', or see --slurm")
    runner = [str(_RUNNERS / f"{workload}.py"), "--out", str(out), *options]
    _check_options(runner, nproc)
    out.mkdir(parents=True, exist_ok=True)
    _write_sidecar(out, workload, None)
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(nproc), *runner]
    if power:
        words = [sys.executable, str(_RUNNERS / "power.py"), "--out", str(out), "--", *words]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, errors="replace")
    assert process.stdout
    try:
        with (out / "job.out").open("a") as log:
            for line in process.stdout:
                log.write(line)
                sys.stdout.write(line)
                sys.stdout.flush()
        return process.wait()
    except KeyboardInterrupt:
        process.wait()  # ^C reached it too; it writes its last lines
        raise


def _check_options(runner: list[str], nproc: int) -> None:
    """Lets one process check the options before torchrun starts many, each of which would complain."""
    ranks = {"RANK": "0", "WORLD_SIZE": str(nproc), "LOCAL_WORLD_SIZE": str(nproc)}
    words = [sys.executable, *runner, "--check"]
    answer = subprocess.run(words, capture_output=True, text=True, errors="replace", env={**os.environ, **ranks})
    if answer.returncode:
        sentence = answer.stderr.rstrip().rpartition("error: ")[2]
        script = Path(runner[0]).name
        raise UserError(
            f"{script}: {sentence}", f"scalelens bench {script.removesuffix('.py')} -- --help lists its options"
        )


def write_study(
    request: Request, nodes: list[int], system: str | None, out: Path, one_at_a_time: bool = False,
    study: Study | None = None,
) -> list[Path]:  # fmt: skip
    """Writes a job script for each size, what submits them, the sidecar and a copy of the runners.

    With `study` there is a script for each of its jobs, and the plan of all of them.

    Raises UserError, and writes nothing, where the system is unknown or its limits do not admit a size.
    """
    known = systems()
    if system is not None and system not in known:
        raise UserError(f"no catalog entry for the system '{system}'", f"known are {', '.join(known)}; or leave it out")
    facts = known[system] if system else {}
    usual = [option.removeprefix("--qos=") for option in entries(facts, "options") if option.startswith("--qos=")]
    for size in nodes:
        partition, qos = request.partition or facts.get("partition", ""), request.qos or "".join(usual)
        if partition == facts.get("partition"):
            check_size(facts["name"], size)
        check_limits(system, partition, qos, size, request.time)
    out = out.resolve()
    jobs = jobs_of_study(request, nodes, study) if study else jobs_of_sizes(request, nodes)
    texts = [job_script(job.request, job.nodes, facts, out, job.name) for job in jobs]
    shutil.copytree(_RUNNERS, out / "runners", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*"))
    _write_sidecar(out, request.workload, facts.get("name"))
    scripts = []
    for job, text in zip(jobs, texts, strict=True):
        (out / job.name).mkdir(parents=True, exist_ok=True)  # Slurm does not make the folder of its output
        path = out / script_name(request.workload, job)
        write_file(path, text.encode())
        scripts.append(path)
    if study:
        write_file(out / PLAN_NAME, plan_text(request.workload, jobs).encode())
    submit = out / "submit.sh"
    write_file(submit, submit_script(scripts, one_at_a_time).encode())
    return [*scripts, submit]


def new_folder(workload: str) -> Path:
    """A folder for the next run or study of a workload: results/WORKLOAD-1, or the first that is not there."""
    return next(path for k in count(1) if not (path := Path("results") / f"{workload}-{k}").exists())


def _write_sidecar(out: Path, workload: str, system: str | None) -> None:
    """What the logs of a study do not say themselves.  A sidecar that is there stays: a user may have added to it."""
    path = out / "scalelens.toml"
    if path.exists():
        return
    facts = f'\n[facts]\nsystem = "{system}"\n' if system else ""
    text = f'# What the logs do not say themselves.\n{facts}\n[labels]\nworkload = "{workload}"\n'
    write_file(path, text.encode())
