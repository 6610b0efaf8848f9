"""Progress lines of torchvision's references, and of what copied their MetricLogger.

Tool: torchvision references, MLPerf SSD and RetinaNet, DETR, DeiT, MAE, ConvNeXt, DINO, BLIP, LAVIS
Versions: 2018 to 2025
Yields: params, steps, phases, metrics
Source: vision/references/classification/utils.py, MetricLogger.log_every(); train.py, train_one_epoch() and evaluate()

`time` and `data` are means of the last 20 batches of the process; where more often than every 20 is printed, they
overlap, and `averaged_steps` is the distance to the record before, so that each batch counts once.  Batches are launched, not awaited: `data` holds back-pressure of the device and does not mean that the input is slow.
`img/s` is of one batch of one process, without the wait for data: a metric.  Total times are whole seconds.

Samples:
    Epoch: [0]  [  10/5005]  eta: 0:12:34  lr: 0.1  img/s: 812.4  loss: 6.9123 (6.9456)  acc1: 0.0000 (0.1023)  acc5: 0.7812 (0.6120)  time: 0.1510  data: 0.0011  max mem: 5310
    Epoch: [3]  [  20/2286]  eta: 1 day, 0:02:23    time: 0.0662  data: 0.0646  max mem: 21022
    Test:   [ 0/79]  eta: 0:01:15  loss: 0.9123 (0.9123)  acc1: 78.1250 (78.1250)  time: 0.9533  data: 0.7010
    Epoch: [0] Total time: 0:17:03
    Test:  Acc@1 76.130 Acc@5 92.862
    [05:04:03.125000] * Acc@1 61.250 Acc@5 83.125 loss 1.625
    Epoch: [1/100]  [2240/2502]  eta: 0:02:44  loss: 5.312500 (6.125000)  lr: 0.000125 (0.000100)  wd: 0.040125 (0.040100)  time: 0.512500  data: 0.000250  max mem: 12500
    Train: data epoch: [0]; inner epoch [3]  [ 0/25]  eta: 0:02:10  lr: 0.000001  loss: 2.7380  time: 5.2060  data: 0.0000  max mem: 15409
    Train Epoch: [0]  [   50/11250]  eta: 6:15:20  lr: 0.000010  loss_ita: 8.1250  loss_itm: 0.6250  time: 1.2500  data: 0.0002  max mem: 15125
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.number_fields import Integers
from scalelens.parsing.record_forms import RecordForm, Records, extend, form_of_keys, rising
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import clock_span
from scalelens.tables import FLOAT

VERSION = 3
ANCHORS = ("  eta: ", "] Total time: ", "Test:  Total time: ", "Test: Total time: ", " Acc@1 ")

_EPOCH = r"(?:(?:Epoch: |data epoch: \[\d{1,9}\]; inner epoch |data epoch: )\[(\d{1,9})(?:/\d+)?\]|Test:"
_RECORD = re.compile(
    _EPOCH + r"(?: \w+)?)\s+\[( *\d{1,9})/(\d{1,9})\]  eta: (?:\d+ days?, )?[\d:.]+(?=\s|$)",
)
_SPAN = re.compile(_EPOCH + r")\s+Total time: ((?:\d{1,6} days?, )?\d{1,4}:\d\d:\d\d)(?!\d)")
_SUMMARY = re.compile(r"(?:Test: .{0,40}?|(\* ))Acc@1 (\d+\.\d+) Acc@5 (\d+\.\d+)( loss \d)?")
_FIELD = re.compile(r"([A-Za-z][\w@/. -]*): (-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf)|nan)(?: \(\S+\))?\Z")
_WHOLE = re.compile(r"\d+\.\d{4}(?:\d\d)?")
_WHOLE_SHAPE = rb"(?:(?<=\.0000)|(?<=\.000000))"  # the same of a number with a 0 for each digit
_HEAD = re.compile(r".{0,200}?eta(?=: \d{1,9}:\d\d:\d\d\s)")
_CLOCK = 3  # numbers of the time that is left
_WINDOW = 20  # batches of a SmoothedValue
_UNITS = {"img/s": "samples/s", "acc5": "%"}


class _Column(NamedTuple):
    """A column of `steps`, and what a number is multiplied by."""

    name: str
    factor: float


_COLUMNS = {
    "time": _Column("step_s", 1), "data": _Column("data_s", 1), "loss": _Column("loss", 1),
    "lr": _Column("learning_rate", 1), "max mem": _Column("peak_memory_bytes", 2.0**20),
}  # fmt: skip


class _Log:
    """State of the lines that have one label of the launcher."""

    def __init__(self) -> None:
        self.at = (-1, -1)
        self.attempt = 0
        self.step: int | None = None
        self.last = (False, -1)  # whether the last record is of the training, and its batch

    def steps_since(self, train: bool, index: int) -> int:
        """Batches since the record before, or since the epoch began; at most those that the mean is of."""
        is_next = self.last[0] == train and self.last[1] < index
        since = index - self.last[1] if is_next else index + 1
        self.last = train, index
        return min(_WINDOW, since)


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logs: dict[tuple[int | None, str | None], _Log] = {}
        self.total: int | None = None  # batches of an epoch
        self.form: RecordForm | None = None  # of the record of the training that was taken last
        self.names: list[str] = []  # of its numbers

    def take(self, line: Line) -> bool:
        log = self.logs.setdefault((line.rank, line.location), _Log())
        if head := _RECORD.search(line.text):
            self.record(head, log, line)
        elif span := _SPAN.search(line.text):
            self.rows.add(
                "phases", line.number, attempt=log.attempt, rank=line.rank, place=line.location,
                phase="train" if span[1] else "validation", epoch=int(span[1]) if span[1] else _epoch_of(log),
                step=log.step, span_s=clock_span(span[2]), origin="logged",
            )  # fmt: skip
        elif (match := _SUMMARY.search(line.text)) and (self.total or match[4] or not match[1]):
            accuracies = [(f"Test: Acc@{k}", float(match[n]), "%") for k, n in ((1, 2), (5, 3))]
            self.rows.metrics(line.number, line.rank, line.location, log.step, accuracies)
        else:
            return False
        return True

    def record(self, head: re.Match[str], log: _Log, line: Line) -> None:
        train, index, total = head[1] is not None, int(head[2]), int(head[3])
        fields = [_FIELD.match(text.strip()) for text in re.split(r"\s\s+|\t", line.text[head.end() :]) if text.strip()]
        values = {field[1]: field[2] for field in fields if field}
        # They have four decimals, or six: others are the beginning of a number.
        if None in fields or not all(_WHOLE.fullmatch(values.get(name, "")) for name in ("time", "data")):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
            return
        row: dict[str, Any] = {"rank": line.rank, "place": line.location, "phase": "train" if train else "validation"}
        if train:
            self.position(int(head[1]), index, total, log, line)
        row |= {"attempt": log.attempt, "epoch": _epoch_of(log), "step": log.step if train else index}
        row |= {"averaged_steps": log.steps_since(train, index), "value_kind": "interval_mean"}
        metrics: list[tuple[str, float, str | None]] = []
        for name, text in values.items():
            value = float(text)
            if name == "acc1":
                row["accuracy"] = value / 100
            elif name in _COLUMNS:
                row[_COLUMNS[name].name] = value * _COLUMNS[name].factor
            else:
                metrics.append((name if train else f"Test: {name}", value, _UNITS.get(name)))
        self.rows.put("steps", line.number, row)
        self.rows.metrics(line.number, line.rank, line.location, row["step"], metrics)
        if train and self.rows.many:
            self.learn(line.text, head, [*values])

    def learn(self, text: str, head: re.Match[str], names: list[str]) -> None:
        """Learns the form of a record of the training, where it is another one than so far."""
        of_head = _HEAD.match(text, head.start())
        if not of_head or (self.form and len(self.form.head) == of_head.end() and self.names == names):
            return
        form = form_of_keys(text, text[: of_head.end()])
        plain = form and [field.numbers == 1 and not field.before.strip() for field in form.fields]
        self.form = None
        if form and plain == [True] * (_CLOCK + len(names)):
            for k, name in enumerate(names, _CLOCK):
                if name in ("time", "data"):
                    form.fields[k] = form.fields[k]._replace(after=_WHOLE_SHAPE + form.fields[k].after)
            self.form, self.names = form, names

    def take_records(self, records: Records) -> int:
        """Records of the epoch of the last one, of which each is of a later batch."""
        rows, prefix, form = self.rows, records.prefix, records.form
        log, following = self.logs.get((prefix.rank, prefix.location)), rows.following(prefix.rank, prefix.location)
        head = _RECORD.search(form.head + ": 0:00")
        if not log or not following or not head or "iterations_per_epoch" not in rows.params:
            return 0
        attempt, launch = following
        if attempt != log.attempt or launch.top != log.at or log.last != (True, log.at[1]):
            return 0
        epochs, indices, totals = (form.number_in_head(records, *head.span(k)).to_numpy() for k in (1, 2, 3))
        stops = (epochs != log.at[0]) | (totals != self.total)
        count: int = min([rising(indices, log.at[1]), *np.flatnonzero(stops)[:1].tolist()])
        if count:
            self.add_columns(records.part(0, count), indices[:count], log)
            extend(launch, indices[:count], epoch=log.at[0])
            log.at, log.last = (log.at[0], int(indices[count - 1])), (True, int(indices[count - 1]))
            log.step = log.at[0] * int(totals[0]) + log.at[1]
        return count

    def add_columns(self, records: Records, indices: Integers, log: _Log) -> None:
        """What `record` does, for records of the training that go on with a launch."""
        assert self.total is not None
        rows, prefix, epoch = self.rows, records.prefix, log.at[0]
        whose = {"line": records.lines, "rank": prefix.rank, "place": prefix.location}
        whose["step"] = epoch * self.total + indices
        row: dict[str, Any] = {"attempt": log.attempt, "phase": "train", "epoch": float(epoch)}
        row |= {"averaged_steps": np.minimum(_WINDOW, np.diff(indices, prepend=log.last[1]))}
        for name, values in zip(self.names, records.fields[_CLOCK:], strict=True):
            if name in _COLUMNS:
                column, factor = _COLUMNS[name]
                row[column] = values if factor == 1 else pc.multiply(values, pa.scalar(factor, FLOAT))
            elif name == "acc1":
                row["accuracy"] = pc.divide(values, pa.scalar(100.0, FLOAT))
            else:
                metric = {"attempt": rows.attempt, "name": name, "value": values, "unit": _UNITS.get(name)}
                rows.put_columns("metrics", whose | metric | {"stat": "value"})
        rows.put_columns("steps", whose | row | {"value_kind": "interval_mean"})

    def position(self, epoch: int, index: int, total: int, log: _Log, line: Line) -> None:
        """Where a record of the training is: going back is a restart, with other batches another run."""
        if (epoch, index) <= log.at and total != self.total:
            self.rows.new_part()
            self.logs.clear()
            self.logs[line.rank, line.location] = log
        log.attempt = self.rows.attempt_of(line.number, (epoch, index), line.rank, line.location).attempt
        if total != self.total or "iterations_per_epoch" not in self.rows.params:
            self.rows.param("framework", "pytorch", line.number, origin="inferred")
            self.rows.param("iterations_per_epoch", total, line.number)
        self.total, log.at, log.step = total, (epoch, index), epoch * total + index


def _epoch_of(log: _Log) -> int | None:
    return log.at[0] if log.at[0] >= 0 else None
