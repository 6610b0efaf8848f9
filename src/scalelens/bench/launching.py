"""Starts the runners: on this machine by torchrun, on a cluster by Slurm scripts that a user can read and change."""

import csv
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from scalelens.errors import UserError
from scalelens.version import __version__

PACKAGE = Path(__file__).parent.parent
RUNNERS = PACKAGE / "runners"
FILL_IN = "FILL_IN"
NEEDS = {"vision": "torch", "language": "megatron.core"}


def systems() -> dict[str, dict[str, str]]:
    """What is known of the batch systems of machines; empty where no source was at hand for it.

    `partition` is `none` where the QoS chooses it, and `a|b` where the user must.  `address_suffix` turns a node's name
    into that of its fast network.  Semicolons part the entries of `options`, `environment` and `notes`.
    """
    with (PACKAGE / "catalog" / "slurm.csv").open(newline="", encoding="utf-8") as text:
        return {row["system"]: row for row in csv.DictReader(text)}


def entries(system: dict[str, str], column: str) -> list[str]:
    return [entry for entry in system.get(column, "").split(";") if entry]


def sizes(text: str) -> list[int]:
    """`1..64` doubles from the first to the last, `1,2,6` names them."""
    first, dots, last = text.partition("..")
    try:
        if not dots:
            found = [int(part) for part in text.split(",")]
        else:
            found = [int(first) << k for k in range(int(last).bit_length()) if int(first) << k <= int(last)]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UserError(f"'{text}' names no numbers of nodes", "write --nodes 1..64, which doubles, or --nodes 1,2,6")
    return sorted(set(found))


def sidecar(workload: str, system: str | None) -> str:
    """What the logs of a study do not say themselves."""
    facts = f'\n[facts]\nsystem = "{system}"\n' if system else ""
    return f'# What the logs do not say themselves.\n{facts}\n[labels]\nworkload = "{workload}"\n'


def torchrun(
    python: str, runner: Path | str, nproc: str, out: str, power: Path | str | None, options: list[str]
) -> str:
    """The command of one node, up to the options of the rendezvous, as a shell reads it."""
    lines = [f"{python} {shlex.quote(str(power))} --out {shlex.quote(out)} --"] if power else []
    lines += [f"{python} -m torch.distributed.run RENDEZVOUS --nproc_per_node {nproc}"]
    lines += [shlex.join([str(runner), "--out", out, *options])]
    return " \\\n    ".join(lines)


def run_here(workload: str, nproc: int, out: Path, power: bool, options: list[str]) -> int:
    """Runs a workload on this machine; what it prints goes to OUT/job.out too.  Returns its exit code."""
    package = NEEDS[workload]
    if find_spec("torch") is None or find_spec(package.partition(".")[0]) is None:
        raise UserError(f"{package} is not installed here", "pip install 'scalelens[run]', or see --slurm")
    out.mkdir(parents=True, exist_ok=True)
    write_sidecar(out, workload, None)
    sampler = RUNNERS / "power.py" if power else None
    command = torchrun(shlex.quote(sys.executable), RUNNERS / f"{workload}.py", str(nproc), str(out), sampler, options)
    words = shlex.split(command.replace("RENDEZVOUS", "--standalone").replace("\\\n", ""))
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


def write_sidecar(out: Path, workload: str, system: str | None) -> None:
    if not (out / "scalelens.toml").exists():  # a user may have written more into it
        (out / "scalelens.toml").write_text(sidecar(workload, system))


