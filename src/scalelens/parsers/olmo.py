"""OLMo's block of a step.

Tool: OLMo (1 and 2), olmo/train.py
Versions: 2023 and later; on a terminal with blanks, in its own file with tabs
Yields: steps, metrics, params
Source: olmo/train.py, Trainer.log_metrics_to_console() and SpeedMonitor

Every value of a block is a metric, as Composer's.  Its throughput is a row of steps: batches per second of the whole job,
with three digits, means over a window of batches (20 unless told otherwise) that is not the distance of two blocks: a
running mean.  The first step has none.  Tokens of a step are the difference of two blocks.

Samples:
    [2026-03-04 16:05:10] INFO     [olmo.train:801, rank=0] [step=1/40000]
    2026-03-04 16:08:31.250 node-1:0  olmo.train:899  INFO    [step=1/40000,epoch=0]
    2026-03-04 16:08:31.250	node-1:0	olmo.train:899	INFO	[step=1/40000,epoch=0]
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time

VERSION = 4
ANCHORS = ("olmo.train:",)

_HEAD = re.compile(
    r"(?:\[\d{1,6}\] )?\[?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})?)\]?[ \t].{0,200}\bolmo\.train:\d+.{0,60}"
    r"\[step=(\d{1,15})/(\d+)(?:,epoch=(\d{1,9})(?:/\d+)?)?\]\s*$"
)
_BLOCK = re.compile(r"    [A-Za-z][^=]{1,199}=-?(?:[\d.,]+(?:e[-+]?\d+)?|nan|inf)\s*$")
_SPEED = "throughput/device/batches_per_second"
_UNITS = {
    "throughput/device/tokens_per_second": (1.0, "tokens/s/device"), "throughput/total_tokens": (1.0, "tokens"),
    "System/Peak GPU Memory (MB)": (1e6, "bytes"),
}  # fmt: skip


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.head: re.Match[str] | None = None
        self.step = self.attempt = 0
        self.ts: datetime | None = None  # of the block
        self.loss: float | None = None
        self.norm: float | None = None
        self.tokens: tuple[int, float] | None = None  # step and tokens until then
        self.per_step: float | None = None

    def take(self, line: Line) -> bool:
        self.claims, self.head = None, _HEAD.match(line.text)
        if not self.head:
            return False
        self.claims, self.loss, self.norm, self.per_step = _BLOCK, None, None, None
        self.step, self.ts = int(self.head[2]), line_time(self.head[1], line, self.rows)
        if self.head[2] == self.head[3]:
            self.rows.param("outcome", "completed", line.number, origin="inferred")
        return True

    def more(self, line: Line) -> None:
        rows, (name, _, text) = self.rows, line.text.strip().rpartition("=")
        try:
            value = float(text.replace(",", ""))
        except ValueError:
            rows.problem(line.number, f"the value of '{name}' is not a number", line.text)
            return
        if name == "train/CrossEntropyLoss":
            self.begin(value, line)
        elif name == "optim/total_grad_norm":
            self.norm = value
        elif name == "throughput/total_tokens":
            self.count(value)
        if name == _SPEED and self.head and value > 0:
            self.row(line, self.head, value)
        else:
            factor, unit = _UNITS.get(name, (1.0, None))
            rows.metric(line.number, line.rank, line.location, self.step, name, value * factor, unit)

    def begin(self, loss: float, line: Line) -> None:
        position = self.rows.attempt_of(line.number, self.step, line.rank, line.location, self.ts)
        if position.begins:
            self.tokens = None
        self.attempt, self.loss = position.attempt, loss

    def count(self, tokens: float) -> None:
        if self.tokens and self.step > self.tokens[0]:
            self.per_step = (tokens - self.tokens[1]) / (self.step - self.tokens[0])
        self.tokens = (self.step, tokens)

    def row(self, line: Line, head: re.Match[str], speed: float) -> None:
        rows, ts = self.rows, self.ts
        rows.add(
            "steps", line.number, attempt=self.attempt, rank=line.rank, place=line.location, phase="train", step=self.step,
            epoch=int(head[4]) if head[4] else None, step_s=1 / speed, value_kind="running_mean", rate_scope="global",
            tokens=self.per_step, loss=self.loss, grad_norm=self.norm, ts=ts, ts_origin="naive" if ts else None,
        )  # fmt: skip
        rows.param("framework", "olmo", line.number)
