"""PyTorch's report of its environment.

Tool: python -m torch.utils.collect_env, also printed by detectron, mmcv, maskrcnn-benchmark
Versions: PyTorch 1.0 to 2.9
Yields: params
Source: torch/utils/collect_env.py, pretty_str()

Every rank may print it: the same fact is kept once.  Devices are those that the process sees.

Samples:
    PyTorch version: 2.5.1+cu124
    CUDA used to build PyTorch: 12.4
    ROCM used to build PyTorch: 6.2.41133
    Nvidia driver version: 550.54.15
    GPU models and configuration: GPU 0: NVIDIA A100-SXM4-40GB
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = (
    "PyTorch version: ", "used to build PyTorch: ", "GPU models and configuration:", "Nvidia driver version: ",
    "cuDNN version: ", "CUDA runtime version: ", "HIP runtime version: ",
)  # fmt: skip

_FACT = re.compile(r"\s*((?:Py|T)?[A-Za-z]+[\w ]{0,40}): (\S.{0,120}?)\s*\Z")
_FACTS = {
    "PyTorch version": "pytorch_version", "CUDA used to build PyTorch": "cuda_version",
    "ROCM used to build PyTorch": "rocm_version", "Nvidia driver version": "driver_version",
    "cuDNN version": "cudnn_version", "CUDA runtime version": "cuda_runtime_version",
    "HIP runtime version": "hip_runtime_version",
}  # fmt: skip
_UNKNOWN = re.compile(r"N/A|None|No CUDA|Could not collect|Probably one of the following:?")
_GPUS = re.compile(r"\s*GPU models and configuration:\s*(\S.{0,120}?)?\s*\Z")
_GPU = re.compile(r"\s*GPU (\d{1,3}): (\S.{0,80}?)\s*\Z")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.seen: set[int] = set()

    def take(self, line: Line) -> bool:
        self.claims = None
        if match := _GPUS.match(line.text):
            self.finish()
            self.claims = _GPU
            if match[1] and _GPU.match(match[1]):
                self.device(match[1], line.number)
            elif match[1] and not _UNKNOWN.match(match[1]):  # ROCm: the first device only, and not how many there are
                name = match[1].partition(" (gfx")[0]
                self.rows.param("device_model", name, line.number, origin="environment")
            return True
        match = _FACT.match(line.text)
        if not match or match[1] not in _FACTS:
            return False
        if not _UNKNOWN.match(match[2]):
            self.rows.param(_FACTS[match[1]], match[2], line.number, origin="environment")
        return True

    def more(self, line: Line) -> None:
        self.device(line.text, line.number)

    def device(self, text: str, line: int) -> None:
        if match := _GPU.match(text):
            self.seen.add(int(match[1]))
            self.rows.param("device_model", match[2], line, origin="environment")

    def finish(self) -> None:
        if self.seen:
            self.rows.param("devices_per_node", len(self.seen), origin="environment")
        self.seen = set()
