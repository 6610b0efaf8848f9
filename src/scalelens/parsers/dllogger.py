"""NVIDIA DLLogger: its console lines and its lines of JSON.

Tool: DeepLearningExamples (PyTorch, TensorFlow, MXNet) and whatever else logs with dllogger
Versions: dllogger 0.1 to 1.1; prefix `DLLL` on the console until 2019, on lines of JSON always
Yields: params, steps, metrics
Source: dllogger/logger.py, StdOutBackend and JSONStreamBackend; PyTorch/Classification/ConvNets/image_classification/logger.py;
    TensorFlow/Classification/ConvNets/utils/hooks/benchmark_hooks.py

`total_ips` is the throughput of the whole job, waiting for data included; `compute_ips` leaves that out and is a metric.
PyTorch prints the mean of the rates of `print_freq` iterations, MXNet a rate over `disp_batches`, TensorFlow that of one
batch.  A record may come in two lines (default and verbose metrics): one row, at the first.  Where data_time and
compute_time are printed, their sum is the step's time, else global batch / rate.  `batch_size` is per device, under
MXNet, in NCF and in DLRM of the whole job.  The number of devices is not printed: it is inferred from images per second, the distance of
the time stamps and the batch (origin `inferred`), or left open.  Means of an epoch and of the run are metrics `Epoch: ...`
and `Summary: ...`: means of rates, which are larger than images over time.
RNN-T of MLPerf prints fields between bars, for an epoch, an iteration or the run.  They are metrics: what a rate is the
mean of differs from line to line, and MLPerf's own lines have the steps.
R-GAT of MLPerf too prints bars; its iteration_time is the mean of the last `log_every` steps, on the clock of rank 0.
Iterations count from the start of the epoch; `step` goes on from the last one printed of the epoch before.  BERT's count
through the run, without a rate: their times are in the time stamps alone.

Samples:
    DLL 2024-05-06 07:08:09.101112 - PARAMETER arch : resnet50  batch_size : 64  print_freq : 1  amp : True
    DLL 2024-05-06 07:08:19.212223 - Epoch: 0 Iteration: 2  train.loss : 6.91234 None train.compute_ips : 1300.50 images/s train.total_ips : 1280.00 images/s train.lr : 0.1
    DLL 2024-05-06 07:08:29.212223 - (0, 20) total_ips : 2560.0
    DLL 2024-05-06 07:08:39.250000 - Training Epoch: 0 Training Iteration: 250  average_loss : 8.125 step_loss : 7.875  learning_rate : 0.0003125
    DLL 2024-05-06 07:08:49.250000 - Iteration: 30  throughput_train : 96.5 seq/s mlm_loss : 9.375
    DLL 2024-05-06 07:08:59.250000 - epoch    3 | avg train utts/s  9410 | took 29.51 s
    DLL 2024-05-06 07:08:59.500000 - Iteration 12 | train_acc : 0.2500 % | iteration_time : 81.25 ms | used_graph : True
    DLLL {"timestamp": "1714979309.5", "datetime": "2024-05-06 07:08:29.500000", "elapsedtime": "20.5", "type": "LOG", "step": [0, 10], "data": {"train.loss": 6.5, "train.total_ips": 2500.0}}
"""

import functools
import json
import statistics
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.keyed_records import KeyedForm, keyed_form_of
from scalelens.parsing.number_fields import Integers
from scalelens.parsing.record_forms import RecordForm, Records, extend, seconds_apart
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer, iso_time
from scalelens.tables import FLOAT

VERSION = 6
ANCHORS = ("DLL 20", "DLLL ", '"type": "LOG", "step": ')
LATER = ("step_s", "samples", "samples_per_s", "rate_scope", "data_s", "loss", "learning_rate")  # later lines may say

