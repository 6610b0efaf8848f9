"""Megatron-LM interval record, in all members of the family.

Tool: Megatron-LM, Megatron-DeepSpeed (bigscience, Microsoft), GPT-NeoX, Primus, Apertus, FZJ's jubench and CARAML
Versions: v1.0 to core 0.19
Yields: steps, metrics
Source: megatron/training/training.py, training_log(); v1.0 and v2: megatron/training.py

One line per `log_interval`, printed by the last rank (v1.0 and NeoX: rank 0).  Fields come in any order.
From core 0.16 (time stamps with microseconds) the first iteration is printed without a reset of the interval's
timer, so that the second record is a mean that holds the first iteration too: `averaged_steps` counts it.

Samples:
     iteration       20/    1000 | consumed samples:           80 | elapsed time per iteration (ms): 1354.9 | learning rate: 3.750E-05 | global batch size:     4 | lm loss: 1.203115E+01 | loss scale: 32768.0 | number of skipped iterations:   8 | number of nan iterations:   0 |
     iteration      100/    1000 | elapsed time per iteration (ms): 512.5 | learning rate: 1.500E-04 | lm loss: 7.123456E+00 | loss scale: 16384.0 |
     [2026-01-02 03:04:05.678901] iteration        2/      50 | consumed samples:           64 | elapsed time per iteration (ms): 1790.4 | throughput per GPU (TFLOP/s/GPU): 82.6 | learning rate: 1.800000E-05 | global batch size:    32 | lm loss: 1.1E+01 | number of nan iterations:   0 |
     iteration        2/  143066 | consumed tokens:      4194304 | elapsed time per iteration (s): 56.31 | global batch size:  1024 | lm-loss: 6.0E+01 | number of nan iterations:   0 | samples per second: 18.184 | TFLOPs: 51.58 |
     samples/sec: 36.917 | iteration       10/   11000 | elapsed time per iteration (ms): 1950.3 | approx flops per GPU: 59.4TFLOPS | lm_loss: 1.1E+01 | number of nan iterations:   0 |
"""

import functools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.attempts import Launch
from scalelens.parsing.dispatch import Line
from scalelens.parsing.number_fields import Integers
from scalelens.parsing.record_forms import RecordForm, Records, extend, form_of, rising
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time
from scalelens.parsing.values import integer, iso_time
from scalelens.tables import FLOAT

VERSION = 5
ANCHORS = ("iteration ",)

_NUMBER = r"[-+]?(?:\d[\d,]*+\.?\d*+(?:[eE][-+]?\d+)?|nan|inf)"
_NUMBERS = msgspec.json.Decoder(list[float]).decode
_STAMP = r"\[(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)\]"
_START = r"iteration\s+(\d+)\s*/\s*(\d+|infinity)\s*\|"
_RECORD = re.compile(_START)
_STAMPED = re.compile(_STAMP + r"\s*$")
_FIRST_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_PLAIN_FIELD = re.compile(rf"([^|]*):(\s*{_NUMBER}\s*)")
_START_OF_HEAD = re.compile(r"(?:\[(?P<stamp>[^]]*)\].*?)?iteration(?P<step>[ \d]+)/(?P<of>[ \d]+)$")
_CUT = re.compile(r"^\s*(?:\[[\d :.-]+\] )?iteration\s{3,}\d+(?:\s*/\s*\d*\s*)?$")
_FIRST_FIELDS = ("consumed samples:", "elapsed time per iteration (")
_BEHIND_LAST = re.compile(
    r"\s*(?:samples|tokens|TFLOPs|Tokens|hip|rocm|rank-\d)"
)  # fields of forks, behind the nan counter
_LAST_UNCLOSED = re.compile(r"usage_ratio:\s*[\d./GMKB]+%\s*$")  # Primus does not close its last field
_LONGEST_RECORD = 4096  # bytes of a line that are searched for a word, however many records follow in it
_COUNTED = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
_SCALE = {"K": 1e-9, "M": 1e-6, "G": 1e-3, "T": 1.0, "P": 1e3}

