"""Lines of a log that no format knows, as a table of steps: one shape of line, read by the names beside its numbers."""

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scalelens.parsing.recurring_lines import RECURS
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.cells import csv_header, jsonl_header
from scalelens.tabular.column_names import read_name
from scalelens.tabular.column_values import ColumnValues, Survey
from scalelens.tabular.roles import ColumnReading, as_map, assign, options, refused
from scalelens.tabular.steps import lacks, mapping_of, write_rows
from scalelens.tabular.unknown_logs.begun_and_ended import epochs_begun_and_ended
from scalelens.tabular.unknown_logs.choice import COST, begins_epochs, chosen, measures_time, tells_epochs
from scalelens.tabular.unknown_logs.drawn_bars import BAR_STEPS, BAR_TIME, EPOCH
from scalelens.tabular.unknown_logs.epoch_bars import (
    epochs_by_bar,
    epochs_counted_beside_batches,
    epochs_of_bars,
    epochs_of_validating_bar,
)
from scalelens.tabular.unknown_logs.epoch_times import EPOCHS, epoch_times_in, means_of_epochs
from scalelens.tabular.unknown_logs.fields import names_time_left
from scalelens.tabular.unknown_logs.first_batches import epochs_by_first_batches
from scalelens.tabular.unknown_logs.known_times import known_time_in
from scalelens.tabular.unknown_logs.lone_bar import lone_bar
from scalelens.tabular.unknown_logs.paused_steps import means_with_pauses
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LEFT, RUNNING, LineTable, mean_of
from scalelens.tabular.unknown_logs.results_beside import results_beside
from scalelens.tabular.unknown_logs.running_means import STEP_TIME, STEPS, divide_means
from scalelens.tabular.unknown_logs.sample_bars import rates_of_samples
from scalelens.tabular.unknown_logs.shapes import COUNTS, Shape, name_counts, shapes_in
from scalelens.tabular.unknown_logs.stated_times import Whole
from scalelens.tabular.unknown_logs.times import LineTimes
from scalelens.tabular.unknown_logs.times_beside import times_beside
from scalelens.tabular.unknown_logs.times_by_gaps import told_by_gaps
from scalelens.tabular.unknown_logs.times_by_rate import told_by_rate
from scalelens.tabular.unknown_logs.times_by_wholes import between_stamps, told_by_wholes
from scalelens.tabular.unknown_logs.unnamed_counts import namer_of_counts
from scalelens.tabular.unknown_logs.untold_units import (
    as_stated_of_all,
    grown_as_clock,
    grown_with_count,
    launches_in,
    within_epochs,
)
from scalelens.tabular.unknown_logs.whole_trainings import means_of_trainings

_TOO_LONG = "{} is longer than the time between its lines, so that it is not the time of one step"
_BEYOND_CLOCK = "{} is longer than the time between its lines, so that it is not the time of one epoch"
_WITH_PAUSES = (
    "a validation or a checkpoint stands before most lines, so that {} grows by more than the time of the steps: "
    "use {} to take it for theirs all the same"
)
_OF_A_BATCH = "{} stands in a line that names one batch of an epoch, and may be the time of either: use {}"
_DOUBTED = "it may count {}: no time is taken from the time stamps until {} says that each is a {}"
_OF_TOTAL, _OF_SPAN = 0.75, 0.5  # share of a whole that the times of all records are at least
_USELESS = 0.2  # of a rate: with a last digit of more it tells no time
_TWO_OF_ONE_SIZE = (
    "two bars of as many steps are drawn by turns, and nothing tells which is the training's; give each a label of its "
    "own (desc='train')"
)
_NO_EPOCH = "nothing shows the epoch in which they count"
_TOTAL_OF_BAR = 4  # its place in the key of a bar without a label
_MOST_LINES = 300_000  # with a word of training, by which the shape is chosen
_OF_ONE_STEP = ("batch_time", "interval_time", "running_time")
_TIMED = ("batch_time", "interval_time", "span_time", "running_time", "elapsed", "epoch_time")
_OF_A_STEP = ("batch_time", "interval_time", "span_time", "running_time")