_PIECE = re.compile(r'DLLL? (?=\d{4}-\d\d-\d\d )|(?:DLLL )?\{"timestamp": ')
_ALONE = 'DLLL {"timestamp": '  # a record in JSON
_CONSOLE = re.compile(r"DLLL? (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) - ")
_STEP = re.compile(
    r"(?P<name>PARAMETER)[ |]|\((?:(\d+)(?:, (\d+)(?:, (\d+))?|,)?)?\) |(?:Summary|Calibration Iteration: \d+): ?"
    r"|(?P<only>(?:Training )?Iteration:? )(\d+) (?P<bar>\| )?|(?= \S+ : )|(?P<words>[A-Za-z_]+(?: [a-z]+)?)(?: [\d.]+)? \| "
    r"|(?:Training )?Epoch: (\d+) (?:(?:Training )?Iteration: (\d+) (?:Validation Iteration: (\d+) )?)?"
)
_KEY = re.compile(r"(?<!\S)([^\s:|]+) : ")
_BARRED = re.compile(r"(?:(?P<epoch>epoch) +\d+ |(?= \| ))(?P<iteration>\| iter +\d+/\d+ )?(?= ?\| )")
_FIELD = re.compile(r" ?\| +([^|\d]+?) ( *\d+(?:\.\d+)?(?:[eE][-+]\d\d)?)(?: (s))? ?(?= ?\||\Z)")
_WHOLE = re.compile(r"[\d.]+[eE][-+]\d\d|(?=.{5}) *\d+")
_BAR = re.compile(r"(?<!\s)\s{3,}\S.*")  # printed into the line
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)(?!\S)")
_IN_BRACKETS = re.compile(r" \((\d+(?:\.\d+)?)\)")
_COLUMNS = {
    "loss": "loss", "step_loss": "loss", "total_ips": "samples_per_s", "ips": "samples_per_s", "data_time": "data_s",
    "train_loss": "loss", "lr": "learning_rate", "learning_rate": "learning_rate", "top1": "accuracy",
    "train_iter_time": "step_s",
}  # fmt: skip
_SETTINGS = ("arch", "batch_size", "optimizer_batch_size", "world_size", "amp", "fp16", "dtype", "precision")
_EVERY = ("print_freq", "disp_batches", "log_every")
_FRAMEWORKS = {"kv_store": "mxnet", "iter_unit": "tensorflow", "optimizer_batch_size": "pytorch"}
_WHOLE_JOB = {"kv_store", "negative_samples", "bottom_mlp_sizes"}  # of MXNet, NCF, DLRM: `batch_size` is the global one
_DTYPES = {"float16": "fp16", "bfloat16": "bf16"}
_MOST_FORMS = 100  # of a file
_HELD = 8  # records after which the number of devices is known, or stays unknown
_decode = json.JSONDecoder().raw_decode


_Record = tuple[Any, dict[str, Any], datetime, str]  # step, data, time and its zone


