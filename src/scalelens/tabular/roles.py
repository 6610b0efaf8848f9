"""What each column of a table is read as: by its name, by its values where the name leaves something open, or by --map.

A role needs its unit where numbers could mean several things: a time, an accuracy or an amount of memory without a unit
is not read.  A role that two columns claim is not read either.  Both are reported, with the `--map` that settles them,
and the numbers stay metrics under their own names.
"""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from scalelens.errors import UserError
from scalelens.parsing import lazy_re as re
from scalelens.parsing.values import number
from scalelens.tabular.column_names import ANY_RATE, loss_of, read_name, words_of
from scalelens.tabular.column_values import RISING, ColumnValues
from scalelens.tabular.role_table import ROLE, UNITS_OF_KIND, UNSURE, Role
from scalelens.tabular.rows_of_runs import is_setting
from scalelens.units import UNITS

_TIMES = ("batch_time", "epoch_time", "elapsed")
_LEAST_SUMMED = 5  # epochs, of which a time that each adds to is since the start
_LEAST_EPOCHS = 3  # rows, of which one falls: the time of an epoch, where a sum would grow
_LEAST_EQUAL = {"epoch": 10, "step": RISING}  # rows that state the same time, which would grow since the start
_IN_A_LINE = re.compile(r"time \[\w+\]", re.IGNORECASE)  # a time of a log's lines that has its unit
_TICKS_ALIKE = 10, 1000  # last digits in a time that is the same in few epochs: fewer may come to rest, more would vary
_LEAST_SUMS = 6  # rows, each of which adds to the one before
_TOOK = re.compile(r"took|time_taken|took_time|(?:completed?|finished|done|ended)_in")
_DEVICE_MODEL = re.compile(  # what a column `gpu` holds that names no place
    r"(?:(?:nvidia|amd|intel|tesla|geforce|quadro|instinct|radeon|rtx|gtx|titan|gaudi|gcd)\b.{0,60}"
    r"|(?:[ahvplbt]|gh|gb|mi|rtx|gtx)[ _-]?\d{2,4}[a-z]{0,2}(?:[ _-].{0,40})?)",
    re.IGNORECASE,
)
_LAST_STEPS = re.compile(r"for|over|last|past|previous|every|for_last|last_(?:steps|iters?|iterations|batches)")
SIZES = ("devices", "nodes")
_PROCESSES = {
    "procs",
    "processes",
    "nprocs",
    "num_procs",
    "n_procs",
    "num_processes",
    "n_processes",
}  # of a device each?
MOST_RUNS = 1000  # that a table states by their sizes
# Roles that only a table of a training has.
_OF_TRAINING = {
    "step", "batch", "batches", "epoch", "loss", "accuracy", "learning_rate", "grad_norm", "samples_per_s",
    "tokens_per_s", "data_time", "batch_time", "interval_time", "running_time", "epoch_time", "tflops_per_device",
}  # fmt: skip
# Columns that name, row by row, what a profiler timed.
_PROFILED = re.compile(
    r"(?:kernel|api|range|op|operator|operation|function|dispatch|nvtx|hip|cuda)[ _-]?(?:range|call|function|api)?"
    r"[ _-]?(?:name)?",
    re.IGNORECASE,
)

_MEAN = re.compile(r"(?:avg|average|mean)[ _](?=.)|(?<=.)[ _](?:avg|average|mean)(?![A-Za-z])", re.IGNORECASE)
_WHOLE_TIME = re.compile(r"(?:total|train(?:ing)?|total[ _]train(?:ing)?)[ _]time(?:[ _(\[].*)?", re.IGNORECASE)
EPOCHS = {"epochs", "num_epochs", "n_epochs", "total_epochs", "number_of_epochs"}  # of a run
_NUMBER_OF_THEM = {"num", "number", "count", "n", "quantity", "qty"}  # of the devices that a column beside it names?
# Words of names of columns that may count steps or epochs, and of those that hold another number.
_COUNTED = {
    "step": "step",
    "steps": "step",
    "iter": "step",
    "iteration": "step",
    "iterations": "step",
    "epoch": "epoch",
}
_NO_COUNT = {
    "time", "per", "total", "num", "max", "min", "mean", "avg", "std", "loss", "size", "warmup", "accumulation",
    "grad", "ms", "s", "rate", "throughput",
}  # fmt: skip