def script(
    workload: str, nodes: int, system: dict[str, str], nproc: int | None, out: Path, time: str, power: bool,
    options: list[str], given: dict[str, str | None],
) -> str:  # fmt: skip
    """One job script.  What nobody knows is a line FILL_IN with a comment before it."""
    lines = [
        "#!/bin/bash",
        f"# {workload} on {nodes} node{'s' * (nodes > 1)}"
        + (f" of {system['name']}" if system.get("name") else "")
        + f", by scalelens bench {__version__}",
    ]
    lines += [f"# {note}" for note in entries(system, "notes")]
    lines += [f"# Source: {source}" for source in system.get("source", "").split()]
    lines += [
        f"#SBATCH --job-name={workload}-n{nodes}",
        f"#SBATCH --output={out}/n{nodes}/%x-%j.out",
        f"#SBATCH --nodes={nodes}",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --exclusive",
        f"#SBATCH --time={time}",
    ]
    account = given.get("account") or FILL_IN
    if account == FILL_IN:
        lines.append("# FILL IN: the account")
    lines.append(f"#SBATCH --account={account}")
    partition = given.get("partition") or system.get("partition", "")
    if not partition or "|" in partition:
        choice = f"one of {partition.replace('|', ', ')}" if partition else "the partition, or take the line out"
        lines.append(f"# FILL IN: {choice}")
        partition = FILL_IN
    if partition != "none":
        lines.append(f"#SBATCH --partition={partition}")
    for option in entries(system, "options"):
        if "{account}" in option and account == FILL_IN:
            lines.append("# FILL IN: the same as the account")
        lines.append(f"#SBATCH {option.format(account=account)}")
    on_cpu = "--device" in options and "cpu" in options
    if system.get("gpu_option") or not on_cpu:
        if not system.get("gpu_option"):
            lines.append("# FILL IN: how this machine is asked for all devices of a node")
        lines.append(f"#SBATCH {system.get('gpu_option') or '--gpus-per-node=' + FILL_IN}")
    cores = system.get("cores_per_node")
    if cores:
        lines.append(f"#SBATCH --cpus-per-task={cores}")
    per_node = str(nproc or system.get("devices_per_node") or FILL_IN)
    lines += ["", "set -euo pipefail"]
    if per_node == FILL_IN:
        lines.append("# FILL IN: the devices of a node")
    lines.append(f"devices={per_node}")
    if cores:
        lines.append(f"export OMP_NUM_THREADS=$(({cores} / devices))")
        lines.append(f"export SRUN_CPUS_PER_TASK={cores}  # srun does not take it from sbatch since Slurm 22.05")
    environment = entries(system, "environment")
    lines += environment
    if nodes > 1 and not on_cpu and not any("SOCKET_IFNAME" in line for line in environment):
        lines.append(
            "# Between nodes: no interface is known to be needed.  Where ranks do not find each other, name the one of"
        )
        lines.append("# the fast network (ip -br addr): export NCCL_SOCKET_IFNAME=... GLOO_SOCKET_IFNAME=...")
    lines += [
        "# Here: modules, or a container, with PyTorch" + (" and megatron-core" if workload == "language" else ""),
        'python="${PYTHON:-python3}"',
        f"runners={shlex.quote(str(out / 'runners'))}",
        'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)' + system.get("address_suffix", ""),
        'echo "SLURM_JOB_ID=$SLURM_JOB_ID"',
        "",
    ]
    command = torchrun('"$python"', "RUNNER", '"$devices"', f"{out}/n{nodes}", "POWER" if power else None, options)
    command = command.replace("RUNNER", f'"$runners/{workload}.py"').replace("POWER", '"$runners/power.py"')
    # The first node holds the rendezvous whatever name it is called by: c10d's would compare that with its host name.
    rendezvous = (
        f'--nnodes {nodes} --rdzv_backend static --rdzv_id "$SLURM_JOB_ID" \\\n'
        '    --master_addr "$head" --master_port "$((29000 + SLURM_JOB_ID % 1000))"'
    )
    each = 'export PET_NODE_RANK=\\$SLURM_PROCID; exec \\"\\$@\\"'
    lines.append(
        f'srun --ntasks-per-node=1 --kill-on-bad-exit=1 bash -c "{each}" node \\\n    '
        + command.replace("RENDEZVOUS", rendezvous)
    )
    return "\n".join(lines) + "\n"


def submission(scripts: list[Path], one_at_a_time: bool) -> str:
    """The script that submits the others, and refuses while something is to be filled in."""
    lines = ["#!/bin/bash", "set -euo pipefail", 'cd "$(dirname "$0")"']
    names = " ".join(shlex.quote(path.name) for path in scripts)
    lines.append(f'if grep -n "={FILL_IN}" {names}; then echo "fill these lines in first" >&2; exit 2; fi')
    for k, path in enumerate(scripts):
        after = '--dependency="afterany:$job" ' if one_at_a_time and k else ""
        lines.append(f'job=$(sbatch --parsable {after}{shlex.quote(path.name)}); echo "{path.name} $job"')
    return "\n".join(lines) + "\n"


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
        path.write_text(script(workload, size, facts, nproc, out, time, power, options, given))
        scripts.append(path)
    submit = out / "submit.sh"
    submit.write_text(submission(scripts, one_at_a_time))
    return [*scripts, submit]
