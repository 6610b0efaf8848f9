"""A table of runs: a row for each size of a study, such as `devices,images_per_s`, or for each configuration.

config,batch_size,world_size,avg_epoch_s,images_per_s,test_acc      a row is a run if a text names each of them
gpus,batch_per_gpu,images_per_s                                     4 rows of one size, of which the first states it
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import settings_of_speed
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord, is_blank
from scalelens.tabular.column_names import metric_unit, words_of
from scalelens.tabular.column_values import ColumnValues, Survey
from scalelens.tabular.role_table import ROLE, UNITS_OF_KIND
from scalelens.tabular.roles import EPOCHS, MOST_RUNS, SIZES, ColumnReading, is_whole_time, mean_of, options
from scalelens.tabular.table import StepTable

RUN_SETTINGS = (
    "run", "devices", "nodes", "devices_per_node", "model", "precision", "dataset", "system", "device_model",
    "global_batch_size", "micro_batch_size", "seq_length", "job_id",
)  # fmt: skip
# What a row says of its run, and the column of `steps` for it.
_MEASURED = {
    "batch_time": "step_s", "tflops_per_device": "tflops_per_device",
    "data_time": "data_s", "peak_memory": "peak_memory_bytes",
}  # fmt: skip
_SHOWS_SPEED = {"batch_time", "samples_per_s", "tokens_per_s", "epoch_time", "tflops_per_device"}
# With one of these a row is a record of a run, and not a run.
_OF_RECORDS = {
    "step", "batch", "epoch", "rank", "place", "phase", "timestamp", "elapsed", "interval_time", "running_time",
}  # fmt: skip
# What a row of a training says of itself, and one of an inference does not: a table of configurations needs one.
_OF_TRAININGS = re.compile(
    r"train|epoch|loss|acc(?:uracy)?(?![a-z])|optimi[sz]er|convergence|global_?batch|zero_?(?:stage|level)",
    re.IGNORECASE,
)
_SHOWS_SPEED_OF_TRAINING = {"samples_per_s", "tokens_per_s", "epoch_time"}
_OF_A_MEAN = {"batch_time", "epoch_time"}
_LISTS = ("[", "{")  # begin a text that is a list of values
_AMOUNT = re.compile(r"[-+~<>]?\s?\d[\d.,]*\s?(?:%|ms|s|sec|min|h|[KMG]i?B|k?W|k?Wh|k?J|[x\u00d7])")  # 44%, 1.9x
_PATH = re.compile(r"(?:[^/\s]*/){2,}([^/\s]+?)(?:\.[A-Za-z]{2,5})?")
# What a column of such a name says of how each run ended.
_ENDS = re.compile(r"(?:run_?)?(?:status|outcome|state|result)", re.IGNORECASE)
_OUTCOMES = {
    **dict.fromkeys(
        ("ok", "success", "successful", "succeeded", "completed", "complete", "done", "finished"), "completed"
    ),
    **dict.fromkeys(("oom", "out of memory", "out_of_memory"), "oom"),
    **dict.fromkeys(("fail", "failed", "failure", "error", "crash", "crashed"), "error"),
    **dict.fromkeys(("timeout", "timed out", "timed_out"), "time_limit"),
    **dict.fromkeys(("cancelled", "canceled"), "cancelled"),
}
_MOST_REPEATS = 10  # of one run


def as_means(readings: Sequence[ColumnReading]) -> list[ColumnReading]:
    """The readings of a table of runs: `avg_epoch_s` is the time of an epoch, `total_time_s` that of the training.

    Beside the epochs of each run (`epochs`), the time of the training tells the mean of one.
    """
    taken = {reading.role for reading in readings}
    done = []
    for reading in readings:
        role, unit = mean_of(reading.column)
        if reading.role is None and role in _OF_A_MEAN and unit and role not in taken:
            reading = reading._replace(role=role, unit=unit, refusal=None, choices=())
        elif reading.role in (None, "elapsed") and is_whole_time(reading):
            reading = reading._replace(role=None, refusal=None, choices=())
        done.append(reading)
    return done


def runs_in(
    survey: Survey, readings: Sequence[ColumnReading], records: Callable[[], Iterable[TableRecord]]
) -> list[TableRecord]:
    """The rows of a table in which each is a run; empty where they are not.

    Many rows of the same settings are more likely steps than repeats: then nothing tells which.
    """
    if not _has_speeds(readings):
        return []
    of_sizes = has_sizes(survey, readings)
    if not of_sizes and not _may_state_configurations(survey, readings):
        return []
    settings = [reading.column for reading in readings if reading.is_text or reading.role in RUN_SETTINGS]
    found = [*_without_spans(list(records()), [*settings, *_batches(readings)])]
    if not of_sizes and len(found) > 1 and not _name_of_rows(found, readings):
        return []
    alike = Counter(tuple(str(record.cells.get(column)) for column in settings) for record in found)
    return found if found and max(alike.values()) <= _MOST_REPEATS else []


def _has_speeds(readings: Sequence[ColumnReading]) -> bool:
    """Whether rows have a time or a rate, and nothing counts records."""
    roles = {reading.role for reading in readings}
    return bool(_SHOWS_SPEED & roles or _whole_epochs(readings)) and not _OF_RECORDS & roles


def _whole_epochs(readings: Sequence[ColumnReading]) -> tuple[ColumnReading, ColumnReading] | None:
    """The time of the whole training and the number of its epochs, where each has one column, and an epoch no time."""
    times = [reading for reading in readings if reading.role is None and is_whole_time(reading)]
    epochs = [reading for reading in readings if not reading.is_text and words_of(reading.column)[0] in EPOCHS]
    of_epochs = any(reading.role == "epoch_time" for reading in readings)
    return (times[0], epochs[0]) if len(times) == len(epochs) == 1 and not of_epochs else None


def has_sizes(survey: Survey, readings: Sequence[ColumnReading]) -> bool:
    """Whether sizes differ from row to row."""
    roles = {reading.role: reading.column for reading in readings if reading.role}
    sizes = [survey.columns[roles[role]] for role in SIZES if role in roles]
    return any(not values.constant and values.numbers <= MOST_RUNS for values in sizes)


def _may_state_configurations(survey: Survey, readings: Sequence[ColumnReading]) -> bool:
    """Whether rows that a text may name, or the only row, have the speed of a training."""
    rated = any(map(_is_speed_of_training, readings))
    is_only_row = all(values.numbers + values.texts <= 1 for values in survey.columns.values())
    named = is_only_row or any(reading.is_text and not survey.columns[reading.column].constant for reading in readings)
    return rated and named and any(_OF_TRAININGS.search(reading.column) for reading in readings)


def _is_speed_of_training(reading: ColumnReading) -> bool:
    """Whether a column holds a rate of a training, the time of an epoch, or the mean time of a step by its name."""
    is_mean = reading.role == "batch_time" and mean_of(reading.column)[0] == reading.role
    return is_mean or reading.role in _SHOWS_SPEED_OF_TRAINING


def _name_of_rows(records: Sequence[TableRecord], readings: Sequence[ColumnReading]) -> str | None:
    """The first column of texts that names each row: no two rows have the same text, and none is without."""
    for reading in readings:
        texts = [str(record.cells.get(reading.column) or "") for record in records if not record.damage]
        if not (reading.is_text and reading.role in (None, "run")) or any(map(_AMOUNT.fullmatch, texts)):
            continue
        if len({*texts}) == len(texts) > 1 and all(texts):
            return reading.column
    return None


def _batches(readings: Sequence[ColumnReading]) -> list[str]:
    return [reading.column for reading in readings if "batch" in reading.column.lower()]


def _without_spans(records: list[TableRecord], settings: Sequence[str]) -> Iterator[TableRecord]:
    """The records; a blank setting below the first row of its group is that of the group.

    The table shows its groups where each has as many rows, and another setting goes through the same values in each.
    """
    filled: dict[str, str] = {}  # values that span, by column
    spans = {column: length for column in settings if (length := _length_of_spans(records, column, settings))}
    for record in records:
        cells = dict(record.cells)
        for column in spans:
            if is_blank(cells.get(column)):
                cells[column] = filled.get(column)
            else:
                filled[column] = cells[column]
        yield record._replace(cells=cells) if spans else record


def _length_of_spans(records: Sequence[TableRecord], column: str, settings: Sequence[str]) -> int:
    """Rows of each group that a column has one value for, in the first row of the group; 0 where it shows no groups."""
    stated = [not is_blank(record.cells.get(column)) for record in records]
    begins = [k for k, is_stated in enumerate(stated) if is_stated]
    lengths = {end - begin for begin, end in itertools.pairwise([*begins, len(records)])}
    if len(begins) < 2 or begins[0] != 0 or len(lengths) != 1 or (length := lengths.pop()) < 2:
        return 0
    for other in settings:
        values = [str(record.cells.get(other)) for record in records]
        groups = {tuple(values[begin : begin + length]) for begin in begins}
        if other != column and len(groups) == 1 and len(set(*groups)) == length:
            return length
    return 0


def write_runs(
    rows: Rows, records: Sequence[TableRecord], survey: Survey, readings: Sequence[ColumnReading], title: str = ""
) -> None:
    """A part of the file for each row: its settings are facts of the run, its time and rates means over the run.

    Texts without a role that differ from row to row are one more setting: rows that differ in them are not repeats.
    A text that is another one in each row is the run's name; beside sizes that differ in each row it is only that.
    A status is how the run ended.  `title` is of the table, one more setting.
    """
    for refusal in dict.fromkeys(reading.refusal for reading in readings if reading.refusal):
        rows.problem(1, f"{refusal}; until then its numbers are metrics")
    table, is_first = StepTable(readings), True
    scope = _scope_of_rate(table, records, rows)
    name = None if "run" in table.columns else _name_of_rows(records, readings)
    sizes = [str(table.cell(record, role)) for record in records for role in SIZES[:1] if role in table.columns]
    labels = [reading.column for reading in readings if _labels_rows(survey.columns[reading.column], reading)]
    ending = _outcome_in(records, readings)
    labels = [label for label in labels if label != ending and (label != name or len({*sizes}) < len(records))]
    for record in records:
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
            continue
        if not is_first:
            rows.new_part()
        is_first = False
        _write_facts(rows, record, table, readings)
        if ending and (outcome := _outcome_of(record.cells.get(ending))):
            rows.param("outcome", outcome, record.line)
        if name:
            path = _PATH.fullmatch(str(record.cells[name]))
            rows.param("run", path[1] if path else str(record.cells[name]), record.line)
        elif title and "run" not in table.columns:
            rows.param("run", title, record.line)
        texts = (title, *(record.cells.get(column) for column in labels))
        if label := " · ".join(str(text) for text in texts if _is_word(text)):
            rows.param("row_label", label, record.line)
        _write_measured(rows, record, table, scope)


def _outcome_in(records: Sequence[TableRecord], readings: Sequence[ColumnReading]) -> str | None:
    """The column that says how each run ended, in words that are all known."""
    for reading in readings:
        if reading.is_text and _ENDS.fullmatch(reading.column.strip()):
            said = [record.cells.get(reading.column) for record in records if not record.damage]
            if any(map(_outcome_of, said)) and all(is_blank(text) or _outcome_of(text) for text in said):
                return reading.column
    return None


def _outcome_of(text: Any) -> str | None:
    return _OUTCOMES.get(str(text).strip().lower())


def _is_word(text: Any) -> bool:
    """Whether a text says something of a row, as no blank, no list, no path and no amount does."""
    said = str(text)
    return not (is_blank(text) or said.startswith(_LISTS) or _PATH.fullmatch(said) or _AMOUNT.fullmatch(said))


def _labels_rows(values: ColumnValues, reading: ColumnReading) -> bool:
    return not (reading.role or values.constant or values.is_stamp) and reading.is_text


def _samples_per_s(table: StepTable, record: TableRecord) -> float | None:
    """The rate in samples: where tokens and the length of a sample are stated, theirs, which has more digits."""
    tokens, length = table.value(record, "tokens_per_s"), table.value(record, "seq_length")
    return tokens / length if tokens and length else table.value(record, "samples_per_s")


def _rate_of(table: StepTable) -> ColumnReading | None:
    """The rate of a row: of tokens where they are stated with the length of a sample, or alone; else of samples."""
    by_tokens = "seq_length" in table.columns or "samples_per_s" not in table.columns
    return (by_tokens and table.columns.get("tokens_per_s")) or table.columns.get("samples_per_s")


def _scope_of_rate(table: StepTable, records: Sequence[TableRecord], rows: Rows) -> str | None:
    """Whether the rate is of the whole job or of a device: by its name, else by how it grows with the size.

    A rate that grows at least with the root of the size is of the job.  Any other may be of either.
    """
    rate = _rate_of(table)
    if rate is None or rate.unit:
        return rate and rate.unit
    size = next((role for role in SIZES if role in table.columns), "devices")
    rated = [_samples_per_s(table, record) or table.value(record, "tokens_per_s") for record in records]
    points = list(zip((table.value(record, size) for record in records), rated, strict=True))
    known = sorted((n, per_s) for n, per_s in points if n and per_s and n > 0 and per_s > 0)
    (fewest, slow), (most, fast) = (known[0], known[-1]) if known else ((1.0, 1.0), (1.0, 1.0))
    if most > fewest and fast / slow >= (most / fewest) ** 0.5:
        return "global"
    choices = options(f"{rate.role}={rate.column}:{scope}" for scope in ("global", "rank"))
    rows.problem(1, f"it is unclear whether {rate.column} is of the job or of one device: use {choices}")
    return None


def _write_facts(rows: Rows, record: TableRecord, table: StepTable, readings: Sequence[ColumnReading]) -> None:
    for reading in readings:
        value, kind = record.cells.get(reading.column), ROLE[reading.role].kind if reading.role else "text"
        if _is_setting(reading) and not is_blank(value):
            plain = number(value)
            rows.param(reading.column, int(plain) if plain is not None and plain == int(plain) else value, record.line)
            continue
        if is_blank(value) or kind not in ("count", "text") or not (reading.role or reading.is_text):
            continue
        if str(value).startswith(_LISTS):
            continue
        name = reading.role or reading.column
        fact = table.count(record, name) if kind == "count" else str(value)
        if kind == "count" and not (isinstance(fact, int) and fact > 0):
            rows.problem(record.line, f"{reading.column} is not a whole number above 0", record.text)
        else:
            rows.param(name, fact, record.line)


def _is_setting(reading: ColumnReading) -> bool:
    """Whether a column of numbers without a role is a setting, by its name."""
    name = reading.column.lower()
    return not (reading.role or reading.is_text) and (name == "batch_size" or name in settings_of_speed())


def _write_measured(rows: Rows, record: TableRecord, table: StepTable, scope: str | None) -> None:
    unclear, whole_epochs = _rate_of(table) if scope is None else None, _whole_epochs(table.readings)
    for reading in table.metrics:
        value = number(record.cells.get(reading.column))
        if value is None or _is_setting(reading):
            continue
        if reading.unit in UNITS_OF_KIND["time"] and is_whole_time(reading):
            whole_s = value * UNITS_OF_KIND["time"][reading.unit]
            rows.add("phases", record.line, attempt=0, phase="run", span_s=whole_s, origin="logged")
            epochs = number(record.cells.get(whole_epochs[1].column)) if whole_epochs else None
            if epochs and epochs > 0:
                mean_s = whole_s / epochs
                rows.add("phases", record.line, attempt=0, phase="epoch", epoch=0.0, span_s=mean_s, origin="derived")
        unit = None if reading is unclear else metric_unit(reading.column, reading.unit, reading.role)
        rows.metric(record.line, None, None, None, reading.column, value, unit, "mean")
    measured = {column: table.value(record, role) for role, column in _MEASURED.items() if role in table.columns}
    measured["samples_per_s"] = _samples_per_s(table, record)
    if any(value is not None for value in measured.values()):
        rows.add(
            "steps", record.line, attempt=0, phase="train", value_kind="run_mean",
            rate_scope=scope if measured["samples_per_s"] is not None else None,
            samples=table.value(record, "global_batch_size"), **measured,
        )  # fmt: skip
    if (span_s := table.value(record, "epoch_time")) is not None:
        rows.add("phases", record.line, attempt=0, phase="epoch", epoch=0.0, span_s=span_s, origin="logged")