COLUMNS = {
    "elapsed time per iteration (ms)": "step_ms", "elapsed time per iteration (s)": "step_s",
    "learning rate": "learning_rate", "global batch size": "samples", "lm loss": "loss", "lm-loss": "loss", "lm_loss": "loss",
    "grad norm": "grad_norm", "number of skipped iterations": "skipped_steps", "number of nan iterations": "nan_steps",
    "throughput per gpu (tflop/s/gpu)": "tflops_per_device", "tflops": "tflops_per_device",
    "samples per second": "samples_per_s", "samples/sec": "samples_per_s",
    "energy per gpu (j/iter/gpu)": "energy_j", "power per gpu (w/gpu)": "power_w",
}  # fmt: skip
_COUNTS = ("skipped_steps", "nan_steps")
_THOUSAND = pa.scalar(1000.0, FLOAT)  # without a type, Arrow would look for time libraries each time
_UNITS = {"consumed tokens": "tokens", "tokens": "tokens/s", "samples": "samples", "seqlen": "tokens"}

_Metric = tuple[str, float, str | None]


class _Layout:
    """The fields of a file's records in their order: one pattern reads all values of the next record of the same kind."""

    def __init__(self, keys: Sequence[str]) -> None:
        body = "".join(rf"{re.escape(key)}:([^|_]*+)\|" for key in keys)
        self.pattern = re.compile(rf"\s*(?:{_STAMP}\s*)?{_START}{body}\s*$")
        targets = [target(key.strip()) for key in keys]
        named = [k for k, (column, _, _) in enumerate(targets) if column]
        others = [k for k, (column, _, _) in enumerate(targets) if not column]
        self.names = ["step_s" if column == "step_ms" else column for column, _, _ in targets if column]
        self.in_ms = [k for k in named if targets[k][0] == "step_ms"]
        self.counts = [k for k in named if targets[k][0] in _COUNTS]
        self.values = operator.itemgetter(*named, 0, 0)  # of one, itemgetter gives no tuple, and of none it raises
        self.others = [(k, targets[k][1], targets[k][2]) for k in others]
        self.named = named

    def read(self, texts: Sequence[str]) -> tuple[dict[str, Any], list[_Metric]] | None:
        """The result of `_columns` for the values of a record; None if one of them is not a plain number."""
        try:
            numbers = _NUMBERS("[" + ",".join(texts) + "]")  # five times as fast as float() of each
        except msgspec.MsgspecError:
            return None
        if len(numbers) != len(texts):
            return None
        for k in self.in_ms:
            numbers[k] /= 1000
        for k in self.counts:
            numbers[k] = int(numbers[k])  # numbers of JSON are finite
        row = dict(zip(self.names, self.values(numbers), strict=False))
        return row, [(name, numbers[k], unit) for k, name, unit in self.others]

    def columns(self, texts: Sequence[str], records: int) -> list[Sequence[Any]] | None:
        """The values of so many records by field, as `read` gives them; None if one of them is not a plain number."""
        try:
            numbers = _NUMBERS("[" + ",".join(texts) + "]")
        except msgspec.MsgspecError:
            return None
        if len(numbers) != len(texts):
            return None
        width = len(texts) // records
        fields: list[Sequence[Any]] = [numbers[k::width] for k in range(width)]
        for k in self.in_ms:
            fields[k] = [milliseconds / 1000 for milliseconds in fields[k]]
        for k in self.counts:
            fields[k] = [*map(int, fields[k])]
        return fields