class _Log:
    """State of the lines that have one label of the launcher."""

    def __init__(self) -> None:
        self.at: tuple[int, ...] = ()  # epoch and iteration of the last record
        self.trained: tuple[int, ...] = ()  # of the last one of the training
        self.ts: datetime | None = None
        self.last = self.attempt = 0
        self.bases: dict[int, int] = {}  # steps before an epoch
        self.held: list[tuple[int, dict[str, Any]]] = []  # rows that later lines may complete
        self.batches: list[float] = []  # estimates of the global batch, from rates and time stamps


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.logs: dict[tuple[int | None, str | None], _Log] = {}
        self.units: dict[str, str | None] = {}
        self.ends: dict[str, str] = {}  # what follows a record's last number on the console
        self.settings: dict[str, str] = {}  # parameters of this part
        self.form: RecordForm | None = None  # of the record of the training that was taken last
        self.keyed: KeyedForm | None = None  # the same form, with the names of its numbers
        self.forms: dict[tuple[str, ...], KeyedForm | None] = {}  # by what the head shows, and the names

    def take(self, line: Line) -> bool:
        in_json = line.text.count('{"timestamp": ')
        alone = line.text.startswith(_ALONE) and in_json == 1
        alone |= not in_json and line.text.count("DLL") == 1 and _PIECE.match(line.text) is not None
        starts = [0] if alone else [match.start() for match in _PIECE.finditer(line.text)]
        for start, end in zip(starts, [*starts[1:], None], strict=False):
            text = line.text[start:end]
            read = self.console(text) if _CONSOLE.match(text) else _in_json(text)
            if read:
                self.take_record(*read, line)
                if self.rows.many and len(starts) == 1 and isinstance(read[0], list) and len(read[0]) == 2:
                    self.learn(text, read[0], read[1])
            else:
                why = ", or its step is written in an unknown way" if _CONSOLE.match(text) else " or damaged"
                self.rows.problem(line.number, f"the record is cut{why}", text)
        return bool(starts)

    def finish(self) -> None:
        for log in self.logs.values():
            self.flush(log)

    def console(self, text: str) -> _Record | None:
        head = _CONSOLE.match(text)
        stamp = iso_time(head[1]) if head else None
        if head and stamp and (begin := _BARRED.match(text, head.end())):
            return self.barred(begin, text.rstrip(), stamp)
        step = _STEP.match(text, head.end()) if head else None
        if not step or not stamp:
            return None
        keys = list(_KEY.finditer(text, step.end()))
        ends = [*(key.start() for key in keys[1:]), len(text)]
        data: dict[str, Any] = {key[1]: text[key.end() : end] for key, end in zip(keys, ends, strict=False)}
        if step["name"]:
            return "PARAMETER", {key: value.strip(" |") for key, value in data.items()}, stamp, "naive"
        means: dict[str, Any] = {}
        for key, value in data.items():
            number = _NUMBER.match(value)
            data[key] = float(number[0]) if number else None
            if number:
                behind = _BAR.sub(" ", value[number.end() :])
                if mean := _IN_BRACKETS.match(behind):
                    means[f"{key} mean"], behind = float(mean[1]), behind[mean.end() :]
                barred = step["bar"] or step["words"]
                if key == keys[-1][1] and (not behind if barred else self.ends.setdefault(key, behind) != behind):
                    return None
                unit = behind.strip(" |")
                self.units[key] = unit if unit not in ("", "None") else None
        data |= means
        if step["words"]:
            return step["words"], data, stamp, "naive"
        at = [int(number) for number in step.groups()[1:] if number and number.isdecimal()]
        at = [0, *at] if step["only"] else at
        return (at if step[0][:1] != "C" else "Calibration"), data, stamp, "naive"

    def barred(self, begin: re.Match[str], text: str, stamp: datetime) -> _Record | None:
        """A record between bars.  It is cut unless its last number has a unit, an exponent or the width of a count."""
        data, end = {}, begin.end()
        while end < len(text):
            field = _FIELD.match(text, end)
            if not field or (field.end() == len(text) and not (field[3] or _WHOLE.fullmatch(field[2]))):
                return None
            data[field[1]], self.units[field[1]], end = float(field[2]), field[3], field.end()
        step = "Iteration" if begin["iteration"] else "Epoch" if begin["epoch"] else "Summary"
        return step, data, stamp, "naive"

    def learn(self, text: str, step: list[int], data: dict[str, Any]) -> None:
        """Learns the form of a record of the training on the console, where it is another one than so far."""
        head = _CONSOLE.match(text)
        if not head:  # JSON
            self.form = None
            return
        shape = (text[head.end()], str(head.end()), *data)
        if shape not in self.forms and len(self.forms) < _MOST_FORMS:
            columns = [column for name in data if (column := _column_of(name))]
            keyed = keyed_form_of(text, head.end(), head.span(1), step, data)
            self.forms[shape] = keyed if len({*columns}) == len(columns) else None
        self.keyed = self.forms.get(shape)
        self.form = self.keyed.form if self.keyed else None

    def take_records(self, records: Records) -> int:
        """Records of an epoch that go on in equal intervals, where the batch is known.

        The last one is read by itself: the next line may complete it.
        """
        rows, keyed, label = self.rows, self.keyed, (records.prefix.rank, records.prefix.location)
        log, following = self.logs.get(label), rows.following(*label)
        if not keyed or not log or len(log.trained) != 2 or not following or rows.zone:
            return 0
        (epoch, before), (attempt, launch) = log.trained, following
        numbers = keyed.numbers(records)
        rate = next((values for name, values in numbers.items() if _column_of(name) == "samples_per_s"), None)
        in_ms = "iteration_time" in numbers and self.units.get("iteration_time") == "ms"
        if rate is None and not in_ms and not any(_column_of(name) == "step_s" for name in numbers):
            return 0
        is_open = "global_batch_size" not in rows.params or (rate is not None and len(log.batches) < _HELD)
        if is_open or attempt != log.attempt or launch.top != log.trained or not launch.latest:
            return 0
        steps = keyed.following(records, epoch, before)[: len(records.lines) - 1]
        gaps = np.diff(steps, prepend=before)
        stops = (gaps != gaps[:1]) if rate is None else (gaps != gaps[:1]) | (rate.to_numpy()[: len(steps)] <= 0)
        count = int(np.argmax(stops)) if stops.any() else len(steps)
        if not count:
            return 0
        records, steps = records.part(0, count), steps[:count]
        try:
            ts = keyed.form.times_in_head(records, *keyed.stamp)
        except pa.ArrowInvalid:  # a date that is none: line by line, `console` says of which
            return 0
        self.flush(log)
        self.add_columns(records, log, steps, ts)
        extend(launch, steps, seconds_apart(launch, steps, ts, before), ts, epoch)
        return count

    def add_columns(self, records: Records, log: _Log, steps: Integers, ts: pa.Array) -> None:
        """What `row` and `flush` do, for records of the training that go on with a launch."""
        assert self.keyed
        rows, (epoch, before), numbers = self.rows, log.trained, self.keyed.numbers(records)
        interval, kind = self.interval(numbers, int(steps[0]) - before)
        whose: dict[str, Any] = {"line": records.lines, "step": steps + log.bases[epoch]}
        whose |= {"rank": records.prefix.rank, "place": records.prefix.location}
        row = {column: numbers.pop(name) for name in [*numbers] if (column := _column_of(name))}
        if "accuracy" in row:
            row["accuracy"] = pc.divide(row["accuracy"], pa.scalar(100.0, FLOAT))
        if "iteration_time" in numbers and self.units.get("iteration_time") == "ms":
            row["step_s"] = pc.divide(numbers.pop("iteration_time"), pa.scalar(1000.0, FLOAT))
        batch = float(rows.params["global_batch_size"])
        if "train.compute_time" in numbers and "data_s" in row:
            row["step_s"] = pc.add(row["data_s"], numbers["train.compute_time"])
        elif "samples_per_s" in row:
            row["step_s"] = pc.divide(pa.scalar(batch, FLOAT), row["samples_per_s"])
        scope = "global" if "samples_per_s" in row else None
        rows.put_columns("steps", whose | row | {
            "attempt": log.attempt, "phase": "train", "epoch": float(epoch), "averaged_steps": max(interval, 1),
            "value_kind": kind, "rate_scope": scope, "samples": batch, "ts": ts, "ts_origin": "naive",
        })  # fmt: skip
        for name, values in numbers.items():
            metric = {"attempt": rows.attempt, "name": name, "value": values, "unit": self.units.get(name)}
            rows.put_columns("metrics", whose | metric | {"stat": "value"})
        log.at = log.trained = epoch, int(steps[-1])
        log.ts, log.last = ts[-1].as_py(), max(log.last, int(whose["step"][-1]))

    def take_record(self, step: Any, data: dict[str, Any], stamp: datetime, zone: str, line: Line) -> None:
        if step == "METADATA":
            self.units |= data
        elif step == "PARAMETER":
            self.parameters({key: str(value) for key, value in data.items() if str(value) not in ("None", "")}, line)
        elif isinstance(step, list) and len(step) in (2, 3) and max(step) < 2**31:
            self.row(tuple(step), data, {"ts": stamp, "ts_origin": zone}, line)
        else:
            name = ("Epoch" if step else "Summary") if isinstance(step, list) else step
            means = [(f"{name}: {key}", value, self.units.get(key)) for key, value in data.items() if value is not None]
            self.rows.metrics(line.number, line.rank, line.location, self.rows.step, means, "mean")

    def parameters(self, parameters: dict[str, str], line: Line) -> None:
        if parameters.keys() & self.settings.keys() and any(log.at for log in self.logs.values()):  # launched again
            self.finish()
            if any(
                self.settings.get(key, parameters[key]) != parameters[key] for key in _SETTINGS if key in parameters
            ):
                self.rows.new_part()
                self.logs, self.settings = {}, {}
            for log in self.logs.values():
                log.at, log.trained = (), ()
            self.rows.launched(line.rank)
        self.settings |= parameters
        for key, value in parameters.items():
            self.rows.param(key, value, line.number)
        self.rows.param("model", parameters.get("arch"), line.number)
        framework = next((_FRAMEWORKS[key] for key in _FRAMEWORKS if key in parameters), None)
        self.rows.param("framework", framework, line.number, origin="inferred")
        size = "global_batch_size" if _WHOLE_JOB & self.settings.keys() else "micro_batch_size"
        self.rows.param(size, integer(parameters.get("batch_size")), line.number)
        self.rows.param("devices", integer(parameters.get("world_size")), line.number)
        precision = _DTYPES.get(parameters.get("dtype", ""))
        if not precision and ("amp" in parameters or "fp16" in parameters):
            precision = (
                "amp" if parameters.get("amp") == "True" else "fp16" if parameters.get("fp16") == "True" else "fp32"
            )
        self.rows.param("precision", precision, line.number)

    def row(self, at: tuple[int, ...], data: dict[str, Any], stamp: dict[str, Any], line: Line) -> None:
        """A record of a step, or the second line of one."""
        log = self.logs.setdefault((line.rank, line.location), _Log())
        named = {key: value for key, value in data.items() if value is not None}
        values = {column: named.pop(name) for name in data if name in named and (column := _column_of(name))}
        row = log.held[-1][1] if log.held and log.at == at else {}
        if not row or any(
            (old := row.get(key, value)) != value and str(old) != str(value) for key, value in values.items()
        ):
            if len(at) == 2:  # of the training
                log.attempt = self.rows.attempt_of(line.number, at, line.rank, line.location, stamp["ts"]).attempt
            row = self.begin(log, at, values.get("samples_per_s"), "total_ips" in data, stamp["ts"]) | stamp
            log.held.append((line.number, row))
        if "accuracy" in values:
            values["accuracy"] /= 100
        if self.units.get("iteration_time") == "ms" and "iteration_time" in named:
            values["step_s"] = named.pop("iteration_time") / 1000
        if "time mean" in named and "step_s" not in values:  # with it comes a median over some iterations
            row |= {"step_s": named.pop("time mean"), "value_kind": "running_mean", "averaged_steps": None}
        row |= values
        row["compute_s"] = named.get("train.compute_time", row.get("compute_s"))
        row["rate_scope"] = "global" if "samples_per_s" in row else None
        row.update(rank=line.rank, place=line.location)
        metrics = [(name, value, self.units.get(name)) for name, value in named.items()]
        self.rows.metrics(line.number, line.rank, line.location, row["step"], metrics)
        if row["phase"] == "train":
            self.rows.reached(line.number, row["step"])

    def begin(
        self, log: _Log, at: tuple[int, ...], rate: float | None, is_instant: bool, ts: datetime
    ) -> dict[str, Any]:
        """A new row, after the rows before it are handed over."""
        if self.batch(log) or len(log.held) >= _HELD:
            self.flush(log)
        train, (epoch, iteration) = len(at) == 2, at[:2]
        since = iteration - log.trained[1] if log.trained[:1] == (epoch,) else 0
        if epoch not in log.bases:
            anew = not log.trained or iteration <= log.trained[1]
            base = log.last + ("kv_store" in self.settings) if anew else log.bases[log.trained[0]]
            log.bases[epoch] = base if log.bases else 0
        interval, kind = self.interval({"total_ips"} if is_instant else (), since or at[-1])
        if train and rate and since > 0 and log.ts and len(log.batches) < _HELD:
            log.batches.append(rate * (ts - log.ts).total_seconds() / since)
        steps = max(interval if at[-1] else 1, 1)
        step = log.bases[epoch] + iteration if train else at[2]
        log.at, log.ts = at, ts
        log.trained = at if train else log.trained
        log.last = max(log.last, log.bases[epoch] + iteration)
        return {"attempt": log.attempt, "phase": "train" if train else "validation", "epoch": epoch, "step": step,
                "averaged_steps": steps, "value_kind": kind}  # fmt: skip

    def interval(self, names: Collection[str], since: int) -> tuple[int, str]:
        """How many iterations the values of a record are a mean of, and the kind of such values."""
        every = (every for key in _EVERY if (every := integer(self.settings.get(key))))
        interval = 1 if "total_ips" in names else next(every, since)
        return interval, "instant" if interval <= 1 else "interval_mean"

    def batch(self, log: _Log, last: bool = False) -> int | None:
        """The global batch, if it is known by now."""
        params = self.rows.params
        size, devices = params.get("micro_batch_size"), params.get("devices")
        if "global_batch_size" not in params and size:
            if not devices and (last or len(log.batches) >= _HELD) and log.batches:
                count = statistics.median(log.batches) / size
                unit = 1 if count < 32.5 else 8  # nobody runs on 37 devices; more than 2 % off proves nothing
                devices = unit * round(count / unit)
                devices = devices if devices and abs(count / devices - 1) < 0.02 else 0
                self.rows.param("devices", devices or None, origin="inferred")
            self.rows.param("global_batch_size", size * devices if devices else None, origin="inferred")
        return params.get("global_batch_size")

    def flush(self, log: _Log) -> None:
        batch = self.batch(log, last=True)
        for number, row in log.held:
            compute_s = row.pop("compute_s")
            if row["phase"] == "train":
                row["samples"] = batch
                if compute_s is not None and "data_s" in row:
                    row["step_s"] = row["data_s"] + compute_s
                elif batch and row.get("samples_per_s", 0) > 0:
                    row["step_s"] = batch / row["samples_per_s"]
            self.rows.put("steps", number, row)
        log.held.clear()


def _in_json(text: str) -> _Record | None:
    try:
        said = _decode(text, text.index("{"))[0]
        stamp = datetime.fromtimestamp(float(said["timestamp"]), UTC).replace(tzinfo=None)
        if said["type"] == "METADATA":
            return "METADATA", {str(said["metric"]): said["metadata"].get("unit")}, stamp, "utc"
        step, data = said["step"], said["data"]
        if step == "PARAMETER":
            return step, dict(data), stamp, "utc"
        step = step if isinstance(step, list) else [0, step]
        if not all(isinstance(part, int) and part >= 0 for part in step):
            step = next((part for part in step if isinstance(part, str)), None)  # a phase of its own
        numbers = {key: float(value) for key, value in data.items() if isinstance(value, int | float)}
        return (step, numbers, stamp, "utc") if step is not None else None
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, OSError, RecursionError):
        return None


@functools.lru_cache(maxsize=1000)
def _column_of(name: str) -> str | None:
    """The column of `steps` for a value; most have none."""
    return _COLUMNS.get(name.removeprefix("train.").removeprefix("val."))
