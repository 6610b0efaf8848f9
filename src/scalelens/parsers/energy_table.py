"""Energies of measured programs in a table of nobody's format: a row for each, with its duration.

Tool: scripts around perf, RAPL, NVML or a meter
Versions: any; CSV, a JSON object in each line, a JSON array, or objects within a JSON document
Yields: energy, params
Source: the names of the columns, whose units must be said

A table is read here if it has a column of energies with the unit in its name (energy_joules, Total Energy (J), energy_kwh),
a column of durations (time_seconds, Duration (s); without a unit they stay unknown, but `1:37:40` has one), and none of
steps.  Energies without durations are read from five rows on, if no power is there too and not every one is larger than the last.
If the name has no unit, each cell may have one (529.94 mJ).  Energies that only grow over twenty rows are refused: they
are readings of a counter, or rows in the order of their energy, and nothing tells which.
Columns of the times at which a row begins and ends (start_time, end_time) make it a window: windows that follow each
other add up.  Where there is no energy, but one column of a mean power (avg_power_w) and one of durations with a unit, the energy is
their product.  Each row is a part of the file: a measurement of its own, and a run of its own where a column names a run of
its own for each.  Else, where it does not say when it took place, the energy of the run is only known to lie between the
largest row and the sum of all.  Words of the name give the scope, as in
power_csv; an energy without such words, where others have them, is their total.  An energy that is there in two
units counts once.  Energies per token, sample or step, means, limits, estimates and what is left above idle are not
read.  Cells of words are params under the names of their columns.  Energies of intervals by their name
(energy_delta_j) in a table without times are one energy, their sum.  `--map energy=COLUMN:UNIT` says a unit that no name has.

A table of one value in each row with its name beside it (metric, value, and perhaps unit) is read as one with a column
for each name: the values of the same keys are a row, and a run that is named by these.

Of a JSON document each object with an energy and a duration is a row, also where its energies are in an object within
it; what else is within it is a part of it, and is not read again.  Where nothing has an energy, an object with one
mean power and the duration of all of it is one.  So is a report of names and values, one in each line, of which a name
that comes again begins the next.  Epochs or iterations that do not count upwards are settings or repetitions, and not
steps.  The rows of a table of more than 10,000 are measurements of one run.

Samples:
    run_id,energy_joules,time_seconds
    1,40.09,60.000947775
"""

import itertools
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensors import SECOND, Moment
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, TableRecord, csv_header
from scalelens.tabular.column_names import read_name
from scalelens.tabular.energy_columns import joules_of, only_grows
from scalelens.tabular.energy_documents import (
    PUE,
    energies_alone,
    mean_powers,
    measurements,
    reported_energies,
    units_lacking,
    with_cooling,
)
from scalelens.tabular.energy_layout import EnergyLayout, energy_layout, seconds_of, without_unit
from scalelens.tabular.json_array import array_header
from scalelens.tabular.json_series import document_of, is_document, lists_of_samples
from scalelens.tabular.long_rows import LongTable, long_records, long_table, long_table_in, names_of
from scalelens.tabular.sensor_rows import are_objects, first_rows, sensor_rows
from scalelens.tabular.sensor_times import TableClock, time_column

VERSION = 2
LAST = True  # any other format comes first

_COUNTER = re.compile(r"(?:global_?|train_?)?(?:steps?|batch(?:_?idx)?|epochs?|iter(?:ation)?s?)", re.IGNORECASE)
_REPETITION = re.compile(r"iter(?:ation)?s?", re.IGNORECASE)  # of a measurement, not of a training
_TRAINING = re.compile(r"(?<![a-z])(?:acc|loss|lr|learn|grad|epoch|step|token|throughput)", re.IGNORECASE)
_ALL = re.compile(r"all|total|sum", re.IGNORECASE)
_RANK = re.compile(r"(?:local_?|global_?)?rank|gpu(?:_?(?:id|index))?|device(?:_?id)?", re.IGNORECASE)
_MOST_RISES = 0.6  # of the rows have a larger count than the one above, where the count is not that of steps
_WORD = re.compile(r"[^\W\d][^,\n]{0,98}")
_MOST = 10_000  # rows that are a part each; those of a longer table are measurements of one run
_MOST_OF_ONE = 1_000_000
_LONGEST_REPORT = 1 << 18  # bytes
_FEWEST_OF_COUNTER = 20  # rows whose energies grow although durations do not
_MOST_ANEW = 0.25  # of the readings of a counter are the first after it began anew
_FEWEST_OF_SAMPLES = 10  # mean powers at times that only grow
_FEWEST = 5  # rows of energies alone: so many readings of a counter would only grow
_COUNTED = re.compile(r"cumulative|accumulated|so[ _]far|counter|since", re.IGNORECASE)
_MOST_FOOTER = 12  # lines below a table
_NAMING = (b"energ", b"joule", b"power", b"watt", b"volt", b"dram")
_UNITS = [re.compile(unit + rb"(?![a-z])") for unit in (b"J", b"j", b"Wh", b"wh", b"WH", b"wH")]
_MOST_DAMAGED = 0.05  # lines with other cells than the header, for each whole one