class Reader:
    claims = None
    known: ClassVar[_Layout | None] = None  # of the last file: the records of a folder are most often alike

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.part = -1
        self.layout = Reader.known
        self.copy: tuple[int, int, float] | None = None  # line, step and time of the last record
        self.first: list[dict[str, Any]] = []  # first record of an attempt, of each rank, until their interval is known
        self.first_step: int | None = None
        self.interval: int | None = None  # log_interval, else the smallest step between records so far
        self.form: RecordForm | None = None  # of the record that was taken last

    def take(self, line: Line) -> bool:
        if self.layout and (match := self.layout.pattern.match(line.text)):
            stamp, step, of, *texts = match.groups()
            if values := self.layout.read(texts):
                self.add(line, int(step), of, stamp, *values)
                if self.rows.many and not (self.form and len(self.form.head) == line.text.find("|")):
                    self.form = form_of(line.text.rstrip(" "), line.text.partition("|")[0], "|")
                return True
        starts = list(_RECORD.finditer(line.text))
        if not starts:
            if _CUT.match(line.text):
                self.rows.problem(line.number, "the record is cut before its first value", line.text)
                return True
            return False
        taken, before = False, line.text[: starts[0].start()]
        for start, end in zip(starts, [*(s.start() for s in starts[1:]), len(line.text)], strict=True):
            text = line.text[start.end() : end]
            taken |= self.record(line, start, before, text)
            before = text.rpartition("number of nan iterations:")[2].partition("|")[2]  # what the record left over
        return taken

    def record(self, line: Line, start: re.Match[str], before: str, text: str) -> bool:
        """One record: the text after `iteration N/ M |`, and what comes before it."""
        *fields, rest = text.split("|")
        if "elapsed time per iteration (" not in text:
            first = (fields[0] if fields else rest).strip()
            if not first.startswith(_FIRST_FIELDS) and not any(known.startswith(first) for known in _FIRST_FIELDS):
                return False  # another tool's `iteration N/M |`, such as NeMo 2's
            self.rows.problem(line.number, "the record is cut before its time", line.text)
            return True
        leading = (
            before.rsplit("|", 1)[0].split("|") if before.rstrip().endswith("|") else []
        )  # NeoX: samples/sec comes first
        closing = next((k for k, field in enumerate(fields) if "number of nan iterations:" in field), None)
        whole = not rest.strip() or (closing is not None and not _BEHIND_LAST.match(rest))
        if _LAST_UNCLOSED.search(rest):
            fields.append(rest)
            whole = True
        if closing is not None:  # another rank's line may follow without a line break
            fields[closing + 1 :] = [field for field in fields[closing + 1 :] if _BEHIND_LAST.match(field)]
        if not whole:
            self.rows.problem(line.number, "the record is cut, or something else was printed into it", line.text)
        layout, texts = _layout_of(fields) if whole and not leading else (None, [])
        row, metrics = (layout and layout.read(texts)) or _columns(self.numbers(line, leading + fields))
        if "step_s" not in row:
            if whole:
                self.rows.problem(line.number, "the record has no time that can be read", line.text)
            return True
        stamp = _STAMPED.search(before)
        self.add(line, int(start[1]), start[2], stamp[1] if stamp else None, row, metrics)
        if whole and not leading:
            self.layout, self.form = layout, None
            Reader.known = layout or Reader.known
        return True

    def numbers(self, line: Line, fields: list[str]) -> Iterator[tuple[str, float]]:
        """Fields as key and number; keys hold parentheses and slashes, and the last colon is before the value."""
        for field in fields:
            if field.lstrip().startswith("eta:"):
                continue  # Apertus: a clock time, and no measurement
            key, colon, value = field.rpartition(":")
            if not colon:  # 2019: `learning rate 1.5E-04`, without a colon
                key, _, value = field.strip().rpartition(" ")
            key, value = key.strip(), value.strip()
            if not (match := _FIRST_NUMBER.match(value)):
                if field.strip():
                    self.rows.problem(line.number, f"the field '{key or field.strip()}' holds no number", field)
                continue
            number = float(match[0].replace(",", ""))  # `current/average` of Primus: the current one
            if key == "approx flops per GPU":  # NeoX glues the unit to the number
                key, number = "TFLOPs", number * _SCALE.get(value[match.end() : match.end() + 1], 1e-12)
            elif key == "consumed tokens":  # Apertus shortens it
                number *= _COUNTED.get(value[match.end() : match.end() + 1], 1)
            yield key, number

    def add(
        self, line: Line, step: int, of: str, stamp: str | None, row: dict[str, Any], metrics: list[_Metric]
    ) -> None:
        rows = self.rows
        if self.part != rows.part:
            self.part, self.first, self.copy = rows.part, [], None
        rank, place = self.writer(line.rank, line.location)
        if self.copy and self.copy[1:] == (step, row["step_s"]) and line.number - self.copy[0] < 50:
            return  # Primus prints each record twice
        self.copy = (line.number, step, row["step_s"])
        ts = line_time(stamp, line, rows)
        position = rows.attempt_of(line.number, step, rank, place, ts, row["step_s"])
        previous = None if position.begins else position.before
        if position.begins:
            self.part, self.first = rows.part, []
        if ts:
            row["ts"], row["ts_origin"] = ts, "naive"
        averaged = self.averaged_steps(step, previous, timer_kept=bool(stamp and "." in stamp))
        if "samples" not in row and (batch := rows.params.get("global_batch_size")):
            row["samples"] = float(batch)
        sequence = row.pop("seqlen", None) or rows.params.get("seq_length")
        if sequence and "samples" in row:
            row["tokens"] = row["samples"] * float(sequence)
        row["step"], row["averaged_steps"] = step, averaged
        row["value_kind"] = "instant" if averaged == 1 else "interval_mean"
        row["phase"], row["rate_scope"] = "train", "global"
        row["attempt"], row["rank"], row["place"] = position.attempt, rank, place
        rows.put("steps", line.number, row)
        self.settle(row, averaged)
        if metrics:
            rows.metrics(line.number, rank, place, step, metrics)
        if previous is None:
            self.facts(line, row, metrics)
        if of == str(step):
            rows.param("outcome", "completed", line.number, origin="inferred")

    def going_on(self, rank: int | None, place: str | None) -> tuple[int, Launch] | None:
        """Attempt and launch that later records of a writer go on with, where their layout and interval are known."""
        following = self.rows.following(rank, place)
        is_known = self.layout and self.interval and not self.first and self.part == self.rows.part
        return following if is_known and following and following[1].top != self.first_step else None

    def take_alike(self, lines: Iterator[Line]) -> int:
        """Records of the known layout whose steps go on as in `take_records`."""
        layout, going_on, first = self.layout, None, None
        heads: list[tuple[int, int, str | None]] = []  # line, step and stamp
        texts: list[str] = []
        for line in lines:
            if first is None:
                first, going_on = line, self.going_on(*self.writer(line.rank, line.location))
                before = going_on[1].top if going_on else 0
            match = layout.pattern.match(line.text) if layout and going_on else None
            if not match or line[2:] != first[2:]:
                break
            stamp, step, of, *values = match.groups()
            step = int(step)
            other_kind = heads and (heads[0][2] is None) != (stamp is None)
            if step - before < (self.interval or 1) or of == str(step) or other_kind:
                break
            before = step
            heads.append((line.number, step, stamp))
            texts += values
        if not (first and going_on and heads) or (self.copy and self.copy[1] == heads[0][1]):  # it is printed twice
            return 0
        return self.add_alike(heads, texts, self.writer(*first[2:]), *going_on)

    def add_alike(
        self, heads: list[tuple[int, int, str | None]], texts: list[str], whose: tuple[int | None, str | None],
        attempt: int, launch: Launch,
    ) -> int:  # fmt: skip
        """What `add` does, for records that go on with a launch, by their line, step and stamp, and the numbers of all.

        Returns how many they are; 0 where one has a value that is no plain number, or a time that is none.
        """
        rows, layout = self.rows, self.layout
        assert layout
        lines, steps, stamps = map(list, zip(*heads, strict=True))
        times = [time for stamp in stamps if (time := iso_time(stamp))]
        fields = layout.columns(texts, len(heads))
        if not fields or len(times) != sum(map(bool, stamps)):
            return 0
        values: dict[str, Sequence[Any]] = dict(zip(layout.names, [fields[k] for k in layout.named], strict=True))
        step_s = [*values["step_s"]]
        if "samples" not in values and (batch := rows.params.get("global_batch_size")):
            values["samples"] = [float(batch)] * len(heads)
        stated = rows.params.get("seq_length")
        lengths = [length or stated for length in values.pop("seqlen", [None] * len(heads))]
        if "samples" in values and any(lengths):
            each = zip(values["samples"], lengths, strict=True)
            values["tokens"] = [samples * float(length) if length else None for samples, length in each]
        shared = {
            "averaged_steps": self.interval, "value_kind": "instant" if self.interval == 1 else "interval_mean",
            "phase": "train", "rate_scope": "global", "attempt": attempt, "rank": whose[0], "place": whose[1],
        }  # fmt: skip
        if times:
            values["ts"], shared["ts_origin"] = times, "naive"
        values["step"] = steps
        of_records = zip(lines, steps, zip(*values.values(), strict=True), strict=True)
        for k, (line, step, numbers) in enumerate(of_records):
            rows.put("steps", line, dict(zip(values, numbers, strict=True)) | shared)
            rows.metrics(line, *whose, step, [(name, fields[field][k], unit) for field, name, unit in layout.others])
        launch.extend(steps, times, step_s, all(not time.microsecond for time in times), max(times, default=None))
        self.copy = (lines[-1], steps[-1], step_s[-1])
        return len(heads)

    def take_records(self, records: Records) -> int:
        """Records whose steps go on from the last one in equal intervals, up to the last step of the job."""
        rows, layout, form = self.rows, self.layout, self.form
        going_on = self.going_on(*self.writer(records.prefix.rank, records.prefix.location))
        start = _START_OF_HEAD.search(form.head) if form else None
        if not (layout and form and going_on and start) or rows.zone:
            return 0
        attempt, launch = going_on
        steps = form.number_in_head(records, *start.span("step")).to_numpy()
        last = form.number_in_head(records, *start.span("of")).to_numpy()
        count = rising(steps, launch.top)
        gaps = np.diff(steps[:count], prepend=launch.top)
        stops = np.flatnonzero((gaps < self.interval) | (steps[:count] == last[:count]))
        count = int(stops[0]) if len(stops) else count
        records = records.part(0, count)
        try:
            times = form.times_in_head(records, *start.span("stamp")) if start["stamp"] else None
        except pa.ArrowInvalid:  # a date that is none: line by line, `add` says of which record
            return 0
        if count:
            self.add_columns(records, steps[:count], attempt, launch, times)
        return count

    def add_columns(
        self, records: Records, steps: Integers, attempt: int, launch: Launch, times: pa.Array | None
    ) -> None:
        """What `add` does, for records that go on with a launch."""
        rows, layout = self.rows, self.layout
        assert layout
        rank, place = self.writer(records.prefix.rank, records.prefix.location)
        whose = {"rank": rank, "place": place, "step": steps, "line": records.lines}
        values = dict(zip(layout.names, [records.fields[k] for k in layout.named], strict=True))
        if layout.in_ms:
            values["step_s"] = pc.divide(values["step_s"], _THOUSAND)
        for column in _COUNTS:
            if column in values:
                values[column] = pc.trunc(values[column])
        if "samples" not in values and (batch := rows.params.get("global_batch_size")):
            values["samples"] = float(batch)
        sequence = values.pop("seqlen", None) or rows.params.get("seq_length")
        if sequence is not None and "samples" in values:
            length = sequence if isinstance(sequence, pa.Array) else pa.scalar(float(sequence), FLOAT)
            values["tokens"] = pc.multiply(values["samples"], length)
        if times is not None:
            values |= {"ts": times, "ts_origin": "naive"}
        kind = "instant" if self.interval == 1 else "interval_mean"
        values |= {**whose, "averaged_steps": self.interval, "value_kind": kind, "attempt": attempt}
        rows.put_columns("steps", values | {"phase": "train", "rate_scope": "global"})
        for k, name, unit in layout.others:
            metric = {"attempt": rows.attempt, "name": name, "value": records.fields[k], "unit": unit, "stat": "value"}
            rows.put_columns("metrics", whose | metric)
        extend(launch, steps, values["step_s"], values.get("ts"))
        self.copy = (int(records.lines[-1]), int(steps[-1]), values["step_s"][-1].as_py())

    def writer(self, rank: int | None, place: str | None) -> tuple[int | None, str | None]:
        """Who printed a record.  The last rank prints: another label of `srun -l` is that of a node."""
        if rank is not None and (devices := self.rows.params.get("devices")) is not None and rank != devices - 1:
            return None, str(rank)
        return rank, place

    def averaged_steps(self, step: int, previous: int | None, timer_kept: bool) -> int | None:
        """How many steps the time of a record is a mean of; None for a first record without log_interval."""
        if previous is None:
            self.first_step, self.interval = step, integer(self.rows.params.get("log_interval"))
            return 1 if timer_kept else self.interval
        gap = step - previous
        if timer_kept and previous == self.first_step:
            return gap + 1
        if self.interval is None or gap < self.interval:
            self.interval = gap
        return self.interval  # a wider gap means lost records

    def settle(self, row: dict[str, Any], averaged: int | None) -> None:
        """Gives the first record of an attempt the interval that the second one shows."""
        if averaged is None:
            self.first.append(row)
        else:
            for first in self.first:
                first.update(averaged_steps=averaged, value_kind="instant" if averaged == 1 else "interval_mean")
            self.first = []

    def facts(self, line: Line, row: dict[str, Any], metrics: list[_Metric]) -> None:
        """Which member of the family prints such records."""
        names = {name for name, _, _ in metrics}
        text = line.text[:_LONGEST_RECORD]
        if any(name.startswith(("hip mem", "rocm mem")) for name in names):
            framework = "primus"
        elif "approx flops per GPU" in text or "lm_loss:" in text:
            framework = "gpt-neox"
        elif (
            ("consumed tokens" in names and "tokens/sec/gpu" not in names)
            or "lm-loss:" in text
            or self.rows.params.get("deepspeed") == "True"
        ):
            framework = "megatron-deepspeed"
        else:
            framework = "megatron-lm"
        self.rows.param("framework", framework, line.number)
        if "samples" in row and math.isfinite(row["samples"]):
            self.rows.param("global_batch_size", int(row["samples"]), line.number)


