"""Megatron-Bridge's second line of a step: its time and TFLOP/s.

Tool: Megatron-Bridge
Versions: 0.1 and later
Yields: metrics
Source: src/megatron/bridge/training/utils/train_utils.py, training_log()

Printed next to Megatron's record of the same step, which is the one that counts: these are metrics.  No line says its
step.  0 is printed for hybrid models up to 25.11.

Samples:
    Step Time : 5.39s GPU utilization: 2347.0MODEL_TFLOP/s/GPU
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("Step Time : ",)

_RECORD = re.compile(r"Step Time : (\d+\.\d+)s GPU utilization: (\d+\.\d+) ?(?:MODEL_)?TFLOP/s/GPU\s*$")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _RECORD.search(line.text)
        if match:
            values = [("Step Time", float(match[1]), "s"), ("GPU utilization", float(match[2]), "TFLOP/s")]
            self.rows.metrics(line.number, line.rank, line.location, None, values)
        elif "GPU utilization" in line.text:
            self.rows.problem(line.number, "the line is cut, or something else was printed into it", line.text)
        return "GPU utilization" in line.text
