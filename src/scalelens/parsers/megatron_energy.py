"""Megatron-LM's total energy, at the end of training.

Tool: Megatron-LM --log-energy; Megatron-Bridge, Primus
Versions: core 0.12 on
Yields: energy
Source: megatron/training/training.py, train(); megatron/core/energy_monitor.py, get_total()

The sum over all GPUs of the job, by their own counters, without evaluations and checkpoints, for which the monitor
pauses: `device` is NULL.  Without NVML it prints 0, which is unknown.  Energy and power of each interval, per GPU, are
in `steps`.

Samples:
    Total training energy (GPU): 12.345678 MJ
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Total training energy (GPU): ",)

_TOTAL = re.compile(r"Total training energy \(GPU\): (\d{1,12}(?:\.\d{1,20})?(?:e[-+]?\d{1,2})?) MJ")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        if match := _TOTAL.search(line.text):
            joules = float(match[1]) * 1e6
            self.rows.add("energy", line.number, scope="gpu", energy_j=joules or None, method="counter")
        else:
            self.rows.problem(line.number, "the energy is cut, or is not a number of megajoules", line.text)
        return True