@functools.lru_cache(maxsize=1024)
def target(key: str) -> tuple[str | None, str, str | None]:
    """Column of `steps` for a field, or None with its unit: then it is a metric under its own name."""
    name = key.lower()
    unit = next((unit for word, unit in _UNITS.items() if word in name), None)
    if unit == "tokens/s" and ("gpu" in name or "tgs" in name):
        unit = "tokens/s/device"
    return ("seqlen" if name.endswith("seqlen") else COLUMNS.get(name)), key, unit


def _columns(numbers: Iterable[tuple[str, float]]) -> tuple[dict[str, Any], list[_Metric]]:
    """Columns of `steps`, and what has no column of its own as name, value, unit."""
    row: dict[str, Any] = {}
    metrics: list[_Metric] = []
    for key, number in numbers:
        column, name, unit = target(key)
        if column is None:
            metrics.append((name, number, unit))
        else:
            row[column] = number
    return _in_units(row), metrics


def _in_units(row: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds to seconds, counts to whole numbers."""
    if "step_ms" in row:
        row["step_s"] = row.pop("step_ms") / 1000
    for column in _COUNTS:
        if (count := row.get(column)) is not None:
            row[column] = int(count) if math.isfinite(count) else None
    return row


def _layout_of(fields: list[str]) -> tuple[_Layout | None, list[str]]:
    """The layout of a record whose fields are all plain numbers, and these numbers."""
    matches = [match for field in fields if (match := _PLAIN_FIELD.fullmatch(field))]
    whole = len(matches) == len(fields)
    return known_layout(tuple(match[1] for match in matches)) if whole else None, [match[2] for match in matches]


@functools.lru_cache(maxsize=64)
def known_layout(keys: tuple[str, ...]) -> _Layout:
    """The layout of some fields: the logs of a folder have few."""
    return _Layout(keys)
