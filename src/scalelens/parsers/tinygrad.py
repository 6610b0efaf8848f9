"""The line of a step that tinygrad's training scripts print.

Tool: tinygrad, examples/hlb_cifar10.py, examples/mlperf/model_train.py and scripts made from them
Versions: 2023 to 2026
Yields: steps, params
Source: examples/mlperf/model_train.py, the print at the end of each step

`run` is the whole step on the host, from the fetch of its data to the loss; `python` and the device's name are parts of
it, and `fetch data` is the wait for the next batch.  A first step compiles.

Samples:
       12 1234.50 ms run, 1180.25 ms python,   54.25 ms METAL,    4.31 loss, 0.000250 LR, 3.41 GB used,   6543.21 GFLOPS
        3  210.50 ms run,    5.25 ms python,   1.50 ms fetch data,  203.75 ms CUDA * 6,  6.91 loss, 0.01 acc, 0.125000 LR, 90.25 GB used, 1000.00 GFLOPS
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (" ms run, ",)

_N = r"(\d+(?:\.\d+)?)"
_RECORD = re.compile(rf"\s*(\d{{1,9}}) +{_N} ms run, +{_N} ms python, ")
_DATA = re.compile(rf" {_N} ms fetch data,")
_LOSS = re.compile(rf" (-?{_N}|nan|inf) loss(?:,|\s*\Z)")
_LR = re.compile(r" (\d+(?:\.\d*)?(?:e-?\d+)?) LR(?:,|\s*\Z)")
_WHOLE = re.compile(r" (?:GB used|GFLOPS)\b")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        record = _RECORD.match(line.text)
        if record is None:
            return False
        if not _WHOLE.search(line.text):
            self.rows.problem(line.number, "the record is cut", line.text)
            return True
        rows, step, whose = self.rows, int(record[1]), (line.rank, line.location)
        data, loss, rate = (pattern.search(line.text) for pattern in (_DATA, _LOSS, _LR))
        value = float(loss[1]) if loss else None
        position = rows.attempt_of(line.number, step, *whose)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            step=step, step_s=float(record[2]) / 1e3, averaged_steps=1, value_kind="instant",
            data_s=float(data[1]) / 1e3 if data else None, loss=value if value == value else None,
            nan_steps=1 if value != value else None, learning_rate=float(rate[1]) if rate else None,
        )  # fmt: skip
        rows.param("framework", "tinygrad", line.number)
        return True
