"""How a job script starts the runners in a container, and brings data to the storage of its nodes."""

import shlex
from pathlib import Path

from scalelens.bench.request import Request, Runtime
from scalelens.errors import UserError

_PASSED_ON = (
    "SLURM_",
    "PET_",
    "NCCL_",
    "GLOO_",
    "FI_",
    "OMP_",
    "CUDA_",
    "HSA_",
    "MIOPEN_",
    "SCALELENS_",
)  # podman passes none
_DEVICES = {  # what each runtime needs for NVIDIA's devices and for AMD's
    "apptainer": ("--nv", "--rocm"),
    "singularity": ("--nv", "--rocm"),
    "podman": ("--device nvidia.com/gpu=all", "--device /dev/kfd --device /dev/dri"),
}


def _runtime(request: Request, system: dict[str, str]) -> str:
    return request.runtime or system.get("container_runtime") or Runtime.apptainer


def runs_by_slurm(request: Request, system: dict[str, str]) -> bool:
    """Whether srun itself starts the container."""
    return request.container is not None and _runtime(request, system) == Runtime.container_engine


def environment_option(request: Request, system: dict[str, str]) -> str:
    """The option of srun that names the environment file, by its name or its full path."""
    if not request.container or not runs_by_slurm(request, system):
        return ""
    path = Path(request.container)
    return f"--environment={shlex.quote(str(path.resolve() if path.exists() else path))}"


def start_lines(request: Request, system: dict[str, str], out: Path) -> list[str]:
    """How the runners find what they need: in a container, or in what the user loads here."""
    packages = "PyTorch and megatron-core" if request.workload == "language" else "PyTorch"
    if not request.container:
        return [f"# Here: modules with {packages}, or write this script with --container IMAGE"]
    runtime = _runtime(request, system)
    folders = [shlex.quote(str(out))]
    if request.stage:
        folders.append('"$staged"')
    elif request.data:
        data = Path(request.data).resolve()
        folders.append(shlex.quote(str(data.parent if request.workload == "language" else data)))
    if runtime == Runtime.container_engine:
        return [
            f"# The environment file {request.container} must name an image with {packages}, mount",
            f"# {' and '.join(folders)} under the same name, and set the annotations",
            "# com.hooks.aws_ofi_nccl.enabled and com.hooks.aws_ofi_nccl.variant for the network.",
        ]
    lines = _container_lines(request.container, runtime, folders, request.on_cpu)
    is_usual = runtime == system.get("container_runtime")
    setup = system.get("container_setup", "").split(";") if is_usual and not request.on_cpu else []
    return [f"# The container holds {packages}.", *filter(None, setup), *lines]


def _container_lines(image: str, runtime: str, folders: list[str], on_cpu: bool) -> list[str]:
    """Lines that set `container` to the start of a command within an image.

    `folders` are what the job reads and writes, as words of the shell: most runtimes show no file system but the home
    folder.  Shifter shows those of its site.
    """
    image = shlex.quote(str(Path(image).resolve()) if Path(image).exists() else image)
    lines = [] if on_cpu or runtime == "shifter" else _device_lines(runtime)
    devices = '"${gpus[@]}" ' if lines else ""
    if runtime == "shifter":
        command = f"shifter --image={image}" + ("" if on_cpu else " --module=gpu")
    elif runtime == "podman":
        volumes = " ".join(f"--volume {folder}:{folder}" for folder in folders)
        passed_on = " ".join(f"--env '{prefix}*'" for prefix in _PASSED_ON)
        command = f"podman run --rm --network=host --ipc=host {devices}{volumes} {passed_on} {image}"
    else:
        binds = " ".join(f"--bind {folder}" for folder in folders)
        command = f"{runtime} exec {devices}{binds} {image}"
    return [*lines, f"container=({command})"]


def _device_lines(runtime: str) -> list[str]:
    nvidia, amd = _DEVICES[runtime]
    return [f"gpus=({nvidia})", f"if [ -e /dev/kfd ]; then gpus=({amd}); fi  # AMD's driver is on this node"]


def staging(request: Request, local_storage: str) -> tuple[list[str], str]:
    """Lines that copy the data to each node, and the options of the runner, which then reads the copy.

    Raises UserError where there is no --data.
    """
    if not request.stage:
        return [], shlex.join(request.options)
    if request.data is None:
        raise UserError("--stage copies --data to the nodes, and --data is missing", "name the data: --data FOLDER")
    data = Path(request.data).resolve()
    sources = [f"{data}.bin", f"{data}.idx"] if request.workload == "language" else [str(data)]
    lines = [
        "# Each node copies the data to its own storage, and removes the copy at the end.",
        f'staged="{local_storage or "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"}/scalelens-$SLURM_JOB_ID"',
        """trap 'srun --ntasks-per-node=1 rm -rf "$staged"' EXIT""",
        'srun --ntasks-per-node=1 mkdir -p "$staged"',
        f'srun --ntasks-per-node=1 cp -rL {shlex.join(sources)} "$staged/"',
    ]
    place = request.options.index("--data") + 1
    before, behind = shlex.join(request.options[:place]), shlex.join(request.options[place + 1 :])
    return lines, f'{before} "$staged"/{shlex.quote(data.name)} {behind}'.rstrip()
