"""Records of the console of Coqui's trainer, each over several lines.

Tool: Coqui TTS and its Trainer; Mozilla TTS before it
Versions: TTS 0.0.9 to 0.27
Yields: steps, metrics
Source: trainer/logging/console_logger.py: ConsoleLogger.print_train_step(); trainer/trainer.py: train_step()

Each value is that of the step, and the one in brackets, its mean since the epoch began, is not read.  `step_time` begins
when the batch is there: the time of a step is that and `loader_time`, which is `data_s`.  With two optimizers each has a
loss (`loss_0`, `loss_1`), and `loss` is read only where it is printed.  Values of an evaluation are not read.  A record ends
with its `loader_time`; the last one of a job that was killed may have none, and is not read.

Samples:
       --> TIME: 2026-01-02 03:04:05 -- STEP: 24/390 -- GLOBAL_STEP: 1194
       --> STEP: 24/390 -- GLOBAL_STEP: 1194
"""

from datetime import datetime
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("-- GLOBAL_STEP: ", " > EPOCH: ")

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan"
_RECORD = re.compile(
    r"\s*--> (?:TIME: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) -- )?STEP: \d{1,12}/\d{1,12} -- GLOBAL_STEP: (\d{1,15})\s*\Z"
)
_EPOCH = re.compile(r"\s*> EPOCH: (\d{1,9})/\d{1,9}\s*\Z")
_VALUE = re.compile(rf"\s*\| > ([A-Za-z][\w./ -]{{0,60}}): (?:tensor\()?({_N})")
_COLUMNS = {"loss": "loss", "current_lr": "learning_rate", "grad_norm": "grad_norm", "loader_time": "data_s"}


class Reader:
    claims = re.compile(r"\s*\| > ")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: int | None = None
        self.begun: tuple[Line, int, str | None] | None = None  # a record, its step and time stamp
        self.values: dict[str, float] = {}

    def take(self, line: Line) -> bool:
        if record := _RECORD.match(line.text):
            if self.begun:
                cut, *_ = self.begun
                self.rows.problem(cut.number, "the record ends before its loader_time", cut.text)
            self.begun, self.values = (line, int(record[2]), record[1]), {}
            return True
        if epoch := _EPOCH.match(line.text):
            self.epoch = int(epoch[1])
        return False

    def more(self, line: Line) -> None:
        """A value of the record, of which `loader_time` is the last."""
        if not self.begun or not (value := _VALUE.match(line.text)):
            return
        if value[2] != "nan":
            self.values.setdefault(value[1], float(value[2]))
        if value[1] == "loader_time":
            self.put(line.number)

    def put(self, last: int) -> None:
        """Writes the record that ends with the line `last`."""
        assert self.begun
        (line, step, stamp), values = self.begun, self.values
        self.begun = None
        position = self.rows.attempt_of(line.number, step, line.rank, line.location)
        row: dict[str, Any] = {"attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": self.epoch, "step": step}
        if "step_time" in values:
            row |= {"step_s": values.pop("step_time") + values.get("loader_time", 0.0), "value_kind": "instant"}
        row |= {column: values.pop(name) for name, column in _COLUMNS.items() if name in values}
        if stamp:
            row |= {"ts": datetime.fromisoformat(stamp), "ts_origin": "naive"}
        self.rows.put("steps", last, row)
        self.rows.param("framework", "pytorch", last, origin="inferred")
        named = [(name, value, "s" if name.endswith("_time") else None) for name, value in values.items()]
        self.rows.metrics(last, line.rank, line.location, step, named)
