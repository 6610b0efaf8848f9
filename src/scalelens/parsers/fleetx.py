"""PaddleFleetX and PaddleNLP: the record of a step of a language model, and the batch sizes in the configuration.

Tool: PaddleFleetX (ppfleetx), PaddleNLP's pretraining of GPT
Versions: PaddleFleetX 0.1 to develop of 2023; PaddleNLP 2.x
Yields: steps, metrics, params
Source: ppfleetx/core/module/language_module.py, training_step_end(); ppfleetx/utils/config.py, print_config();
    PaddleNLP model_zoo/gpt/run_pretrain.py

The time of a step is `avg_batch_cost`, a mean over the steps since the record before; `speed` is its reciprocal with two
decimals.  `ips_total` is of the job, `ips` of a device: the tokens of a step are the first times its seconds.  The steps
of FleetX begin with 0.

Samples:
    [2023-01-02 03:04:05,678] [INFO] - [train] epoch: [0/1], batch: [7/400], loss: 10.125000000, avg_batch_cost: 0.51250 sec, speed: 1.95 step/s, ips_total: 15984 tokens/s, ips: 1998 tokens/s,  learning rate: 1.25000e-07
    [2023-01-02 03:04:05,678] [    INFO] - global step 7, epoch: 0, batch: 6, loss: 10.125000000, avg_reader_cost: 0.00125 sec, avg_batch_cost: 0.51250 sec, speed: 1.95 step/s, ips_total: 15984 tokens/s, ips: 1998 tokens/s, learning rate: 1.25000e-07
    [2023-01-02 03:04:00,125] [INFO] -     global_batch_size : 16
    [2023-01-02 03:04:00,125] [INFO] - The distributed run, total device num:8, distinct dataflow num:8.
"""

from datetime import datetime

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = (
    ", avg_batch_cost: ", " - The distributed run, total device num:",
    *(f"     {key} : " for key in ("global_batch_size", "micro_batch_size", "max_seq_len", "logging_freq")),
)  # fmt: skip

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
_RECORD = re.compile(
    r"(?:\[train\] epoch: \[?(?P<epoch>\d{1,9})(?:/\d+\])?, batch: \[?(?P<batch>\d{1,15})(?:/\d+\])?"
    r"|global step (?P<step>\d{1,15}), epoch: (?P<of>\d{1,9}), batch: \d{1,15})"
    rf", loss: (?P<loss>{_N}), (?:avg_reader_cost: (?P<reader>{_N}) sec, )?avg_batch_cost: (?P<cost>{_N}) sec, "
    rf"speed: {_N} steps?/s, (?P<rest>.*)"
)
_END = re.compile(rf"ips_total: (?P<total>{_N}) tokens/s, ips: (?P<ips>{_N}) tokens/s, +learning rate: (?P<rate>{_N})")
_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] \[ *INFO\]")
_FACT = re.compile(r"\] -     +(global_batch_size|micro_batch_size|max_seq_len|logging_freq) : (\d{1,12})\s*$")
_DEVICES = re.compile(r" - The distributed run, total device num: ?(\d{1,9}), ")
_KEYS = {"max_seq_len": "seq_length"}


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.every: int | None = None  # steps between two records: as configured, else the fewest so far

    def take(self, line: Line) -> bool:
        if record := _RECORD.search(line.text):
            if end := _END.match(record["rest"]):
                self.record(line, record, end)
            else:
                self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return True
        fact, devices = _FACT.search(line.text), _DEVICES.search(line.text)
        if fact and fact[1] == "logging_freq":
            self.every = int(fact[2]) or None
        elif fact:
            self.rows.param(_KEYS.get(fact[1], fact[1]), int(fact[2]), line.number)
        elif devices:
            self.rows.param("devices", int(devices[1]), line.number)
        return bool(fact or devices)

    def record(self, line: Line, record: re.Match[str], end: re.Match[str]) -> None:
        rows, cost, total = self.rows, float(record["cost"]), float(end["total"])
        step = int(record["step"] or record["batch"])
        stamp = _STAMP.search(line.text)
        ts = datetime.fromisoformat(f"{stamp[1]}.{stamp[2]}") if stamp else None
        position = rows.attempt_of(line.number, step, line.rank, line.location, ts, cost)
        leap = step - position.before if position.before is not None else self.every or 1
        if position.before is not None and leap > 0:
            self.every = min(self.every or leap, leap)
        steps = max(min(leap, self.every or leap), 1)  # where records are missing, their steps are not in the mean
        rows.param("framework", "paddlepaddle", line.number, origin="inferred")
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=int(record["epoch"] or record["of"]), step=step, step_s=cost, averaged_steps=steps,
            value_kind="instant" if steps == 1 else "interval_mean", tokens=total * cost if total > 0 else None,
            data_s=float(record["reader"]) if record["reader"] else None, loss=float(record["loss"]),
            learning_rate=float(end["rate"]), ts=ts, ts_origin="naive" if ts else None,
        )  # fmt: skip
        printed = [("ips_total", total, "tokens/s"), ("ips", float(end["ips"]), "tokens/s/device")]
        rows.metrics(line.number, line.rank, line.location, step, printed)