class ColumnReading(NamedTuple):
    """What a column is read as."""

    column: str
    role: str | None  # None: a metric, where it holds numbers
    unit: str | None = None
    refusal: str | None = None  # why it does not have the role that its name claims
    choices: tuple[str, ...] = ()  # each --map that would settle it
    is_text: bool = False

    @property
    def factor(self) -> float:
        """From the column's unit to that of the role."""
        return UNITS_OF_KIND[ROLE[self.role].kind][self.unit] if self.role and self.unit else 1.0


def mapped(texts: Iterable[str]) -> dict[str, tuple[str, str | None]]:
    """What --map says: `batch_time=col:ms` as column and unit by role.  Raises UserError for another form."""
    columns: dict[str, tuple[str, str | None]] = {}
    for text in texts:
        name, equals, column = text.partition("=")
        role = ROLE.get(name.strip())
        if role is None or not equals or not column.strip():
            raise UserError(
                f"--map {text} does not name a role", f"use ROLE=COLUMN[:UNIT], with a role of {', '.join(ROLE)}"
            ) from None
        if role.name in columns:
            raise UserError(f"--map assigns two columns to {role.name}", "name one")
        columns[role.name] = column_and_unit(role, column.strip())
    return columns


def column_and_unit(role: Role, text: str) -> tuple[str, str | None]:
    """`col:ms` as column and unit; without `:ms` the unit is the one in the column's name."""
    units = UNITS_OF_KIND.get(role.kind, {})
    column, colon, unit = text.rpartition(":")
    if colon and column and unit in units:
        return column, unit
    in_name = read_name(text).unit or words_of(text)[1]
    unit_in_name = in_name if in_name in units and in_name not in UNSURE else None
    if unit_in_name is None and units and role.kind != "rate":
        raise UserError(f"{role.name}={text} has no unit", f"use {role.name}={text}:UNIT, of {', '.join(units)}")
    return text, unit_in_name


def assign(
    columns: Mapping[str, ColumnValues], mapping: Mapping[str, tuple[str, str | None]], guess: bool = True
) -> list[ColumnReading]:
    """What each column is read as.  `mapping` comes first; without `guess` it is all there is."""
    by_column = {column: (role, unit) for role, (column, unit) in mapping.items() if column in columns}
    row, restarts = _what_a_row_is(columns, by_column)
    counted = [values for name, values in columns.items() if by_column.get(name, read_name(name))[0] == "epoch"]
    epochs = counted[0].falls if counted else 0
    row = row if _is_of_training(columns, by_column) and not _is_sweep(columns, by_column) else ""
    readings = []
    for name, values in columns.items():
        if name in by_column:
            reading = ColumnReading(name, *by_column[name], is_text=values.is_text)
        else:
            reading = (
                _of_whole_epochs(_guessed(name, values, row, restarts, epochs), values, row, restarts)
                if guess
                else ColumnReading(name, None, words_of(name)[1])
            )
        readings.append(reading if reading.role else reading._replace(is_text=values.is_text))
    readings = [
        reading._replace(role="device_model") if _is_device_model(reading, columns, by_column) else reading
        for reading in readings
    ]
    readings = _without_twins(readings, columns, by_column)
    for role in {reading.role for reading in readings if reading.role}:
        readings = _settled(readings, role, by_column)
    if guess:
        readings = _with_loss(_of_the_last_steps(readings, columns))
        beside_loss = row == "epoch" and any(reading.role == "loss" for reading in readings)
        readings = alike_in_few_epochs(readings, columns) if beside_loss else readings
    return _without_idle(readings)


