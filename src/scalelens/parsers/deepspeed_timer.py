"""DeepSpeed's throughput timer, and its line of skipped steps and learning rates.

Tool: DeepSpeed
Versions: 0.1 (SamplesPerSec), 0.3 (RunningAvg and Curr), 0.7 and later (global_step)
Yields: steps, metrics
Source: deepspeed/utils/timer.py, ThroughputTimer.stop(); deepspeed/runtime/engine.py, _report_progress()

CurrSamplesPerSec is of one step alone and of all ranks; the running average leaves out the first two steps and is a
metric.  With a global batch size known the time of the step follows, as the tool had it before it divided.  The oldest
form prints a running mean only.  Without a batch the time stamps give the time of the steps since the record before
(params: `step_s_origin` = stamps), unless a progress bar stands in the same lines.  Before 0.7 the timer counts micro steps of the epoch: the step is the one of the line
before it, else what is counted in the first epoch.  `skipped` counts from the start.  In a log of Megatron-LM, whose
records are the same steps, everything becomes metrics.  Records of global steps are read by columns, each with the
line of learning rates right above it.

Samples:
    [2026-01-02 03:04:05,678] [INFO] [timer.py:199:stop] epoch=0/micro_step=40/global_step=20, RunningAvgSamplesPerSec=172.5, CurrSamplesPerSec=171.25, MemAllocated=3.96GB, MaxMemAllocated=22.95GB
    [2026-01-02 03:04:05,678] [INFO] [timer.py:157:stop] 0/20, RunningAvgSamplesPerSec=232.75, CurrSamplesPerSec=227.5, MemAllocated=3.96GB, MaxMemAllocated=22.95GB
    [2026-01-02 03:04:05,678] [INFO] [timer.py:154:stop] 0/20, SamplesPerSec=232.75
    [INFO 2026-01-02 03:04:05] 0/20, SamplesPerSec=232.75
    [2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step=20, skipped=6, lr=[9.6e-06, 9.6e-07], mom=[(0.9, 0.95), (0.9, 0.95)]
"""

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from scalelens import arrow_compute as pc
from scalelens.parsing import lazy_re as re
from scalelens.parsing.attempts import Launch
from scalelens.parsing.dispatch import Line
from scalelens.parsing.record_forms import RecordForm, Records, extend, form_of_named, rising, seconds_apart
from scalelens.parsing.rows import Rows
from scalelens.parsing.stamps import line_time
from scalelens.parsing.values import LARGEST_AMOUNT, amount
from scalelens.tables import FLOAT

VERSION = 4
ANCHORS = ("SamplesPerSec=", ", skipped=")

