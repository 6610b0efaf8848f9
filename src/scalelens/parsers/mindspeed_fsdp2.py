"""The record of a step of MindSpeed-LLM's trainer for FSDP2.

Tool: MindSpeed-LLM (Ascend), training with FSDP2
Versions: 2026; no real file was at hand: by the source
Yields: steps, params
Source: MindSpeed-LLM, the FSDP2 trainer's _log_metrics(); its Megatron training prints Megatron's record

A record is a mean over the steps since the record before, whose distance only the next record tells.  The first one of
a launch may print 0.0 for a time that was not taken: then there is none.  `consumed samples` is computed by the writer
from the step and the batch, not counted, and is left out.  Rank 0 prints.

Samples:
    iteration: 10 | consumed samples: 80 | elapsed time per iteration (ms): 812.5 | throughput(samples/s): 9.8 | learning rate: 1.250000E-06 | global batch size:    8 | lm loss: 2.5000 | grad norm: 1.5000
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("| throughput(samples/s): ",)

_NUMBER = r"(-?(?:\d+(?:\.\d+)?(?:E[-+]?\d+)?|nan|inf))"
_BEGUN = re.compile(r"(?:^|\s)(?=iteration: \d+ \| consumed samples: )")
_RECORD = re.compile(
    r"iteration: (\d{1,15}) \| consumed samples: \d+ \| "
    rf"elapsed time per iteration \(ms\): {_NUMBER} \| throughput\(samples/s\): {_NUMBER} \| learning rate: {_NUMBER} \| "
    rf"global batch size: +(\d{{1,12}}) \| lm loss: {_NUMBER} \| grad norm: {_NUMBER}\s*$"
)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def take(self, line: Line) -> bool:
        begun = _BEGUN.search(line.text)
        if not begun:
            return False
        if record := _RECORD.match(line.text, begun.end()):
            self.record(line, int(record[1]), int(record[5]), [float(record[part]) for part in (2, 3, 4, 6, 7)])
        else:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        return True

    def record(self, line: Line, step: int, samples: int, values: list[float]) -> None:
        rows, (milliseconds, samples_per_s, learning_rate, loss, grad_norm) = self.rows, values
        timed = milliseconds > 0
        position = rows.attempt_of(
            line.number, step, line.rank, line.location, step_s=milliseconds / 1000 if timed else None
        )
        averaged = None if position.before is None or position.repeated else step - position.before
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            step_s=milliseconds / 1000 if timed else None, averaged_steps=averaged,
            value_kind="instant" if averaged == 1 else "interval_mean", samples=samples,
            samples_per_s=samples_per_s if timed else None, rate_scope="global", loss=loss,
            learning_rate=learning_rate, grad_norm=grad_norm,
        )  # fmt: skip
        rows.param("framework", "mindspeed", line.number)
        rows.param("global_batch_size", samples, line.number)
