"""What each rank says of itself before a training of transformers.

Tool: transformers' example scripts, LLaMA-Factory and others that took the line over
Versions: 2020 and later; LLaMA-Factory's names the world size since 2025
Yields: params
Source: transformers/examples/pytorch/*/run_*.py, main(); llamafactory/hparams/parser.py

Ranks 0 to n - 1, each with one line, are n devices, and so are the GPUs of the one process that is not distributed.  They
are the ranks of a node: where batch sizes show more devices, there are those, and ranks that come again count only then.

Samples:
    [INFO|2024-12-04 06:01:59] llamafactory.hparams.parser:355 >> Process rank: 0, device: cuda:0, n_gpu: 1, distributed training: True, compute dtype: torch.bfloat16
    [INFO|2025-12-04 06:01:59] llamafactory.hparams.parser:468 >> Process rank: 3, world size: 8, device: cuda:3, distributed training: True, compute dtype: torch.bfloat16
    03/04/2026 15:40:33 - WARNING - __main__ - Process rank: -1, device: cuda:0, n_gpu: 2, distributed training: False, 16-bits training: False
"""

from collections import Counter

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("Process rank: ",)

_LINE = re.compile(
    r"Process rank: (-?\d{1,6}),(?: world size: (\d{1,6}),)? device: (cuda|npu|xpu|hpu)\S*,(?: n_gpu: (\d{1,4}),?)?"
    r" distributed training: (True|False)(?:.*compute dtype: torch\.(\w+))?"
)
_PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.ranks: Counter[int] = Counter()
        self.line: int | None = None  # the last one
        self.part = rows.part

    def take(self, line: Line) -> bool:
        match = _LINE.search(line.text)
        if not match:
            return "Process rank: " in line.text and " distributed training: " in line.text  # of a CPU
        self.part = self.rows.part
        if match[6] in _PRECISIONS:
            self.rows.param("precision", _PRECISIONS[match[6]], line.number)
        if match[2]:
            self.rows.param("devices", int(match[2]), line.number)
        elif match[5] == "True":
            self.ranks[int(match[1])] += 1
            self.line = line.number
        elif match[4] and int(match[4]):
            self.rows.param("devices", int(match[4]), line.number)
        return True

    def finish(self) -> None:
        rows, facts, count = self.rows, self.rows.params, len(self.ranks)
        batch, micro = facts.get("global_batch_size"), facts.get("micro_batch_size")
        is_again = max(self.ranks.values(), default=0) > 1 and not (batch and micro)
        if count < 2 or self.ranks.keys() != set(range(count)) or is_again or rows.part != self.part:
            return
        if batch and micro:
            count = max(count, batch // (micro * (facts.get("gradient_accumulation_steps") or 1)))
        rows.param("devices", count, self.line, origin="inferred")
