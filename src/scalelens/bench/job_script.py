"""Writes the Slurm scripts of a study from two templates: `job.sh` is one job, `submit.sh` submits all of them.

In a template, `@name@` stands for a value, and for any number of lines where it has the line to itself.
"""

import csv
import re
import shlex
from pathlib import Path

from scalelens.bench.containers import environment_option, runs_by_slurm, staging, start_lines
from scalelens.bench.request import Request
from scalelens.catalog import CATALOG_FOLDER
from scalelens.version import __version__

_TEMPLATES = Path(__file__).parent
_FILL_IN = "FILL_IN"  # submit.sh refuses a script that still holds it as a value


def systems() -> dict[str, dict[str, str]]:
    """What is known of the batch systems of machines.  A field is empty where no source was at hand for it.

    `partition` is `none` where the QoS chooses it, and `a|b` where the user must; `gpu_option` is `none` where whole
    nodes have their devices unasked. `shell_option` is what the script's bash needs to find modules.
    `address_suffix` turns a node's name into its name in the fast network. `threads_per_core` is given where Slurm
    counts hardware threads. `rank_cores` are the cores nearest to each device, in the order of the devices. `prepare`
    is run once before the runner, `bare_environment` is for jobs outside of containers, `container_setup` for those
    that the system's own container runtime starts. `local_storage` is a node's own, `local_option` what a job must ask
    for to have it. Semicolons separate the entries of `options`, `environment`, `bare_environment`, `prepare`,
    `container_setup` and `notes`.
    """
    with (CATALOG_FOLDER / "slurm.csv").open(newline="", encoding="utf-8") as text:
        return {row["system"]: row for row in csv.DictReader(text)}


def entries(system: dict[str, str], column: str) -> list[str]:
    return [entry for entry in system.get(column, "").split(";") if entry]


def job_script(request: Request, nodes: int, system: dict[str, str], out: Path, name: str) -> str:
    """One job script, whose logs go into OUT/NAME.  What nobody knows is a line FILL_IN with a comment before it.

    The first node holds a static rendezvous.  The one called c10d would compare the name that the ranks know this node
    by with its host name, and these differ where the fast network has names of its own.
    """
    folder = f"{out}/{name}"
    sampler = f'    "$python" "$runners/power.py" --out {shlex.quote(folder)} -- \\'
    stage_lines, options = staging(request, system.get("local_storage", ""))
    values = {
        "title": _title(request.workload, nodes, system),
        "version": __version__,
        "workload": request.workload,
        "nodes": str(nodes),
        "name": name,
        "out": str(out),
        "time": request.time,
        "runners": shlex.quote(str(out / "runners")),
        "address_suffix": system.get("address_suffix", ""),
        "shell_option": f" {option}" if (option := system.get("shell_option")) else "",
        "srun_options": f" {option}" if (option := environment_option(request, system)) else "",
        "runner_options": f"--out {shlex.quote(folder)} {options}".rstrip(),
    }
    blocks = {
        **_allocation(request, system),
        **_node_lines(request, nodes, system),
        "staging": stage_lines,
        "container": start_lines(request, system, out),
        "in_container": ['    "${container[@]}" \\']
        if request.container and not runs_by_slurm(request, system)
        else [],
        "power_sampler": [sampler] if request.power else [],
    }
    return _filled("job.sh", values, blocks)


def _allocation(request: Request, system: dict[str, str]) -> dict[str, list[str]]:
    """The lines that Slurm reads, and the comments on them."""
    account = request.account or _FILL_IN
    cpus = _cpus(system)
    return {
        "notes": [f"# {note}" for note in entries(system, "notes")],
        "sources": [f"# Source: {source}" for source in system.get("source", "").split()],
        "account": _fillable(f"#SBATCH --account={account}", "the account"),
        "partition": _partition_line(request.partition or system.get("partition", "")),
        "system_options": _system_options(request, system, account),
        "gpu_option": _gpu_option(system, request.on_cpu),
        "cores": [f"#SBATCH --cpus-per-task={cpus}"] if cpus else [],
    }


