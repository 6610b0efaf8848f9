"""NeMo's record of a step: Lightning's bar in NeMo 1, a line of its own in NeMo 2.

Tool: NVIDIA NeMo
Versions: 1 (bar, before 1.20 without a time), 2 (line)
Yields: steps, metrics, params
Source: nemo/lightning/pytorch/callbacks/progress_printer.py; nemo/utils/exp_manager.py, TimingCallback

The time is that of the step before the line was printed, on the rank that prints.  Steps count from 0.  A bar shows three
digits: from a thousand on its step is that of the bar, and what it repeats of a step counts once.  A bar without a time has
the mean of its own since it began, a running mean, which is read where the bar counts steps and not micro batches.

Samples:
    Training epoch 0, iteration 75/99 | lr: 1.139e-05 | global_batch_size: 128 | global_step: 75 | reduced_train_loss: 11.87 | train_step_timing in s: 8.768 | TFLOPS_per_GPU: 1.249e+03 | consumed_samples: 9728
    Epoch 0: :  94%|########  | 47/50 [23:22<00:00, reduced_train_loss=0.186, global_step=46.00, consumed_samples=51200.0, train_step_timing in s=24.00]
    Epoch 1: : 12it [00:48,  4.05s/it, v_num=, reduced_train_loss=0.674, global_step=11.00, consumed_samples=1536.0]
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 4
ANCHORS = ("train_step_timing in s", "Training epoch ", "reduced_train_loss=")

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_LINE = re.compile(r"Training epoch (\d+), iteration (\d+)/(\d+) \| ")
_BAR = re.compile(r"Epoch (\d+): (?:[^|]*\|[^|]*\| *(\d+)/(?:\d+|\?)|:? *(\d+)it) \[")
_RATE = re.compile(r", +(\d+\.\d+)(s/it|it/s),")
_ENTRY = re.compile(rf"([A-Za-z_][\w ./-]{{0,99}}): ({_N})(?: \| |\s*$)")
_SETTING = re.compile(rf"([A-Za-z_][\w ./-]{{0,99}})=({_N})(?=, |\])")
_COLUMNS = {
    "lr": "learning_rate", "reduced_train_loss": "loss", "train_step_timing in s": "step_s", "grad_norm": "grad_norm",
    "TFLOPS_per_GPU": "tflops_per_device", "max_memory_reserved": "peak_memory_bytes",
    "peak_memory_usage": "peak_memory_bytes", "global_batch_size": "samples",
}  # fmt: skip
_UNITS = {
    "consumed_samples": "samples", "tokens_per_sec_per_gpu": "tokens/s/device", "max_memory_allocated": "bytes",
    "memory_allocated": "bytes",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.last: dict[tuple[int | None, str | None], int] = {}

    def take(self, line: Line) -> bool:
        if head := _LINE.search(line.text):
            values, end = dict[str, str](), head.end()
            while match := _ENTRY.match(line.text, end):
                values[match[1]], end = match[2], match.end()
            cut = end < len(line.text.rstrip())
            step = int(head[1]) * (int(head[3]) + 1) + int(head[2])
        elif head := _BAR.search(line.text):
            values = {name.strip(): value for name, value in _SETTING.findall(line.text, head.end())}
            cut, step = False, int(head[2] or head[3]) - 1
            if (rate := _RATE.search(line.text, head.end())) and "train_step_timing in s" not in values:
                self.record(line, int(head[1]), step, values, float(rate[1]), rate[2])
                return True
        else:
            return False
        if cut or "train_step_timing in s" not in values:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        if "train_step_timing in s" in values:
            self.record(line, int(head[1]), step, values)
        return True

    def record(
        self, line: Line, epoch: int, step: int, values: dict[str, str], rate: float = 0.0, unit: str = ""
    ) -> None:
        rows, counted, place = self.rows, values.pop("global_step", "e"), step
        if "e" not in counted and "n" not in counted:
            step = int(float(counted))
        whose = (line.rank, line.location)
        previous = self.last.get(whose)
        if previous == step:
            return
        position = rows.attempt_of(line.number, step, line.rank, line.location, once=False)
        self.last[whose] = step
        row: dict[str, float] = {}
        for name, column in _COLUMNS.items():
            if name in values:
                row[column] = float(values.pop(name))
        values.pop("v_num", None)
        if rate and abs(step - place) <= 2:
            row["step_s"] = rate if unit == "s/it" else 1 / rate
        if "samples" in row and row["samples"].is_integer():
            rows.param("global_batch_size", int(row["samples"]), line.number)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", epoch=epoch,
            step=step, averaged_steps=None if unit else 1, value_kind="running_mean" if unit else "instant", **row,
        )  # fmt: skip
        others = [(name, float(value), _UNITS.get(name)) for name, value in values.items()]
        rows.metrics(line.number, *whose, step, others)
        rows.param("framework", "nemo", line.number)
