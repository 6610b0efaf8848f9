"""Names of columns as roles: which is the step, which the time of a batch, and in which unit.

A name is taken apart into words and a unit (`stepTime (ms)`, `iter_time_us`, `ms_per_step`, `img/s/gpu`), and what is
left is looked up in ROLES.  A role needs its unit where numbers could mean several things: a time, an accuracy or an
amount of memory without one is not read, nor is a role that two columns claim; both are said, with the `--map` that
settles it, and the numbers stay metrics under their own names.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scalelens.errors import UserError


class Role(NamedTuple):
    """What a column can be.  `kind` says which units it takes, `names` are those recognised, after `words_of`."""

    name: str
    kind: str
    meaning: str
    names: tuple[str, ...]


ROLES = (
    Role("step", "count", "step, counted through the run; one that begins anew with each epoch is counted on", (
        "step", "global_step", "iteration", "iter", "it", "training_step", "step_num", "step_idx", "step_number",
        "iter_num", "optimizer_step", "opt_step", "global_iteration", "step_no", "iter_no", "current_step",
        "num_updates")),
    Role("batch", "count", "place of the batch in its epoch; counted on through the run where no column is the step", (
        "batch", "batch_idx", "batch_index", "batch_id", "batch_num", "batch_number", "batch_no", "step_in_epoch",
        "batch_in_epoch", "iter_in_epoch", "minibatch", "mini_batch")),
    Role("epoch", "number", "epoch, as the table counts it", ("epoch", "epoch_num", "epoch_idx", "current_epoch")),
    Role("batch_time", "time", "time of this one step", (
        "step_time", "batch_time", "iter_time", "iteration_time", "minibatch_time", "time_per_step", "time_per_batch",
        "time_per_iter", "time_per_iteration", "time_per_it", "step_duration", "batch_duration", "iter_duration",
        "iteration_duration", "step_elapsed", "batch_elapsed", "step_runtime", "batch_runtime", "step_latency",
        "iteration_latency", "elapsed_time_per_iteration", "elapsed_per_step", "dt", "t_step", "t_batch", "t_iter",
        "total_step_time")),
    Role("interval_time", "time", "time per step, a mean over the steps since the record before; only with --map", ()),
    Role("elapsed", "time", "time since the start: its differences are times per step, means of the steps between", (
        "elapsed", "elapsed_time", "time_elapsed", "total_time", "cumulative_time", "cum_time", "time_since_start",
        "since_start", "relative_time", "total_elapsed", "total_elapsed_time", "runtime", "run_time", "total_runtime",
        "wallclock", "wallclock_time", "wall_clock_time", "elapsed_wall_time")),
    Role("data_time", "time", "time of the step spent waiting for data", (
        "data_time", "dataloader_time", "data_loading_time", "dataload_time", "data_load_time", "data_wait",
        "data_wait_time", "t_data", "load_time")),
    Role("epoch_time", "time", "time of a whole epoch", ("epoch_time", "epoch_duration", "time_per_epoch")),
    Role("timestamp", "stamp", "time of the record: seconds to nanoseconds since 1970, or as ISO 8601", (
        "timestamp", "time_stamp", "datetime", "date_time", "ts", "date", "created_at", "logged_at")),
    Role("samples_per_s", "rate", "samples per second, of the whole job or of one rank", ()),
    Role("tokens_per_s", "rate", "tokens per second: a metric under its own name", ()),
    Role("loss", "number", "training loss", ("loss", "lm_loss", "training_loss", "loss_train")),
    Role("accuracy", "fraction", "top-1 accuracy", (
        "accuracy", "acc", "top1", "top_1", "acc1", "acc@1", "prec@1", "accuracy_top1", "acc_top1", "top1_acc",
        "top1_accuracy")),
    Role("learning_rate", "number", "learning rate", ("learning_rate", "lr")),
    Role("grad_norm", "number", "gradient norm", ("grad_norm", "gradient_norm")),
    Role("peak_memory", "bytes", "largest memory of the device so far", (
        "peak_memory", "max_memory", "peak_mem", "max_mem", "peak_gpu_memory", "gpu_peak_memory", "gpu_memory_peak",
        "max_gpu_memory", "max_memory_allocated", "peak_memory_allocated", "peak_allocated", "max_allocated",
        "peak_gpu_mem", "max_gpu_mem")),
    Role("tflops_per_device", "number", "TFLOP/s per device", (
        "tflops_per_device", "tflops_per_gpu", "tflop_per_s_per_gpu", "tflops_per_s_per_gpu")),
    Role("rank", "count", "global rank", ("rank", "global_rank", "world_rank", "mpi_rank")),
    Role("place", "text", "local rank, device or host, where no column is the global rank", (
        "local_rank", "gpu", "gpu_id", "device_id", "host", "hostname", "node_name", "worker")),
    Role("phase", "text", "train, validation or warmup; a table without it is taken for training", (
        "phase", "split", "mode", "stage")),
    Role("run", "text", "label of the run; another one is another run", (
        "run", "run_id", "run_name", "experiment", "exp_name", "experiment_name", "trial")),
    Role("devices", "count", "devices; another number is another run", (
        "devices", "world_size", "num_gpus", "n_gpus", "ngpus", "gpus", "gpu_count", "num_devices", "n_devices",
        "ranks", "num_ranks", "n_ranks", "nranks")),
    Role("nodes", "count", "nodes; another number is another run", (
        "nodes", "num_nodes", "n_nodes", "nnodes", "node_count")),
    Role("devices_per_node", "count", "devices per node", (
        "devices_per_node", "gpus_per_node", "ngpus_per_node", "num_gpus_per_node", "local_world_size")),
    Role("model", "text", "model; another one is another run", ("model", "model_name", "arch", "architecture")),
    Role("precision", "text", "precision; another one is another run", ("precision", "dtype")),
    Role("dataset", "text", "data set", ("dataset", "dataset_name", "data_set")),
    Role("system", "text", "machine", ("system", "cluster", "machine")),
    Role("device_model", "text", "model of the device", ("device_name", "gpu_name", "gpu_model", "device_model")),
    Role("global_batch_size", "count", "samples per step over all devices", (
        "global_batch_size", "total_batch_size", "effective_batch_size", "global_batch", "batch_size_global")),
    Role("micro_batch_size", "count", "samples per device and forward pass", (
        "micro_batch_size", "micro_batch", "batch_size_per_gpu", "batch_size_per_device", "per_device_batch_size",
        "per_gpu_batch_size", "local_batch_size", "batch_per_gpu", "batch_size_per_rank")),
    Role("seq_length", "count", "tokens per sample", ("seq_length", "seq_len", "sequence_length")),
    Role("job_id", "text", "scheduler's job id", ("job_id", "slurm_job_id", "jobid")),
)  # fmt: skip
BY_NAME = {name: role for role in ROLES for name in role.names}
ROLE = {role.name: role for role in ROLES}
# Names that say no more than that it is a time: what their values are decides, or nobody does.
ANY_TIME = ("time", "duration", "wall_time", "walltime", "wall", "wall_clock")
ANY_RATE = ("throughput", "ips", "speed", "tps")
STEMS = {
    **dict.fromkeys(("step", "batch", "iter", "iteration", "minibatch"), "batch_time"),
    "epoch": "epoch_time", "data": "data_time",
}  # fmt: skip

UNITS: dict[str, dict[str, float]] = {
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "fraction": {"%": 0.01, "1": 1.0},
    "bytes": {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "KB": 1e3, "MB": 1e6, "GB": 1e9},
    "rate": {"global": 1.0, "rank": 1.0},
}
UNSURE = ("KB", "MB", "GB")  # half of those who write so mean powers of two: only with --map
SPELLINGS = {
    "s": "s sec secs second seconds", "ms": "ms msec msecs millis millisecond milliseconds",
    "us": "us usec usecs \u00b5s \u03bcs microsecond microseconds", "ns": "ns nsec nsecs nanosecond nanoseconds",
    "min": "mins minute minutes", "h": "hr hrs hour hours", "%": "% pct percent", "bytes": "bytes byte",
    "KiB": "kib", "MiB": "mib", "GiB": "gib", "KB": "kb", "MB": "mb", "GB": "gb",
    "W": "w watt watts", "J": "j joule joules", "MHz": "mhz",
}  # fmt: skip
SPELT = {spelling: unit for unit, text in SPELLINGS.items() for spelling in text.split()}

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
BRACKETS = re.compile(r"[(\[{]\s*([^()\[\]{}]*?)\s*[)\]}]\s*$")
SLASH = re.compile(
    r"(?<![a-z])(s|secs?|seconds?|ms|us|time|images?|imgs?|samples?|examples?|seqs?|sequences?|tokens?|toks?|tflops?)"
    r"/(?=(?:s|sec|second|gpu|device|rank|gcd|it|iter|iteration|step|batch)(?![a-z_]))"
)
RATE = re.compile(
    r"(?:(?P<before>global|total|overall|aggregate|local)_)?(?:throughput_)?"
    r"(?P<what>images|image|imgs|img|samples|sample|examples|sequences|seqs|tokens|token|toks|tok)_per_s"
    r"(?P<per>_per_(?:gpu|device|rank|gcd|worker|accelerator))?(?:_(?P<after>global|total))?"
)
RISING = 20  # values that all rise: by chance one time in 20!
WAVES = 4  # of so many rows one falls in a column that goes up and down: a restart alone does not make one


class Claim(NamedTuple):
    """What a name says."""

    role: str | None
    unit: str | None = None


class Assigned(NamedTuple):
    """What a column is read as."""

    column: str
    role: str | None  # None: a metric, where it holds numbers
    unit: str | None = None
    refusal: str | None = None  # why the role that the name claims is not read
    choices: tuple[str, ...] = ()  # the --map that would settle it
    is_text: bool = False

    @property
    def factor(self) -> float:
        """From the column's unit to that of the role."""
        return UNITS[ROLE[self.role].kind][self.unit] if self.role and self.unit else 1.0