def is_text(head: bytes) -> bool:
    """Whether a file may be a log: neither a table nor JSON lines, nor binary."""
    return not csv_header(head) and not jsonl_header(head) and b"\0" not in head


def read_lines(source: Source, rows: Rows) -> str | None:
    """Rows of the one shape of line that records the steps of training.

    Where these have no time, that of a progress bar beside them is theirs.  Returns why there are none: nothing where a
    text has no such lines.  Beside steps that another format read without their times, only a bar is read; without
    one, the times of epochs that lines state.
    """
    shapes = every = shapes_in(source, _MOST_LINES, by_later_loss=True)
    if rows.times_are_lacking:
        shapes = [other for other in shapes if other.bar == "tqdm" and other.in_training | (other.amid > 0)]
    shape = chosen(shapes, by_fills=not rows.times_are_lacking)
    if shape == "" and not rows.times_are_lacking and (namer := namer_of_counts(source)):
        name_counts(source, namer)
        shapes = shapes_in(source, _MOST_LINES, by_later_loss=True)
        shape = chosen(shapes)
    if shape == "" and rows.times_are_lacking:
        return None if _epochs_beside_steps(source, rows, every) else ""
    if isinstance(shape, str):
        if shape or rows.times_are_lacking or not any(map(_counts_batches_alone, shapes)):
            untold = not shape and not rows.times_are_lacking
            told = untold and _epochs_told(source, rows, shapes)
            if untold and not told and (lone := lone_bar(source, shapes)):
                return _read_shape(source, rows, LineTable(lone))
            return None if told else "" if rows.times_are_lacking else shape
        printed = epoch_times_in(source, shapes)
        rows.assigned = printed.write(source, rows) if printed else []
        return None if printed else ""
    if epochs_of_validating_bar(source, rows, shape):
        return None
    lacking = _read_records(source, rows, shapes, shape)
    if lacking and shape.bar and not rows.times_are_lacking and _epochs_beside_bars(source, rows, shapes):
        rows.problem(shape.first, lacking, shape.example)
        return None
    if lacking and lacking.endswith(_NO_EPOCH) and not rows.times_are_lacking:
        without = _epochs_beside_batches(source, rows, shapes, shape)
        return lacking if without == "" else without
    return lacking


def _epochs_beside_batches(source: Source, rows: Rows, shapes: Sequence[Shape], batches: Shape) -> str | None:
    """Rows of the epochs that lines with a loss count, where it is unknown in which ones some batches are.

    Returns why there are none.
    """
    others = [shape for shape in shapes if shape is not batches]
    epochs = [shape for shape in others if tells_epochs(shape) and shape.of_training and shape.states_loss]
    return _read_records(source, rows, others, epochs[0]) if len(epochs) == 1 else ""