def recognise(head: bytes, name: str) -> bool:
    if _is_one_document(head) or long_table(csv_header(head)):
        return True
    if not _names_energy(head):  # most logs: to look at each of their lines takes ten times as long
        return False
    first = first_rows(head)
    fits = first is not None and len(first[0]) == len(first[1])
    if first and fits and (energy_layout(first[0], cells=first[1]) or without_unit(first[0])):
        return True
    return bool(reported_energies(head.decode("utf-8", "replace")))


def _names_energy(text: bytes) -> bool:
    """Whether a text has a word or a unit without which no name is one of an energy or a power."""
    small = text.lower()
    return any(word in small for word in _NAMING) or any(unit.search(text) for unit in _UNITS)


def _is_one_document(head: bytes) -> bool:
    """Whether a file is a JSON document, and not rows of an array or lines of objects."""
    return is_document(head) and not array_header(head) and not are_objects(head)


def read(source: Source, rows: Rows) -> str | None:
    head = source.text_head()
    if _is_one_document(head):
        return _read_document(document_of(source), rows)
    if table := long_table_in(source):
        return _read_long(source, table, rows)
    lines = sensor_rows(source)
    first = next(lines, None)
    if first is None:
        return _read_reports(source, rows)
    header = _with_unit(first.cells, rows)
    layout = _layout_in(source, first.cells, header)
    if layout is None:
        return _lacks_unit(header) or _read_reports(source, rows)
    if why := _other_rows(source, layout, header):
        return why
    shapes = Counter(_without_footer(len(row.cells) == len(header) for row in lines))
    if shapes[False] > _MOST_DAMAGED * shapes[True] or shapes[True] > _MOST_OF_ONE:
        why = "its cells may go on in the next line" if shapes[False] else f"it has more than {_MOST_OF_ONE} rows"
        if first.line > 1:
            return "a text that holds a table"
        rows.problem(1, f"the table is not read: {why}, and a part of its energies would say nothing")
        return None
    if all(column.of_interval for column in layout.energies):
        _sum(source, layout, len(header), rows)
        return None
    count, naming = 0, _naming_column(source, header) if shapes[True] <= _MOST else None
    for line, cells, whole, text in itertools.islice(sensor_rows(source), 1, None):
        if len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
            continue
        if not whole:
            rows.problem(line, MAY_BE_CUT, text)
            cells = [*cells[:-1], ""]
        count += 1
        if count > 1 and shapes[True] <= _MOST:
            rows.new_part()
        if naming is not None:
            rows.param("run", cells[naming], line)
        _row(line, header, cells, layout, rows, has_words=shapes[True] <= _MOST)
    return None


def _with_unit(header: Sequence[str], rows: Rows) -> list[str]:
    """The names of columns, with the unit that --map gives to one of them."""
    column, unit = rows.mapping.get("energy", ("", None))
    return [f"{name} [{unit}]" if name == column and unit else name for name in header]


def _lacks_unit(header: Sequence[str]) -> str | None:
    """What a table lacks of which an energy has no unit."""
    if (name := without_unit(header)) is None:
        return None
    return f"the column {name} has no unit: --map {shlex.quote(f'energy={name}:UNIT')} says it, of J, kJ, Wh, kWh"


def _read_long(source: Source, table: LongTable, rows: Rows) -> str | None:
    """A table of one value in each row: the values of the same keys are a measurement, and a run of that name."""
    if time_column(table.keys) is not None or any(map(_COUNTER.fullmatch, table.keys)):
        return ""  # a series
    records = long_records(source, table)
    names = [*dict.fromkeys(name for record in records for name in record.cells)]
    header = _with_unit(names, rows)
    layout = energy_layout(header, in_series=False)
    if layout is None:
        return _lacks_unit(header) or ""
    if len(records) > _MOST:
        return f"it has more than {_MOST} measurements"
    if any(_RANK.fullmatch(key) and _are_numbers(records, key) for key in table.keys):
        return "each row is of another device, and nothing says which of them are of one run"
    whole = [record for record in records if not record.damage]
    of_all = _of_all_devices(whole, table)
    whole = [of_all] if of_all else whole
    for count, (record, name) in enumerate(zip(whole, names_of(whole, table), strict=True)):
        if count:
            rows.new_part()
        if record is not of_all:
            rows.param("run", name, record.line)
        _row(record.line, header, [str(record.cells.get(name) or "") for name in names], layout, rows)
    for record in records:
        if record.damage:
            rows.problem(record.line, record.damage, record.text)
    return None