class Seen:
    """What the values of a column are like."""

    def __init__(self) -> None:
        self.numbers = self.texts = self.stamps = 0
        self.falls = self.leaps = 0  # below the value before it, of the same rank, and by more than 1 above it
        self.stays = False  # equal to it
        self.first: str | None = None
        self.line: int | None = None  # of the first value
        self.constant = True

    @property
    def is_number(self) -> bool:
        return self.numbers > self.texts

    @property
    def is_text(self) -> bool:
        return self.texts > 0 and not self.is_number

    @property
    def is_stamp(self) -> bool:
        return self.stamps > 0 and self.stamps == self.numbers + self.texts

    @property
    def swings(self) -> bool:
        """Whether it goes up and down."""
        return self.falls > 1 and self.falls * WAVES >= self.numbers

    @property
    def rises(self) -> bool:
        """Whether it grows from row to row, and often enough to be no chance."""
        return self.numbers >= RISING and not self.falls and not self.stays


def words_of(name: str) -> tuple[str, str | None]:
    """A name as words joined by `_`, and its unit where it says one: `stepTime (ms)` is `step_time`, `ms`."""
    unit: str | None = None
    text = CAMEL.sub("_", name.strip()).lower()
    if match := BRACKETS.search(text):
        unit, text = SPELT.get(match[1]), text[: match.start()]
        if unit is None:
            text = f"{'' if SLASH.search(match[1]) else text}_{match[1]}"
    while SLASH.search(text):
        text = SLASH.sub(r"\1_per_", text)
    words = [word for word in re.split(r"[^\w%@]+|_", text) if word]
    words = [SPELT[word] if k and words[k - 1] == "per" and word in SPELT else word for k, word in enumerate(words)]
    if len(words) > 1 and words[0] in ("train", "training"):
        del words[0]
    if unit is None and len(words) > 1 and words[-1] in SPELT and words[-2] != "per":
        unit = SPELT[words.pop()]
        if len(words) > 1 and words[-1] == "in":
            words.pop()
    if unit is None and len(words) > 2 and words[1] == "per" and words[0] in SPELT:  # ms_per_step
        unit, words[0] = SPELT[words[0]], "time"
    return "_".join(words), unit


