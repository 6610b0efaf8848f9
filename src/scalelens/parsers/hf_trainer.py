"""Hugging Face Trainer: the dictionaries it prints, and its tables of metrics.

Tool: transformers, Trainer, and what is built on it (TRL, axolotl, ms-swift, LLaMA-Factory, optimum-habana)
Versions: 2 and 3 (with the step), 4 (numbers), 5 (every value a string)
Yields: steps, phases, metrics, params
Source: transformers/trainer.py, log(); transformers/trainer_pt_utils.py, log_metrics()

A dictionary has a loss and mostly no time and no step: its step is that of the bar or timer before it.  Without a bar it
follows from the epochs, where the log says how many steps they are together (params: `step_origin` = epochs).  The time
since the start is that of include_num_input_tokens_seen (since 4.50), of ms-swift (`train_speed` is steps over it, and has
more digits than `elapsed_time`), else, without a bar, of the logger's stamps (`step_s_origin` = stamps): the difference of
two is that of the steps between, with evaluations and checkpoints, and with stamps none where an evaluation is between.
TRL prints the time of a step (`step_time`, in seconds), as scripts do under a name with its unit (`step_time_s`, `ms_per_step`).
ms-swift's logging.jsonl holds the same dictionaries as JSON.  Every node prints the same
dictionaries, and a summary that differs in its last digits: each counts once.  A file without such copies may hold
several trainings, each with a summary, whose time over its steps is a mean, with checkpoints;
that of a resumed trainer, whose loss differs from those it logged, is left out,
as is that of one that may have ended early.  The tables repeat the dictionaries: what was not said there is a metric.
LLaMA-Factory logs each dictionary before the trainer prints it: of the two only its throughput, tokens per second since
the start of all ranks, is read; its running_log.txt, whose logger names source files, has no other.  Peaks of memory are
those of ms-swift, axolotl and optimum-habana (optimum/habana/utils/misc.py, whose GB are GiB and whose devices are HPUs).

Samples:
    {'loss': 2.1607, 'grad_norm': 0.5, 'learning_rate': 6.3e-06, 'epoch': 0.03}
    {'loss': '1.827', 'num_tokens': '1.144e+04', 'epoch': '0.2'}
    {'eval_loss': 1.9, 'eval_runtime': 12.5, 'eval_samples_per_second': 80.25, 'epoch': 1.0}
    {'loss': 0.4375, 'memory(GiB)': 61.25, 'train_speed(iter/s)': 0.125, 'epoch': 0.26, 'global_step/max_steps': '12/94', 'elapsed_time': '1m 36s'}
    [INFO|2026-01-02 03:04:05] llamafactory.train.callbacks:157 >> {'loss': 2.1607, 'learning_rate': 6.3000e-06, 'epoch': 0.03, 'throughput': 1812.25}
    {"loss": 0.4375, "grad_norm": 0.5, "epoch": 0.26, "global_step/max_steps": "12/94", "elapsed_time": "1m 36s", "train_speed(iter/s)": 0.125}
    {'loss': '0.25', 'step_time': '12.5', 'epoch': '0.2'}
    {'loss': 1.8125, 'epoch': 0.16, 'memory_allocated (GB)': 13.5, 'max_memory_allocated (GB)': 48.75, 'total_memory_available (GB)': 94.5}
    {'loss': 1.4375, 'memory/max_allocated (GiB)': 21.25, 'memory/device_reserved (GiB)': 23.5, 'tokens/total': 131072, 'epoch': 0.01}
    {'train_runtime': 919.097, 'train_samples_per_second': 1.088, 'train_steps_per_second': 0.017, 'epoch': 1.0}
    [INFO|trainer_pt_utils.py:907] 2026-01-02 06:53:45,862 >> ***** train metrics *****
    ***** eval metrics *****
    ***** Running Evaluation *****
"""

import math
from datetime import UTC

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.since_start import RunningMean, SinceStart, elapsed_of, mean_of_training
from scalelens.parsing.stamps import line_time
from scalelens.tabular.column_names import read_name
from scalelens.units import factors, ratio