def _is_device_model(reading: ColumnReading, columns: Mapping[str, ColumnValues], mapped: Collection[str]) -> bool:
    """Whether a column that is called gpu names what was used, and not which of them."""
    name = words_of(reading.column)[0]
    first = str(columns[reading.column].first or "")
    return (
        reading.role == "place"
        and reading.column not in mapped
        and name == "gpu"
        and bool(_DEVICE_MODEL.fullmatch(first))
    )


def _without_twins(
    readings: list[ColumnReading], columns: Mapping[str, ColumnValues], mapped: Collection[str]
) -> list[ColumnReading]:
    """The readings; of two columns that say the same, one: a rank, and that by which a launcher labels the line.

    So do the times since the start and since the only epoch began.
    """
    said: set[tuple[object, ...]] = set()
    kept = []
    for reading in readings:
        values = columns[reading.column]
        first = values.first if reading.role in _TIMES else number(values.first)  # rank 03 is rank 3
        same = (reading.role, reading.unit, first, values.last, values.numbers, values.falls, values.leaps)
        may_be = reading.role in (*_TIMES, "rank") and not values.constant and reading.column not in mapped
        twin = may_be and same in said
        kept.append(reading._replace(role=None) if twin else reading)
        said.add(same)
    return kept


def _of_the_last_steps(readings: list[ColumnReading], columns: Mapping[str, ColumnValues]) -> list[ColumnReading]:
    """Finds the time of all steps since the record before: `1.23 s for 10 iterations`, `the last 100 took 31.2 s`.

    The number of steps beside it is that by which the count of steps grows.
    """
    steps = next((columns[reading.column] for reading in readings if reading.role == "step"), None)
    unclear = [reading for reading in readings if reading.refusal and reading.unit and _is_any_time(reading)]
    counts = [values for name, values in columns.items() if _LAST_STEPS.fullmatch(words_of(name)[0])]
    if steps is None or steps.falls or len(unclear) != 1 or len(counts) != 1 or not counts[0].constant:
        return readings
    apart = number(counts[0].first)
    if apart is None or apart < 2 or steps.last - float(steps.first or 0) != apart * (steps.numbers - 1):
        return readings
    of_all = unclear[0]._replace(role="span_time", refusal=None, choices=())
    return [of_all if reading is unclear[0] else reading for reading in readings]


def alike_in_few_epochs(readings: list[ColumnReading], columns: Mapping[str, ColumnValues]) -> list[ColumnReading]:
    """Finds the time of an epoch in `loss 2.3 (70s)`, the same in each of few epochs that follow one another.

    Since the start it would grow.  Of few ticks it may come to rest, and of many no two would be the same.
    """
    epochs = next((columns[reading.column] for reading in readings if reading.role == "epoch"), None)
    unclear = [reading for reading in readings if reading.refusal and reading.unit and _is_any_time(reading)]
    if epochs is None or len(unclear) != 1 or not _IN_A_LINE.fullmatch(unclear[0].column):
        return readings
    values = columns[unclear[0].column]
    follow = epochs.last - float(epochs.first or 0) == epochs.numbers - 1 >= _LEAST_EPOCHS - 1 and not epochs.falls
    decimals = 0 if values.last.is_integer() else values.decimals
    least, most = (ticks * 10.0**-decimals for ticks in _TICKS_ALIKE)
    alike = values.constant and values.numbers == epochs.numbers and least <= values.last <= most
    if not (follow and alike):
        return readings
    of_epoch = unclear[0]._replace(role="epoch_time", refusal=None, choices=())
    return [of_epoch if reading is unclear[0] else reading for reading in readings]


def _is_any_time(reading: ColumnReading) -> bool:
    return read_name(reading.column).role == "time"