def claim(name: str) -> Claim:
    """The role that a name claims, and the unit it says; role `time` where that is all it says."""
    stem, unit = words_of(name)
    if rate := RATE.fullmatch(stem):
        scope = "rank" if rate["per"] or rate["before"] == "local" else None
        scope = scope or ("global" if rate["before"] or rate["after"] else None)
        return Claim("tokens_per_s" if rate["what"].startswith("tok") else "samples_per_s", scope)
    if unit in UNITS["time"] and stem in STEMS:
        return Claim(STEMS[stem], unit)
    if stem in ANY_TIME and (unit is None or unit in UNITS["time"]):
        return Claim("time", unit)
    if len(stem) > 1 and SPELT.get(stem) in ("s", "ms"):
        return Claim("time", SPELT[stem])
    role = BY_NAME.get(stem)
    return Claim(role.name, unit) if role and (unit is None or unit in UNITS.get(role.kind, ())) else Claim(None, unit)


def metric_unit(name: str, unit: str | None) -> str | None:
    """Unit of a number that stays a metric: of a rate, what is counted."""
    rate = {"tokens_per_s": "tokens/s", "samples_per_s": "samples/s"}.get(claim(name).role or "")
    return rate or (None if unit in (*UNITS["rate"], "1") else unit)


def mapped(texts: Iterable[str]) -> dict[str, tuple[str, str | None]]:
    """What --map says: `batch_time=col:ms` as column and unit by role.  Raises UserError for what it cannot say."""
    said = {}
    for text in texts:
        name, equals, column = text.partition("=")
        role = ROLE.get(name.strip())
        if role is None or not equals or not column.strip():
            raise UserError(
                f"--map {text} names no role", f"say ROLE=COLUMN[:UNIT], with a role of {', '.join(ROLE)}"
            ) from None
        if role.name in said:
            raise UserError(f"--map gives {role.name} two columns", "name one")
        said[role.name] = column_and_unit(role, column.strip())
    return said


