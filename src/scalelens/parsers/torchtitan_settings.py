"""torchtitan's lines about the job, before its first step.

Tool: torchtitan
Versions: 2024 (mesh by names and sizes) to 2026 (mesh by parallelism, batch in the line of the trainer)
Yields: params
Source: torchtitan/distributed/parallel_dims.py, build_mesh(); torchtitan/components/metrics.py; torchtitan/train.py,
    Trainer.__init__()

Expert parallel ranks are the same devices as those of the other dimensions, and do not count.  A degree below one was
not resolved: the number of devices is then unknown.  A launch with other settings than the one before is another run: the
line of the trainer, the last of them, decides.  The peak is what MFU is computed with, of another device where
torchtitan does not know this one: it is kept and not used.

Samples:
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Building device mesh with parallelism: pp=2, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=4, etp=1
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Trainer is initialized with local batch size 8, global batch size 32, gradient accumulation steps 2, sequence length 2048, total steps 100 (warmup 2)
    [titan] 2026-05-03 01:27:07,868 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Model llama3 8B size: 8,030,261,248 total parameters
    [titan] 2026-05-03 01:27:07,868 - root - INFO - Peak FLOPS used for computing MFU: 9.890e+14
    [titan] 2026-05-03 01:27:07,868 - root - INFO - torchtitan version: 0.2.2 (0.0.0 means __version__ is not defined correctly).
"""

import math
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    "-D device mesh with [", "Building device mesh with parallelism: ", "Trainer is initialized with local batch size ",
    " capacity: ", " total parameters", "Peak FLOPS used for computing MFU: ", "torchtitan version: ",
)  # fmt: skip

_NAMED = re.compile(r"Building \d-D device mesh with \[((?:'\w+'(?:, )?)+)\], \[([\d, ]+)\]\s*$")
_PARALLELISM = re.compile(r"Building device mesh with parallelism: ((?:\w+=-?\d+(?:, )?)+)\s*$")
_TRAINER = re.compile(
    r"Trainer is initialized with local batch size (?P<micro_batch_size>\d+), "
    r"(?:global batch size (?P<global_batch_size>\d+), )?"
    r"(?:gradient[ _]accumulation[ _]steps:? (?P<gradient_accumulation_steps>\d+), )?"
    r"sequence length (?P<seq_length>\d+), total steps (?P<max_steps>\d+)"
)
_DEVICE = re.compile(r"(?:- |\] )(?:CUDA|XPU|HPU|NPU|MUSA) capacity: (.+?) with [\d.]+GiB memory\s*$")
_MODEL = re.compile(r"Model (\S+(?: \S+)?) size: ([\d,]+) total parameters\s*$")
_PEAK = re.compile(r"Peak FLOPS used for computing MFU: (\d\.\d+e[-+]?\d+)\s*$")
_VERSION = re.compile(r"torchtitan version: (\d\S*) ")
_OVERLAID = ("ep", "etp")  # dimensions of the same devices as the others
_DEGREES = {"tp": "tp", "pp": "pp", "cp": "cp", "ep": "ep", "etp": "etp"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.known: dict[str, Any] = {}  # facts of the launch before
        self.launch: dict[str, tuple[Any, int]] = {}  # those of this one, with their lines

    def take(self, line: Line) -> bool:
        text, number = line.text, line.number
        if mesh := _NAMED.search(text):
            self.mesh(line, re.findall(r"\w+", mesh[1]), [int(size) for size in re.findall(r"\d+", mesh[2])])
        elif mesh := _PARALLELISM.search(text):
            degrees = [degree.split("=") for degree in mesh[1].split(", ")]
            self.mesh(line, [name for name, _ in degrees], [int(size) for _, size in degrees])
        elif trainer := _TRAINER.search(text):
            for name, count in trainer.groupdict().items():
                if count:
                    self.fact(name, int(count), number)
            self.begin()
        elif device := _DEVICE.search(text):
            self.fact("device_model", device[1], number)
        elif model := _MODEL.search(text):
            name, _, flavor = model[1].partition(" ")
            self.fact("model", flavor if flavor.startswith(name) else model[1], number)
            self.fact("parameters", int(model[2].replace(",", "")), number)
        elif peak := _PEAK.search(text):
            self.fact("mfu_peak_flops", float(peak[1]), number)
        elif version := _VERSION.search(text):
            if not version[1].startswith("0.0.0"):
                self.fact("framework_version", version[1], number)
        else:
            return False
        return True

    def mesh(self, line: Line, names: list[str], sizes: list[int]) -> None:
        """Degrees of parallelism, and the devices that they multiply to."""
        degrees = {name: size for name, size in zip(names, sizes, strict=False) if size > 0}
        spread = [name for name in names if name not in _OVERLAID]
        if set(spread) <= degrees.keys():
            self.fact("devices", math.prod(degrees[name] for name in spread), line.number)
        for name, size in degrees.items():
            self.fact(_DEGREES.get(name, f"{name}_degree"), size, line.number)

    def fact(self, key: str, value: Any, number: int) -> None:
        """Notes a fact.  One that differs from that of the launch before waits until it is known to be another run."""
        self.launch[key] = value, number
        if self.known.get(key, value) == value:
            self.rows.param(key, value, number)

    def begin(self) -> None:
        """The settings of a launch are complete: others than those of the launch before are another run."""
        differing = [key for key, (value, _) in self.launch.items() if self.known.get(key, value) != value]
        if differing:
            self.rows.new_part()
            self.known = {}
            for key, (value, number) in self.launch.items():
                self.rows.param(key, value, number)
        self.known |= {key: value for key, (value, _) in self.launch.items()}
        self.launch = {}