def _settled(readings: list[ColumnReading], role: str, mapped: Collection[str]) -> list[ColumnReading]:
    """Leaves a role to one column at most: the one that --map names, or the only one that is not of one rank."""
    claimants = [reading for reading in readings if reading.role == role and reading.column not in mapped]
    of_job = [reading for reading in claimants if reading.unit != "rank"]
    if any(reading.role == role and reading.column in mapped for reading in readings):
        return [reading._replace(role=None) if reading in claimants else reading for reading in readings]
    if len(claimants) < 2:
        return readings
    if len(of_job) == 1:
        others = [reading for reading in claimants if reading not in of_job]
        readings = [reading._replace(role=None) if reading in others else reading for reading in readings]
        return [reading._replace(unit="global") if reading in of_job else reading for reading in readings]
    names = " and ".join(reading.column for reading in claimants)
    choices = tuple(as_map(role, reading) for reading in claimants)
    refusal = f"{names} both claim to be {role}: use {options(choices)}"
    return [refused(reading, refusal, *choices) if reading in claimants else reading for reading in readings]


def _with_loss(readings: list[ColumnReading]) -> list[ColumnReading]:
    """Finds the loss where no column is called no more than that."""
    open_names = [
        reading.column
        for reading in readings
        if not (reading.role or reading.refusal or reading.is_text or reading.unit or reading.choices)
    ]
    if any(read_name(reading.column).role == "loss" or reading.role == "loss" for reading in readings):
        return readings
    name = loss_of(open_names)
    return [reading._replace(role="loss") if reading.column == name else reading for reading in readings]


def _without_idle(readings: list[ColumnReading]) -> list[ColumnReading]:
    """Removes roles that another one makes needless: a place beside a rank, a batch beside a step."""
    roles = {reading.role for reading in readings}
    idle = {
        role
        for role, others in (
            ("place", {"rank"}), ("batch", {"step"}),
            ("elapsed", {"batch_time", "interval_time", "running_time", "span_time"}),
            ("span_time", {"batch_time", "interval_time"}),
            ("interval_time", {"batch_time"}), ("running_time", {"batch_time", "interval_time", "span_time"}),
        )
        if roles & others
    }  # fmt: skip
    readings = [reading._replace(role=None) if reading.role in idle else reading for reading in readings]
    if not roles & {"batch_time", "interval_time", "span_time"}:
        return readings
    # The time of the step is known: whether another column holds it no longer matters.
    of_step = ("batch_time=", "elapsed=")
    return [
        reading._replace(refusal=None, choices=())
        if any(c.startswith(of_step) for c in reading.choices[:1])
        else reading
        for reading in readings
    ]


def _is_of_training(columns: Mapping[str, ColumnValues], by_column: Mapping[str, tuple[str, str | None]]) -> bool:
    """Whether a table shows that it is of a training: it counts steps or epochs, or measures what only trainings do.

    Each row of a profiler's table has a duration as well, of a kernel, a range or a call, which it names.
    """
    if any(
        _PROFILED.fullmatch(name.strip()) and values.is_text and not values.constant for name, values in columns.items()
    ):
        return False
    return any(by_column.get(name, read_name(name))[0] in _OF_TRAINING for name, values in columns.items())


def _is_sweep(columns: Mapping[str, ColumnValues], by_column: Mapping[str, tuple[str, str | None]]) -> bool:
    """Whether rows differ in a setting, such as `batch_size`, and nothing counts steps: each is another benchmark."""
    roles = {by_column.get(name, read_name(name))[0] for name in columns}
    if not roles.isdisjoint(("step", "batch", "epoch")):
        return False
    return any(
        values.is_number and not values.constant and is_setting(words_of(name)[0]) for name, values in columns.items()
    )


def may_be_of_training(columns: Mapping[str, ColumnValues]) -> bool:
    """Whether a table may have steps or runs, by the names of its columns: without these no values make it one.

    Where sizes alone speak for runs, rows beyond `MOST_RUNS` speak against them: one more shows it.
    """
    roles = [(read_name(name).role, values) for name, values in columns.items()]
    return any(role in _OF_TRAINING or (role in SIZES and values.numbers <= MOST_RUNS) for role, values in roles)