_N = r"(-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|inf|nan))"
_STAMP = re.compile(r"\[(?:INFO )?(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?)\]")
_PLACE = re.compile(r"(?:epoch=(\d+)/micro_step=\d+/global_step=(\d+)|(?<!\S)(\d+)/(\d+)), (?=\w*SamplesPerSec=)")
_RATES = re.compile(rf"(?:RunningAvgSamplesPerSec={_N}, Curr)?SamplesPerSec={_N}(?=,|\s*$)")
_MEMORY = re.compile(rf", MemAllocated={_N}GB, MaxMemAllocated={_N}GB")
# What may come before a record: a bar without a line's end, accelerate's `stdout: `, the logger's prefix.  Other text means that the record is quoted.
_LOGGER = re.compile(
    r"(?:(?:.*\| *\d+/\d+ \[[^]]*\] *)?|stdout: |\[\d{1,6}\] )"
    r"(?:\[[\d :,-]+\] \[[A-Z]+\] \[[\w.:]+\] |\[INFO [\d :-]+\] )?$"
)
_PROGRESS = re.compile(r"\[Rank (\d+)\] step=(\d+), skipped=(\d+), lr=\[([^\]]*)\]")
_BAR = re.compile(r"\| *\d+/\d+ \[")
_NAMES = re.compile(r"(?<!\w)(\w+)=")
_RANK = re.compile(r"\[Rank (\d{1,9})\] step$")  # at the end of a head
_MEGATRON = ("megatron", "gpt-neox", "primus")
_FINE = 10  # last digits of the stamps that pass between two records, for these to tell a time
_GIBI = pa.scalar(float(2**30), FLOAT)  # without a type, Arrow would look for time libraries each time


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.attempt = 0
        self.before: tuple[int, float | None] | None = None  # step and learning rate of the line before
        self.rates: Line | None = None  # that line
        self.stamped: dict[tuple[int, int | None, str | None], tuple[int, datetime]] = {}  # step and time of a record
        self.beside_bar = False
        self.memory = False  # whether the records end with the memory
        self.form: RecordForm | None = None  # of the record that was taken last
        self.known: list[tuple[int, list[str]]] = []  # what tells whether the next one has it
        self.names: list[str] = []  # of its numbers

    def take(self, line: Line) -> bool:
        self.beside_bar = self.beside_bar or ("it]" in line.text and bool(_BAR.search(line.text)))
        if ", skipped=" in line.text:
            return self.progress(line)
        place = _PLACE.search(line.text)
        if not place or not _LOGGER.match(line.text[: place.start()]):
            return False
        if rates := _RATES.match(line.text, place.end()):
            self.record(line, place, rates)
        else:
            self.rows.problem(line.number, "the record is cut, or its rate is not a number", line.text)
        return True

    def progress(self, line: Line) -> bool:
        """`[Rank 0] step=`: the learning rate of each group, and the steps skipped so far."""
        begin = line.text.find("[Rank ")
        if begin < 0 or not _LOGGER.match(line.text[:begin]) or "] step=" not in line.text:
            return False
        match = _PROGRESS.match(line.text, begin)
        if not match:
            self.rows.problem(line.number, "the line is cut before its learning rates", line.text)
            return True
        rates = [amount(text) for text in match[4].split(",")]
        self.before, self.rates = (int(match[2]), rates[0]), line
        named = [(f"lr {k}" if k else "lr", rate, None) for k, rate in enumerate(rates) if rate is not None]
        skipped = ("skipped", float(match[3]), "steps")
        self.rows.metrics(line.number, int(match[1]), line.location, int(match[2]), [skipped, *named])
        return True

    def record(self, line: Line, place: re.Match[str], rates: re.Match[str]) -> None:
        rows = self.rows
        mean, rate, memory = amount(rates[1]), amount(rates[2]), _MEMORY.match(line.text, rates.end())
        if self.memory and not memory:
            rows.problem(line.number, "the record is cut, and its last number may be cut too", line.text)
        progress, self.before, self.memory = self.before, None, self.memory or bool(memory)
        step = int(place[2]) if place[2] else progress[0] if progress else int(place[4]) if int(place[3]) == 0 else None
        others = [("RunningAvgSamplesPerSec", mean, "samples/s")]
        if memory:
            others.append(("MemAllocated", _in_bytes(memory[1]), "bytes"))
        megatron = self.beside_megatron()
        if megatron:
            others.append(("CurrSamplesPerSec" if rates[1] else "SamplesPerSec", rate, "samples/s"))
        metrics = [(name, value, unit) for name, value, unit in others if value is not None]
        rows.metrics(line.number, line.rank, line.location, step, metrics)
        if megatron:
            self.form, self.known = None, []
            return
        if rows.many:
            self.learn(line, self.rates if progress else None)
        batch = rows.params.get("global_batch_size") if place[2] else None
        by_rate = {"step_s": batch / rate} if batch and rate else {}
        kind = {"averaged_steps": 1 if rates[1] else None, "value_kind": "instant" if rates[1] else "running_mean"}
        stamp = _STAMP.search(line.text)
        ts = line_time(stamp[1] if stamp else None, line, rows)
        if step is not None:
            self.attempt = rows.attempt_of(line.number, step, line.rank, line.location, ts, once=False).attempt
        of_steps = place[2] or (progress and progress[0] == int(place[4]))  # else the timer counts micro steps
        digit_s = 0.001 if stamp and "," in stamp[1] else 1.0
        by_stamps = self.by_stamps(line, step, ts, digit_s) if of_steps and not by_rate else {}
        rows.add(
            "steps", line.number, attempt=self.attempt, rank=line.rank, place=line.location, phase="train",
            epoch=int(place[1] or place[3]), step=step, samples=batch, samples_per_s=rate, rate_scope="global",
            **{**kind, **by_rate, **by_stamps},
            learning_rate=progress[1] if progress and progress[0] == step else None,
            peak_memory_bytes=_in_bytes(memory[2]) if memory else None,
            ts=ts, ts_origin="naive" if ts else None,
        )  # fmt: skip
        if "framework" not in rows.params:
            rows.param("framework", "deepspeed", line.number, origin="inferred")

    def by_stamps(self, line: Line, step: int | None, ts: datetime | None, digit_s: float) -> dict[str, Any]:
        """The time of the steps since the record before, by the time stamps of both; empty where these tell none."""
        whose = self.attempt, line.rank, line.location
        before = self.stamped.get(whose)
        if step is None or ts is None or self.beside_bar:
            return {}
        self.stamped[whose] = step, ts
        span_s = (ts - before[1]).total_seconds() if before else 0.0
        if before is None or step <= before[0] or span_s < _FINE * digit_s:
            return {}
        self.rows.param("step_s_origin", "stamps", line.number, origin="inferred")
        steps = step - before[0]
        return {"step_s": span_s / steps, "averaged_steps": steps, "value_kind": "interval_mean"}

    def beside_megatron(self) -> bool:
        params = self.rows.params
        return "train_iters" in params or str(params.get("framework")).startswith(_MEGATRON)

    def learn(self, line: Line, rates: Line | None) -> None:
        """Learns the form of a record and of the line above it, where it is another one than so far."""
        if rates and (rates.number + 1, rates.rank, rates.location) != (line.number, line.rank, line.location):
            rates = None
        texts = [both.text.rstrip(" ") for both in (line, rates) if both]
        known = [(text.find("="), _NAMES.findall(text)) for text in texts]
        if known == self.known:
            return
        self.form, self.known, self.names = None, known, known[0][1]
        form = form_of_named(texts[0])
        if form and rates:
            form.above = form_of_named(texts[1])
        whole = not rates or (form and form.above and _RANK.search(form.above.head))
        if whole and {"global_step", "CurrSamplesPerSec"} <= {*self.names}:
            self.form = form

    def take_records(self, records: Records) -> int:
        """Records whose steps go on from the last one, and which hold amounts alone."""
        rows, form, values = self.rows, records.form, self.named(records)
        following, stamp = rows.following(records.prefix.rank, records.prefix.location), _STAMP.search(form.head)
        if not following or not stamp or rows.zone or self.before or "framework" not in rows.params:
            return 0
        if self.beside_megatron():
            return 0
        attempt, launch = following
        if launch.latest is None or self.memory != ("MaxMemAllocated" in values):
            return 0
        try:
            ts = form.times_in_head(records, *stamp.span(1))
        except pa.ArrowInvalid:  # a date that is none: line by line, `record` says of which
            return 0
        whose = attempt, records.prefix.rank, records.prefix.location
        by_stamps = "global_batch_size" not in rows.params and not self.beside_bar
        if by_stamps and (self.stamped.get(whose) != (launch.top, launch.latest) or "," not in stamp[1]):
            return 0  # the first record, or one of several writers
        steps = values["global_step"].to_numpy()
        fits = (steps % 1 == 0) & (values["epoch"].to_numpy() % 1 == 0) & (values["CurrSamplesPerSec"].to_numpy() > 0)
        for numbers in [*records.fields, *(records.above.fields if records.above else [])]:
            fits &= (numbers.to_numpy() >= 0) & (numbers.to_numpy() < LARGEST_AMOUNT)
        if records.above:
            fits &= records.above.fields[0].to_numpy() == steps
        if by_stamps:  # a clock that goes back is left to `record`
            fits &= np.diff(ts.to_numpy(), prepend=np.datetime64(launch.latest)) >= np.timedelta64(0, "ms")
        count: int = min([rising(steps.astype(np.int64), launch.top), *np.flatnonzero(~fits)[:1].tolist()])
        if count:
            self.add_columns(records.part(0, count), ts.slice(0, count), attempt, launch)
        return count

    def named(self, records: Records) -> dict[str, pa.Array]:
        return dict(zip(self.names, records.fields, strict=True))

    def add_columns(self, records: Records, ts: pa.Array, attempt: int, launch: Launch) -> None:
        """What `record` does, for records that go on with a launch."""
        rows, values, prefix = self.rows, self.named(records), records.prefix
        steps = values["global_step"].to_numpy().astype(np.int64)
        whose = {"line": records.lines, "rank": prefix.rank, "place": prefix.location, "step": steps}
        rates = self.add_progress(records.above, whose) if records.above else None
        rate, memory = values["CurrSamplesPerSec"], values.get("MaxMemAllocated")
        batch, apart = rows.params.get("global_batch_size"), seconds_apart(launch, steps, ts, launch.top)
        timed: dict[str, Any] = {"averaged_steps": 1, "value_kind": "instant"}
        if batch:
            timed["step_s"] = pc.divide(pa.scalar(float(batch), FLOAT), rate)
        elif batch is None and not self.beside_bar:
            between = np.diff(steps, prepend=launch.top)
            fine = apart.to_numpy() * between >= _FINE * 0.001 - 1e-9
            timed["step_s"] = pa.array(apart.to_numpy(), mask=~fine)
            timed["averaged_steps"] = np.where(fine, between, 1)
            timed["value_kind"] = pa.array(np.where(fine, "interval_mean", "instant").tolist())
            self.stamped[attempt, prefix.rank, prefix.location] = int(steps[-1]), ts[-1].as_py()
        rows.put_columns("steps", whose | timed | {
            "attempt": attempt, "phase": "train", "epoch": values["epoch"], "samples_per_s": rate, "rate_scope": "global",
            "samples": None if batch is None else float(batch),
            "learning_rate": rates, "peak_memory_bytes": None if memory is None else pc.multiply(memory, _GIBI),
            "ts": ts, "ts_origin": "naive",
        })  # fmt: skip
        self.add_metrics(whose, "RunningAvgSamplesPerSec", values["RunningAvgSamplesPerSec"], "samples/s")
        if memory is not None:
            self.add_metrics(whose, "MemAllocated", pc.multiply(values["MemAllocated"], _GIBI), "bytes")
        extend(launch, steps, apart, ts)
        self.attempt = attempt

    def add_progress(self, records: Records, whose: dict[str, Any]) -> pa.Array:
        """What `progress` does.  Returns the first learning rate of each line."""
        rank = _RANK.search(records.form.head)
        assert rank
        whose = {**whose, "line": records.lines, "rank": records.form.number_in_head(records, *rank.span(1))}
        _, skipped, *rates = records.fields[: 2 + records.form.fields[2].numbers]
        self.add_metrics(whose, "skipped", skipped, "steps")
        for k, values in enumerate(rates):
            self.add_metrics(whose, f"lr {k}" if k else "lr", values, None)
        return rates[0]

    def add_metrics(self, whose: dict[str, Any], name: str, values: pa.Array, unit: str | None) -> None:
        metric = {"attempt": self.rows.attempt, "name": name, "value": values, "unit": unit, "stat": "value"}
        self.rows.put_columns("metrics", whose | metric)


def _in_bytes(gibibytes: str) -> float | None:
    size = amount(gibibytes)
    return None if size is None else size * 2**30
