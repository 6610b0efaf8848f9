"""Step records of Graphcore's examples, as the programs for IPUs print them.

Tool: graphcore/examples: GPT-2, BERT and CNNs in PyTorch, TensorFlow 1 and 2, PopART and PopXL; CARAML's fork of GPT-2
Versions: Poplar SDK 1.2 to 3.3
Yields: steps, phases, params, metrics
Source: graphcore/examples nlp/gpt2/pytorch/train_gpt2.py; nlp/bert/*; vision/cnns/*; nlp/gpt3*/popxl

Throughput is in samples, sequences or images, of the whole job: never tokens.
GPT-2 compiles, or loads, within step 0: that one is of phase `warmup`, and a row of phases `compile` where no other line
says how long it took.  A printed step is
`device_iterations` updates: where the arguments are printed, step_s and samples are of one update, the kind is
`interval_mean`.  The step is counted within the epoch there; ours goes on.  Where no time is printed it follows from the
batch and the throughput, once the batch is known: BERT in PyTorch says it at its end.  A bar draws a step's
throughput last: its last drawing counts.  The framework follows from the form of the
record.  CNNs in PyTorch print means of an epoch: with the batch, and the batches of
the bar, its time is a row of phases `train`.  TensorFlow and PopART print means
over the steps since the last record, PopART with times, which are local (--tz).  TensorFlow's rate and time give the
global batch where their digits leave one whole number.  accuracy is that of the words masked
(mlm) for BERT.  SDK 2 counts sequences per second, prints GPT-2's `stpe` and calls `device_iterations` batches_per_step.
What examples-utils prints of a benchmark is a mean of the run (`run_mean`).

Samples:
    step 1 of epoch 0, loss: 10.8363, acc: 1.97e-05, lr: 7.5e-05, throughput: 1058.1 samples/sec, step_time: 61.9
    Step: 149 / 149 - LR: 1.00e-03 - total loss: 7.389 - mlm_loss: 7.008 - nsp_loss: 0.380 - mlm_acc: 0.161 % - nsp_acc: 0.875 %:  99%|##| 149/150 [00:03<00:00, 45.20it/s, throughput: 749.6 samples/sec]
    [INFO] throughput: 7599.7 samples/sec
    INFO:logging_callback:batch 20: ['loss: 6.93 ', 'training_accuracy: 0.12 %', 'throughput: 1893.2 samples/sec']
    Step: 1/100 Loss: 10.123 Duration: 0.1234 s throughput: 1234.5 samples/sec
    Iteration:    100 Epoch:   0.10/1 Loss (MLM NSP): 7.1 0.4 Accuracy (MLM NSP): 0.1 0.8 Learning Rate: 0.00015 Duration: 0.1234 s Throughput: 1234.5 samples/s Cycles: 123
    step:     10, iteration:     10, epoch:   0.10, lr:    0.1, loss:  6.9, top-1 accuracy:  0.1%, img/sec: 1893.20, time: 0.123456, total_time:     12.3
    stpe 3 of epoch 0, loss: 9.75, acc: 2.1e-05, lr: 7.5e-05, Throughput: 1012.4 seq/s
    Epoch: 0, Step:12, LR=1.21e-05, loss=2.750, throughput=410.250 samples/s
    [INFO] 2026-02-03 04:05:06:    throughput = '2960.125'
    [INFO] Global batch size: 8192
    Steps per epoch: 4
    global_batch_size: 16
    mean throughput: 1893.2 imgs/sec
"""

from decimal import Decimal
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer, iso_time

VERSION = 4
LATER = ("step_s", "samples")  # BERT prints its batch at its end
ANCHORS = (
    "throughput: ", "Throughput: ", "throughput=", "throughput = '", " sequences/s", "img/sec: ", "[INFO] Epoch ", "[INFO] loss: ", "[INFO] accuracy: ",
    "[INFO] Total replicas: ", "[INFO] Global batch size: ", "[INFO] Number of IPUs required: ", "batches_per_step: ",
    "global_batch_size: ", "device_iterations: ", "Steps per epoch: ", "Arguments: Namespace(", "INFO:root:gradient accumulation ",
    "INFO:root:micro_batches_per_execution = ", "INFO:root:global batch size", " of epoch ", " Duration: ",
    "logging_callback:batch ", "Graph compilation: 100%", "Compiled/Loaded model in ", "| Accuracy:",
)  # fmt: skip