def _what_a_row_is(
    columns: Mapping[str, ColumnValues], by_column: Mapping[str, tuple[str, str | None]]
) -> tuple[str, int]:
    """`step` if the rows are steps in a row, `steps` if steps lie between them that were not logged, or `epoch`.

    And how often the count of steps begins anew.
    """
    counted = {by_column.get(name, read_name(name))[0]: values for name, values in columns.items() if values.is_number}
    if steps := counted.get("step", counted.get("batch")):
        epochs = counted.get("epoch")
        if epochs and steps.numbers == epochs.numbers >= _LEAST_EPOCHS and not (epochs.repeats or epochs.decimals):
            return "epoch", steps.falls  # each row is of another one, which it ends
        return "steps" if steps.mostly_leaps else "step", steps.falls
    return "epoch" if "epoch" in counted else "step", 0


def _guessed(name: str, values: ColumnValues, row: str, restarts: int, epochs: int) -> ColumnReading:
    """What a column is read as: by its name, and by its values if the name is not enough."""
    role, unit = read_name(name)
    is_time = role == "time" or (role in ROLE and ROLE[role].kind == "time")
    unit = "s" if unit is None and is_time and values.is_by_clock else unit
    stamped = values.is_stamp and (
        role in ("time", "timestamp", "epoch", "step", "elapsed") or (is_time and values.texts)
    )
    if stamped and (unit is None or values.numbers):
        return ColumnReading(name, "timestamp")
    if role is None or role == "timestamp":
        is_rate = words_of(name)[0] in ANY_RATE and values.is_number and unit not in UNITS_OF_KIND["time"]
        rates = (f"samples_per_s={name}", f"tokens_per_s={name}") if is_rate else ()
        return ColumnReading(name, None, unit, choices=rates)
    if role == "time":
        return _any_time(ColumnReading(name, None, unit), values, row, restarts, epochs)
    reading = ColumnReading(name, role, unit, is_text=values.is_text)
    kind = ROLE[role].kind
    if kind != "text" and not values.is_number:
        return ColumnReading(name, None, unit)
    if role == "precision" and values.is_number and values.decimals:
        return ColumnReading(name, None, unit)  # of a classification
    if kind in ("time", "fraction", "bytes") and (unit is None or unit in UNSURE):
        choices = tuple(f"{role}={name}:{unit}" for unit in UNITS_OF_KIND[kind])
        if kind != "time":
            return ColumnReading(name, None, unit, choices=choices)
        units = ", ".join(UNITS_OF_KIND[kind])
        return refused(
            reading,
            f"the unit of {name} is unknown: use --map {shlex.quote(f'{role}={name}:UNIT')}, of {units}",
            *choices,
        )
    choices = tuple(f"{other}={name}:{unit}" for other in ("batch_time", "elapsed"))
    either = options(choices)
    back = values.falls > epochs and not values.rises_in_launches
    if role == "elapsed" and row == "epoch" and back and values.numbers >= _LEAST_EPOCHS:
        return reading._replace(role="epoch_time")
    if role == "elapsed" and row == "step" and values.swings and values.numbers >= RISING:
        return reading._replace(role="batch_time")
    grown = values.rises_between(restarts) or values.rises_in_launches or (row == "epoch" and values.sums_in_launches)
    if role == "elapsed" and values.falls and not grown:
        return refused(reading, f"{name} goes back, which a time since the start never does: use {either}", *choices)
    if role == "batch_time" and values.rises:
        return refused(reading, f"{name} grows with each row as a time since the start does: use {either}", *choices)
    return reading