VERSION = 6
ANCHORS = (
    "'epoch': ", "{'loss': ", "{'train_runtime': ", " metrics *****", '"global_step/max_steps": "', "* Running Evaluation *",
)  # fmt: skip

_N = r"-?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)"
# What may come before a record: a bar without a line's end, or a logger's prefix.
_WHOLE = re.compile(
    r"(?:.*\| *\d+/\d+ \[[^]]*\]|(?P<logger>(?:\[\d{1,6}\] )?(?:\[INFO\||\d\d/\d\d/\d{4} )[^{]{9,120}(?:>>| -) ))?"
    r"\s*(\{'(?!epoch')[^{}]*'epoch': [^{}]*\})\s*$"
)
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d|\d\d/\d\d/\d{4}) (\d\d:\d\d:\d\d)(,\d{3})?")
_PAIR = re.compile(rf"'([\w/.@() -]{{1,99}})': '?({_N})'?(?=[,}}])")
_OF_A_NODE = re.compile(r", 'train_(?:runtime|tokens_per_second)': [^,}]+")  # each node has a clock of its own
_OF_STEPS = re.compile(r"'global_step/max_steps': '(\d{1,15})/")
_EPOCH = re.compile(r"'epoch': ('?)\d+(?:\.(\d+))?")
_SIGNIFICANT = 4  # digits of a value that version 5 prints as a string, without zeros at its end
_WHOLE_SHARE = 0.97  # of the epochs, or of the way down of the learning rate, that a training must have made
_SURE = 0.4  # of a step, by which the digits of an epoch may be off
_BEGUN = re.compile(r"\s*\{'(?:loss|train_runtime)': [^}]*$")
_INFO = r"(?:\[INFO\|[\w.]+:\d+\] [\d :,-]+ >> )?"
_TABLE = re.compile(_INFO + r"\*{5} (?:train|eval|test|predict) metrics \*{5}\s*$")
_ENTRY = re.compile(_INFO + r"  (\w+)\s+= +(\S+)\s*$")
_AMOUNT = re.compile(rf"({_N})(GF|MB)?$")
_SAID = ("epoch", "_runtime", "_per_second", "_loss")  # in the dictionaries
_OF_HABANA = "max_memory_allocated (GB)"
_PEAKS = ("memory(GiB)", "memory/max_allocated (GiB)", _OF_HABANA)  # all in GiB
_COLUMNS = ("loss", "learning_rate", "grad_norm")
_SECONDS = factors("s", "ms", "us", "min", "h")
_UNITS = {
    "samples_per_second": "samples/s",
    "steps_per_second": "steps/s",
    "tokens_per_second": "tokens/s",
    "throughput": "tokens/s",
}


