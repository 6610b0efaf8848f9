"""LitGPT's line of an iteration.

Tool: LitGPT, lit-gpt, lit-llama and what was made from them
Versions: 2023 (iter time after a comma) and later
Yields: steps, metrics, params
Source: litgpt/pretrain.py, fit(); litgpt/finetune/full.py, fit()

An iteration is a micro batch, and its time the host's: that of a step is the sum over its iterations.  It is known where
all of them are printed by one rank, and where each is a step; else the time of the last iteration is a metric.  The loss
is that of the rank that prints.  On several nodes one rank of each prints.

Samples:
    Epoch 3 | iter 9600 step 1200 | loss train: 4.125, val: 4.250 | iter time: 88.50 ms (step) remaining time: 0:12:30
    Epoch 1 | iter 13 step 1 | loss train: 5.375, val: n/a | iter time: 61.25 ms
    iter 20 step 10: loss 9.1250, iter time: 310.50ms
    iter 24 step 6: loss 9.1250, iter time: 310.50ms (optimizer.step) remaining time: 10.50 hours.  or 0.44 days.
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 3
ANCHORS = (" | iter time: ", " iter time: ")

_N = r"(-?(?:\d+(?:\.\d+)?|nan|inf))"
_RECORD = re.compile(
    rf"Epoch (\d+) \| iter +(\d{{1,15}}) step +(\d{{1,15}}) \| loss train: {_N}, val: (?:{_N}|n/a) \| iter time: {_N} ms"
    r"( \(step\))?(?: remaining time: .*)?\s*$"
)
_EARLIER = re.compile(
    rf"(?:\[\d{{1,6}}\] )?(?:\[rank: \d+\] )?iter (\d{{1,15}}) step (\d{{1,15}}): (?:loss {_N}, )?iter time: {_N}ms( \(optimizer\.step\))?"
    r"(?: remaining time: \d.{0,80})?\s*$"
)
_BEGUN = re.compile(r"Epoch \d+ \| iter +\d+ step +\d+ \| loss |(?:\[rank: \d+\] )?iter \d+ step \d+: ")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.spent: float | None = None  # by the iterations of a step, all of which were printed
        self.updated: tuple[int, int] | None = None  # iteration and step of the last line with an update
        self.shared = False  # several ranks print this attempt

    def take(self, line: Line) -> bool:
        if match := _RECORD.match(line.text):
            self.record(line, int(match[2]), int(match[3]), match[4], float(match[6]) / 1000, bool(match[7]), match[1])
            if match[5]:
                self.rows.metric(line.number, line.rank, line.location, int(match[3]), "val loss", float(match[5]))
        elif match := _EARLIER.match(line.text):
            self.record(line, int(match[1]), int(match[2]), match[3], float(match[4]) / 1000, bool(match[5]))
        elif _BEGUN.match(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def record(
        self, line: Line, iteration: int, step: int, loss: str | None, time: float, update: bool, epoch: str | None = None
    ) -> None:  # fmt: skip
        rows = self.rows
        position = rows.attempt_of(line.number, iteration, line.rank, line.location)
        if position.begins:
            self.spent, self.updated, self.shared = None, None, False
        elif position.before != iteration - 1:
            self.spent = None
        self.shared |= position.repeated  # then the iterations of a step are not those of one rank
        if self.spent is not None:
            self.spent += time
        if not update:
            return
        done = iteration - self.updated[0] if self.updated else 0
        each_is_a_step = iteration == step or (self.updated and done > 0 and done == step - self.updated[1])
        step_s = time if each_is_a_step else None if self.shared else self.spent
        self.spent, self.updated = 0.0, (iteration, step)
        timed = step_s is not None
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=step,
            epoch=int(epoch) - 1 if epoch and epoch != "0" else None, loss=float(loss) if loss else None,
            step_s=step_s, averaged_steps=1 if timed else None, value_kind="instant" if timed else None,
        )  # fmt: skip
        rows.metric(line.number, line.rank, line.location, step, "iter time", time, "s")
        rows.param("framework", "litgpt", line.number)