def _any_time(reading: ColumnReading, values: ColumnValues, row: str, restarts: int, epochs: int) -> ColumnReading:
    """A column that is only called time: of the step or epoch if it goes up and down, since the start if it grows.

    Only in a table that shows that it is of a training: `row` is empty where none does.
    If it goes back as often as the steps begin anew, it is the time since the epoch began.  If it only grows, but comes
    to rest, it stays unclear.  Where each row is an epoch, one that goes back more often than the epochs is that of an
    epoch, and so is what an epoch `took`.
    """
    if reading.unit and values.is_number and row == "epoch" and values.numbers >= _LEAST_EPOCHS:
        took = _TOOK.fullmatch(words_of(reading.column)[0]) and not (values.adds_up or values.sums_in_launches)
        if (values.falls > epochs and not values.rises_in_launches) or took:
            return reading._replace(role="epoch_time")
    if reading.unit and values.is_number and row:
        if row in _LEAST_EQUAL and values.constant and values.numbers >= _LEAST_EQUAL[row] and values.last > 0:
            return reading._replace(role="epoch_time" if row == "epoch" else "batch_time")
        only_anew = row == "epoch" and 0 < values.falls <= epochs  # since each short training began
        if values.swings and not only_anew and (row == "epoch" or (row == "step" and values.numbers >= RISING)):
            return reading._replace(role="epoch_time" if row == "epoch" else "batch_time")
        is_sum = row == "steps" and values.numbers >= _LEAST_SUMS and values.adds_up
        is_sum = is_sum or (row == "epoch" and values.numbers >= _LEAST_SUMMED and values.sums_up)
        rises = values.rises or values.rises_between(restarts) or values.rises_in_launches
        is_sum = is_sum or (row == "epoch" and values.sums_in_launches)
        if (rises or is_sum) and not values.flattens:
            return reading._replace(role="elapsed")
    if not values.is_number:
        return reading
    if not row:
        return reading._replace(choices=tuple(f"{role}={reading.column}:{reading.unit or 's'}" for role in _TIMES))
    roles = {
        "step": ("batch_time", "elapsed"), "steps": ("batch_time", "span_time", "elapsed"),
        "epoch": ("epoch_time", "elapsed"),
    }  # fmt: skip
    choices = tuple(f"{role}={reading.column}:{reading.unit or 's'}" for role in roles.get(row, _TIMES))
    open_questions = f"which time {reading.column!r} is" + ("" if reading.unit else ", and in which unit")
    return refused(reading, f"it is unclear {open_questions}: use {options(choices)}", *choices)


def _of_whole_epochs(reading: ColumnReading, values: ColumnValues, row: str, restarts: int) -> ColumnReading:
    """A time of an epoch, unless one epoch has several: those that grow are since the epoch began.

    Others may be what is left of it, as in a line for each hundredth step that says `epoch_time: 9.0min`, then 8.0.
    """
    if reading.role != "epoch_time" or not values.runs_within_epochs:
        return reading
    if row != "epoch" and values.is_since_epochs_began(restarts):
        return reading._replace(role="elapsed")
    why = f"{reading.column} has several values in one epoch: it is not the time of a whole one"
    if row != "epoch" and values.falls >= values.moves > 2 * values.turns:
        left = "as the time that is left of it does: it is not that of a whole one"
        why = f"{reading.column} falls within each epoch, {left}"
    return refused(reading, why, as_map("epoch_time", reading))


def refused(reading: ColumnReading, why: str, *choices: str) -> ColumnReading:
    return reading._replace(role=None, refusal=why, choices=choices)


def options(choices: Iterable[str]) -> str:
    """The options of the command line, one of which is to be given."""
    return " or ".join(f"--map {shlex.quote(choice)}" for choice in choices)


def as_map(role: str, reading: ColumnReading) -> str:
    """A column as --map names it."""
    return f"{role}={reading.column}" + (f":{reading.unit}" if reading.unit else "")


def mean_of(name: str) -> tuple[str | None, str | None]:
    """The role and unit of a column whose name says that it is a mean: `avg_epoch_s`, `iter_time_mean`."""
    of_one = _MEAN.sub("", name, count=1)
    return read_name(of_one) if of_one != name else (None, None)


def is_whole_time(reading: ColumnReading) -> bool:
    """Whether a column has the time of a whole training, with its unit."""
    return bool(_WHOLE_TIME.fullmatch(reading.column) and reading.unit and not reading.is_text)


def is_of_epochs(columns: Sequence[str]) -> bool:
    """Whether columns have the time of a whole training and the number of its epochs, by their names."""
    words = [words_of(column) for column in columns]
    timed = any(_WHOLE_TIME.fullmatch(column) and unit for column, (_, unit) in zip(columns, words, strict=True))
    return timed and any(name in EPOCHS for name, _ in words)


