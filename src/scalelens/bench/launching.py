"""Starts the runners: on this machine by torchrun, on a cluster by Slurm scripts that a user can read and change."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from scalelens.bench.job_script import job_script, submit_script, systems
from scalelens.errors import UserError

RUNNERS = Path(__file__).parent.parent / "runners"
NEEDS = {"vision": "torch", "language": "megatron.core"}


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
    package = NEEDS[workload]
    if find_spec("torch") is None or find_spec(package.partition(".")[0]) is None:
        raise UserError(f"{package} is not installed here", "pip install 'scalelens[run]', or see --slurm")
    out.mkdir(parents=True, exist_ok=True)
    write_sidecar(out, workload, None)
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(nproc)]
    words += [str(RUNNERS / f"{workload}.py"), "--out", str(out), *options]
    if power:
        words = [sys.executable, str(RUNNERS / "power.py"), "--out", str(out), "--", *words]
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


def write_study(
    workload: str, nodes: list[int], system: str | None, nproc: int | None, out: Path, time: str, power: bool,
    options: list[str], given: dict[str, str | None], one_at_a_time: bool,
) -> list[Path]:  # fmt: skip
    """Writes a job script for each size, what submits them, the sidecar and a copy of the runners."""
    known = systems()
    if system is not None and system not in known:
        raise UserError(f"nothing is known of a system '{system}'", f"known are {', '.join(known)}; or leave it out")
    facts = known[system] if system else {}
    out = out.resolve()
    shutil.copytree(RUNNERS, out / "runners", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*"))
    write_sidecar(out, workload, facts.get("name"))
    scripts = []
    for size in nodes:
        (out / f"n{size}").mkdir(parents=True, exist_ok=True)  # Slurm does not make the folder of its output
        path = out / f"{workload}-n{size}.sh"
        path.write_text(job_script(workload, size, facts, nproc, out, time, power, options, given))
        scripts.append(path)
    submit = out / "submit.sh"
    submit.write_text(submit_script(scripts, one_at_a_time))
    return [*scripts, submit]


def write_sidecar(out: Path, workload: str, system: str | None) -> None:
    """What the logs of a study do not say themselves.  A sidecar that is there stays: a user may have added to it."""
    path = out / "scalelens.toml"
    if path.exists():
        return
    facts = f'\n[facts]\nsystem = "{system}"\n' if system else ""
    path.write_text(f'# What the logs do not say themselves.\n{facts}\n[labels]\nworkload = "{workload}"\n')