def _of_all_devices(records: Sequence[TableRecord], table: LongTable) -> TableRecord | None:
    """The record of all devices of a run, beside one for each of them: `gpu_index` is 0, 1 and ALL."""
    if len(table.keys) != 1 or not _RANK.fullmatch(key := table.keys[0]):
        return None
    others = [record for record in records if amount(str(record.cells.get(key))) is None]
    is_whole = len(others) == 1 < len(records) and _ALL.fullmatch(str(others[0].cells.get(key)).strip())
    return others[0] if is_whole else None


def _are_numbers(records: Iterable[TableRecord], key: str) -> bool:
    return all(amount(str(record.cells.get(key))) is not None for record in records if not record.damage)


def _naming_column(source: Source, header: Sequence[str]) -> int | None:
    """The column that names another run in each row, if there is one."""
    table = [row.cells for row in sensor_rows(source) if len(row.cells) == len(header)][1:]
    for k, name in enumerate(header):
        names = {cells[k] for cells in table}
        reading = read_name(name)
        if reading and reading.role == "run" and "" not in names and len(names) == len(table) > 1:
            return k
    return None


def _without_footer(fitting: Iterable[bool]) -> list[bool]:
    """Whether each line is a row of the table, without the few other lines below the last row of a longer one."""
    lines = [*fitting]
    rows = max((k for k, fits in enumerate(lines) if fits), default=-1) + 1
    return lines[:rows] if len(lines) - rows <= _MOST_FOOTER < rows else lines


def _sum(source: Source, layout: EnergyLayout, width: int, rows: Rows) -> None:
    """Energies of intervals, which follow each other: their sums."""
    sums = dict.fromkeys((column.k for column in layout.energies), 0.0)
    last = 0
    for line, cells, whole, text in itertools.islice(sensor_rows(source), 1, None):
        if len(cells) != width or not whole:
            rows.problem(line, "the line is cut, or has other columns than the header", text)
            continue
        last = line
        for column in layout.energies:
            sums[column.k] += joules_of(cells[column.k], column) or 0.0
    for column in layout.energies:
        rows.add(
            "energy",
            last,
            device=column.device,
            scope=column.scope,
            energy_j=sums[column.k] or None,
            method="intervals",
        )


def _read_reports(source: Source, rows: Rows) -> str | None:
    """Reports of names and values, each a measurement."""
    found = reported_energies(source.text().decode("utf-8", "replace")) if source.size_bytes <= _LONGEST_REPORT else []
    for count, report in enumerate(found):
        if count:
            rows.new_part()
        if layout := energy_layout([*report], in_series=False, cells=[*report.values()]):
            _row(1, [*report], [*report.values()], layout, rows)
    return None if found else "its first line is not the header"


def _layout_in(source: Source, names: list[str], header: list[str]) -> EnergyLayout | None:
    table = first_rows(source.text_head())
    return energy_layout(header, cells=table[1] if table and table[0] == names else ())


