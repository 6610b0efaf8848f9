"""nanoGPT's lines of an iteration and of an evaluation.

Tool: nanoGPT, llama2.c and the many scripts made from them
Versions: 2022 and later
Yields: steps, metrics, params
Source: nanoGPT/train.py; llama2.c/train.py

The time is that of one iteration on rank 0, with the evaluation or checkpoint before it.  mfu is a moving average of
the tool's own formula, -100 % before it is known.  What forks print after it becomes metrics; a date may come before.

Samples:
    iter 1631: loss 4.0863, time 561.94ms, mfu 38.12%
    120 | loss 6.3125 | lr 2.500000e-05 | 950.75ms | mfu 3.25%
    2026-01-02 03:04:05 iter 480: loss 5.1250, time 640.25ms, mfu 22.50%
    step 2000: train loss 3.1201, val loss 3.2110
    tokens per iteration will be: 491,520
    number of parameters: 123.59M
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 3
ANCHORS = ("iter ", " | lr ", ": train loss ", "tokens per iteration will be: ", "number of parameters: ")

_N = r"(-?(?:\d+\.\d+|\d+)(?:e[-+]?\d+)?|nan|inf)"
_DATE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?=iter |step )")
_RECORD = re.compile(rf"iter (\d+): loss {_N}, (?:[^,]*, )?time {_N}ms(?=,|\s*$)")
_LLAMA2_C = re.compile(rf"(\d+) \| loss {_N} \| lr {_N} \| {_N}ms(?: \| mfu {_N}%)?\s*$")
_BEGUN = re.compile(r"iter \d+: loss [^|]*$")
_FIELD = re.compile(rf", ([A-Za-z][\w ]{{0,30}}?):? {_N}(%|ms|GB)?(?=,|\s*$)")
_EVALUATION = re.compile(rf"step (\d+): train loss {_N}, val loss {_N}")
_TOKENS = re.compile(r"tokens per iteration will be: ([\d,]+)\s*$")
_PARAMETERS = re.compile(r"number of parameters: (\d+\.\d+)M\s*$")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.step = -1
        self.tokens: float | None = None

    def take(self, line: Line) -> bool:
        rows = self.rows
        date = _DATE.match(line.text)
        if date:
            line = line._replace(text=line.text[date.end() :])
        if match := _RECORD.match(line.text):
            fields = {name: (float(value), unit) for name, value, unit in _FIELD.findall(line.text, match.end())}
            self.record(
                line, match[1], match[2], match[3], fields, date=line_time(date[1] if date else None, line, rows)
            )
        elif match := _LLAMA2_C.match(line.text):
            fields = {"mfu": (float(match[5]), "%")} if match[5] else {}
            self.record(line, match[1], match[2], match[4], fields, rate=float(match[3]))
        elif match := _EVALUATION.match(line.text):
            losses = [("train loss", float(match[2]), None), ("val loss", float(match[3]), None)]
            rows.metrics(line.number, line.rank, line.location, int(match[1]), losses)
        elif match := _TOKENS.match(line.text):
            self.tokens = float(match[1].replace(",", "").lstrip("0") or "nan")
            rows.param("tokens_per_step", int(self.tokens) if self.tokens < 1e18 else None, line.number)
        elif match := _PARAMETERS.match(line.text):
            rows.param("parameters", round(float(match[1]) * 1e6), line.number)
        elif _BEGUN.match(line.text) and self.step >= 0:
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def record(
        self, line: Line, count: str, loss: str, time: str, fields: dict[str, tuple[float, str]],
        rate: float | None = None, date: datetime | None = None,
    ) -> None:  # fmt: skip
        rows, step = self.rows, int(count)
        position = rows.attempt_of(line.number, step, line.rank, line.location, date, float(time) / 1000, once=False)
        self.step = step
        norm, memory = fields.pop("grad norm", (None, ""))[0], fields.pop("max alloc", (None, ""))[0]
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=float(time) / 1000, averaged_steps=1, value_kind="instant", loss=float(loss), grad_norm=norm,
            tokens=self.tokens, peak_memory_bytes=memory * 1e9 if memory is not None else None, learning_rate=rate,
            ts=date, ts_origin="naive" if date else None,
        )  # fmt: skip
        if fields.get("mfu", (0.0, ""))[0] == -100:
            del fields["mfu"]
        others = [(name, value, unit or None) for name, (value, unit) in fields.items()]
        rows.metrics(line.number, line.rank, line.location, step, others)
        rows.param("framework", "nanogpt", line.number)
