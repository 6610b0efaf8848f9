"""A table of runs: a row for each size of a study, such as `devices,images_per_s`."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord, is_blank
from scalelens.tabular.column_names import metric_unit
from scalelens.tabular.column_values import ColumnValues, Survey
from scalelens.tabular.role_table import ROLE
from scalelens.tabular.roles import ColumnReading, options
from scalelens.tabular.table import StepTable

RUN_SETTINGS = (
    "run", "devices", "nodes", "devices_per_node", "model", "precision", "dataset", "system", "device_model",
    "global_batch_size", "micro_batch_size", "seq_length", "job_id",
)  # fmt: skip
_SIZES = ("devices", "nodes")
# What a row says of its run, and the column of `steps` for it.
_MEASURED = {
    "batch_time": "step_s", "samples_per_s": "samples_per_s", "tflops_per_device": "tflops_per_device",
    "data_time": "data_s", "peak_memory": "peak_memory_bytes",
}  # fmt: skip
_SHOWS_SPEED = {"batch_time", "samples_per_s", "tokens_per_s", "epoch_time", "tflops_per_device"}
# With one of these a row is a record of a run, and not a run.
_OF_RECORDS = {
    "step", "batch", "epoch", "rank", "place", "phase", "timestamp", "elapsed", "interval_time", "running_time",
}  # fmt: skip
_MOST_RUNS = 1000
_MOST_REPEATS = 10  # of one run


def runs_in(
    survey: Survey, readings: Sequence[ColumnReading], records: Callable[[], Iterable[TableRecord]]
) -> list[TableRecord]:
    """The rows of a table in which each is a run; empty where they are not.

    Many rows of the same settings are more likely steps than repeats: then nothing tells which.
    """
    if not _has_sizes_and_speeds(survey, readings):
        return []
    settings = [reading.column for reading in readings if reading.is_text or reading.role in RUN_SETTINGS]
    found = [*records()]
    alike = Counter(tuple(str(record.cells.get(column)) for column in settings) for record in found)
    return found if max(alike.values()) <= _MOST_REPEATS else []


def _has_sizes_and_speeds(survey: Survey, readings: Sequence[ColumnReading]) -> bool:
    """Whether sizes differ from row to row beside a time or a rate, and nothing counts records."""
    roles = {reading.role: reading.column for reading in readings if reading.role}
    sizes = [survey.columns[roles[role]] for role in _SIZES if role in roles]
    varies = any(not values.constant and values.numbers <= _MOST_RUNS for values in sizes)
    return varies and bool(_SHOWS_SPEED & roles.keys()) and not _OF_RECORDS & roles.keys()


def write_runs(rows: Rows, records: Sequence[TableRecord], survey: Survey, readings: Sequence[ColumnReading]) -> None:
    """A part of the file for each row: its settings are facts of the run, its time and rates means over the run.

    Texts without a role that differ from row to row are one more setting: rows that differ in them are not repeats.
    """
    for refusal in dict.fromkeys(reading.refusal for reading in readings if reading.refusal):
        rows.problem(1, f"{refusal}; until then its numbers are metrics")
    table, is_first = StepTable(readings), True
    scope = _scope_of_rate(table, records, rows)
    labels = [reading.column for reading in readings if _labels_rows(survey.columns[reading.column], reading)]
    for record in records:
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
            continue
        if not is_first:
            rows.new_part()
        is_first = False
        _write_facts(rows, record, table, readings)
        texts = (record.cells.get(column) for column in labels)
        if label := " · ".join(str(text) for text in texts if not is_blank(text)):
            rows.param("row_label", label, record.line)
        _write_measured(rows, record, table, scope)


def _labels_rows(values: ColumnValues, reading: ColumnReading) -> bool:
    return not (reading.role or values.constant or values.is_stamp) and reading.is_text


def _scope_of_rate(table: StepTable, records: Sequence[TableRecord], rows: Rows) -> str | None:
    """Whether the rate is of the whole job or of a device: by its name, else by how it grows with the size.

    A rate that grows at least with the root of the size is of the job.  Any other may be of either.
    """
    rate = table.columns.get("samples_per_s")
    if rate is None or rate.unit:
        return rate and rate.unit
    size = next(role for role in _SIZES if role in table.columns)
    points = [(table.value(record, size), table.value(record, "samples_per_s")) for record in records]
    known = sorted((n, per_s) for n, per_s in points if n and per_s and n > 0 and per_s > 0)
    (fewest, slow), (most, fast) = (known[0], known[-1]) if known else ((1.0, 1.0), (1.0, 1.0))
    if most > fewest and fast / slow >= (most / fewest) ** 0.5:
        return "global"
    choices = options(f"samples_per_s={rate.column}:{scope}" for scope in ("global", "rank"))
    rows.problem(1, f"it is unclear whether {rate.column} is of the job or of one device: use {choices}")
    return None


def _write_facts(rows: Rows, record: TableRecord, table: StepTable, readings: Sequence[ColumnReading]) -> None:
    for reading in readings:
        value, kind = record.cells.get(reading.column), ROLE[reading.role].kind if reading.role else "text"
        if is_blank(value) or kind not in ("count", "text") or not (reading.role or reading.is_text):
            continue
        name = reading.role or reading.column
        fact = table.count(record, name) if kind == "count" else str(value)
        if kind == "count" and not (isinstance(fact, int) and fact > 0):
            rows.problem(record.line, f"{reading.column} is not a whole number above 0", record.text)
        else:
            rows.param(name, fact, record.line)


def _write_measured(rows: Rows, record: TableRecord, table: StepTable, scope: str | None) -> None:
    for reading in table.metrics:
        if (value := number(record.cells.get(reading.column))) is not None:
            unit = metric_unit(reading.column, reading.unit)
            rows.metric(record.line, None, None, None, reading.column, value, unit, "mean")
    measured = {column: table.value(record, role) for role, column in _MEASURED.items() if role in table.columns}
    if any(value is not None for value in measured.values()):
        rows.add(
            "steps", record.line, attempt=0, phase="train", value_kind="run_mean",
            rate_scope=scope if measured.get("samples_per_s") is not None else None,
            samples=table.value(record, "global_batch_size"), **measured,
        )  # fmt: skip
    if (span_s := table.value(record, "epoch_time")) is not None:
        rows.add("phases", record.line, attempt=0, phase="epoch", epoch=0.0, span_s=span_s, origin="logged")