def _node_lines(request: Request, nodes: int, system: dict[str, str]) -> dict[str, list[str]]:
    """The lines about devices, cores and network of a node."""
    devices = request.nproc or system.get("devices_per_node") or _FILL_IN
    cores = system.get("cores_per_node")
    return {
        "devices": _fillable(f"devices={devices}", "the devices of a node"),
        "threads": _threads(system, cores, request.on_cpu) if cores else [],
        "environment": [
            *entries(system, "environment"),
            *([] if request.container else entries(system, "bare_environment")),
            *([] if request.on_cpu else entries(system, "prepare")),
        ],
        "network_hint": [] if request.on_cpu or nodes == 1 else _network_hint(system),
    }


def _title(workload: str, nodes: int, system: dict[str, str]) -> str:
    size = "1 node" if nodes == 1 else f"{nodes} nodes"
    return f"{workload} on {size} of {system['name']}" if system.get("name") else f"{workload} on {size}"


def _partition_line(partition: str) -> list[str]:
    if partition == "none":
        return []
    if "|" in partition:
        return _fillable(f"#SBATCH --partition={_FILL_IN}", f"one of {partition.replace('|', ', ')}")
    return _fillable(f"#SBATCH --partition={partition or _FILL_IN}", "the partition, or take the line out")


def _system_options(request: Request, system: dict[str, str], account: str) -> list[str]:
    options = [option for option in entries(system, "options") if not (request.qos and option.startswith("--qos="))]
    if request.qos:
        options.append(f"--qos={request.qos}")
    if request.stage and system.get("local_option"):
        options.append(system["local_option"])
    lines = []
    for option in options:
        lines += _fillable(f"#SBATCH {option.format(account=account)}", "the same as the account")
    return lines


def _gpu_option(system: dict[str, str], on_cpu: bool) -> list[str]:
    option = system.get("gpu_option")
    if option == "none" or (not option and on_cpu):
        return []
    what = "how this machine is asked for all devices of a node"
    return _fillable(f"#SBATCH {option or '--gpus-per-node=' + _FILL_IN}", what)


def _cpus(system: dict[str, str]) -> int:
    """The CPUs of a node as Slurm counts them: where it counts hardware threads, a request for cores gets half."""
    return int(system.get("cores_per_node") or 0) * int(system.get("threads_per_core") or 1)


def _threads(system: dict[str, str], cores: str, on_cpu: bool) -> list[str]:
    rank_cores = "" if on_cpu else system.get("rank_cores", "")
    lines = [
        f"export OMP_NUM_THREADS=$(({cores} / devices))",
        f"export SRUN_CPUS_PER_TASK={_cpus(system)}  # srun does not take it from sbatch since Slurm 22.05",
    ]
    if rank_cores:
        lines.append(f'export SCALELENS_RANK_CORES="{rank_cores}"  # by device: the cores nearest to it; runners bind')
    return lines


def _network_hint(system: dict[str, str]) -> list[str]:
    if "SOCKET_IFNAME" in system.get("environment", ""):
        return []
    return [
        "# Between nodes: no interface is known to be needed.  Where ranks do not find each other, name the one of",
        "# the fast network (ip -br addr): export NCCL_SOCKET_IFNAME=... GLOO_SOCKET_IFNAME=...",
    ]


def _fillable(line: str, what: str) -> list[str]:
    """A line; where it holds FILL_IN, after a comment that says what the user must write there."""
    return [f"# FILL IN: {what}", line] if _FILL_IN in line else [line]


def submit_script(scripts: list[Path], one_at_a_time: bool) -> str:
    """The script that submits the others.  It refuses while something is to be filled in."""
    names = [path.name for path in scripts]
    submissions: list[str] = []
    for name in names:
        after = '--dependency="afterany:$job" ' if one_at_a_time and submissions else ""
        submissions.append(f'job=$(sbatch --parsable {after}{shlex.quote(name)}); echo "{name} $job"')
    return _filled("submit.sh", {"scripts": shlex.join(names)}, {"submissions": submissions})


def _filled(template: str, values: dict[str, str], blocks: dict[str, list[str]]) -> str:
    def content(place: re.Match[str]) -> str:
        block, value = place.groups()
        return "".join(f"{line}\n" for line in blocks[block]) if block else values[value]

    # One pass: what a user's option holds is never taken for a place.
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    return re.sub(r"^@([a-z_]+)@\n|@([a-z_]+)@", content, text, flags=re.MULTILINE)
