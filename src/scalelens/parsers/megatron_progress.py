"""Megatron-LM's progress.txt next to the checkpoints: a line for each checkpoint, over all jobs of a training.

Tool: Megatron-LM (--log-progress), and forks of it
Versions: core 0.5 and later
Yields: metrics, params
Source: megatron/training/training.py, compute_throughputs_and_append_to_progress_log(); megatron/training/utils.py,
    append_to_progress_log()

Throughputs are means over the job so far and over all jobs, the operations and tokens those since the beginning.  The
stamps are those of checkpoints: no time of a step follows.  Another job is another run.

Samples:
    2025-02-24 17:31:25	Job ID: 198424	# GPUs: 8	Starting job
    2025-02-24 17:35:03	Job ID: 198424	# GPUs: 8	Saving async checkpoint	Iteration: 100	Job throughput: 363.9 TFLOP/s/GPU	Cumulative throughput: 387.0 TFLOP/s/GPU	Floating-point operations: 6.76e+17	Tokens (in billions): 0.05
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("\tJob ID: ",)

_LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\tJob ID: (\S*)\t# GPUs: (\d{1,7})\t(\S.*)$")
_STEP = re.compile(r"\tIteration: (\d{1,15})(?=\t|$)")
_FIELD = re.compile(
    r"\t(Job throughput|Cumulative throughput|Floating-point operations|Tokens \(in billions\)): "
    r"(\d+(?:\.\d+)?(?:e[-+]?\d+)?)( TFLOP/s/GPU)?(?=\t|$)"
)
_UNITS = {"Floating-point operations": "flops", "Job throughput": "TFLOP/s", "Cumulative throughput": "TFLOP/s"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        match = _LINE.match(line.text)
        if not match:
            return False
        rows = self.rows
        if match[1]:
            rows.job(match[1], line.number, "log")
        rows.param("devices", int(match[2]), line.number)
        step = _STEP.search(line.text)
        fields = _FIELD.findall(line.text)
        if step:
            values = [(name, float(value), _UNITS.get(name)) for name, value, _ in fields]
            rows.metrics(line.number, line.rank, line.location, int(step[1]), values)
        elif "\tIteration" in line.text:
            rows.problem(line.number, "the line is cut", line.text)
        return True
