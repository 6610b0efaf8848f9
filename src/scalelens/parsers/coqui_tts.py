"""Records of the console of Coqui's trainer, each over several lines.

Tool: Coqui TTS and its Trainer; Mozilla TTS before it
Versions: TTS 0.0.9 to 0.27
Yields: steps, metrics
Source: trainer/logging/console_logger.py: ConsoleLogger.print_train_step(); trainer/trainer.py: train_step()

Each value is that of the step, and the one in brackets, its mean since the epoch began, is not read.  `step_time` begins
when the batch is there: the time of a step is that and `loader_time`, which is `data_s`.  With two optimizers each has a
loss (`loss_0`, `loss_1`), and `loss` is read only where it is printed.  Values of an evaluation are not read.  A record that
ends before its `step_time` is a problem.

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
ANCHORS = ("-- GLOBAL_STEP: ", " > EPOCH: ", "   --> STEP: ")

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan"
_RECORD = re.compile(
    r"\s*--> (?:TIME: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) -- )?STEP: \d{1,12}/\d{1,12} -- GLOBAL_STEP: (\d{1,15})\s*\Z"
)
_EPOCH = re.compile(r"\s*> EPOCH: (\d{1,9})/\d{1,9}\s*\Z")
_EVALUATION = re.compile(r"\s*--> STEP: \d{1,12}\s*\Z")
_VALUE = re.compile(rf"\s*\| > ([A-Za-z][\w./ -]{{0,60}}): (?:tensor\()?({_N})")
_COLUMNS = {"loss": "loss", "current_lr": "learning_rate", "grad_norm": "grad_norm", "loader_time": "data_s"}


class Reader:
    claims = re.compile(r"\s*\| > ")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.epoch: int | None = None
        self.begun: tuple[Line, int, str | None] | None = None  # a record, its step and time stamp
        self.values: dict[str, float] = {}

    def finish(self) -> None:
        self.put()

    def take(self, line: Line) -> bool:
        if record := _RECORD.match(line.text):
            self.put()
            self.begun = line, int(record[2]), record[1]
            return True
        if (epoch := _EPOCH.match(line.text)) or _EVALUATION.match(line.text):
            self.put()
        self.epoch = int(epoch[1]) if epoch else self.epoch
        return False

    def more(self, line: Line) -> None:
        """A value of the record."""
        if self.begun and (value := _VALUE.match(line.text)) and value[2] != "nan":
            self.values.setdefault(value[1], float(value[2]))

    def put(self) -> None:
        """Writes the record that has begun."""
        if not self.begun:
            return
        (line, step, stamp), values = self.begun, self.values
        self.begun, self.values = None, {}
        if "step_time" not in values:
            self.rows.problem(line.number, "the record ends before its step_time", line.text)
            return
        position = self.rows.attempt_of(line.number, step, line.rank, line.location)
        row: dict[str, Any] = {"attempt": position.attempt, "rank": line.rank, "place": line.location, "phase": "train"}
        row |= {"epoch": self.epoch, "step": step, "value_kind": "instant"}
        row["step_s"] = values.pop("step_time") + values.get("loader_time", 0.0)
        row |= {column: values.pop(name) for name, column in _COLUMNS.items() if name in values}
        if stamp:
            row |= {"ts": datetime.fromisoformat(stamp), "ts_origin": "naive"}
        self.rows.put("steps", line.number, row)
        self.rows.param("framework", "pytorch", line.number, origin="inferred")
        named = [(name, value, "s" if name.endswith("_time") else None) for name, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, step, named)
