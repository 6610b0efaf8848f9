"""Lines of a log that no format knows, as a table of steps: one shape of line, read by the names beside its numbers."""

import itertools
from collections.abc import Sequence

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.tabular.column_values import Survey
from scalelens.tabular.line_choice import chosen
from scalelens.tabular.line_records import BY_CLOCK, LineTable
from scalelens.tabular.line_shapes import Shape, shapes_of
from scalelens.tabular.line_times import LineTimes
from scalelens.tabular.log_lines import log_lines
from scalelens.tabular.roles import ColumnReading, assign, options, refused
from scalelens.tabular.steps import lacks, write_rows

TOO_LONG = "{} is longer than the time between its lines, so that it is not the time of one step"
MOST_LINES = 300_000  # with a word of training, by which the shape is chosen
OF_A_STEP = ("batch_time", "interval_time", "running_time")


def read_lines(source: Source, rows: Rows) -> str | None:
    """Rows of the one shape of line that records the steps of training.  Returns why there is none."""
    shape = chosen(shapes_of(itertools.islice(log_lines(source), MOST_LINES)))
    if isinstance(shape, str):
        return shape
    table = LineTable(shape)
    if why := unclear(table, rows):
        return why
    step = table.columns.get("step", table.columns.get("batch"))
    resolution_s = shape.resolution_s if 10 * shape.with_stamp >= 9 * shape.lines else 0.0
    times = LineTimes(step, resolution_s)
    survey = Survey(times.seen(table.records(source)))
    readings = read_columns(table, survey, times, rows)
    rows.assigned = readings
    if lacking := lacks(survey, readings):
        return lacking
    write_rows(source, rows, table.records, survey, readings)
    if any(reading.column == BY_CLOCK and reading.role for reading in readings):
        rows.param("step_s_origin", "derived", shape.first, origin="inferred")
        rows.param("step_s_resolution_s", resolution_s, shape.first, unit="s", origin="inferred")
    return None


def unclear(table: LineTable, rows: Rows) -> str | None:
    """Why it is not known where the records of a table stand."""
    shape, columns = table.shape, table.columns
    if rows.part:
        return f"lines such as line {shape.first} look like training, but the file holds several runs"
    if "?" in columns and not {"step", "batch"} & set(rows.mapping):
        choices = options((f"step={columns['step']}", f"step={columns['?']}"))
        return f"lines such as line {shape.first} look like training, and two of their numbers count steps: say {choices}"
    anew = [k for k, role in enumerate(shape.roles) if role in ("of_all", "batch") and shape.falls[k]]
    if anew and "epoch" not in columns and not shape.bar:
        return f"lines such as line {shape.first} look like training, but nothing tells the epoch in which they count"
    return None


def read_columns(table: LineTable, survey: Survey, times: LineTimes, rows: Rows) -> Sequence[ColumnReading]:
    """What each column is read as: by --map, by what the lines count, by their times, by its name."""
    columns = survey.columns
    known: dict[str, tuple[str, str | None]] = {
        role: (name, None) for role, name in table.columns.items() if name in columns and role in ("step", "batch", "epoch")
    }
    if (proven := times.proven()) and not {*OF_A_STEP, "elapsed"} & set(rows.mapping):
        name, unit = proven
        known["batch_time" if is_of_one_step(name, columns, known) else "interval_time"] = name, unit
    known |= rows.mapping
    hidden = {BY_CLOCK} if times.resolution_s else set()
    readings = assign({name: values for name, values in columns.items() if name not in hidden}, known)
    readings = [
        refused(reading, TOO_LONG.format(reading.column), f"batch_time={reading.column}:{reading.unit}")
        if reading.role in OF_A_STEP and reading.role not in rows.mapping and times.is_too_long(reading.column, reading.factor)
        else reading
        for reading in readings
    ]
    timed = {reading.role for reading in readings} & {*OF_A_STEP, "elapsed"}
    if hidden and not timed and times.stamps_tell and not any(times.claims(name) for name in columns):
        readings.append(ColumnReading(BY_CLOCK, "elapsed", "s"))
    return readings


def is_of_one_step(name: str, columns: dict, known: dict) -> bool:
    """Whether a time is that of the one step: each step has a line, or a mean stands beside it."""
    steps = columns.get(known.get("step", known.get("batch", ("", None)))[0])
    bare, bracket, unit = name.partition(" [")
    beside = f"{bare} mean{bracket}{unit}" in columns
    return beside or (steps is not None and steps.leaps * 2 < steps.numbers)