def supposed(columns: Mapping[str, ColumnValues], readings: Iterable[ColumnReading]) -> str:
    """What --map could say of a table without steps: which of its columns may be one, by their names."""
    readings = list(readings)
    roles = {reading.role for reading in readings}
    has_sizes = not roles.isdisjoint(SIZES)
    if has_sizes and (whole := next(filter(is_whole_time, readings), None)):
        as_epochs = shlex.quote(f"epoch_time={whole.column}:{whole.unit}")
        return (
            f"{whole.column} is the time of a whole run, and no column says how much each run did: add a column of its "
            f"epochs; or, if all did the same, --map {as_epochs} compares them by it"
        )
    readings = [reading for reading in readings if not reading.role and columns[reading.column].is_number]
    if "device_model" in roles and not has_sizes:
        for reading in readings:
            if words_of(reading.column)[0] in _NUMBER_OF_THEM:
                return f"if {reading.column} counts the devices, use --map {shlex.quote(f'devices={reading.column}')}"
    rate = next((one for one in readings if any(text.startswith("samples_per_s=") for text in one.choices)), None)
    if rate and has_sizes:
        return f"if {rate.column} is the rate of a run of that size, use {options(rate.choices)}"
    if refusal := next((reading.refusal for reading in readings if reading.refusal), None):
        return refusal
    if timed := next((reading for reading in readings if reading.choices and _is_any_time(reading)), None):
        return f"if {timed.column} is one, use {options(timed.choices)}"
    for reading in readings:
        if (role := mean_of(reading.column)[0]) in ROLE and ROLE[role].kind == "time":
            text = f"{role}={reading.column}:{reading.unit or 'UNIT'}"
            processes = next((one.column for one in readings if words_of(one.column)[0] in _PROCESSES), None)
            of_sizes = f", and --map devices={shlex.quote(processes)} if each has a device" if processes else ""
            return f"if {reading.column} is one, use --map {shlex.quote(text)}{of_sizes}"
    if power := next((reading.column for reading in readings if reading.unit and _is_power(reading.unit)), None):
        return f"{power} is a power at no time: with a column of times, or of run times, it could be read"
    for reading in readings:
        words = words_of(reading.column)[0].split("_")
        if not _NO_COUNT.intersection(words) and (word := next(filter(_COUNTED.get, words), None)):
            return f"if {reading.column} counts them, use --map {shlex.quote(f'{_COUNTED[word]}={reading.column}')}"
    return "if a column counts them under another name, --map step=COLUMN says which"


def _is_power(unit: str) -> bool:
    return unit in UNITS and UNITS[unit].quantity == "power"


def listing(readings: Iterable[ColumnReading]) -> list[str]:
    """Which column is read as what, a line each; then the --map for each column that is not clear."""
    readings = list(readings)
    shown = [
        (reading.role, f"{reading.column:24} {reading.unit or ''}".rstrip()) for reading in readings if reading.role
    ]
    for label, is_text in (("a metric", False), ("text", True)):
        shown += [(label, reading.column) for reading in readings if not reading.role and reading.is_text == is_text]
    lines = [f"  {label:20}{text}" for label, text in shown]
    for reading in readings:
        if reading.choices:
            question = f"it is unclear what {reading.column} is: use {options(reading.choices)}"
            lines.append(f"  {reading.refusal or question}")
    return list(dict.fromkeys(lines))


def in_words(readings: Iterable[ColumnReading]) -> str:
    """Which column is read as what, in a line."""
    readings = list(readings)
    of_role = [reading for reading in readings if reading.role]
    others = [reading for reading in readings if not reading.role]
    units = (f" [{r.unit}]" if r.unit and not r.column.endswith(f"[{r.unit}]") else "" for r in of_role)
    roles = ", ".join(f"{r.role}={r.column}{unit}" for r, unit in zip(of_role, units, strict=True))
    metrics = ", ".join(reading.column for reading in others if not reading.is_text)
    texts = ", ".join(reading.column for reading in others if reading.is_text)
    parts = (roles, metrics and f"metrics: {metrics}", texts and f"text: {texts}")
    return "; ".join(part for part in parts if part)