def _epochs_beside_steps(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs that lines state, beside steps that another format read.  Whether there are any."""
    if any(part.rows.get("phases") for part in rows.parts.values()):
        return False  # that format knows them
    return _epochs_beside_bars(source, rows, shapes)


def _epochs_beside_bars(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs that lines state, beside bars of which it is unknown what they count.

    Whether there are any.
    """
    printed = epoch_times_in(source, [shape for shape in shapes if not shape.bar])
    rows.assigned = printed.write(source, rows) if printed else []
    return printed is not None


def _epochs_told(source: Source, rows: Rows, shapes: Sequence[Shape]) -> bool:
    """Rows of the times of epochs, or of their mean, in a log without records.  Whether there are any."""
    return (
        rates_of_samples(source, rows)
        or epochs_by_bar(source, rows, shapes)
        or epochs_begun_and_ended(source, rows, shapes)
        or means_of_trainings(source, rows)
    )


def _read_records(source: Source, rows: Rows, shapes: Sequence[Shape], shape: Shape) -> str | None:
    """Rows of the lines of a shape, and of what stands beside them.  Returns why there are none."""
    shape = _bar_of_its_steps(shape, shapes) or shape
    table = LineTable(shape)
    table.beside = {} if measures_time(shape) else times_beside(source, table)
    table.results = results_beside(source, table)
    table.wholes = functools.partial(_wholes, source, shapes, table)
    printed = epoch_times_in(source, shapes, shape) if tells_epochs(shape) else None
    table.epochs_are_timed = printed is not None
    lacking = _read_shape(source, rows, table)
    timed = {reading.role for reading in rows.assigned} & {*_OF_A_STEP, "elapsed"}
    if timed == {"elapsed"} and shape.counts_steps:
        rows.flush()
        timed = timed if rows.timed_steps else set()  # a time since the start may be too coarse for any step
    if timed & {*_OF_A_STEP} and table.write_epochs:
        rows.assigned = [*rows.assigned, *table.write_epochs(source, rows)]
    untimed = not timed and printed is None
    bar = (
        chosen([other for other in shapes if other.bar == "tqdm"], by_fills=shape.of_epochs_alone)
        if untimed and not shape.bar
        else ""
    )
    if lacking is None and isinstance(bar, Shape):
        readings = rows.assigned
        if unclear := _read_shape(source, rows, LineTable(bar)):
            rows.problem(bar.first, unclear, bar.example)
        rows.assigned = [*readings, *(reading for reading in rows.assigned if reading.role in _OF_A_STEP)]
        return None
    if lacking is None and isinstance(bar, str) and bar and shape.of_epochs_alone:
        rows.problem(shape.first, bar, shape.example)
    if lacking is None and not timed and all(reading.role != "epoch_time" for reading in rows.assigned):
        printed = printed if tells_epochs(shape) else epoch_times_in(source, shapes, shape)
        rows.assigned = [*rows.assigned, *(printed.write(source, rows) if printed else [])]
        by_clock = [] if printed or shape.of_epochs_alone else _epochs_by_clock(source, rows, shapes, shape)
        by_clock = by_clock or ([] if printed else epochs_by_first_batches(source, rows, shape))
        rows.assigned = [*rows.assigned, *(reading for reading in by_clock if reading not in rows.assigned)]
        if not (printed or by_clock or shape.of_epochs_alone):
            epochs_counted_beside_batches(source, rows, shapes)
        told = bool(printed or by_clock or means_of_epochs(source, rows) or not shape.of_epochs_alone)
        if not (told or rates_of_samples(source, rows) or epochs_by_bar(source, rows, shapes)):
            means_of_trainings(source, rows, shape)
    return lacking


def _wholes(source: Source, shapes: Sequence[Shape], table: LineTable) -> Iterator[Whole]:
    """How long all records took together, by what the log states, by the stamps around them, or by its epochs."""
    if len(table.stated.totals) == 1:
        yield Whole(table.stated.totals[0], _OF_TOTAL)
    if span_s := between_stamps(source, table.shape.first, table.shape.last):
        yield Whole(span_s, _OF_SPAN, in_other_unit=math.inf)
    if table.shape.counts_steps and (epochs := epoch_times_in(source, shapes, table.shape)):
        table.write_epochs = epochs.write
        yield Whole(epochs.seconds(source), _OF_SPAN)


def _counts_batches_alone(shape: Shape) -> bool:
    """Whether its lines count the batches of each epoch, and say nothing else of them."""
    return shape.of_known_epoch and shape.of_training and not shape.bar and shape.lines >= RECURS


def _epochs_by_clock(source: Source, rows: Rows, shapes: Sequence[Shape], steps: Shape) -> list[ColumnReading]:
    """Rows of the times of epochs by the stamps of lines that count these, beside steps whose own do not tell theirs.

    Returns what was read as a time.
    """
    told = [shape for shape in shapes if tells_epochs(shape) and shape.of_training]
    headings = [shape for shape in shapes if not told and _stands_before_bars(shape, steps)]
    told = told or headings
    if not told or len(headings) > 1:
        return []
    table = LineTable(max(told, key=lambda shape: shape.lines))
    times = LineTimes(table.columns.get("epoch"), table.resolution_s, of_epochs=True)
    survey = Survey(times.seen(table.records(source)))
    if not times.stamps_tell:
        return []
    readings = assign(survey.columns, {"epoch": (table.columns["epoch"], None)})
    counts = [reading for reading in readings if reading.role in ("epoch", "rank", "place")]
    clock = ColumnReading(BY_CLOCK, "elapsed", "s")
    write_rows(
        source, rows, table.records, survey, [*counts, clock], stream=EPOCHS,
        begins_epochs=bool(headings) or begins_epochs(table.shape),
        after_pauses=table.after_pauses, least_epoch_s=times.least_epoch_s, after_launches=table.after_launches,
    )  # fmt: skip
    return [clock]


def _stands_before_bars(shape: Shape, bar: Shape) -> bool:
    """Whether its lines, each with a stamp, count one epoch after the other, and the training's bar fills in each."""
    heads = shape.of_epochs_alone and not shape.bar and shape.lines >= RECURS and shape.with_stamp == shape.lines
    follow = heads and shape.rises[0] == shape.lines - 1 and len(shape.names) == len(shape.roles)
    each = bar.bar == "tqdm" and bar.in_training and 0 <= shape.lines - 1 - bar.falls[0] <= 1
    return follow and each and shape.first <= bar.first


def _bar_of_its_steps(shape: Shape, shapes: Sequence[Shape]) -> Shape | None:
    """The bar that fills between lines that say no time, if their steps grow by as many as it has; or counts them."""
    if shape.bar or shape.with_stamp or measures_time(shape):
        return None
    bars = [other for other in shapes if other.bar == "tqdm"]
    if len(bars) == 1 and bars[0].counts_with(shape):
        return bars[0]
    bars = [other for other in bars if len(other.key) > _TOTAL_OF_BAR]
    bar = chosen([other for other in bars if 2 <= other.key[_TOTAL_OF_BAR] in shape.leaps], by_fills=True)
    if not isinstance(bar, Shape) or len(bars) != 1:
        return None
    bar.counts_told_steps = True
    return bar


def read_lines_as(source: Source, rows: Rows, key: tuple[Any, ...], columns: Mapping[str, str]) -> str | None:
    """Rows of the lines of a shape that a format file names, with the names beside their numbers by role.

    Raises UserError for a role that does not exist, or a unit that is missing.
    """
    mapping = mapping_of(columns)
    for shape in shapes_in(source, _MOST_LINES):
        if shape.key[: len(key)] == key:
            return _read_shape(source, rows, LineTable(shape), mapping)
    return ""


def _read_shape(
    source: Source, rows: Rows, table: LineTable, mapping: Mapping[str, tuple[str, str | None]] | None = None
) -> str | None:
    """Rows of the lines of one shape; by a mapping alone where there is one.  Returns why there are none."""
    stated = {**(mapping or {}), **rows.mapping}
    if why := _unclear(table, rows.is_split_otherwise, stated):
        if table.shape.bar_of_samples and table.shape.in_training and not rows.times_are_lacking:
            epochs_of_bars(source, rows, table.shape)
        return why
    role = "step" if "step" in table.columns else "batch"
    doubted = "samples" if table.shape.may_count_samples else "epochs" if table.shape.may_count_epochs else ""
    unknown = bool(doubted) and not {"step", "batch"} & set(stated)
    counted = table.columns.get(EPOCH if table.shape.of_epochs or table.shape.of_epochs_alone else role)
    of_epochs = table.shape.of_epochs or table.shape.of_epochs_alone
    times = LineTimes(None if unknown else counted, table.resolution_s, of_epochs, table.columns.get("epoch"))
    survey = Survey(times.seen(table.records(source)))
    if mapping is None and {*_OF_A_STEP, "elapsed"}.isdisjoint(stated) and divide_means(table):
        survey = Survey(table.records(source))
    for _ in range(2):  # then the short ones lack times even so
        if not (table.bars and table.bars.short_ones_lack_times):
            break
        table.read_bars_as_wholes()
        survey = Survey(table.records(source))
    readings = _read_columns(table, survey, times, stated, guess=mapping is None)
    if unknown and doubted == "epochs":
        readings = [_doubted(reading, table.columns[role]) for reading in readings]
    rows.assigned = readings
    if lacking := lacks(survey, readings):
        return lacking
    rows.divide(table.other_trainings)
    by_clock = any(reading.column == BY_CLOCK and reading.role for reading in readings)
    parts = write_rows(
        source, rows, table.records, survey, readings, stream=table.shape.bar,
        begins_epochs=begins_epochs(table.shape), least_steps=times.least_steps if by_clock else 0,
        after_pauses=table.after_pauses, often_paused=table.often_paused, after_launches=table.after_launches,
        least_epoch_s=math.inf if table.epochs_are_timed else times.least_epoch_s if by_clock else 0.0,
    )  # fmt: skip
    for line, method in table.methods.items() if not rows.is_split_otherwise else ():
        rows.turn_to(line)
        rows.param("run", method, line)
    untimed = {reading.role for reading in readings}.isdisjoint({*_OF_A_STEP, "elapsed"})
    if untimed and not unknown and table.resolution_s and table.pauses_between_steps:
        means_with_pauses(source, rows, table, times)
    if unknown and table.resolution_s and {reading.role for reading in readings}.isdisjoint(_OF_A_STEP):
        choice = options((f"{role}={table.columns[role]}",))
        rows.problem(table.shape.first, _DOUBTED.format(doubted, choice, role), table.shape.example)
    if table.bars and table.bars.disputed:
        line, bar = table.bars.disputed
        rows.disputed_time(line, bar.clock_s, bar.rate_s)
    derived = by_clock and not tells_epochs(table.shape)
    for part in parts:
        rows.part = part
        _tell_how(rows, table, readings, stated, derived)
    return None


def _tell_how(
    rows: Rows, table: LineTable, readings: Sequence[ColumnReading], stated: Mapping[str, Any], derived: bool
) -> None:
    """Facts of a run: the unit that its times were found to have, and how its steps and times are rounded."""
    first = table.shape.first
    for reading in readings:
        is_time = reading.role in _TIMED and reading.column != BY_CLOCK and reading.role not in stated
        if is_time and reading.unit and read_name(reading.column).unit is None:
            rows.param("time_unit", reading.unit, first, origin="inferred")
    if table.shape.rounding > 1:
        rows.param("step_resolution", table.shape.rounding, first, origin="inferred")
    if derived:
        rows.param("step_s_origin", "derived", first, origin="inferred")
        rows.param("step_s_resolution_s", table.resolution_s, first, unit="s", origin="inferred")


def _doubted(reading: ColumnReading, count: str) -> ColumnReading:
    """A reading; no time that its name does not call that of a step is one where epochs may be counted."""
    if reading.role not in _OF_A_STEP or read_name(reading.column).role != "time":
        return reading
    choices = (f"step={count}", f"epoch={count}")
    why = f"{reading.column} is the time of what {count} counts, which may be steps or epochs: use {options(choices)}"
    return refused(reading, why, *choices)


def _of_a_batch(reading: ColumnReading) -> ColumnReading:
    """A reading; a time beside a batch is that of an epoch only if its name says so."""
    if reading.role != "epoch_time" or read_name(reading.column).role == "epoch_time":
        return reading
    choices = as_map("epoch_time", reading), as_map("batch_time", reading)
    return refused(reading, _OF_A_BATCH.format(reading.column, options(choices)), *choices)


def _not_beyond_clock(reading: ColumnReading, values: ColumnValues, times: LineTimes) -> ColumnReading:
    """A reading; a time that is the same in each epoch is that of none where less passed by the stamps."""
    if reading.role != "epoch_time" or not values.constant or not times.outlasts_clock(reading.column, reading.factor):
        return reading
    return refused(reading, _BEYOND_CLOCK.format(reading.column), as_map("epoch_time", reading))


def _unclear(table: LineTable, several: bool, stated: Mapping[str, Any]) -> str | None:
    """Why it is not known where the records of a table stand."""
    shape, columns = table.shape, table.columns
    such = f"lines such as line {shape.first} look like training"
    if several:
        return f"{such}, but the file contains several runs"
    if "?" in columns and not {"step", "batch"} & set(stated):
        choices = options((f"step={columns['step']}", f"step={columns['?']}"))
        return f"{such}, and two of their numbers count steps: use {choices}"
    if shape.bar_of_samples and not {"step", "batch"} & set(stated):
        choice = options((f"step={columns['step']}",))
        grows = f"but their bar grows by multiples of {shape.bar_leap:,}"
        return f"{such}, {grows} and may count samples: {choice} reads it as steps"
    if two := shape.alternating:
        return (
            f"{such}, but bars with their label, of {two[0]:,} and of {two[1]:,} steps, are drawn by turns, and "
            "nothing tells which is the training's; give each a label of its own (desc='train')"
        )
    if shape.may_validate_by_turns:
        return f"{such}, but {_TWO_OF_ONE_SIZE}"
    if any(2 * changes > shape.lines for changes in shape.totals):
        return f"{such}, but the number after / changes from line to line: it is not a total"
    restarting = [k for k, role in enumerate(shape.roles) if role in ("of_all", "batch") and shape.falls[k]]
    if restarting and "epoch" not in columns and not shape.bar:
        return f"{such}, but {_NO_EPOCH}"
    return None


def _read_columns(
    table: LineTable, survey: Survey, times: LineTimes, stated: Mapping[str, tuple[str, str | None]], guess: bool
) -> list[ColumnReading]:
    """What each column is read as: by what the user states, by what the lines count, by their times, by its name."""
    needless = {BY_CLOCK} if table.resolution_s else set()
    needless |= {LEFT for name in survey.columns if name != LEFT and names_time_left(name)}
    columns = {name: values for name, values in survey.columns.items() if name not in needless}
    known: dict[str, tuple[str, str | None]] = {
        role: (name, None) for role, name in table.columns.items() if name in columns and role in COUNTS
    }
    costs = [name for name in columns if COST.fullmatch(name)]
    if guess and len(costs) == 1 and "loss" not in stated and not any("loss" in name.lower() for name in columns):
        known["loss"] = costs[0], None
    if BAR_TIME in columns:
        known |= {"interval_time": (BAR_TIME, "s"), "averaged_steps": (BAR_STEPS, None)}
    elif STEP_TIME in columns:
        known |= {"interval_time": (STEP_TIME, "s"), "averaged_steps": (STEPS, None)}
    elif guess and not {*_OF_A_STEP, "elapsed"} & set(stated):
        known |= _shown_by_times(table, times, columns, known)
    readings = assign(columns, {**known, **stated}, guess)
    if "batch_time" not in stated:
        readings = _whole_steps(readings, times)
    readings = [
        refused(reading, _TOO_LONG.format(reading.column), as_map(reading.role, reading))
        if reading.role in _OF_ONE_STEP
        and reading.role not in stated
        and times.is_too_long(reading.column, reading.factor)
        else reading
        for reading in readings
    ]
    if times.of_epochs and times.by_clock and "epoch_time" not in stated:  # `(70s)` in each of few lines 2 s apart
        readings = [_not_beyond_clock(reading, columns[reading.column], times) for reading in readings]
    readings = [
        reading._replace(role="interval_time")
        if reading.role == "batch_time"
        and ("/" in reading.column or reading.column.startswith("per"))
        and reading.role not in stated
        and not _is_of_one_step(reading.column, columns, known)
        else reading
        for reading in readings
    ]
    if "elapsed" not in stated:
        readings = _of_steps_alone(readings, table, times, columns)
    if times.has_coarse_rates(table.rate_decimals, _USELESS):
        readings = _without_role(readings, lambda reading: (reading.role, reading.column) == ("running_time", RUNNING))
    wanted = (guess and not table.mostly_paused) or "elapsed" in stated
    if table.shape.names_a_batch and "epoch_time" not in {*known, *stated}:
        readings = [_of_a_batch(reading) for reading in readings]
    if tells_epochs(table.shape):
        if not table.shape.of_training and "epoch_time" not in stated:  # the time that its lines state is their own
            readings = _without_role(readings, lambda reading: reading.role == "epoch_time")
        timed_epochs = {reading.role for reading in readings} & {"epoch_time", "elapsed"}
        stamps = times.stamps_tell and not timed_epochs and not table.epochs_are_timed
        by_clock = [ColumnReading(BY_CLOCK, "elapsed", "s")] if stamps else []
        return [*readings, *by_clock]
    readings = readings if "elapsed" in stated else _passed_by_clock(readings, times)
    if not (wanted and BY_CLOCK not in columns and times.stamps_tell):
        return readings
    return _with_clock(readings, table, times, columns, stated, guess)


def _of_steps_alone(
    readings: list[ColumnReading], table: LineTable, times: LineTimes, columns: dict[str, ColumnValues]
) -> list[ColumnReading]:
    """The readings without a time since the start that does not tell that of the steps."""
    counted = {"step", "batch"} & set(table.columns)
    untold = times.step is None or (times.of_epochs and not tells_epochs(table.shape))
    if not untold and not (counted and table.mostly_paused):
        return readings
    by_epoch = _sums_by_epoch(table, columns)
    return [
        reading
        if reading.role != "elapsed" or reading.column in by_epoch
        else reading._replace(role=None)
        if untold
        else _with_pauses(reading)
        for reading in readings
    ]


def _with_pauses(reading: ColumnReading) -> ColumnReading:
    """A time since the start that has more than steps in it, with what takes it all the same."""
    choice = as_map("elapsed", reading)
    return refused(reading, _WITH_PAUSES.format(reading.column, options((choice,))), choice)


def _whole_steps(readings: list[ColumnReading], times: LineTimes) -> list[ColumnReading]:
    """The readings; where a bar shows that the time of a step is that of a part of it, the bar's is the step's.

    The step of what is computed, such as a flow, has no role.
    """
    readings = _without_role(
        readings, lambda reading: reading.role == "batch_time" and times.is_of_a_simulation(reading.column)
    )
    parts = {
        reading.column
        for reading in readings
        if reading.role == "batch_time" and times.is_of_a_part(reading.column, reading.factor)
    }
    return [
        reading._replace(role=None)
        if reading.column in parts
        else reading._replace(role="interval_time")
        if parts and reading.column == BAR_TIME
        else reading
        for reading in readings
    ]


def _with_clock(
    readings: list[ColumnReading],
    table: LineTable,
    times: LineTimes,
    columns: Mapping[str, ColumnValues],
    stated: Mapping[str, tuple[str, str | None]],
    guess: bool,
) -> list[ColumnReading]:
    """The readings, with the time by the stamps where nothing tells that of the steps better."""
    by_user = {column for column, _ in stated.values()}
    shown = times.means_by_clock() | set(filter(times.is_of_clock, columns))
    means = shown - by_user if guess else set()
    readings = [
        reading._replace(role=None, refusal=None, choices=()) if reading.column in means else reading
        for reading in readings
    ]
    coarse = [reading for reading in readings if reading.role == "elapsed" and _is_coarser(reading, columns, table)]
    if guess and coarse and "elapsed" not in stated:
        readings = _without_role(readings, coarse.__contains__)
        return [*readings, ColumnReading(BY_CLOCK, "elapsed", "s")]
    if times.is_rounded(RUNNING) or times.has_coarse_rates(table.rate_decimals):
        readings = _without_role(readings, lambda reading: (reading.role, reading.column) == ("running_time", RUNNING))
    timed = {reading.role for reading in readings} & {*_OF_A_STEP, "elapsed"}
    if not timed and not any(times.claims(name) for name in columns if name not in means):
        readings.append(ColumnReading(BY_CLOCK, "elapsed", "s"))
    return readings


def _sums_by_epoch(table: LineTable, columns: Mapping[str, ColumnValues]) -> set[str]:
    """The columns that grow like a sum from epoch to epoch, where each line ends one."""
    grown = {name for name, values in columns.items() if values.adds_up or values.rises_in_launches}
    return grown if table.shape.ends_epochs or table.results else set()


def _passed_by_clock(readings: list[ColumnReading], times: LineTimes) -> list[ColumnReading]:
    """The readings; a time since the start that the time stamps contradict has no role."""
    return [
        reading._replace(role=None)
        if reading.role == "elapsed" and times.differs_from_clock(reading.column, reading.factor)
        else reading
        for reading in readings
    ]


def _without_role(readings: list[ColumnReading], is_idle: Callable[[ColumnReading], bool]) -> list[ColumnReading]:
    """The readings; some of them without their role."""
    return [reading._replace(role=None) if is_idle(reading) else reading for reading in readings]


def _shown_by_times(
    table: LineTable, times: LineTimes, columns: dict[str, ColumnValues], known: Mapping[str, tuple[str, str | None]]
) -> dict[str, tuple[str, str | None]]:
    """The role of the one time of which the numbers beside it, or the time stamps, show what it is; with its unit."""
    if whole := times.since_start():
        columns.pop(RUNNING, None)  # the mean of all steps so far says no more
        return {"elapsed": whole}
    if mean := times.mean_since_begin():
        return {"running_time": mean}
    if times.means_by_clock():
        return {}
    if proven := times.of_a_step(table.mean_steps):
        named = read_name(proven[0]).role == "batch_time"  # else a number before its mean may be a median of some steps
        of_one = _is_of_one_step(proven[0], columns, known) and (named or not times.is_smoothed(proven[0]))
        of_one_step = "batch_time" if of_one else "interval_time"
        return {"epoch_time" if times.of_epochs else of_one_step: proven}
    if several := times.of_stated_steps():
        return {"span_time": several[:2], "averaged_steps": (several[2], None)}
    if span := times.of_all_since():
        return {"span_time": span}
    if passed := grown_as_clock(times):
        return {"elapsed": passed}
    total_s = table.stated.total_of(launches_in(times) if times.of_epochs else 1)
    if stated := as_stated_of_all(times, total_s, table.stated.epoch_means):
        return {"epoch_time" if times.of_epochs else "batch_time": stated}
    if of_epoch := within_epochs(times):
        return {"epoch_time": of_epoch}
    if not times.by_clock and (counted := grown_with_count(times)):
        return {"elapsed": counted}
    if told := told_by_rate(times):
        return dict([told])
    if by_gaps := told_by_gaps(times):
        return dict([by_gaps])
    if by_whole := told_by_wholes(times, table.wholes):
        return dict([by_whole])
    if known_form := known_time_in(table.shape.example, times):
        return dict([known_form])
    if RUNNING in columns and not table.shape.bar and times.rate_follows_stamps:
        return {"batch_time" if _is_of_one_step(RUNNING, columns, known) else "interval_time": (RUNNING, "s")}
    return {}


def _is_coarser(elapsed: ColumnReading, columns: Mapping[str, ColumnValues], table: LineTable) -> bool:
    """Whether the time since the start has fewer digits than the time stamps of the lines."""
    return bool(table.resolution_s) and table.resolution_s < elapsed.factor * columns[elapsed.column].resolution


def _is_of_one_step(
    name: str, columns: Mapping[str, ColumnValues], known: Mapping[str, tuple[str, str | None]]
) -> bool:
    """Whether a time is that of the one step: each step has a line, or a mean stands beside it."""
    steps = columns.get(known.get("step", known.get("batch", ("", None)))[0])
    return mean_of(name) in columns or (steps is not None and not steps.mostly_leaps)
