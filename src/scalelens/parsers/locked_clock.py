"""The clock to which the devices were locked, as the log of a job prints it.

Tool: nvidia-smi --lock-gpu-clocks, scripts around nvmlDeviceSetGpuLockedClocks
Versions: any
Yields: params
Source: nvidia-smi, whose text names the bounds; corpus stark-sim/megatron-deepspeed-lock-clock for that of scripts

`locked_clock_mhz` is the highest clock that is allowed.  It is what was asked for: a device that is too hot runs below
it.  A file of several runs, or with several clocks, has none: the lock comes before the first line that tells one run
from the next, and so it would be told of the wrong one.

Samples:
    GPU clocks set to "(gpuClkMin 1072, gpuClkMax 1072)" for GPU 00000000:34:00.0
    GPU 0 locked to 1200MHz
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("GPU clocks set to ", " locked to ")

_LOCKED = re.compile(
    r'^\s*GPU (?:clocks set to "\(gpuClkMin \d{1,5}, gpuClkMax |\d{1,3} locked to )(\d{1,5})(?:\)" for GPU \S+| ?MHz)\s*\Z'
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.locks: dict[int, int] = {}  # clock in MHz: the first line that says it

    def take(self, line: Line) -> bool:
        match = _LOCKED.match(line.text)
        if match:
            self.locks.setdefault(int(match[1]), line.number)
        return match is not None

    def finish(self) -> None:
        if len(self.locks) == 1 and self.rows.part == 0:
            ((clock, line),) = self.locks.items()
            self.rows.param("locked_clock_mhz", clock, line)
