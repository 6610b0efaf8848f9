"""Writes the Slurm scripts of a study from two templates: `job.sh` is one job, `submit.sh` submits all of them.

In a template, `@name@` stands for a value, and for any number of lines where it has the line to itself.
"""

import csv
import re
import shlex
from pathlib import Path

from scalelens.catalog import CATALOG_FOLDER
from scalelens.version import __version__

TEMPLATES = Path(__file__).parent
FILL_IN = "FILL_IN"  # submit.sh refuses a script that still holds it as a value


def systems() -> dict[str, dict[str, str]]:
    """What is known of the batch systems of machines.  A field is empty where no source was at hand for it.

    `partition` is `none` where the QoS chooses it, and `a|b` where the user must.  `address_suffix` turns a node's name
    into its name in the fast network.  Semicolons separate the entries of `options`, `environment` and `notes`.
    """
    with (CATALOG_FOLDER / "slurm.csv").open(newline="", encoding="utf-8") as text:
        return {row["system"]: row for row in csv.DictReader(text)}


def entries(system: dict[str, str], column: str) -> list[str]:
    return [entry for entry in system.get(column, "").split(";") if entry]


def job_script(
    workload: str, nodes: int, system: dict[str, str], nproc: int | None, out: Path, time: str, power: bool,
    options: list[str], given: dict[str, str | None],
) -> str:  # fmt: skip
    """One job script.  What nobody knows is a line FILL_IN with a comment before it.

    The first node holds a static rendezvous.  The one called c10d would compare the name that the ranks know this node
    by with its host name, and these differ where the fast network has names of its own.
    """
    folder = f"{out}/n{nodes}"
    account = given.get("account") or FILL_IN
    devices = nproc or system.get("devices_per_node") or FILL_IN
    cores = system.get("cores_per_node")
    on_cpu = "--device" in options and "cpu" in options
    sampler = f'    "$python" "$runners/power.py" --out {shlex.quote(folder)} -- \\'
    values = {
        "title": title(workload, nodes, system),
        "version": __version__,
        "workload": workload,
        "nodes": str(nodes),
        "out": str(out),
        "time": time,
        "packages": "PyTorch and megatron-core" if workload == "language" else "PyTorch",
        "runners": shlex.quote(str(out / "runners")),
        "address_suffix": system.get("address_suffix", ""),
        "runner_options": shlex.join(["--out", folder, *options]),
    }
    blocks = {
        "notes": [f"# {note}" for note in entries(system, "notes")],
        "sources": [f"# Source: {source}" for source in system.get("source", "").split()],
        "account": fillable(f"#SBATCH --account={account}", "the account"),
        "partition": partition_line(given.get("partition") or system.get("partition", "")),
        "system_options": system_options(system, account),
        "gpu_option": gpu_option(system, on_cpu),
        "cores": [f"#SBATCH --cpus-per-task={cores}"] if cores else [],
        "devices": fillable(f"devices={devices}", "the devices of a node"),
        "threads": threads(cores) if cores else [],
        "environment": entries(system, "environment"),
        "network_hint": [] if on_cpu or nodes == 1 else network_hint(system),
        "power_sampler": [sampler] if power else [],
    }
    return filled("job.sh", values, blocks)


def title(workload: str, nodes: int, system: dict[str, str]) -> str:
    size = "1 node" if nodes == 1 else f"{nodes} nodes"
    return f"{workload} on {size} of {system['name']}" if system.get("name") else f"{workload} on {size}"


def partition_line(partition: str) -> list[str]:
    if partition == "none":
        return []
    if "|" in partition:
        return fillable(f"#SBATCH --partition={FILL_IN}", f"one of {partition.replace('|', ', ')}")
    return fillable(f"#SBATCH --partition={partition or FILL_IN}", "the partition, or take the line out")


def system_options(system: dict[str, str], account: str) -> list[str]:
    lines = []
    for option in entries(system, "options"):
        lines += fillable(f"#SBATCH {option.format(account=account)}", "the same as the account")
    return lines


def gpu_option(system: dict[str, str], on_cpu: bool) -> list[str]:
    option = system.get("gpu_option")
    if not option and on_cpu:
        return []
    what = "how this machine is asked for all devices of a node"
    return fillable(f"#SBATCH {option or '--gpus-per-node=' + FILL_IN}", what)


def threads(cores: str) -> list[str]:
    return [
        f"export OMP_NUM_THREADS=$(({cores} / devices))",
        f"export SRUN_CPUS_PER_TASK={cores}  # srun does not take it from sbatch since Slurm 22.05",
    ]


def network_hint(system: dict[str, str]) -> list[str]:
    if "SOCKET_IFNAME" in system.get("environment", ""):
        return []
    return [
        "# Between nodes: no interface is known to be needed.  Where ranks do not find each other, name the one of",
        "# the fast network (ip -br addr): export NCCL_SOCKET_IFNAME=... GLOO_SOCKET_IFNAME=...",
    ]


def fillable(line: str, what: str) -> list[str]:
    """A line; where it holds FILL_IN, after a comment that says what the user must write there."""
    return [f"# FILL IN: {what}", line] if FILL_IN in line else [line]


def submit_script(scripts: list[Path], one_at_a_time: bool) -> str:
    """The script that submits the others.  It refuses while something is to be filled in."""
    names = [path.name for path in scripts]
    submissions: list[str] = []
    for name in names:
        after = '--dependency="afterany:$job" ' if one_at_a_time and submissions else ""
        submissions.append(f'job=$(sbatch --parsable {after}{shlex.quote(name)}); echo "{name} $job"')
    return filled("submit.sh", {"scripts": shlex.join(names)}, {"submissions": submissions})


def filled(template: str, values: dict[str, str], blocks: dict[str, list[str]]) -> str:
    def content(place: re.Match[str]) -> str:
        block, value = place.groups()
        return "".join(f"{line}\n" for line in blocks[block]) if block else values[value]

    # One pass: what a user's option holds is never taken for a place.
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    return re.sub(r"^@([a-z_]+)@\n|@([a-z_]+)@", content, text, flags=re.MULTILINE)
