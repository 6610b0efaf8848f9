"""nanotron's record of a step.

Tool: nanotron
Versions: 2024 and later
Yields: steps, metrics, params
Source: nanotron/trainer.py, train_step_logs(); nanotron/logging/base.py, LoggerWriter

The time is that of the iteration before the line, on the rank that prints, the last stage's.  Every number is printed
with three digits and K, M, G or T after it: a batch of 1.02K is one of 1024, which the log does not say, so that only
a batch below a thousand is read as one.  Memory is what the lines without an iteration say.

Samples:
    07/04/2026 14:33:12 [INFO|DP=0|PP=0|TP=0|node-1]: iteration: 40 / 500 | consumed_tokens: 328K | elapsed_time_per_iteration_ms: 45.5 | tokens_per_sec: 180K | tokens_per_sec_per_gpu: 22.5K | global_batch_size: 16 | lm_loss: 9.75 | lr: 3e-04 | model_tflops_per_gpu: 87.8 | hardware_tflops_per_gpu: 87.8 | grad_norm: 1.25
    07/04/2026 14:33:12 [INFO|DP=0|PP=0|TP=0]:  Memory usage: 812.50MiB. Peak allocated 1630.25MiB. Peak reserved: 2048.00MiB
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = ("]: iteration: ", "]:  Memory usage: ")

_LOGGER = r"(\d\d/\d\d/\d{4} \d\d:\d\d:\d\d) \[INFO\|DP=\d+\|[^]]{1,200}\]: "
_HEAD = re.compile(_LOGGER + r"iteration: (\d{1,15}) / (\d+) \| ")
_FIELD = re.compile(r"(\w{1,99}): (-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf))([KMGTP]?)(?: \| |\s*$)")
_MEMORY = re.compile(
    _LOGGER + r" Memory usage: ([\d.]+)MiB\. Peak allocated:? ([\d.]+)MiB\.? Peak reserved: ([\d.]+)MiB"
)
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_TIMES = ("elapsed_time_per_iteration_ms", "time_per_iteration_ms")
_COLUMNS = {
    "lm_loss": "loss", "lr": "learning_rate", "grad_norm": "grad_norm", "model_tflops_per_gpu": "tflops_per_device",
}  # fmt: skip
_UNITS = {
    "consumed_tokens": "tokens", "tokens_per_sec": "tokens/s", "tokens_per_sec_per_gpu": "tokens/s/device",
    "hardware_tflops_per_gpu": "TFLOP/s", "cuda_memory_allocated": "bytes", "cuda_max_memory_reserved": "bytes",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        whose = (line.rank, line.location)
        if memory := _MEMORY.match(line.text):
            names = ("memory used", "memory peak allocated", "memory peak reserved")
            sizes = [
                (name, float(size) * 2**20, "bytes") for name, size in zip(names, memory.groups()[1:], strict=True)
            ]
            self.rows.metrics(line.number, *whose, self.rows.step, sizes)
        elif head := _HEAD.match(line.text):
            self.record(line, head)
        return bool(memory or head)

    def record(self, line: Line, head: re.Match[str]) -> None:
        rows, values, rounded, end = self.rows, dict[str, float](), set[str](), head.end()
        while match := _FIELD.match(line.text, end):
            values[match[1]], end = float(match[2]) * _SCALE[match[3]], match.end()
            if match[3]:
                rounded.add(match[1])
        time = next((values.pop(name) for name in _TIMES if name in values), None)
        if end < len(line.text.rstrip()) or time is None or "global_batch_size" not in values:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            if time is None:
                return
        step, batch = int(head[2]), values.pop("global_batch_size", None)
        if "global_batch_size" in rounded or batch is None:
            batch = None
        else:
            rows.param("global_batch_size", int(batch), line.number)
        ts = line_time(head[1], line, rows, "%m/%d/%Y %H:%M:%S")
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts, time / 1000)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=time / 1000, averaged_steps=1, value_kind="instant", samples=batch, rate_scope="global",
            ts=ts, ts_origin="naive" if ts else None,
            **{column: values.pop(name, None) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        named = [(name, value, _UNITS.get(name)) for name, value in values.items() if not name.startswith("hd_")]
        rows.metrics(line.number, line.rank, line.location, step, named)
        rows.param("framework", "nanotron", line.number)
        if head[2] == head[3]:
            rows.param("outcome", "completed", line.number, origin="inferred")
