"""pytorch/examples ImageNet lines.

Tool: pytorch/examples imagenet/main.py, and the many scripts made from it
Versions: 2017 (Prec@1), 2019 (Acc@1, padded numbers), 2022 (index from 1) and later; tabs or blanks between the fields
Yields: steps, phases, metrics, params
Source: imagenet/main.py, AverageMeter and ProgressMeter; before 2019 the print() of train() and validate()

`Time a (b)`: a is the time of one batch, b the mean since the epoch began.  At the last record of an epoch, which the
first `Test:` line after it shows, the mean times the batches is the training part; the last `Test:` record before the
line of the accuracy gives the validation in the same way; both together are the epoch, without its checkpoint.  Where
more than a hundredth of the batches come after the last record, or several writers print, no such time is derived.
Time has three decimals, `Time (s):` is the same,
and every tenth batch is printed unless told otherwise.  `step` counts all batches from 0, whether the tool's index
begins at 0 or (from June 2022) at 1.  Test lines are of the phase `validation`, and of the epoch before them; so are
lines below `validation at epoch 3`, as kenshohara/3D-ResNets-PyTorch has it, up to `train at epoch 4`.
`Data` is the wait for data only where it is no longer than Time: forks print other things there, which are metrics.

All GPUs of a node print, without saying which.  Several records of a batch are rows each, with rank NULL unless the
launcher names one, and the params row `log_writers` says how many there are; the same text twice in a row is one.
Another model, or number of batches per epoch, is another run.  Lines of NVIDIA's apex have a Speed and a Time that is a
mean: another format, as are those of torchvision's references, and of HRNet, whose Time has a unit.

Samples:
    Epoch: [0][10/5005]	Time 0.605 (2.471)	Data 0.202 (0.824)	Loss 7.0032 (7.0032)	Prec@1 0.390 (0.390)	Prec@5 1.560 (1.560)
    Epoch: [0][  11/5005]	Time  0.605 ( 2.471)	Data  0.202 ( 0.824)	Loss 7.0032e+00 (7.0032e+00)	Acc@1   0.39 (  0.39)	Acc@5   1.56 (  1.56)
    Test: [ 11/196]	Time  0.412 ( 1.120)	Loss 1.0052e+00 (9.8012e-01)	Acc@1  74.22 ( 75.11)	Acc@5  92.19 ( 92.47)
     * Prec@1 69.750 Prec@5 89.090
     * Acc@1 75.110 Acc@5 92.470
     *   Acc@1 75.110 Acc@5 92.470
    [2024-05-06 07:08:09 swin_tiny] (main.py 283): INFO  * Acc@1 75.125 Acc@5 92.500
    => creating model 'resnet50'
    validation at epoch 3
    Use GPU: 0 for training
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.number_fields import Integers
from scalelens.parsing.record_forms import RecordForm, Records, extend, form_of, rising
from scalelens.parsing.rows import Rows
from scalelens.tables import FLOAT

VERSION = 5
ANCHORS = (
    "Epoch: [", "Test: [", " * Acc@1", " * Prec@1", " *   Acc@1", " *    Acc@1", "=> creating model '",
    "=> using pre-trained model '", "Use GPU: ", "train at epoch", "validation at epoch",
)  # fmt: skip

_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf))"
_PIECE = re.compile(r"(?:Epoch|Test): \[")
_RECORD = re.compile(
    r"(?:Epoch: \[(\d{1,9})\]|Test: )\[\s*(\d{1,9})/\s*(\d{1,9})\](?=\s+Time\s)(?!\s+Time\s+[\d.]+s\s)"
)
_EVALUATES = re.compile(r"(?<![a-z])(?:evaluat|validat|test)\w{0,5}\W{0,3}\Z", re.IGNORECASE)
_OF_EPOCH = re.compile(r"Epoch: \[\d+\](?=\[)")
_HEAD = re.compile(r"Epoch: \[(\d+)\]\[( *\d+)/( *\d+)\]")
_CUT = re.compile(r"(?:Epoch: \[\d*(?:\](?:\[[\d\s/]*)?)?|Test: \[[\d\s/]*)\]?\s*(?:T|Ti|Tim|Time)?$")
_METER = re.compile(rf"\s+([A-Za-z][\w@.-]*)(?: \(s\))?:?\s+{_NUMBER}(\s*\(\s*{_NUMBER}\s*\))?(?=\s|$)")
_SUMMARY = re.compile(r"(?:.{0,200}\bINFO )?\s*\*\s+((?:Acc|Prec)@1) (\d+\.\d{3}) ((?:Acc|Prec)@5) (\d+\.\d{3})\s*$")
_SETTING = re.compile(r"=> (?:creating|using pre-trained) model '([\w.-]+)'|Use GPU: (\d+) for training")
_HEADING = re.compile(r"(?:train|(validation)) at epoch ?\d{1,9}\s*$")
_UNSEEN = 0.01  # of the batches of an epoch may come after its last record, for the mean to hold for all of them
_TORCHVISION = re.compile(r"Epoch: \[\d+(?:/\d+)?\]  \[")

_FIRST = "the only record of its kind has no accuracy at its end: it may be cut, so it is not read"
_COLUMNS = {"Time": "step_s", "Data": "data_s", "Loss": "loss", "Acc@1": "accuracy", "Prec@1": "accuracy"}
_HUNDRED = pa.scalar(100.0, FLOAT)  # without a type, Arrow would look for time libraries each time
_Meters = tuple[tuple[str, bool], ...]  # names of a record's numbers, and whether a mean follows each


class _Log:
    """State of the lines that have one label of the launcher."""

    def __init__(self, gpus: frozenset[str] = frozenset()) -> None:
        self.gpus = gpus  # that announced themselves
        self.writers = max(len(gpus), 1)
        self.base: int | None = None  # of the tool's index
        self.epoch: int | None = None
        self.step: int | None = None
        self.attempt = 0
        self.starts: Counter[int] = Counter()  # how often the first record of an epoch came in this attempt
        self.at: tuple[Any, ...] = ()
        self.texts: set[str] = set()  # the records of the batch that the log is at
        self.covered: dict[str, tuple[float | None, float]] = {}  # of a phase: epoch, and its time if it is whole
        self.spans: dict[str, float] = {}  # of the phases of the epoch that is open
        self.validates = False  # by the heading before

    def announce(self, gpu: str) -> None:
        self.gpus = frozenset({gpu}) | (frozenset() if gpu in self.gpus else self.gpus)
        self.writers = max(self.writers, len(self.gpus))

    def train(self, epoch: int, index: int, attempt: int) -> None:
        """Notes a record of the training.  As many as print an epoch's first batch in an attempt write the log."""
        if attempt != self.attempt:
            self.attempt, self.starts = attempt, Counter()
        self.epoch = epoch
        if index == 0:
            self.starts[epoch] += 1
            self.writers = max(self.writers, self.starts[epoch])


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logs: dict[tuple[int | None, str | None], _Log] = {}
        self.shapes: dict[str, _Meters] = {}  # of the last record that was whole, by phase
        self.run: tuple[int, str | None] | None = None  # batches per epoch and model
        self.model: str | None = None
        self.torchvision = False
        self.held: tuple[re.Match[str], list[re.Match[str]], _Meters, Line] | None = None  # may be cut: a first record
        self.form: RecordForm | None = None  # of the record of the training that was taken last

    def take(self, line: Line) -> bool:
        if setting := _SETTING.search(line.text):
            if setting[2]:
                self.log(line).announce(setting[2])
            self.model = setting[1] or self.model
            return True
        if heading := _HEADING.match(line.text):
            self.log(line).validates = heading[1] is not None
            return True
        starts = [match.start() for match in _PIECE.finditer(line.text)]
        if not starts:
            return self.summary(line)
        pieces = [line.text[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
        if self.log(line).validates or _EVALUATES.search(line.text, 0, starts[0]):
            pieces = [_OF_EPOCH.sub("Test: ", piece) for piece in pieces]
        return [self.record(piece, line) for piece in pieces].count(True) > 0

    def finish(self) -> None:
        self.release(())
        if self.run is None:
            self.rows.param("model", self.model)
        if (writers := sum(log.writers for log in self.logs.values() if log.at)) > 1:
            self.rows.param("log_writers", writers, origin="inferred")

    def log(self, line: Line) -> _Log:
        label = (line.rank, line.location)
        return self.logs.get(label) or self.logs.setdefault(label, _Log())

    def cut(self, line: Line, why: str = "the record is cut, or something else was printed into it") -> bool:
        self.rows.problem(line.number, why, line.text)
        return True

    def summary(self, line: Line) -> bool:
        """Accuracy of an epoch.  Older torchvision prints the same line."""
        match = _SUMMARY.match(line.text)
        if not self.shapes and (self.torchvision or not match):
            return False
        if not match:
            return self.cut(line)
        self.end_validation(self.log(line), line)
        accuracies = [(f"* {match[k]}", float(match[k + 1]), "%") for k in (1, 3)]
        self.rows.metrics(line.number, *_whose(line, self.log(line)), self.log(line).step, accuracies)
        return True

    def record(self, text: str, line: Line) -> bool:
        head = _RECORD.match(text)
        if not head:
            self.torchvision |= bool(_TORCHVISION.match(text))
            return bool(self.shapes and _CUT.match(text)) and self.cut(line)
        fields, end = [], head.end()
        while field := _METER.match(text, end):
            fields.append(field)
            end = field.end()
        shape = tuple((field[1], bool(field[3])) for field in fields)
        if ("Speed", True) in shape:
            return False
        phase = "train" if head[1] else "validation"
        known = self.shapes.get(phase, ())
        begun = _is_cut(shape, known)
        if not shape or begun or (shape != known and not _has_accuracy(shape)):
            if shape and not begun:
                self.release(())
                self.shapes[phase], self.held = shape, (head, fields, shape, line)
                return True
            return self.cut(line)
        self.release(shape)
        self.shapes[phase] = shape
        self.keep(head, fields, text, line)
        return True

    def release(self, shape: _Meters) -> None:
        """Reads the first record if the one after it has the same numbers: then it was whole."""
        if not self.held:
            return
        head, fields, own, line = self.held
        self.held = None
        if own == shape:
            self.keep(head, fields, head.string, line)
        else:
            self.cut(line, _FIRST)

    def keep(self, head: re.Match[str], fields: list[re.Match[str]], text: str, line: Line) -> None:
        """Rows of a record that is whole."""
        if row := self.position(head, text, line):
            self.cover(head, row, fields, line)
            self.add({field[1]: float(field[2]) for field in fields}, row, line)
            formed = self.form and len(self.form.head) == text.find("\t")
            if self.rows.many and not formed and head[1] and text is line.text:
                self.form = form_of(text, text.partition("\t")[0], "\t")

    def cover(self, head: re.Match[str], row: dict[str, Any], fields: list[re.Match[str]], line: Line) -> None:
        """Notes how long the batches up to here took.  The first record of a validation ends the training before it."""
        log, total = self.log(line), int(head[3])
        mean = next((float(field[4]) for field in fields if field[1] == "Time" and field[4]), 0.0)
        batches = int(head[2]) - (log.base or 0) + 1
        if row["phase"] == "validation" and "train" in log.covered:
            self.end(log, "train", line)
        seen = batches >= (1 - _UNSEEN) * total and log.writers == 1
        log.covered[row["phase"]] = row["epoch"], mean * total if seen else 0.0

    def end_validation(self, log: _Log, line: Line) -> None:
        """The line of the accuracy ends a validation, and with it the epoch."""
        if "validation" not in log.covered or log.epoch is None:
            return
        epoch = log.covered["validation"][0]
        self.end(log, "validation", line)
        if len(log.spans) == 2:
            self.span(log, "epoch", epoch, sum(log.spans.values()), line)
        log.spans = {}

    def end(self, log: _Log, phase: str, line: Line) -> None:
        epoch, span_s = log.covered.pop(phase)
        if phase == "train":
            log.spans = {}
        if span_s and epoch is not None:
            log.spans[phase] = span_s
            self.span(log, phase, epoch, span_s, line)

    def span(self, log: _Log, phase: str, epoch: float | None, span_s: float, line: Line) -> None:
        rank, place = _whose(line, log)
        self.rows.add(
            "phases", line.number, attempt=log.attempt, rank=rank, place=place, phase=phase, epoch=epoch,
            span_s=round(span_s, 3), origin="derived",
        )  # fmt: skip

    def take_records(self, records: Records) -> int:
        """Records of one writer behind the first batch of an epoch, whose steps rise; not the last of them."""
        rows, label = self.rows, (records.prefix.rank, records.prefix.location)
        log, following = self.logs.get(label), rows.following(None, _label_text(*label))
        head = _HEAD.fullmatch(records.form.head)
        if not head or not log or not following or log.writers > 1 or log.base is None or not self.run:
            return 0
        attempt, launch = following
        epochs, indices, totals = (records.form.number_in_head(records, *head.span(k)).to_numpy() for k in (1, 2, 3))
        values = dict(zip([field.before.split()[0] for field in records.form.fields], records.fields, strict=True))
        steps = epochs * totals + indices - log.base
        late = pc.greater(values["Data"], values["Time"]).to_numpy(zero_copy_only=False) if "Data" in values else False
        odd = np.flatnonzero((totals != self.run[0]) | (indices <= log.base) | late)
        count: int = min([rising(steps, launch.top), len(steps) - 1, *odd[:1].tolist()])
        if log.attempt != attempt or count < 1:
            return 0
        records, steps, epochs = records.part(0, count), steps[:count], epochs[:count]
        self.add_columns(
            records, {name: column.slice(0, count) for name, column in values.items()}, steps, epochs, attempt
        )
        extend(launch, steps)
        log.epoch, log.step = int(epochs[-1]), int(steps[-1])
        log.at, log.texts = (), set()
        return count

    def add_columns(
        self, records: Records, values: dict[str, pa.Array], steps: Integers, epochs: Integers, attempt: int
    ) -> None:
        """What `add` does, for records of the training whose `Data` is the wait for data."""
        whose = {"line": records.lines, "rank": records.prefix.rank, "place": records.prefix.location, "step": steps}
        row: dict[str, Any] = {"phase": "train", "epoch": epochs, "attempt": attempt}
        for name, numbers in values.items():
            if name in _COLUMNS:
                row[_COLUMNS[name]] = pc.divide(numbers, _HUNDRED) if _COLUMNS[name] == "accuracy" else numbers
            else:
                unit = "%" if "@" in name else None
                metric = {"attempt": self.rows.attempt, "name": name, "value": numbers, "unit": unit, "stat": "value"}
                self.rows.put_columns("metrics", whose | metric)
        self.rows.put_columns("steps", whose | row | {"value_kind": "instant", "averaged_steps": 1})

    def position(self, head: re.Match[str], text: str, line: Line) -> dict[str, Any] | None:
        """Where a record is, or None for one that was printed just before."""
        index, total = int(head[2]), int(head[3])
        if head[1] and self.run != (run := (total, self.model)):
            if self.run is not None:
                self.rows.new_part()
                self.logs = {label: _Log(log.gpus) for label, log in self.logs.items()}
            self.run = run
            self.rows.param("framework", "pytorch", line.number, origin="inferred")
            self.rows.param("model", self.model, line.number)
            self.rows.param("iterations_per_epoch", total, line.number)
        log = self.log(line)
        if log.base is None or index == 0:
            log.base = int(index % 10 == 1)  # every tenth is printed: 0, 10, 20 or 1, 11, 21
        index -= log.base
        epoch = int(head[1]) if head[1] else log.epoch
        if log.at != (at := (head[1] is None, epoch, index)):
            log.at, log.texts = at, set()
        if text in log.texts:
            return None
        log.texts.add(text)
        step = (epoch or 0) * total + index
        if head[1]:
            place = _label_text(line.rank, line.location)
            log.train(int(head[1]), index, self.rows.attempt_of(line.number, step, place=place).attempt)
            log.step = step
        return {"phase": "train" if head[1] else "validation", "epoch": epoch, "step": step, "attempt": log.attempt}

    def add(self, values: dict[str, float], row: dict[str, Any], line: Line) -> None:
        metrics: list[tuple[str, float, str | None]] = []
        for name, value in values.items():
            if name in _COLUMNS and (name != "Data" or value <= values["Time"]):
                row[_COLUMNS[name]] = value / 100 if _COLUMNS[name] == "accuracy" else value
            else:
                called = name if row["phase"] == "train" else f"Test: {name}"
                metrics.append((called, value, "%" if "@" in name else None))
        rank, place = _whose(line, self.log(line))
        row.update(rank=rank, place=place, value_kind="instant", averaged_steps=1)
        self.rows.put("steps", line.number, row)
        self.rows.metrics(line.number, rank, place, row["step"], metrics)


def _whose(line: Line, log: _Log) -> tuple[int | None, str | None]:
    """Rank of a record.  A label that several writers share is that of the task that started them."""
    if log.writers > 1 and line.rank is not None:
        return None, str(line.rank)
    return line.rank, line.location


def _label_text(rank: int | None, place: str | None) -> str:
    """The label of a launcher, after which several writers may come."""
    return ":".join(str(label) for label in (rank, place) if label is not None)


def _has_accuracy(shape: _Meters) -> bool:
    return shape[-1][1] and any(name.endswith("@1") for name, _ in shape)


def _is_cut(shape: _Meters, whole: _Meters) -> bool:
    """Whether a record of this shape is the beginning of one of that shape."""
    if not shape or len(shape) > len(whole) or shape == whole:
        return False
    last = len(shape) - 1
    return shape[:last] == whole[:last] and whole[last][0].startswith(shape[last][0])
