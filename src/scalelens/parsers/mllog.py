"""MLPerf's log lines, `:::MLLOG`.

Tool: MLPerf Training and MLPerf HPC logging (mlperf_logging.mllog), as each submitter calls it
Versions: v0.7 to v6
Yields: steps, phases, metrics, params
Source: mlcommons/logging mlperf_logging/mllog/mllog.py; NVIDIA's mlperf_common/callbacks/logging.py

The tag is anywhere in a line, and several in one.  A step's time is of that step (`instant`) if a loss
stands beside it, or if the step before has a time, too; else, like a throughput, it is a mean since the epoch or evaluation before (`epoch_mean`); Mask R-CNN's `time` is a running
mean.  Rates are of the whole job, and a step's time follows from the global batch; those of NVIDIA's RetinaNet (SSD) are
of one rank, which an epoch's work shows.  A rate that is said twice, as tracked_stats and by itself, is one record.  Of spans that several ranks print, the first start and stop count.
An evaluation of which only the score is printed is a row of `phases` without a span.
Readings of power are `mlperf_power`'s.
What NeMo 1 counts in tokens becomes steps.  So does what AMD and others count in samples: there the samples_count of a
block is the `step` of its record, and not step times batch.  A record whose step may be either is kept back until such a
count comes.  Epochs are numbered from 0, also where the log begins with 1.  An epoch whose time MXNet logs too is one row.
The time and the rate of an epoch are left out where the host that prints them runs ahead of the devices
(parsing/mlperf.py).
Where nothing states the number of devices, it is that of the ranks, which each print init_start, else it is inferred
from batches.  A platform named `8xBOX4x4A100` has eight nodes with four devices each; Graphcore's POD64 has 64 IPUs, and a DGX or HGX
is named after its device.
A platform that only repeats the submitter (`4xDELL`) names the system where no other file does.
In MLPerf HPC's weak scaling a system trains many instances at once, and a log is that of one: its ranks are its devices
where they are fewer than those of the system, whose nodes are then `mllog.nodes`.

Samples:
    :::MLLOG {"time_ms": 1700000000000, "event_type": "POINT_IN_TIME", "key": "seed", "value": 5, "metadata": {}}
    x:1:2 [0] NCCL INFO:::MLLOG {"time_ms": 1700000001000, "key": "throughput", "value": 512.5, "metadata": {"epoch_num": 1}}
"""

import json
import math
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import msgspec

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.mlperf import CountedSteps, DerivedEpochs, EpochBlocks, Evaluations, is_of_one_rank, platform_of
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number
from scalelens.tables import RUN_FACTS

VERSION = 9
ANCHORS = (":::MLLOG",)
# Samples or steps, of the host or of the devices: a later line tells.
LATER = ("step", "step_s", "samples_per_s", "rate_scope", "span_s")

_FACTS = {
    "submission_benchmark": "model", "global_batch_size": "global_batch_size", "max_sequence_length": "seq_length",
    "number_of_nodes": "nodes", "accelerators_per_node": "devices_per_node", "precision_mode": "precision",
}  # fmt: skip
_RESERVED = {fact.name for fact in RUN_FACTS}
_FIRST = ("submission_benchmark", "cache_clear", "init_start", "run_start")  # one of these opens the log of a run
_SPANS = {"run": "run", "init": "startup", "epoch": "epoch", "block": "train", "eval": "evaluation"}
_EDGES = {f"{name}_{edge}": (name, edge) for name in _SPANS for edge in ("start", "stop")}
_TELLING = {*_EDGES, *_FIRST, "tracked_stats", "throughput"}  # keys of records that tell something without a value
_PLACES = {"epoch_num", "epoch", "step", "samples_count"}
_OF_EDGES = {"samples_count", "epoch_num", "first_epoch_num"}
_YEAR_9000_MS = 221_845_392_000_000
_TIMES = {
    "train_step_time": "instant", "train_step_timing": "instant", "train_step_timing in s": "instant",
    "time": "running_mean",
}  # fmt: skip
_RATES = {"throughput": "epoch_mean", "imgs_sec": "epoch_mean", "seq/s": "interval_mean", "seq/sec": "interval_mean"}
_LOSSES = ("reduced_train_loss", "loss", "train_loss", "step_loss")
_COLUMNS = {**dict.fromkeys(_LOSSES, "loss"), "lr": "learning_rate", "data": "data_s"}
_SECONDS = ("_time", "_timing", "_duration", " in s")
_POD = re.compile(r"(?:ipu-|bow-)?pod(\d{1,5})(?![\dA-Za-z])", re.IGNORECASE)
_UNNAMED = re.compile("PLACEHOLDER|UNKNOWN")
_EPOCH = datetime(1970, 1, 1)
_RANKS_APART_MS = 10_000  # ranks of one launch begin within seconds, and another launch takes longer
_COUNTED = ("init_start", "submission_benchmark")  # each rank prints the first, and one of them the second
_POWER_KEY = re.compile(r'"key": ?"(?:power_reading|power_measurement_\w+|interconnect_power_est|conversion_eff)"')
_OF_POWER = ("power", "interconnect_power", "conversion")  # what such keys begin with
_FAULTS = (KeyError, TypeError, AttributeError, OverflowError, ValueError, RecursionError)  # of a damaged record
_decode = json.JSONDecoder().raw_decode
_Row = dict[str, Any]