def column_and_unit(role: Role, text: str) -> tuple[str, str | None]:
    """`col:ms` as column and unit, the unit from the column's name where it is not said."""
    units = UNITS.get(role.kind, {})
    column, colon, unit = text.rpartition(":")
    if colon and column and unit in units:
        return column, unit
    in_name = claim(text).unit or words_of(text)[1]
    said = in_name if in_name in units and in_name not in UNSURE else None
    if said is None and units and role.kind != "rate":
        raise UserError(f"{role.name}={text} says no unit", f"say {role.name}={text}:UNIT, of {', '.join(units)}")
    return text, said


def assign(seen: Mapping[str, Seen], said: Mapping[str, tuple[str, str | None]], guess: bool = True) -> list[Assigned]:
    """What each column is read as.  `said` comes first; without `guess` it is all there is."""
    by_column = {column: (role, unit) for role, (column, unit) in said.items() if column in seen}
    row = what_a_row_is(seen, by_column)
    found = []
    for name, values in seen.items():
        if name in by_column:
            found.append(Assigned(name, *by_column[name], is_text=values.is_text))
        else:
            found.append(guessed(name, values, row) if guess else Assigned(name, None, words_of(name)[1]))
        if found[-1].role is None:
            found[-1] = found[-1]._replace(is_text=values.is_text)
    for role in {one.role for one in found if one.role}:
        claimants = [one for one in found if one.role == role and one.column not in by_column]
        if any(one.role == role for one in found if one.column in by_column):
            found = [one._replace(role=None) if one in claimants else one for one in found]
        elif len(whole := [one for one in claimants if one.unit != "rank"]) == 1 and len(claimants) > 1:
            found = [one._replace(unit="global") if one in whole else one for one in found]  # beside that of a rank
            found = [one._replace(role=None) if one in claimants and one not in whole else one for one in found]
        elif len(claimants) > 1:
            names = " and ".join(one.column for one in claimants)
            choices = tuple(mapping(role, one) for one in claimants)
            refusal = f"{names} both claim to be {role}: say {options(choices)}"
            found = [refused(one, refusal, *choices) if one in claimants else one for one in found]
    return without_idle(found)


def without_idle(found: list[Assigned]) -> list[Assigned]:
    """Roles that another makes needless: a place beside a rank, a batch beside a step, a sum beside its parts."""
    roles = {one.role for one in found}
    idle = {
        role
        for role, others in (
            ("place", {"rank"}), ("batch", {"step"}), ("elapsed", {"batch_time", "interval_time"}),
            ("interval_time", {"batch_time"}),
        )
        if roles & others
    }  # fmt: skip
    found = [one._replace(role=None) if one.role in idle else one for one in found]
    if roles & {"batch_time", "interval_time"}:  # then no other time need be that of the step
        others = ("batch_time=", "elapsed=")
        found = [
            one._replace(refusal=None, choices=()) if one.choices and one.choices[0].startswith(others) else one
            for one in found
        ]
    return found


def what_a_row_is(seen: Mapping[str, Seen], by_column: Mapping[str, tuple[str, str | None]]) -> str:
    """Whether the rows are steps one after the other, `steps` with others between them, or epochs."""
    counted = {by_column.get(name, claim(name))[0]: values for name, values in seen.items() if values.is_number}
    if steps := counted.get("step", counted.get("batch")):
        return "steps" if steps.leaps * 2 >= steps.numbers else "step"
    return "epoch" if "epoch" in counted else "step"


