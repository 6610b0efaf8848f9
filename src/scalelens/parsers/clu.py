"""Scalars that CLU's LoggingWriter prints: examples of Flax, Scenic, T5X and other trainers in JAX.

Tool: CLU (Common Loop Utils)
Versions: six decimals before clu 0.0.9, six digits since; through absl's logger or Python's
Yields: steps, metrics, params
Source: google/CommonLoopUtils, clu/metric_writers/logging_writer.py, write_scalars(), and clu/periodic_actions.py,
    ReportProgress; google/flax, examples/imagenet/train.py; google-research/t5x, t5x/models.py, compute_base_metrics()

A program may print the scalars of a step in several records: they become one row.  A row of steps holds a rate of
steps, which is a mean since the record before, evaluations and checkpoints included, or a loss of the training.  The
first rate is of an unknown number of steps.  T5X prints seconds with its rate, of the steps alone, and rates of the
whole job; its `loss` is a sum over the tokens of a batch, so the loss per token is kept where it is there too.
`loss`, `accuracy` and `learning_rate` without the word `train` are of the training in a collection of that name, and
where a learning rate is among them.  An accuracy above 1 is in percent, and a metric, as is everything else.
T5X's whole records are written after its source and NVIDIA's script that reads them: no log of it was found.  absl's
time has no year, and is not kept.

Samples:
    I0304 10:15:27.775955 140151934879488 logging_writer.py:35] [100] steps_per_second=2.250000, train_accuracy=0.0014, train_learning_rate=0.0031, train_loss=6.95
    I0304 10:22:26.140852 139938806449728 logging_writer.py:48] [91] steps_per_sec=1.49573
    I0304 10:22:26.141596 139938806449728 logging_writer.py:48] [91] uptime=292.272
    I0304 10:29:52.025554 12803141632 logging_writer.py:48] [0] collection=train timing/train_iter_warmup=1.90735e-06
    INFO:absl:[200] learning_rate=0.0001, loss=1.875, loss_std=0.1425, train_accuracy=0.375
"""

import math
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.open_steps import OpenSteps
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("logging_writer.py:", "INFO:absl:[")
LATER = ("step_s", "samples", "samples_per_s", "rate_scope", "loss", "accuracy", "learning_rate")

_RECORD = re.compile(
    r"(?:(?:^|\s)logging_writer\.py:\d+\] |^INFO:absl:)\[(\d{1,15})\] (?:collection=(\S{1,200}) )?+(?=[\w/. -]{1,200}=)"
)
_FIELD = re.compile(r"([A-Za-z_][^=,{}']{0,199})=(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))(?:, |\s*\Z)")
_RATES = ("timing/steps_per_second", "steps_per_second", "steps_per_sec")
_BARE = {
    "loss_per_nonpadding_target_token": "loss", "loss": "loss", "accuracy": "accuracy", "learning_rate": "learning_rate",
}  # fmt: skip
_NAMED = {
    f"train{mark}{name}": name for mark in ("_", "/") for name in ("loss", "accuracy", "learning_rate")
}  # fmt: skip
_UNITS = {
    "uptime": "s", "timing/seconds": "s", "timing/compilation_seconds": "s", "timing/train_iter_warmup": "s",
    "timing/seqs_per_second_per_core": "samples/s/device", "timing/target_tokens_per_second": "tokens/s",
    "timing/target_tokens_per_second_per_core": "tokens/s/device",
}  # fmt: skip


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.steps = OpenSteps(rows, "jax", "inferred")
        self.rated: dict[tuple[int | None, str | None], int] = {}  # the last step with a rate, of each writer

    def take(self, line: Line) -> bool:
        head = _RECORD.search(line.text)
        if not head:
            return False
        values, end = dict[str, float](), head.end()
        while field := _FIELD.match(line.text, end):
            values[field[1]], end = float(field[2]), field.end()
        if end < len(line.text.rstrip()) or not values:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        step, collection = int(head[1]), head[2]
        columns = _columns_of(values, collection) if collection in (None, "train") else {}
        if columns:
            self.add(columns, step, line)
        prefix = f"{collection}/" if collection not in (None, "train") else ""
        left = [(f"{prefix}{name}", value, _UNITS.get(name)) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, step, left)
        return True

    def add(self, columns: dict[str, Any], step: int, line: Line) -> None:
        """Fills the row of a step, with the number of steps that its rate is a mean of."""
        whose = line.rank, line.location
        row, position = self.steps.fill(columns, step, line)
        if position and position.begins:
            self.rated.pop(whose, None)
        if "step_s" in columns:
            before = self.rated.get(whose, step)
            row.setdefault("averaged_steps", step - before if step > before else None)
            self.rated[whose] = step

    def finish(self) -> None:
        self.steps.finish()


def _columns_of(values: dict[str, float], collection: str | None) -> dict[str, Any]:
    """The columns of steps that a record fills; what they take is gone from `values`."""
    found: dict[str, Any] = {}
    names = _NAMED | _BARE if collection or "learning_rate" in values else _NAMED
    for name, column in names.items():
        if name in values and column not in found and (column != "accuracy" or values[name] <= 1):
            found[column] = values.pop(name)
    rate = next((name for name in _RATES if 0 < values.get(name, 0) < math.inf), None)
    if rate:
        per_s = values.pop(rate)
        found |= {"step_s": 1 / per_s, "value_kind": "interval_mean"}
        if collection:
            found |= _of_t5x(values, per_s)
    return found


def _of_t5x(values: dict[str, float], steps_per_s: float) -> dict[str, Any]:
    """What T5X prints with its rate: seconds, sequences and their rate, of all steps since the record before."""
    steps = round(values.get("timing/seconds", 0) * steps_per_s)
    if not steps or "timing/seqs" not in values or "timing/seqs_per_second" not in values:
        return {}
    return {
        "averaged_steps": steps, "samples": values.pop("timing/seqs") / steps,
        "samples_per_s": values.pop("timing/seqs_per_second"), "rate_scope": "global",
    }  # fmt: skip