def _name_of_time(values: dict[str, float]) -> str | None:
    """The key of the time of a step: as TRL calls it, or one that says its unit.  A speed is a mean since the start."""
    if "step_time" in values:
        return "step_time"
    timed = (key for key in values if "speed" not in key and read_name(key).role == "batch_time")
    return next((key for key in timed if read_name(key).unit in _SECONDS), None)


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.seen: set[int] = set()  # dictionaries, by hash
        self.headers = 0  # of launches, when the last dictionary came
        self.copied = False  # several nodes print the dictionaries
        self.summarised = 0  # line of the summary, if no step came since
        self.at: int | None = None  # step of the last dictionary
        self.clock = SinceStart()
        self.losses = RunningMean()  # since the training began
        self.rates: list[float] = []  # learning rates since then
        self.evaluated_s = 0.0  # of the evaluations since then
        self.epoch: float | None = None  # of the last dictionary whose step follows from its epoch
        self.digits = 0  # the most digits after the point that an epoch had

    def take(self, line: Line) -> bool:
        self.claims = None
        if _TABLE.match(line.text):
            self.claims = _ENTRY
            return True
        if line.text.startswith('{"'):
            line = line._replace(text=line.text.replace('"', "'"))
        if whole := _WHOLE.match(line.text):
            logger = whole["logger"] or ""
            if "callbacks" in logger and "callbacks.py:" not in logger:  # LLaMA-Factory's, in the log of the trainer
                self.at = self.rows.step
                values = {key: float(value) for key, value in _PAIR.findall(whole[2]) if key == "throughput"}
                self.metrics(line, values)
                return True
            return self.dictionary(line, whole)
        if _BEGUN.match(line.text):
            self.rows.problem(line.number, "the dictionary is cut", line.text)
            return True
        if "***** Running Evaluation *****" in line.text:
            if self.epoch is not None:
                self.clock.before = None
            return True
        return False

    def dictionary(self, line: Line, whole: re.Match[str]) -> bool:
        text = whole[2]
        values = {key: float(value) for key, value in _PAIR.findall(text)}
        kind = next((key for key in ("loss", "train_runtime", "eval_runtime") if key in values), None)
        if kind is None or "epoch" not in values:
            return False
        if self.headers != self.rows.writers.headers:
            self.seen, self.headers = set(), self.rows.writers.headers
        known = len(self.seen)
        is_summary = kind == "train_runtime"
        self.seen.add(hash(text if is_summary else _OF_A_NODE.sub("", text)))
        if len(self.seen) == known:
            self.copied = True
            return True
        self.rows.param("framework", "transformers", line.number)
        self.at = self.step_of(line, text, values)
        elapsed = (values["train_runtime"], 0.0) if "train_runtime" in values else elapsed_of(text, self.at)
        if kind == "loss":
            values.pop("train_runtime", None)
            self.step(line, values, whole, elapsed)
        elif kind == "eval_runtime":
            self.evaluated_s += values["eval_runtime"]
            self.rows.evaluations.append((line.number, values["eval_runtime"]))
            if elapsed and self.at is not None:
                self.clock.pause(self.at, elapsed[0])
            self.phase(line, "evaluation", values, "eval_")
        else:
            self.summary(line, values, self.at if _OF_STEPS.search(text) else None)
        return True

    def summary(self, line: Line, values: dict[str, float], steps: int | None) -> None:
        before, self.summarised = self.summarised, line.number
        self.copied |= before == line.number - 1 > 0  # another node's, as there is no training in between
        if not (before and self.copied):
            if steps:
                mean = {"step_s": values["train_runtime"] / steps, "averaged_steps": steps, "value_kind": "run_mean"}
            else:
                mean = (
                    mean_of_training(values, None, self.losses.value, self.evaluated_s)
                    if self.ended(values["epoch"])
                    else {}
                )
            if mean:
                self.rows.add(
                    "steps", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase="train",
                    step=steps, epoch=values["epoch"], **mean,
                )  # fmt: skip
            self.phase(line, "run", values, "train_")
            self.rows.param("outcome", "completed", line.number, origin="inferred")

    def began(self) -> None:
        """Notes that a training begins."""
        self.losses, self.rates, self.evaluated_s = RunningMean(), [], 0.0

    def ended(self, epoch: float) -> bool:
        """Whether the training that is summarized went on to its planned end: by its epochs or its learning rate."""
        planned = self.rows.params.get("num_epochs")
        if self.at is not None and self.at == self.rows.params.get("max_steps"):
            return True  # with max_steps, it may be within an epoch
        if isinstance(planned, int):
            return epoch >= _WHOLE_SHARE * planned
        return len(self.rates) > 1 and self.rates[-1] <= (1 - _WHOLE_SHARE) * max(self.rates)

    def step_of(self, line: Line, text: str, values: dict[str, float]) -> int | None:
        """The step of a dictionary: its own, that of the bar before it, or what its epoch is in steps."""
        own = values.pop("step", None)
        if of := _OF_STEPS.search(text):
            return int(of[1])
        if own is not None and own.is_integer():
            return int(own)
        rows, epoch = self.rows, values["epoch"]
        in_epoch, printed = self.steps_in_epoch(), _EPOCH.search(text)
        if (rows.step is not None and self.epoch is None) or not in_epoch or not printed:
            return rows.step
        if "loss" in values:
            self.epoch = epoch
        elif self.epoch is None:
            return rows.step
        self.digits = max(self.digits, len(printed[2] or ""))  # a zero at the end is not printed
        exponent = math.floor(math.log10(epoch)) + 1 - _SIGNIFICANT if printed[1] and epoch > 0 else -self.digits
        if in_epoch * 10.0**exponent > _SURE:
            return None if "loss" in values else rows.step
        rows.param("step_origin", "epochs", line.number, origin="inferred")
        return round(epoch * in_epoch)

    def steps_in_epoch(self) -> float | None:
        """Steps of an epoch by the head of the log; with max_steps the last epoch may be a part of one."""
        facts = self.rows.params
        if stated := facts.get("steps_per_epoch"):
            return float(stated)
        steps, epochs = facts.get("max_steps"), facts.get("num_epochs")
        if not steps or not epochs:
            return None
        examples, batch = facts.get("num_examples"), facts.get("global_batch_size")
        if examples and batch and abs(examples / batch - steps / epochs) > 1:
            return None
        return float(steps / epochs)

    def step(
        self, line: Line, values: dict[str, float], whole: re.Match[str], elapsed: tuple[float, float] | None
    ) -> None:
        rows, epoch = self.rows, values.pop("epoch")
        rank = 0 if line.rank is None else line.rank  # copies of other nodes are told by their text
        stamp = _STAMP.search(whole["logger"] or "")
        ts = line_time(f"{stamp[1]} {stamp[2]}{stamp[3] or ''}", line, rows) if stamp and "-" in stamp[1] else None
        position = rows.attempt_of(line.number, epoch, rank, line.location, once=False)
        if position.begins and position.attempt:
            self.at, self.clock = None if self.epoch is None else self.at, SinceStart()
            self.began()
        if self.summarised:
            self.summarised = 0
            self.began()
        self.losses.add(values.get("loss", math.nan))
        self.rates += [values["learning_rate"]] if "learning_rate" in values else []
        if _OF_HABANA in values:
            rows.param("device_unit", "hpu", line.number, origin="inferred")
        memory = next((values.pop(name) for name in _PEAKS if name in values), None)
        if elapsed is None and ts is not None and self.epoch is not None:
            elapsed = ts.replace(tzinfo=UTC).timestamp(), 0.001 if stamp and stamp[3] else 1.0
            rows.param("step_s_origin", "stamps", line.number, origin="inferred")
        timed = self.clock.times(self.at, *elapsed) if elapsed and self.at is not None else {}
        if not timed and (name := _name_of_time(values)):
            seconds = values.pop(name) * _SECONDS[read_name(name).unit or "s"]
            timed = {"step_s": seconds, "value_kind": "interval_mean"}
        rows.add(
            "steps", line.number, attempt=position.attempt, rank=line.rank, place=line.location, phase="train", step=self.at,
            epoch=epoch, peak_memory_bytes=None if memory is None else memory * 2**30, ts=ts,
            ts_origin="naive" if ts else None, **{column: values.pop(column, None) for column in _COLUMNS}, **timed,
        )  # fmt: skip
        self.metrics(line, values)

    def phase(self, line: Line, phase: str, values: dict[str, float], prefix: str) -> None:
        self.rows.add(
            "phases", line.number, attempt=self.rows.attempt, rank=line.rank, place=line.location, phase=phase,
            epoch=values.pop("epoch"), step=self.at, span_s=values.pop(prefix + "runtime"),
            samples_per_s=values.pop(prefix + "samples_per_second", None), origin="logged",
        )  # fmt: skip
        self.metrics(line, values)

    def metrics(self, line: Line, values: dict[str, float]) -> None:
        named = [(key, value, _UNITS.get(key.split("_", 1)[-1])) for key, value in values.items()]
        self.rows.metrics(line.number, line.rank, line.location, self.at, named)

    def more(self, line: Line) -> None:
        """A line of a table of metrics."""
        match = _ENTRY.match(line.text)
        if not match or match[1].endswith(_SAID):
            return
        if not (amount := _AMOUNT.match(match[2])):
            self.rows.problem(line.number, f"'{match[1]}' is not a number", line.text)
            return
        scale, unit = {"GF": (ratio("GFLOP", "FLOP"), "flops"), "MB": (ratio("MiB", "B"), "bytes")}.get(
            amount[2], (1.0, None)
        )
        value, step = float(amount[1]) * scale, self.rows.step if self.at is None else self.at
        self.rows.metric(line.number, line.rank, line.location, step, match[1], value, unit)