_N = r"([-+]?\d++(?:\.\d*+)?+(?:[eE][-+]?\d++)?+|nan)"  # whole or not at all: half of a number is another number
_RECORDS = {
    "gpt2": re.compile(rf"st(?:ep|pe) (?P<step>\d{{1,9}}) of epoch (?P<epoch>\d{{1,9}}), loss: (?P<loss>{_N}), acc: (?P<accuracy>{_N}), lr: (?P<lr>{_N}), [tT]hroughput: (?P<rate>{_N}) (?:samples/sec|seq/s)(?:, step_time: (?P<time>{_N}))?"),
    "bert": re.compile(rf"Step: (?P<step>\d{{1,9}}) / \d+ - LR: (?P<lr>{_N}) - (?:total loss|Loss): (?P<loss>{_N})(?: - (?:mlm_loss|Loss/MLM): {_N} - (?:nsp_loss|Loss/NSP): {_N})?(?: - mlm_acc: (?P<percent>{_N}) % - nsp_acc: {_N} %| - Acc/MLM: (?P<accuracy>{_N}) - Acc/NSP: {_N})?.{{0,200}}?(?:throughput: (?P<rate>{_N}) samples/sec|(?P<sequences>{_N}) sequences/s)"),
    "squad": re.compile(rf"Epoch: (?P<epoch>\d{{1,9}}), Step:(?P<step>\d{{1,9}}), LR=(?P<lr>{_N}), loss=(?P<loss>{_N}), throughput=(?P<rate>{_N}) samples/s"),
    "tf2": re.compile(rf"logging_callback:batch (?P<step>\d{{1,9}}): \['loss: (?P<loss>{_N}) ?'(?:, 'training_accuracy: (?P<percent>{_N}) %')?.{{0,200}}?'throughput: (?P<rate>{_N}) samples/sec'"),
    "popxl": re.compile(rf"Step: (?P<step>\d{{1,9}})/\d+ Loss: (?P<loss>{_N}) Duration: (?P<time>{_N}) s [tT]hroughput: (?P<rate>{_N}) samples/s(?:ec)?\b"),
    "popart": re.compile(rf"Iteration: +(?P<step>\d{{1,9}}) Epoch: +(?P<epoch>{_N})/\d+ Loss[^:]*: +(?P<loss>{_N}).{{0,80}}?Accuracy[^:]*: +(?P<accuracy>{_N}).{{0,80}}?Learning Rate: +(?P<lr>{_N}).{{0,80}}?Duration: +(?P<time>{_N}) s.{{0,80}}?Throughput: +(?P<rate>{_N}) samples/s"),
    "tf1": re.compile(rf"step: +(?P<step>\d{{1,9}}), iteration: +\d+, epoch: +(?P<epoch>{_N}), lr: +(?P<lr>{_N}), loss: +(?P<loss>{_N}),(?: top-1)? accuracy: +(?P<percent>{_N})%, img/sec: +(?P<rate>{_N}), time: +(?P<time>{_N})"),
    "popart_cnn": re.compile(rf"step: +(?P<step>\d{{1,9}}), epoch: +(?P<epoch>{_N}), lr: +(?P<lr>{_N}), loss: +(?P<loss>{_N}), accuracy: +(?P<percent>{_N})%, img/sec: +(?P<rate>{_N}) step_time: +{_N} sec ipu_execution_time: +{_N}"),
    "epoch": re.compile(rf"\[INFO\] throughput: (?P<rate>{_N}) samples/sec"),
}  # fmt: skip
_WITHIN = ("gpt2", "squad", "tf2")  # whose step is counted anew in each epoch
_FRAMEWORKS = {"tf1": "tensorflow", "tf2": "tensorflow", "popart": "popart", "popart_cnn": "popart", "popxl": "popxl"}
_FROM_0 = ("gpt2", "squad")
_OF_AN_UPDATE = ("tf1",)  # whose time is that of one update, with its accumulation
_MEANS = ("tf2", "tf1", "popart", "popart_cnn")
_EPOCH = re.compile(rf"\[INFO\] (Epoch|loss:|accuracy:) {_N}(?:/\d+)?(?:[\s,%]*$|,\d+\]<std)")
_FACTS = re.compile(
    r"^\s*(?:INFO:root:|(?:\[\d+\] )?\[INFO\] (?=[GNT]))?(global_batch_size|[gG]lobal batch size|device_iterations|batches_per_step"
    r"|gradient accumulation|micro_batches_per_execution|Steps per epoch|Total replicas|Number of IPUs required)"
    r"(?::| =)? (\d{1,9})\s*\Z"
)
_KEYS = {
    "global_batch_size": "global_batch_size",
    "global batch size": "global_batch_size",
    "Global batch size": "global_batch_size",
    "Total replicas": "dp",
    "Number of IPUs required": "devices",
    "batches_per_step": "device_iterations",
    "gradient accumulation": "gradient_accumulation",
}
_STAMP = re.compile(r"^\s*(?:\[\d+\] )?(?:\[INFO\] )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ :,.]")
_BENCHMARK = re.compile(rf"\[INFO\] \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d: +throughput = '{_N}'\s*\Z")
_MEAN_RATE = re.compile(rf"mean throughput: {_N} imgs/sec")
_ARGUMENT = re.compile(r"(?<!\w)(\w+)=('[^']*'|[\w.+-]+)[,)]")
_ARGUMENTS = {
    "max_len": "seq_length",
    "model": "model",
    "batch_size": "micro_batch_size",
    "replication_factor": "replicas",
}
_CUT = re.compile(
    r"st(?:ep|pe) \d+ of epoch \d+, loss: |Step: \d+/\d+ Loss: [\d.]+ Duration: |logging_callback:batch \d+: \["
)
_BAR = re.compile(r"\| {1,9}(\d{1,9})/(\d{1,9}) \[(?:(\d+):)?(\d\d):(\d\d)<")
_COMPILED = re.compile(r"Graph compilation: 100%\||Compiled/Loaded model in \d")
_WAITING = 100_000  # records that wait until the batch is printed


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.arguments: dict[str, str] = {}
        self.unwritten: int | None = None  # line of the arguments whose facts are not yet written
        self.per_epoch = 0
        self.last: tuple[float, int] = (-1, -1)  # epoch and step as printed
        self.before = 0  # steps of the epochs before
        self.compiled = False  # a line of its own says how long it took
        self.epoch: dict[str, float] = {}  # of the block of an epoch
        self.bar: tuple[float, int] | None = None  # an epoch's time and batches, as its bar says
        self.waiting: list[tuple[Line, re.Match[str]]] = []  # BERT's

    def take(self, line: Line) -> bool:
        bars = list(_BAR.finditer(line.text.partition("| Accuracy:")[2]))
        if bars:
            done, batches, hours, minutes, seconds = (int(text or 0) for text in bars[-1].groups())
            self.bar = (3600 * hours + 60 * minutes + seconds) * batches / max(done, 1), batches
        self.compiled = self.compiled or _COMPILED.search(line.text) is not None
        for kind, pattern in _RECORDS.items():
            if match := pattern.search(line.text):
                self.rows.param("framework", _FRAMEWORKS.get(kind, "pytorch"), line.number, origin="inferred")
                if kind == "epoch":
                    self.of_epoch(match, line)
                elif kind == "bert":
                    self.wait(match, line)
                else:
                    self.record(kind, match, line)
                return True
        if match := _EPOCH.search(line.text):
            self.epoch[match[1].strip(":").lower()] = float(match[2])
        elif line.text.lstrip().startswith("Arguments: Namespace("):
            self.arguments = {key: value.strip("'") for key, value in _ARGUMENT.findall(line.text)}
            self.unwritten = line.number
            return False  # any script may print such a line: a record of GPT-2 shows that it is one of these
        elif match := _FACTS.match(line.text):
            key = match[1]
            if key == "Steps per epoch":
                self.per_epoch = int(match[2])
            self.rows.param(_KEYS.get(key, key.lower().replace(" ", "_")), int(match[2]), line.number)
        elif match := _BENCHMARK.search(line.text):
            self.rows.add(
                "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
                value_kind="run_mean", samples_per_s=float(match[1]), rate_scope="global", **_logged_at(line),
            )  # fmt: skip
            self.rows.param("device_unit", "ipu", line.number, origin="inferred")
        elif match := _MEAN_RATE.search(line.text):
            self.rows.metric(
                line.number,
                line.rank,
                line.location,
                self.rows.step,
                "mean throughput",
                float(match[1]),
                "samples/s",
                "mean",
            )
        elif _CUT.search(line.text):
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        else:
            return False
        return True

    def write_arguments(self) -> None:
        """GPT-2's arguments, once a record shows whose they are."""
        number, self.unwritten = self.unwritten, None
        if number is None:
            return
        for name, key in _ARGUMENTS.items():
            self.rows.param(key, self.arguments.get(name), number)
        sizes = self.sizes()
        if sizes:
            self.rows.param("global_batch_size", sizes[0], number, origin="inferred")
            self.rows.param("dp", sizes[1], number, origin="inferred")
            if ipus := integer(self.arguments.get("ipus_per_replica")):
                self.rows.param("devices", sizes[1] * ipus, number, origin="inferred")

    def sizes(self) -> tuple[int, int, int] | None:
        """Samples of an update over all replicas, replicas, and updates in a printed step, where they were said."""
        names = ("batch_size", "gradient_accumulation", "replication_factor")
        batch, accumulated, replicas = (integer(self.arguments.get(name)) for name in names)
        updates = integer(self.arguments.get("device_iterations") or self.arguments.get("batches_per_step"))
        if not (batch and accumulated and replicas and updates):
            return None
        if self.arguments.get("use_popdist") == "True":
            replicas *= integer(self.arguments.get("popdist_size")) or 1
        return batch * accumulated * replicas, replicas, updates

    def record(self, kind: str, match: re.Match[str], line: Line) -> None:
        if kind == "gpt2":
            self.write_arguments()
        values = {key: float(text) for key, text in match.groupdict().items() if text and text != "nan"}
        printed, rate, time = int(values["step"]), values.get("rate", values.get("sequences")), values.get("time")
        epoch = values.get("epoch")
        since = printed - self.last[1] if 0 <= self.last[1] < printed else None
        step = self.count(printed, epoch, kind)
        sizes = self.sizes() if kind == "gpt2" else None
        updates = sizes[2] if sizes else 1
        batch = sizes[0] * updates if sizes else None
        if batch is None and rate and time:
            batch = round(rate * time) if rate * time < 1e12 else None
            if kind in _OF_AN_UPDATE and _is_whole(batch, match["rate"], match["time"]):
                self.rows.param("global_batch_size", batch, line.number, origin="inferred")
        if batch is None and kind in ("bert", "tf2", "popart_cnn"):
            batch = self.rows.params.get("global_batch_size")
            if kind == "bert" and batch:
                updates = integer(self.rows.params.get("device_iterations")) or 1
                batch *= updates
        if time is None and batch and rate:
            time = batch / rate
        compiles = kind == "gpt2" and printed == 0 and not epoch
        percent = values.get("percent")
        self.rows.add(
            "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location,
            phase="warmup" if compiles else "train", epoch=epoch, step=step, step_s=time / updates if time else None,
            averaged_steps=since if kind in _MEANS else updates, value_kind="interval_mean" if updates > 1 or kind in _MEANS else "instant",
            samples=batch / updates if batch else None, samples_per_s=rate, rate_scope="global", loss=values.get("loss"),
            accuracy=percent / 100 if percent is not None else values.get("accuracy"), learning_rate=values.get("lr"),
            **_logged_at(line),
        )  # fmt: skip
        if compiles and time and not self.compiled:
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="compile",
                step=step, span_s=time, origin="logged",
            )  # fmt: skip
        self.rows.param("device_unit", "ipu", line.number, origin="inferred")

    def count(self, printed: int, epoch: float | None, kind: str) -> int:
        """The step in the whole run.  A step that is not above the last one means a restart."""
        within = kind in _WITHIN  # TensorFlow does not print the epoch
        last_epoch, last = self.last
        now = epoch if epoch is not None else last_epoch + (within and printed <= last)
        if within and now > last_epoch and printed <= last:
            self.before = (
                int(now) * self.per_epoch
                if self.per_epoch and kind == "gpt2"
                else self.before + last + (kind in _FROM_0)
            )
        elif last >= 0 and printed <= last and (not within or epoch is not None):
            self.rows.attempt, self.before = self.rows.attempt + 1, 0
        self.last = now, printed
        return self.before + printed

    def wait(self, match: re.Match[str], line: Line) -> None:
        """Keeps a drawing of BERT's bar: the last one of a step counts."""
        if self.waiting and self.waiting[-1][1]["step"] == match["step"]:
            self.waiting[-1] = self.waiting[-1][0], match
        else:
            self.waiting.append((line, match))
        self.rows.reached(line.number, int(match["step"]))
        if len(self.waiting) > _WAITING:
            self.finish()

    def of_epoch(self, match: re.Match[str], line: Line) -> None:
        """The mean of an epoch; its number, loss and accuracy come before it."""
        epoch, accuracy = self.epoch.get("epoch"), self.epoch.get("accuracy")
        values: dict[str, Any] = {"loss": self.epoch.get("loss")}
        values["accuracy"] = accuracy / 100 if accuracy is not None else None
        batch = self.rows.params.get("global_batch_size")
        rate = float(match["rate"])
        self.rows.add(
            "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=epoch - 1 if epoch else None, value_kind="epoch_mean", samples_per_s=rate, rate_scope="global",
            samples=batch, step_s=batch / rate if batch and rate > 0 else None, **values,
        )  # fmt: skip
        if epoch and batch and rate > 0:
            self.span_of_epoch(line, epoch - 1, batch, rate)
        self.rows.param("device_unit", "ipu", line.number, origin="inferred")
        self.epoch, self.bar = {}, None

    def span_of_epoch(self, line: Line, epoch: float, batch: int, rate: float) -> None:
        """The time of an epoch, from its batches.  A bar that counts something else contradicts it, and none is told."""
        shown_s, batches = self.bar or (0, 0)
        span_s = batch * batches / rate
        if batches and abs(span_s - shown_s) <= 1 + 0.05 * shown_s:
            self.rows.add(
                "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
                epoch=epoch, samples=batch * batches, span_s=span_s, samples_per_s=rate, origin="derived",
            )  # fmt: skip

    def finish(self) -> None:
        waiting, self.waiting = self.waiting, []
        for line, match in waiting:
            self.record("bert", match, line)


def _is_whole(batch: int | None, rate: str, time: str) -> bool:
    """Whether `batch` is the one whole number of samples that a rate and a time, as printed, allow."""
    (rate_low, rate_high), (time_low, time_high) = map(_digit_bounds, (rate, time))
    low, high = rate_low * time_low, rate_high * time_high
    return batch is not None and batch > 0 and batch - 1 < low <= batch <= high < batch + 1


def _digit_bounds(text: str) -> tuple[float, float]:
    number = Decimal(text)
    half = Decimal(5).scaleb(int(number.as_tuple().exponent) - 1)
    return float(number - half), float(number + half)


def _logged_at(line: Line) -> dict[str, Any]:
    """The columns of the time that a logger puts before a line."""
    stamp = _STAMP.match(line.text)
    time = iso_time(stamp[1]) if stamp else None
    return {"ts": time, "ts_origin": "naive"} if time else {}
