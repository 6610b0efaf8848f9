"""OLMo's block of a step.

Tool: OLMo (1 and 2), olmo/train.py
Versions: 2023 and later
Yields: steps, metrics, params
Source: olmo/train.py, Trainer.log_metrics_to_console() and SpeedMonitor

Every value of a block is a metric, as Composer's.  Its throughput is a row of steps: batches per second of the whole job,
with three digits, means over a window of batches (20 unless told otherwise) that is not the distance of two blocks: a
running mean.  The first step has none.  Tokens of a step are the difference of two blocks.

Samples:
    [2026-03-04 09:42:26] INFO     [olmo.train:816, rank=0] [step=1/739328]
    2026-03-04 09:59:26.181 node-1:0  olmo.train:908  INFO    [step=1/739328,epoch=0]
"""

import re
from datetime import datetime

from scalelens.lines import Line
from scalelens.rows import Rows

VERSION = 1
ANCHORS = ("olmo.train:",)

HEAD = re.compile(
    r"\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)\]? .{0,200}\bolmo\.train:\d+.{0,60}"
    r"\[step=(\d{1,15})/(\d+)(?:,epoch=(\d{1,9})(?:/\d+)?)?\]\s*$"
)
BLOCK = re.compile(r"    [A-Za-z][^=]{1,199}=-?(?:[\d.,]+(?:e[-+]?\d+)?|nan|inf)\s*$")
SPEED, MEMORY = "throughput/device/batches_per_second", "System/Peak GPU Memory (MB)"
UNITS = {"throughput/device/tokens_per_second": "tokens/s", "throughput/total_tokens": "tokens", SPEED: "steps/s"}


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.head: tuple[Line, re.Match[str]] | None = None
        self.values: dict[str, float] = {}
        self.last: tuple[int, float] | None = None  # step of the block before, and tokens until then

    def take(self, line: Line) -> bool:
        head = HEAD.match(line.text)
        if not head:
            return False
        self.finish()
        self.head, self.values, self.claims = (line, head), {}, BLOCK
        return True

    def more(self, line: Line) -> None:
        name, _, value = line.text.strip().rpartition("=")
        try:
            self.values[name] = float(value.replace(",", ""))
        except ValueError:
            self.rows.problem(line.number, f"the value of '{name}' is no number", line.text)

    def finish(self) -> None:
        """The block has ended: its row, if it says how the training goes."""
        if not self.head or not self.values:
            return
        (line, head), rows, values, self.head = self.head, self.rows, self.values, None
        step, count = int(head[2]), values.get("throughput/total_tokens")
        trained = "train/CrossEntropyLoss" in values
        if trained and self.last and step <= self.last[0]:
            rows.attempt, self.last = rows.attempt + 1, None
        rows.step = step
        if trained:
            tokens = None
            if count is not None and self.last and step > self.last[0]:
                tokens = (count - self.last[1]) / (step - self.last[0])
            self.last = (step, count) if count is not None else None
            speed, memory = values.get(SPEED), values.pop(MEMORY, None)
            ts = moment(head[1], line, rows)
            rows.add(
                "steps", line.number, attempt=rows.attempt, rank=line.rank, place=line.place, phase="train", step=step,
                epoch=int(head[4]) if head[4] else None, step_s=1 / speed if speed else None,
                value_kind="running_mean" if speed else None, tokens=tokens, loss=values.pop("train/CrossEntropyLoss"),
                grad_norm=values.pop("optim/total_grad_norm", None),
                peak_memory_bytes=memory * 1e6 if memory is not None else None,
                ts=ts, ts_origin="naive" if ts else None,
            )  # fmt: skip
            rows.steps_line = line.number
            rows.param("framework", "olmo", line.number)
            if head[2] == head[3]:
                rows.param("outcome", "completed", line.number, origin="inferred")
        named = [(name, value, UNITS.get(name)) for name, value in values.items()]
        rows.metrics(line.number, line.rank, line.place, step, named)


def moment(stamp: str, line: Line, rows: Rows) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp)
    except ValueError:
        rows.problem(line.number, "the time is not one", line.text)
        return None
