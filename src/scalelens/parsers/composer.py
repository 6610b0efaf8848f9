"""Composer's block of a batch, as LLM Foundry prints it.

Tool: Composer, LLM Foundry
Versions: 0.12 and later
Yields: steps, metrics, params
Source: composer/loggers/console_logger.py; composer/callbacks/speed_monitor.py

Every value of a block is a metric.  Its throughput is a row of steps: rates of the whole job, means over a window of
batches (100 unless told otherwise) that is not the distance of two blocks: a running mean.  The first batches, before
the window is full, have none.

Samples:
    [batch=20/3200]:
    [epoch=1][batch=20/3200]:
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 2
ANCHORS = ("[batch=",)

_HEAD = re.compile(r"(?:\[epoch=(\d+)(?:/\d+)?\])?\[batch=(\d+)/(\d+)\]:\s*$")
_BLOCK = re.compile(r"\s+(?:Train|Eval) \S")
_ENTRY = re.compile(r"\s+Train ([\w/.@ -]+): (-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))\s*$")


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.step = -1
        self.attempt = 0
        self.values: dict[str, float] = {}

    def take(self, line: Line) -> bool:
        self.claims = None
        head = _HEAD.match(line.text)
        if not head:
            return False
        self.values, self.claims, step = {}, _BLOCK, int(head[2])
        self.attempt = self.rows.attempt_of(line.number, step, line.rank, line.location, once=False).attempt
        self.step = step
        return True

    def more(self, line: Line) -> None:
        rows, match = self.rows, _ENTRY.match(line.text)
        if not match:
            if ": <" not in line.text and line.text.lstrip().startswith("Train "):  # an image, printed as an object
                rows.problem(line.number, "the value is not a number", line.text)
            return
        name, value = match[1], float(match[2])
        self.values[name] = value
        if name == "throughput/samples_per_sec":
            batches = self.values.get("throughput/batches_per_sec")
            rows.add(
                "steps", line.number, attempt=self.attempt, rank=line.rank, place=line.location, phase="train",
                step=self.step, step_s=1 / batches if batches else None, samples_per_s=value, rate_scope="global",
                value_kind="running_mean", loss=self.values.get("loss/train/total"),
            )  # fmt: skip
            rows.param("framework", "composer", line.number)
        elif name == "trainer/device_train_microbatch_size" and value.is_integer():
            rows.param("micro_batch_size", int(value), line.number)
        else:
            rows.metric(line.number, line.rank, line.location, self.step, name, value)