def guessed(name: str, values: Seen, row: str) -> Assigned:
    """What a column is read as by its name and, where that leaves something open, by its values."""
    role, unit = claim(name)
    stamped = values.is_stamp and (role in ("time", "timestamp", "epoch", "step", "elapsed"))
    if stamped and (unit is None or values.numbers):
        return Assigned(name, "timestamp")
    if role is None or role == "timestamp":
        is_rate = words_of(name)[0] in ANY_RATE and values.is_number
        rates = (f"samples_per_s={name}", f"tokens_per_s={name}") if is_rate else ()
        return Assigned(name, None, unit, choices=rates)
    if role == "time":
        return any_time(Assigned(name, None, unit), values, row)
    one = Assigned(name, role, unit, is_text=values.is_text)
    kind = ROLE[role].kind
    if kind != "text" and not values.is_number:
        return Assigned(name, None, unit)
    if kind in ("time", "fraction", "bytes") and (unit is None or unit in UNSURE):
        choices = tuple(f"{role}={name}:{unit}" for unit in UNITS[kind])
        if kind != "time":
            return Assigned(name, None, unit, choices=choices)
        units = ", ".join(UNITS[kind])
        return refused(
            one, f"the unit of {name} is not said: say --map {shlex.quote(f'{role}={name}:UNIT')}, of {units}", *choices
        )
    choices = tuple(f"{other}={name}:{unit}" for other in ("batch_time", "elapsed"))
    either = options(choices)
    if role == "elapsed" and values.falls:
        return refused(one, f"{name} goes back, which no time since the start does: say {either}", *choices)
    if role == "batch_time" and values.rises:
        return refused(one, f"{name} grows with each row as a time since the start does: say {either}", *choices)
    return one


def any_time(one: Assigned, values: Seen, row: str) -> Assigned:
    """A column called no more than time: of the step or epoch if it goes up and down, since the start if it grows."""
    if one.unit and values.is_number:
        if values.swings and (row == "epoch" or (row == "step" and values.numbers >= RISING)):
            return one._replace(role="epoch_time" if row == "epoch" else "batch_time")
        if values.rises:
            return one._replace(role="elapsed")
    if not values.is_number:
        return one
    roles = {"step": ("batch_time", "elapsed"), "epoch": ("epoch_time", "elapsed")}
    choices = tuple(
        f"{role}={one.column}:{one.unit or 's'}" for role in roles.get(row, ("batch_time", "epoch_time", "elapsed"))
    )
    return refused(
        one, f"it is not said which time {one.column!r} is, and in which unit: say {options(choices)}",
        *choices,
    )  # fmt: skip


def refused(one: Assigned, why: str, *choices: str) -> Assigned:
    return one._replace(role=None, refusal=why, choices=choices)


def options(choices: Iterable[str]) -> str:
    """What to say on the command line: one of these."""
    return " or ".join(f"--map {shlex.quote(choice)}" for choice in choices)


def mapping(role: str, one: Assigned) -> str:
    """A column as --map says it."""
    return f"{role}={one.column}" + (f":{one.unit}" if one.unit else "")


def listing(found: Iterable[Assigned]) -> list[str]:
    """Which column is read as what, a line each; then what would settle what is open."""
    found = list(found)
    shown = [(one.role, f"{one.column:24} {one.unit or ''}".rstrip()) for one in found if one.role]
    for label, is_text in (("a metric", False), ("text", True)):
        shown += [(label, one.column) for one in found if not one.role and one.is_text == is_text]
    lines = [f"  {label:20}{text}" for label, text in shown]
    for one in found:
        if one.choices:
            lines.append(f"  {one.refusal or f'what {one.column} is, is not said: say ' + options(one.choices)}")
    return list(dict.fromkeys(lines))


def in_words(found: Iterable[Assigned]) -> str:
    """Which column is read as what, in a line."""
    found = list(found)
    roles = ", ".join(f"{one.role}={one.column}" + (f" [{one.unit}]" if one.unit else "") for one in found if one.role)
    metrics = ", ".join(one.column for one in found if not one.role and not one.is_text)
    texts = ", ".join(one.column for one in found if not one.role and one.is_text)
    parts = (roles, metrics and f"metrics: {metrics}", texts and f"text: {texts}")
    return "; ".join(part for part in parts if part)
