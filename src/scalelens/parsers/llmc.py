"""llm.c: the line of a step on the console, and its main.log.

Tool: llm.c, train_gpt2.cu and train_gpt2.py
Versions: 2024 and later
Yields: steps, metrics, params
Source: llm.c/train_gpt2.cu, main(); llm.c/llmc/logger.h

The console has the time of each step, on rank 0, and tokens per second smoothed over the steps: a metric, as is MFU.
main.log has losses and no time; in the first versions of 2024 the loss alone, with six digits.

Samples:
    step   11/195 | loss 9.853821 (+0.15z)| norm 3.85 (-1.12z)| lr 9.43e-06 | 174.30 ms | 59.2% bf16 MFU | 300791 tok/s
    step    1/20 | loss 5.270007 (+nanz)| norm 33.4214 (+nanz)| lr 1.00e-04 | 61.35 ms | 4172 tok/s
    s:10 trl:9.9353 lr:0.000009 norm:3.85
    s:10 trl:9.935327
    s:0 tel:11.0092
    s:250 eval:0.2671
    total average iteration time: 174.250213 ms
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 4
ANCHORS = (" trl:", " tel:", " eval:0.", "z)| norm ", "total average iteration time: ")

_N = r"(-?\d+\.\d+(?:e[-+]?\d+)?|-?nan|-?inf)"
_CONSOLE = re.compile(
    rf"step +(\d+)/(\d+) \| loss +{_N} \([-+][\w.]+z\)\| norm +{_N} \([-+][\w.]+z\)\| lr {_N} \| {_N} ms \|"
    rf"(?: {_N}% (\w+) MFU \|)? (\d+) tok/s\s*$"
)
_TRAIN = re.compile(rf"s:(\d+) trl:(?:{_N} lr:{_N} norm:{_N}|(-?\d+\.\d{{6}}|-?nan))\s*$")
_OTHER = re.compile(rf"s:(\d+) (tel|eval):{_N}\s*$")
_TOTAL = re.compile(rf"total average iteration time: {_N} ms\s*$")
_BEGUN = re.compile(r"s:\d+ trl:|step +\d+/\d+ \| loss ")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        rows, whose = self.rows, (line.number, line.rank, line.location)
        if match := _TRAIN.match(line.text):
            self.row(line, int(match[1]), match[2] or match[5], match[4], match[3])
        elif match := _OTHER.match(line.text):
            name = "validation loss" if match[2] == "tel" else "HellaSwag accuracy"
            rows.metric(*whose, int(match[1]), name, float(match[3]))
        elif match := _CONSOLE.match(line.text):
            self.row(line, int(match[1]), match[3], match[4], match[5], float(match[6]) / 1000)
            rows.metric(*whose, rows.step, "tok/s", float(match[9]), "tokens/s")
            if match[7] and not match[7].startswith("-"):
                rows.metric(*whose, rows.step, f"{match[8]} MFU", float(match[7]), "%")
            if match[1] == match[2]:
                rows.param("outcome", "completed", line.number, origin="inferred")
        elif match := _TOTAL.match(line.text):
            rows.metric(*whose, rows.step, "total average iteration time", float(match[1]) / 1000, "s")
        elif _BEGUN.match(line.text):
            rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def row(
        self, line: Line, step: int, loss: str, norm: str | None, rate: str | None, step_s: float | None = None
    ) -> None:
        rows = self.rows
        position = rows.attempt_of(line.number, step, line.rank, line.location)
        timed = step_s is not None
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=step_s, averaged_steps=1 if timed else None, value_kind="instant" if timed else None,
            loss=float(loss), grad_norm=float(norm) if norm else None, learning_rate=float(rate) if rate else None,
        )  # fmt: skip
        rows.param("framework", "llm.c", line.number)
