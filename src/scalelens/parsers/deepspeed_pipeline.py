"""DeepSpeed's pipeline engine: loss, time and rate of the steps since the line before.

Tool: DeepSpeed, PipelineEngine
Versions: 0.2 and later; other losses may be between loss and iter time
Yields: steps, metrics, params
Source: deepspeed/runtime/pipe/engine.py, train_batch()

`iter time` is a mean over `steps_per_print` steps of rank 0, which the distance of two lines shows.  The batch size
follows from time and rate where they leave one whole number.

Megatron-DeepSpeed prints the same steps in records of its own, from the last rank: next to them these are metrics.
What has shown its arguments or a record is Megatron; a first line before either waits for the next one.

Samples:
    steps: 3 loss: 12.6435 iter time (s): 17.137 samples/sec: 0.934
    steps: 30 loss: 2.5101 lm_loss: 2.4001 aux_loss: 0.1100 iter time (s): 0.512 samples/sec: 62.500
"""

from typing import Any

import numpy as np

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.number_fields import FRACTION
from scalelens.parsing.record_forms import FieldForm, RecordForm, Records, extend, rising
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import only_whole

VERSION = 2
ANCHORS = (" iter time (s): ",)

_N = r"([-+]?(?:\d+\.\d+(?:e[-+]?\d+)?|nan|inf))"
_RECORD = re.compile(
    rf"steps: (\d+) loss: {_N} ((?:[\w./-]{{1,99}}: {_N} )*)iter time \(s\): (\d+\.\d+) samples/sec: (\d+\.\d+)\s*$"
)
_LOSS = re.compile(rf"([\w./-]{{1,99}}): {_N} ")

_MEGATRON = ("megatron", "gpt-neox", "primus")
_Held = tuple[Line, re.Match[str]]
_Metric = tuple[str, float, str | None]


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.held: _Held | None = None  # the first line, until it is known whether Megatron's records follow
        self.interval: int | None = None
        self.first: dict[str, Any] | None = None  # the first row of an attempt, until its interval is known
        self.form: RecordForm | None = None  # of the record that was taken last
        self.names: list[str] = []  # of the numbers of that form behind the step

    def take(self, line: Line) -> bool:
        match = _RECORD.search(line.text)
        if not match:
            if not line.text.startswith("steps: "):
                return False  # other tools print an iter time
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        self.release()
        if "train_iters" not in self.rows.params and "framework" not in self.rows.params:
            self.held = (line, match)
        else:
            self.record(line, match)
        return True

    def finish(self) -> None:
        self.release()

    def release(self) -> None:
        held, self.held = self.held, None
        if held:
            self.record(*held)

    def record(self, line: Line, match: re.Match[str]) -> None:
        rows, step = self.rows, int(match[1])
        losses: list[_Metric] = [(name, float(value), None) for name, value in _LOSS.findall(match[3])]
        step_s, rate = float(match[5]), float(match[6])
        if self.beside_megatron():
            self.form = None
            losses += [("iter time", step_s, "s"), ("samples/sec", rate, "samples/s")]
            rows.metrics(line.number, line.rank, line.location, step, losses)
            return
        position = rows.attempt_of(line.number, step, line.rank, line.location, step_s=step_s)
        if position.begins:
            self.first = None
        if position.before is not None:
            gap = step - position.before
            self.interval = min(gap, self.interval or gap)
        averaged = 1 if step == 1 else self.interval
        kind = "instant" if averaged == 1 else "interval_mean"
        if self.first and averaged:
            self.first.update(averaged_steps=averaged, value_kind=kind)
            self.first = None
        batch = rows.params.get("global_batch_size") or _whole_batch(step_s, rate)
        row: dict[str, Any] = {
            "attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train", "step": step,
            "step_s": step_s, "averaged_steps": averaged, "value_kind": kind, "loss": float(match[2]),
            "samples": float(batch) if batch else None, "samples_per_s": rate, "rate_scope": "global",
        }  # fmt: skip
        rows.put("steps", line.number, row)
        if averaged is None:
            self.first = row
        rows.metrics(line.number, line.rank, line.location, step, losses)
        if "framework" not in rows.params:
            rows.param("framework", "deepspeed", line.number, origin="inferred")
        if batch:
            rows.param("global_batch_size", batch, line.number, origin="inferred")
        names = ["loss", *(name for name, _, _ in losses), "iter time (s)", "samples/sec"]
        if rows.many and (not self.form or self.names != names):
            self.form, self.names = _form_of(names), names

    def beside_megatron(self) -> bool:
        params = self.rows.params
        return "train_iters" in params or str(params.get("framework")).startswith(_MEGATRON)

    def take_records(self, records: Records) -> int:
        """Records whose steps go on from the last one in intervals that are no shorter than those before."""
        rows, prefix = self.rows, records.prefix
        following, batch = rows.following(prefix.rank, prefix.location), rows.params.get("global_batch_size")
        if not (following and batch and self.interval) or self.first or self.held or self.beside_megatron():
            return 0
        attempt, launch = following
        printed = records.fields[0].to_numpy()
        steps = printed.astype(np.int64)
        odd = np.flatnonzero((np.diff(steps, prepend=launch.top) < self.interval) | (steps != printed) | (steps == 1))
        count: int = min([rising(steps, launch.top), *odd[:1].tolist()])
        if not count:
            return 0
        records, steps = records.part(0, count), steps[:count]
        loss, *others, step_s, rate = records.fields[1:]
        whose = {"line": records.lines, "rank": prefix.rank, "place": prefix.location, "step": steps}
        rows.put_columns("steps", whose | {
            "attempt": attempt, "phase": "train", "step_s": step_s, "averaged_steps": self.interval,
            "value_kind": "instant" if self.interval == 1 else "interval_mean", "loss": loss,
            "samples": float(batch), "samples_per_s": rate, "rate_scope": "global",
        })  # fmt: skip
        for name, values in zip(self.names[1:-2], others, strict=True):
            rows.put_columns(
                "metrics", whose | {"attempt": rows.attempt, "name": name, "value": values, "stat": "value"}
            )
        extend(launch, steps, step_s)
        return count


def _form_of(names: list[str]) -> RecordForm:
    """The form of a record: between two colons are a number and the name of the next one."""
    step, *others = [rb" *" + re.escape(re.sub(r"\d", "0", name)).encode() for name in names] + [b""]
    fields = [FieldForm(" ", step), *(FieldForm(" ", FRACTION + behind) for behind in others)]
    return RecordForm("steps", ":", fields, closed=False)


def _whole_batch(step_s: float, rate: float) -> int | None:
    """The only whole number of samples that rounds to this time and rate, both printed with three decimals."""
    return only_whole((step_s - 0.0005) * (rate - 0.0005), (step_s + 0.0005) * (rate + 0.0005))
