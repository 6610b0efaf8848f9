"""What a user asks of the jobs of a study."""

from dataclasses import dataclass, field
from enum import StrEnum


class Runtime(StrEnum):
    """What runs containers."""

    apptainer = "apptainer"
    singularity = "singularity"
    shifter = "shifter"
    podman = "podman"
    container_engine = "container-engine"  # of CSCS: srun starts what an environment file describes


@dataclass(frozen=True)
class Request:
    """A study: a workload, the options of its runner, and how its jobs are submitted."""

    workload: str
    options: list[str] = field(default_factory=list)  # of the runner
    nproc: int | None = None
    time: str = "00:30:00"
    power: bool = False
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    container: str | None = None  # an image, or an environment file
    runtime: Runtime | None = None
    stage: bool = False

    @property
    def on_cpu(self) -> bool:
        return "--device" in self.options and "cpu" in self.options

    @property
    def data(self) -> str | None:
        """The value of the runner's --data."""
        return self.options[self.options.index("--data") + 1] if "--data" in self.options[:-1] else None
