"""InternEvo's record of a step.

Tool: InternEvo and InternLM (train.py)
Versions: InternLM 2023 (fields joined by commas), InternEvo 2024 (by blanks); no whole file was at hand: by the source and
the records in the documentation of InternLM
Yields: steps, metrics, params
Source: internlm/train/pipeline.py (2023: train.py, training_internlm.py), record_current_batch_training_metrics()

The record has no time of a step: it follows from the time stamps of two records, so that the first record of a launch
has none, and an evaluation or a checkpoint between two records counts.  `tgs` is tokens per second of one device, of
that step alone; `tgs_all`, `tgs_avg` and `tgs_SMA` are running means.  All of them are metrics.  Tokens of a step are the
difference of two records.  With a group of parameters each (2024), the gradient norms are metrics.

Samples:
    2026-03-04 12:28:57,802	INFO train.py:323 in record_current_batch_training_metrics -- tflops=63.25,step=0,loss=11.625,tgs (tokens/gpu/second)=1424.5,lr=4e-07,loss_scale=65536.0,grad_norm=63.5,micro_num=4,num_consumed_tokens=131072,fwd_bwd_time=6.48
    2026-03-04 17:03:42,047 INFO pipeline.py:599 in record_current_batch_training_metrics -- tflops=180.5 step=19 loss=2.5 tgs (tokens/gpu/second)=3345.75 tgs/last_tgs_1=3345.5 tgs/tgs_all=2958.25 lr=1e-05 grad_norm={'0_default': 0.25, '1_fp32': 0.0} micro_num=4 num_consumed_tokens=10485760 fwd_bwd_time=4.13 loss/code=nan
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 2
ANCHORS = ("tgs (tokens/gpu/second)=",)

_NUMBER = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_BEGUN = re.compile(r"(?:^|-- )(?=tflops=)")
_FIELD = re.compile(rf"(\w[\w/ ()]{{0,99}})=(?:({_NUMBER})|\{{((?:'\w+': {_NUMBER}(?:, )?)*)\}})(?:[ ,]|\s*$)")
_OF_GROUP = re.compile(rf"'(\w+)': ({_NUMBER})")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\b")
_SPEED, _TOKENS = "tgs (tokens/gpu/second)", "num_consumed_tokens"
_COLUMNS = {"tflops": "tflops_per_device", "loss": "loss", "lr": "learning_rate", "grad_norm": "grad_norm"}
_UNITS = {_TOKENS: "tokens", "fwd_bwd_time": "s", "bwd_time": "s"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.before: tuple[int, datetime | None, float] | None = None  # step, time and tokens of the last record

    def take(self, line: Line) -> bool:
        begun = _BEGUN.search(line.text)
        if not begun:
            return False
        values = _fields_of(line.text[begun.end() :])
        step = values.get("step")
        if (
            step is None
            or not step.is_integer()
            or not 0 <= step < 1e15
            or _SPEED not in values
            or _TOKENS not in values
        ):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        stamp = _STAMP.match(line.text)
        self.record(line, int(step), line_time(stamp[0] if stamp else None, line, self.rows), values)
        return True

    def record(self, line: Line, step: int, ts: datetime | None, values: dict[str, float]) -> None:
        rows, tokens = self.rows, values[_TOKENS]
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts)
        steps, step_s, per_step = None, None, tokens if step == 0 else None
        if self.before and not position.begins and step > self.before[0]:
            steps = step - self.before[0]
            per_step = (tokens - self.before[2]) / steps
            if ts and self.before[1] and ts > self.before[1]:
                step_s = (ts - self.before[1]).total_seconds() / steps
        self.before = (step, ts, tokens)
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=step_s, averaged_steps=steps, value_kind="instant" if steps in (None, 1) else "interval_mean",
            tokens=per_step, rate_scope="rank", ts=ts, ts_origin="naive" if ts else None,
            **{column: values.get(name) for name, column in _COLUMNS.items()},
        )  # fmt: skip
        others = [
            (name, value, "tokens/s/device" if "tgs" in name else _UNITS.get(name))
            for name, value in values.items()
            if name not in _COLUMNS and name != "step"
        ]
        rows.metrics(line.number, line.rank, line.location, step, others)
        rows.param("framework", "internevo", line.number)


def _fields_of(text: str) -> dict[str, float]:
    """Numbers of a record by name, `name/group` where there is one for each group; none where the text breaks off."""
    values, end = dict[str, float](), 0
    while field := _FIELD.match(text, end):
        if field[2]:
            values[field[1]] = float(field[2])
        for group, value in _OF_GROUP.findall(field[3] or ""):
            values[f"{field[1]}/{group}"] = float(value)
        end = field.end()
    return values if not text[end:].strip() else {}