def _other_rows(source: Source, layout: EnergyLayout, header: Sequence[str]) -> str | None:
    """What the rows are, if not measurements: readings of counters at times since a start, or steps."""
    table = [row.cells for row in sensor_rows(source) if len(row.cells) == len(header)][1:]
    columns = [
        [value for cells in table if (value := _span_or_amount(cells[k])) is not None]
        for k in (layout.duration, *(each.k for each in layout.energies))
        if k is not None
    ]
    pue = [k for k, name in enumerate(header) if PUE.fullmatch(name.rpartition(".")[2])]
    if any(amount(cells[k]) not in (None, 1) for cells in table for k in pue):
        return "it has a PUE other than 1: its energies may hold that of cooling"
    counters = any(_COUNTED.search(column.name) for column in layout.energies)
    if layout.duration is None and len(table) < _FEWEST:
        return f"fewer than {_FEWEST} rows without durations: they may be readings of a counter"
    if (columns and all(map(only_grows, columns))) or (counters and len(table) > 1):
        return "its energies and times only grow: they are readings of counters"
    energies = [] if layout.are_powers else columns[layout.duration is not None :]
    if energies and all(only_grows(each, _FEWEST_OF_COUNTER) and each[0] < each[-1] for each in energies):
        return "its energies only grow from row to row: they are readings of counters, or the rows are in their order"
    untimed = layout.duration is None and layout.window is None and time_column(header) is not None
    if untimed and any(only_grows(each[::-1], _FEWEST_OF_COUNTER) and each[0] > each[-1] for each in energies):
        return "its energies only fall from row to row: they are what is left of a battery"
    if untimed and any(map(_begins_anew, energies)):
        return "its energies grow from time to time and then begin anew: they are readings of counters"
    is_clock = layout.duration is not None and (
        header[layout.duration].lower() == "time" or (layout.are_powers and len(table) >= _FEWEST_OF_SAMPLES)
    )
    if is_clock and not _falls(columns[0]) and (columns[0][:1] < columns[0][-1:] or not layout.are_powers):
        return "its times only grow: rows are not runs"
    is_training = any(map(_TRAINING.search, header))
    for k in (k for k, name in enumerate(header) if _COUNTER.fullmatch(name)):
        if _REPETITION.fullmatch(header[k]) and not is_training:
            continue
        counts = [value for cells in table if (value := amount(cells[k])) is not None]
        rises = sum(after > before for before, after in itertools.pairwise(counts))
        if any(map(_RANK.fullmatch, header)) or rises > _MOST_RISES * max(1, len(counts) - 1):
            return "each row is another step"
    return None


def _begins_anew(values: Sequence[float]) -> bool:
    """Whether numbers nearly always grow, and fall far where they do not, as readings of a counter that was reset."""
    pairs = [*itertools.pairwise(values)]
    falls = [after < before / 2 for before, after in pairs if after < before]
    return len(values) >= _FEWEST and len(falls) <= _MOST_ANEW * len(pairs) and all(falls) and values[0] != values[-1]


def _falls(values: list[float]) -> bool:
    return any(after < before for before, after in itertools.pairwise(values))


def _span_or_amount(cell: str) -> float | None:
    return amount(cell) if ":" not in cell else seconds_of(cell, None)


def _row(
    line: int | None,
    header: Sequence[str],
    cells: Sequence[str],
    layout: EnergyLayout,
    rows: Rows,
    has_words: bool = True,
) -> None:
    """The energies of a row, and its words."""
    for name, cell in zip(header, cells, strict=True) if has_words else ():
        if _WORD.fullmatch(cell) and amount(cell) is None:
            rows.param(name, cell, line, origin="log")
    seconds = seconds_of(cells[layout.duration], layout.scale) if layout.duration is not None else None
    ts, origin, between = _window(cells, layout)
    seconds = between if seconds is None or (between and layout.are_powers) else seconds
    for column in layout.energies:
        value = joules_of(cells[column.k], column)
        if layout.are_powers:
            value = value * seconds if value is not None and seconds is not None else None
        if value is None:
            if cells[column.k]:
                rows.problem(line, f"{column.name} is not an energy", cells[column.k])
        elif value:
            rows.add(
                "energy", line, device=column.device, scope=column.scope, energy_j=value,
                span_s=seconds or None, method="table", ts=ts, ts_origin=origin,
            )  # fmt: skip


def _window(cells: Sequence[str], layout: EnergyLayout) -> tuple[Moment | None, str | None, float | None]:
    """When a row ends, by which clock, and how long it lasts, where it says when it begins and ends."""
    if layout.window is None:
        return None, None, None
    begins, ends = (TableClock(column, ()).read(cells) for column in layout.window)
    if begins is None or ends is None or begins[1] != ends[1]:
        return None, None, None
    seconds = (nanoseconds_since_1970(ends[0]) - nanoseconds_since_1970(begins[0])) / SECOND
    return (*ends, seconds) if seconds > 0 else (None, None, None)


def _read_document(document: Any, rows: Rows) -> str | None:
    """Each of the outermost objects that have an energy and a duration is a measurement."""
    if any(True for _ in lists_of_samples(document)):
        return "it holds a series of power"
    if with_cooling(document):
        return "it has a PUE other than 1: its energies may hold that of cooling"
    found = [*measurements(document)] or [*mean_powers(document)] or [*energies_alone(document)]
    if not found:
        return next(units_lacking(document), "no known format in it")
    if len(found) > _MOST:
        rows.problem(1, f"the document is not read: it has more than {_MOST} measurements")
        return None
    for count, row in enumerate(found):
        if count:
            rows.new_part()
        if layout := energy_layout([*row], in_series=False):
            _row(1, [*row], [*row.values()], layout, rows)
    return None
