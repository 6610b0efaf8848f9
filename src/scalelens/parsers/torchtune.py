"""torchtune's line of a step, in its log files and on its console.

Tool: torchtune
Versions: 0.1 and later; the names of the memory changed
Yields: steps, metrics, params
Source: torchtune/training/metric_logging.py, DiskLogger and StdoutLogger; recipes/full_finetune_distributed.py

A line has a loss and no time: tokens per second are those of one device in the steps since the line before, whose number
of tokens is not said.  Memory is in GiB, `gpu_resources` of the first versions in bytes.  Steps count from 1.

Samples:
    Step 1 | loss:1.8125 lr:3e-05 tokens_per_second_per_gpu:812.375
    Step 12 | loss:1.5 lr:2e-05 tokens_per_second_per_gpu:2250.75 peak_memory_active:16.5 peak_memory_alloc:16.25 peak_memory_reserved:18.75
    Step 0 | loss:1.4375 lr:3e-05 gpu_resources:17179869184
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = (" | loss:",)

_N = r"(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))"
_HEAD = re.compile(r"Step (\d{1,15}) \| (?=loss:)")
_FIELD = re.compile(rf"([a-z][\w/]{{0,99}}):{_N}(?: |$)")
_COLUMNS = {"loss": "loss", "lr": "learning_rate", "grad_norm": "grad_norm"}
_MEMORY = {"peak_memory_reserved": 2.0**30, "gpu_resources": 1.0}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if not head:
            return False
        rows, values, end, text = self.rows, dict[str, float](), head.end(), line.text.rstrip()
        while match := _FIELD.match(text, end):
            values[match[1]], end = float(match[2]), match.end()
        if end < len(text) or "lr" not in values:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            if "lr" not in values:
                return True
        step = int(head[1])
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        memory = next((values.pop(name) * scale for name, scale in _MEMORY.items() if name in values), None)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            rate_scope="rank", peak_memory_bytes=memory,
            **{column: values.pop(name, None) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        named = [
            (name, value * 2**30 if "memory" in name else value, "bytes" if "memory" in name else _unit(name))
            for name, value in values.items()
        ]
        rows.metrics(line.number, line.rank, line.location, step, named)
        rows.param("framework", "torchtune", line.number)
        return True


def _unit(name: str) -> str | None:
    return "tokens/s/device" if name.startswith("tokens_per_second") else None