class _Record(msgspec.Struct):
    """What counts of a record."""

    key: Any = None
    value: Any = None
    metadata: Any = None
    time_ms: Any = None


class Reader:
    claims = None
    json_record = _Record

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.said: dict[Any, bytes] = {}  # last record by rank
        self.epochs = DerivedEpochs(rows)
        self.begin()

    def begin(self) -> None:
        self.open: dict[str, _Row] = {}  # spans that have begun
        self.ended = self.stepped = False
        self.stopped_ms: float = 0
        self.epoch: float | None = None  # the last one that began, and the first, as the log numbers them
        self.base: float | None = None
        self.epoch_s: float | None = None  # of the epoch that has just ended
        self.rate: tuple[str, float] | None = None
        self.rates_are_of_one_rank = False
        self.printed: Counter[str] = Counter()  # how often each key of _COUNTED was printed
        self.nodes: list[tuple[Any, int, str]] = []  # what states them, its line and origin, until it is known of what
        self.ranks_line = 0
        self.is_instance = False  # one of several that the system trains at once
        self.stated: dict[str, float] = {}  # nodes and devices per node, as the log states them
        self.timed_steps: dict[tuple[Any, Any], int] = {}  # the last one of each writer
        self.steps = CountedSteps(self.rows)
        self.blocks = EpochBlocks(self.rows, self.epochs)
        self.evaluations = Evaluations(self.rows)

    def finish(self) -> None:
        self.settle()

    def take(self, line: Line) -> bool:
        texts = [
            text
            for piece in line.text.split(ANCHORS[0])[1:]
            if (text := piece.lstrip())[:2] in ('{"', "{", "")  # else prose
            and not _POWER_KEY.search(text)
        ]
        for text in texts:
            self.read(line, text)
        return bool(texts)

    def take_json(self, head: Line, number: int, text: bytes, record: _Record) -> bool:
        """Takes a line with one record, which is decoded."""
        json_text, key = text.lstrip(), record.key
        if json_text[:2] != b'{"' or type(key) is not str or key.startswith(_OF_POWER):
            return False
        if self.changes_nothing(key, record.value, record.metadata or {}, record.time_ms):
            if key in _COUNTED:
                self.printed[key] += 1
            self.said[head.rank, head.location] = json_text
            self.is_instance |= "instance" in (record.metadata or ())
            return True
        try:
            self.see(record, json_text, Line(head.text, number, head.rank, head.location))
        except _FAULTS as error:
            self.rows.problem(number, _reason(error), head.text + text.decode())
        return True

    def read(self, line: Line, text: str) -> None:
        """Takes a record at the beginning of a text."""
        try:
            record, end = _decode(text)
            self.see(
                _Record(**{name: record.get(name) for name in _Record.__struct_fields__}), text[:end].encode(), line
            )
        except _FAULTS as error:
            self.rows.problem(line.number, _reason(error), line.text)

    def see(self, record: _Record, text: bytes, line: Line) -> None:
        """Takes a record, unless it is the last one again."""
        key, whose = record.key, (line.rank, line.location)
        if type(key) is not str:
            raise TypeError
        if key in _COUNTED:
            self.printed[key] += 1
        if self.said.get(whose) != text:  # else printed twice
            self.said[whose] = text
            self.record(key, record.value, record.metadata or {}, record.time_ms, line)

    def changes_nothing(self, key: str, value: Any, about: Any, time_ms: Any) -> bool:
        """Whether a record is of those that each rank prints, and most of which tell nothing new."""
        if type(about) is not dict or type(time_ms) is not int or not 0 < time_ms < _YEAR_9000_MS:
            return False
        if key == "init_start":
            return not self.ended and "init" in self.open and _OF_EDGES.isdisjoint(about)
        return value is None and key not in _TELLING

    def record(self, key: str, value: Any, about: _Row, time_ms: float | None, line: Line) -> None:
        if self.changes_nothing(key, value, about, time_ms):
            self.is_instance |= "instance" in about
            return
        if (
            self.ended and key in _FIRST and (time_ms or math.inf) >= self.stopped_ms
        ):  # else from another, slower stream
            self.settle()
            self.rows.new_part()
            self.begin()
        if key == "run_start" and (self.stepped or self.is_relaunch(time_ms)):
            self.settle()
            self.rows.attempt, self.open, self.stepped = self.rows.attempt + 1, {}, False
        row: _Row = {
            "attempt": self.rows.attempt,
            "rank": line.rank,
            "place": None if line.rank is not None else line.location,
        }
        if time_ms:
            row |= {"ts": _EPOCH + timedelta(milliseconds=time_ms), "ts_origin": "utc"}
        self.is_instance |= "instance" in about
        if key in _EDGES:
            name, edge = _EDGES[key]
            if samples := number(about.get("samples_count")):
                self.steps.see_count(samples, number(self.rows.params.get("global_batch_size")), key == "block_start")
            self.span(key, name, edge, row, about, line.number)
            if key == "run_stop" and not self.ended:
                self.ended, self.stopped_ms = True, time_ms or 0
                status = about.get("status", value)
                self.rows.param("run_status", json.dumps(status) if isinstance(status, dict) else status, line.number)
                self.rows.param(
                    "outcome", "completed" if status in ("success", {"success": True}) else "error", line.number
                )
        elif key in ("tracked_stats", "throughput"):
            self.stats(key, value if key == "tracked_stats" else {key: value}, row, about, line.number)
        elif not _PLACES.isdisjoint(about):
            if (counted := number(value)) is not None:
                epoch, step, _ = self.where(about)
                self.rows.metric(line.number, row["rank"], row["place"], step, key, counted)
                if key == "eval_accuracy":
                    self.evaluations.put_score(line.number, row | {"epoch": epoch, "step": step})
        elif isinstance(value, str | int | float | list) and value != "":
            fact = _FACTS.get(key, f"mllog.{key}" if key in _RESERVED else key)
            if key == "number_of_ranks":
                self.ranks_line = line.number
            if fact == "nodes":
                self.nodes.append((value, line.number, "log"))
            else:
                self.rows.param(fact, value, line.number)
            if fact in ("nodes", "devices_per_node") and (count := number(value)):
                self.stated[fact] = count
            if key == "submission_platform":
                self.platform(str(value), line.number)

    def is_relaunch(self, time_ms: float | None) -> bool:
        """Whether the run that is open was killed before its first step, so that its spans never end."""
        began = self.open.get("run", {}).get("ts")
        return bool(time_ms and began and time_ms - (began - _EPOCH).total_seconds() * 1000 > _RANKS_APART_MS)

    def span(self, key: str, name: str, edge: str, row: _Row, about: _Row, line: int) -> None:
        """One end of a span; the row is written at its second one."""
        counted = number(about.get("epoch_num", about.get("first_epoch_num")))
        if key in ("eval_start", "block_stop"):
            self.blocks.end(line, row.get("ts"))
        if edge == "start":
            if counted is not None and counted < 1e4 and name != "eval":
                self.epoch, self.base = counted, _base(counted) if self.base is None else self.base
            self.open.setdefault(name, row)
            row["line"] = line
            if name == "epoch":
                self.epoch_s = None
            if key == "run_start":
                self.size(line)
        elif (began := self.open.pop(name, None)) and "ts" in row and "ts" in began:
            epoch, step, _ = self.where(about)
            row |= {"phase": _SPANS[name], "epoch": epoch, "step": step, "origin": "derived"}
            row["span_s"] = (row["ts"] - began["ts"]).total_seconds()
            if name == "epoch":
                self.epoch_s = row["span_s"]
            if name == "epoch" and "block" in self.open:
                self.blocks.put_epoch(began["line"], line, row)
            elif name == "epoch":
                self.epochs.put(began["line"], line, row)
            elif name == "eval":
                self.evaluations.put(line, row)
            else:
                self.rows.put("phases", line, row)

    def settle(self) -> None:
        """Writes what is kept back."""
        self.put_nodes()
        self.blocks.settle()
        self.epochs.settle()
        self.evaluations.settle()
        self.steps.settle()

    def stats(self, key: str, values: _Row, row: _Row, about: _Row, line: int) -> None:
        """Times and rates: a step if there is either, metrics for the rest."""
        numbers = {name: known for name, value in values.items() if (known := number(value)) is not None}
        epoch, step, in_tokens = self.where(about)
        timed = next((name for name in _TIMES if numbers.get(name, 0) > 0), None)
        rated = next((name for name in _RATES if numbers.get(name, 0) > 0), None)
        if rated:
            twin, self.rate = self.rate, (key, numbers[rated])
            if twin and twin[0] != key and twin[1] == numbers[rated]:
                del numbers[rated]
                rated = self.rate = None
        if timed or rated:
            kind = _TIMES[timed] if timed else _RATES[rated or ""]
            if kind == "instant" and not numbers.keys() & {*_LOSSES} and not self.is_next_step(row, step, in_tokens):
                kind = "epoch_mean"
            if (
                kind == "epoch_mean"
                and self.epoch is not None
                and epoch is None
                and step in (self.epoch, self.epoch + 1)
            ):
                epoch, step = self.epoch - (self.base or 0), None
            if kind == "epoch_mean" and in_tokens:
                step = None  # the last step has a record of its own
            batch, rate = number(self.rows.params.get("global_batch_size")), numbers.get(rated or "", 0.0)
            if rate and not timed and self.epoch_s and not self.rates_are_of_one_rank:
                self.see_rate(rate)
            of_rate = self.local_batch() if self.rates_are_of_one_rank else batch
            work = of_rate and of_rate * (float(self.rows.params["seq_length"]) if in_tokens else 1)
            steps = 1 if kind == "instant" else number(about.get("samples_count")) if batch and timed else None
            row |= {
                "phase": "train", "epoch": epoch, "step": step, "samples": batch, "value_kind": kind,
                "step_s": numbers.pop(timed) if timed else work and work / rate,
                "averaged_steps": steps if not batch or steps in (1, None) or steps % batch else steps // batch,
                "samples_per_s": numbers.pop(rated) if rated and not in_tokens else None,
                "rate_scope": "rank" if rated and self.rates_are_of_one_rank else "global",
                **{_COLUMNS[name]: numbers.pop(name) for name in [*numbers] if name in _COLUMNS},
            }  # fmt: skip
            self.stepped = True
            if kind == "epoch_mean" and not timed and step is None and "block" in self.open:
                self.blocks.put_rate(line, row)
            else:
                self.steps.put(line, row, number(about.get("samples_count")))
        if numbers:
            of_tokens = "tokens/s/device" if self.rates_are_of_one_rank else "tokens/s"
            units = {name: of_tokens if name == rated else "s" if name.endswith(_SECONDS) else None for name in numbers}
            others = [(name, value, units[name]) for name, value in numbers.items()]
            self.rows.metrics(line, row["rank"], row["place"], step, others)

    def is_next_step(self, row: _Row, step: int | None, in_tokens: bool) -> bool:
        """Whether a time without a loss is of a single step, because its writer timed the step before, too."""
        if not in_tokens or step is None:
            return False
        writer = row["rank"], row["place"]
        before, self.timed_steps[writer] = self.timed_steps.get(writer, 0), step
        return step == before + 1

    def local_batch(self) -> float | None:
        """Batch of one rank, as the log states it, else the global batch over the devices."""
        facts = ("local_batch_size", "d_batch_size", "global_batch_size", "devices")
        local, on_device, batch, devices = (number(self.rows.params.get(fact)) for fact in facts)
        return local or on_device or (batch / devices if batch and devices else None)

    def see_rate(self, rate: float) -> None:
        """Finds out whether the rates of this log are of one rank, by one of an epoch that has just ended."""
        facts, local = ("global_batch_size", "train_samples"), self.local_batch()
        batch, counted = (number(self.rows.params.get(fact)) for fact in facts)
        if local and batch and counted and self.epoch_s:
            self.rates_are_of_one_rank = is_of_one_rank(rate, self.epoch_s, counted, batch, local)

    def where(self, about: _Row) -> tuple[float | None, int | None, bool]:
        """Epoch and step of a record, and whether the log counts tokens instead of steps."""
        epoch, step = about.get("epoch_num", about.get("epoch")), about.get("step_num", about.get("step"))
        if isinstance(step, list) and len(step) == 2:
            epoch, step = step
        in_epochs, in_steps = number(epoch), number(step)
        if in_epochs is not None:
            first = _base(in_epochs) if self.base is None else self.base
            in_epochs = in_epochs - first if in_epochs < 1e4 else None  # else it counts samples
        if not in_steps or self.steps.counts_samples:
            return in_epochs, None if in_steps is None else int(in_steps), False
        length = self.rows.params.get("seq_length")
        batch, length = (number(self.rows.params.get("global_batch_size")), number(length)) if length else (None, None)
        tokens = batch and length and batch * length
        if tokens and in_steps >= tokens and in_steps % tokens == 0:
            return in_epochs, int(in_steps // tokens), True
        return in_epochs, int(in_steps), False

    def platform(self, text: str, line: int) -> None:
        """Nodes, machine and devices, as submitters write them into the name of the platform."""
        if platform := platform_of(text):
            if not _UNNAMED.search(text):
                is_submitter = _letters(platform.machine) == _letters(str(self.rows.params.get("submission_org", "")))
                self.rows.param("system", platform.machine, line, origin="inferred" if is_submitter else "log")
            if platform.nodes:
                self.nodes.append((platform.nodes, line, "inferred"))
            self.rows.param("devices_per_node", platform.devices_per_node, line, origin="inferred")
            self.rows.param("device_model", platform.device_model, line, origin="inferred")
        if ipus := _POD.match(text):
            self.rows.param("devices", int(ipus[1]), line, origin="inferred")
            self.rows.param("device_unit", "ipu", line, origin="inferred")

    def put_nodes(self) -> None:
        """Writes the nodes: those of the run, or of a system that trains several instances at once."""
        ranks, per_node = (number(self.rows.params.get(fact)) for fact in ("number_of_ranks", "devices_per_node"))
        for value, line, origin in self.nodes:
            nodes = number(value)
            is_of_system = self.is_instance and ranks and nodes and per_node and ranks < nodes * per_node
            self.rows.param("mllog.nodes" if is_of_system else "nodes", value, line, origin=origin)
        if self.is_instance and ranks and per_node and "nodes" not in self.rows.params:
            self.rows.param("devices", int(ranks), self.ranks_line)
        self.nodes = []

    def size(self, line: int) -> None:
        """Devices, from what the log says of nodes, ranks and batches."""
        self.put_nodes()
        facts = ("nodes", "devices_per_node", "global_batch_size", "gradient_accumulation_steps", "local_batch_size")
        known = {"local_batch_size": self.rows.params.get("d_batch_size"), **self.rows.params}
        nodes, per_node, batch, accumulated, local = (number(known.get(fact)) for fact in facts)
        if nodes and per_node:
            is_stated = self.stated == {"nodes": nodes, "devices_per_node": per_node}
            self.rows.param("devices", int(nodes * per_node), line, origin="log" if is_stated else "inferred")
        by_batch = batch // local if batch and local and accumulated == 1 and batch % local == 0 else None
        by_print = self.printed["init_start"] if self.printed["submission_benchmark"] == 1 else 1
        ranks = number(known.get("number_of_ranks")) or (by_print if by_print > 1 else by_batch)
        if ranks and "devices" not in self.rows.params:
            self.rows.param("devices", int(ranks), line, origin="inferred")
        if batch and local and accumulated == 1 and batch % local == 0:
            self.rows.param("micro_batch_size", int(local), line, origin="inferred")


def _reason(error: Exception) -> str:
    """Why a record is not understood."""
    if isinstance(error, ValueError | RecursionError):
        return "the record is cut, or its JSON is damaged"
    return "the record does not have MLPerf's form: its key, time or metadata is wrong"


def _letters(name: str) -> str:
    """A name without case and punctuation."""
    return "".join(filter(str.isalnum, name)).casefold()


def _base(epoch: float) -> float:
    """Number of the first epoch, from the first one that is named."""
    return 1.0 if epoch >= 1 else 0.0
