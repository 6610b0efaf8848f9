"""Energies of measured programs in a table of nobody's format: a row for each, with its duration.

Tool: scripts around perf, RAPL, NVML or a meter
Versions: any; CSV, a JSON object in each line, a JSON array, or objects within a JSON document
Yields: energy, params
Source: the names of the columns, whose units must be said

A table is read here if it has a column of energies with the unit in its name (energy_joules, Total Energy (J), energy_kwh),
a column of durations (time_seconds, Duration (s); without a unit they stay unknown, but `1:37:40` has one), and none of
steps.  Energies without durations are read from five rows on, if no power stands beside them and not every one is larger than the last.
If the name has no unit, each cell may have one (529.94 mJ).  Energies that only grow over twenty rows are refused: they
are readings of a counter, or rows in the order of their energy, and nothing tells which.
Columns of the times at which a row begins and ends (start_time, end_time) make it a window: windows that follow each
other add up.  Where there is no energy, but one column of a mean power (avg_power_w) and one of durations with a unit, the energy is
their product.  Each row is a part of the file: a measurement of its own.  Where it does not say when it took place, the
energy of the run is only known to lie between the largest row and the sum of all.  Words of the name give the scope, as in
power_csv; an energy without such words, beside others with them, is their total.  An energy that stands there in two
units counts once.  Energies per token, sample or step, means, limits, estimates and what is left above idle are not
read.  Cells of words are params under the names of their columns.

Of a JSON document each object with an energy and a duration is a row, also where its energies stand in an object within
it; what else stands within it is a part of it, and is not read again.  Epochs or iterations that do not count upwards are settings or repetitions, and
not steps.

Samples:
    run_id,energy_joules,time_seconds
    1,40.09,60.000947775
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import SCALES, SECOND, Moment
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, nested_values
from scalelens.tabular.energy_columns import (
    EnergyColumn,
    energy_column,
    energy_in_cells,
    joules_of,
    lacks_unit,
    only_grows,
)
from scalelens.tabular.json_array import array_header
from scalelens.tabular.json_series import document_of, is_document, lists_of_samples
from scalelens.tabular.sensor_rows import first_rows, head_of, sensor_rows
from scalelens.tabular.sensor_times import TableClock, TimeColumn, time_column
from scalelens.units import factors

VERSION = 1
LAST = True  # any other format comes first

_DURATION = re.compile(
    r"(?:(?:[a-z_ ]*[_ ])?(?:duration|run_?time|elapsed|time|latency)(?:[_ ]taken)?"
    r"|(?:measured?|measurement|run|total|wall|train(?:ing)?|exec(?:ution)?)(?=[_ ]seconds))[_ ]?"
    r"[\[(]?(s|secs?|seconds?|ms|milliseconds?|us|microseconds?|ns|nanoseconds?|min|minutes?|h|hours?)?[\])]?"
    r"(?:[_ ](?:actual|measured|real|total))?",
    re.IGNORECASE,
)
_DIVIDED = re.compile(r" ?/ ?(s|ms|us|ns|min|h)\Z")  # time/s
# With its fraction, which the seconds of a scheduler's record (values.clock_span) leave out.
_CLOCK = re.compile(r"(?:(\d{1,4})(?:-| days?,? ))?(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)")
_BEGINS = re.compile(
    r"(?:t_?|time_?)?(?:start|begin)(?:ed)?(?:_?(?:time|timestamp|ts|at))?(?:[_ ]?[\[(]?(s|ms|us|ns)[\])]?)?",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"(?:t_?|time_?)?(?:end|stop|finish)(?:ed)?(?:_?(?:time|timestamp|ts|at))?(?:[_ ]?[\[(]?(s|ms|us|ns)[\])]?)?",
    re.IGNORECASE,
)
_NO_DURATION = re.compile(r"per|std|mean|avg|stamp|start|end|first|predict|idle|limit|user|sys|cpu", re.IGNORECASE)
_TIMED = re.compile(r"time|duration|elapsed|latency|date", re.IGNORECASE)
_WHOLE = re.compile(r"duration|elapsed|total|run_?time|wall|exec|measure", re.IGNORECASE)
_COUNTER = re.compile(r"(?:global_?|train_?)?(?:steps?|batch(?:_?idx)?|epochs?|iter(?:ation)?s?)", re.IGNORECASE)
_STEPS = re.compile(r"loss|(?:step|iter|batch|epoch)_?(?:time|duration).*", re.IGNORECASE)
_RANK = re.compile(r"(?:local_?|global_?)?rank|gpu(?:_?(?:id|index))?|device(?:_?id)?", re.IGNORECASE)
_MOST_RISES = 0.6  # of the rows have a larger count than the one above, where the count is not that of steps
_STEP = re.compile(r"(?:global_?|train_?)?(?:step|epoch|iter(?:ation)?)", re.IGNORECASE)
_MEAN_POWER = re.compile(
    r"(.*?)(?<![a-z])(?:mean|avg|average)[_ ](?:(gpu|cpu|total|system|node)[_ ])?(?:power|watts?)(?:[_ ](?:draw|usage|consumption))?"
    r"[_ ]?[\[(]?(mw|w|kw|watts?)?[\])]?",
    re.IGNORECASE,
)
_WHOLE_SENSORS = ("gpu", "cpu", "memory", "total")  # of an object within one that has the duration
_WORD = re.compile(r"[^\W\d][^,\n]{0,98}")
_MOST = 10_000  # rows
_FEWEST_OF_COUNTER = 20  # rows whose energies grow although durations do not
_FEWEST_OF_SAMPLES = 10  # mean powers at times that only grow
_FEWEST = 5  # rows of energies alone: so many readings of a counter would only grow
_POWER = re.compile(r"power|pwr|watts?(?![_ ]?h)", re.IGNORECASE)
_STATE = re.compile(r"util|freq|temp", re.IGNORECASE)
_DEEPEST = 12  # objects within objects
_MOST_VALUES = 1000  # of a measurement in a document
_COUNTED = re.compile(r"cumulative|accumulated|so[ _]far|counter|since", re.IGNORECASE)
_ENERGIES = re.compile(r"energ|joule|kwh|consum", re.IGNORECASE)
_SUMMARY = re.compile(
    r"(?<![a-z])(?:mean|avg|average|std|min|max|median|p\d\d|baseline|idle|predict|estimat|config|per)", re.IGNORECASE
)
_MOST_DAMAGED = 0.05  # lines with other cells than the header, for each whole one
_SHORT = {"mil": "ms", "mic": "us", "nan": "ns", "min": "min", "ms": "ms", "us": "us", "ns": "ns"}


class _Layout(NamedTuple):
    energies: list[EnergyColumn]
    duration: int | None
    scale: float | None  # of the durations, to seconds
    are_powers: bool  # means, of which the duration makes energies
    window: tuple[TimeColumn, TimeColumn] | None = None  # the times at which a row begins and ends


def recognise(head: bytes, name: str) -> bool:
    if is_document(head) and not array_header(head):
        return True
    first = first_rows(head)
    if first is None or len(first[0]) != len(first[1]):
        return False
    return _layout_of(first[0], cells=first[1]) is not None or _lacking(first[0]) is not None


def _layout_of(header: Sequence[str], in_series: bool = True, cells: Sequence[str] = ()) -> _Layout | None:
    """What the names of columns and the first row say.  Outside of a series, epochs and losses are a whole training's."""
    if (in_series and any(map(_STEPS.fullmatch, header))) or len(header) < 2:
        return None
    durations = [
        (k, (match[1] or "").lower())
        for k, name in enumerate(header)
        if (match := _DURATION.fullmatch(_DIVIDED.sub(r" [\1]", name))) and not _NO_DURATION.search(name)
    ]
    whole = [each for each in durations if _WHOLE.search(header[each[0]])] or durations
    energies = _once([column for k, name in enumerate(header) if (column := energy_column(k, name))])
    if not energies and len(cells) == len(header):
        found = (energy_in_cells(k, name, cells[k]) for k, name in enumerate(header))
        energies = _once([column for column in found if column])
    window = _window_of(header) if in_series else None
    if not whole and window is None:
        are_samples = any(map(_POWER.search, header)) or (any(map(_STATE.search, header)) and time_column(header))
        alone = in_series and energies and not are_samples
        return _Layout(energies, None, None, False) if alone else None
    duration, scale = (whole[0][0], _seconds_of(whole[0][1])) if whole else (None, None)
    if energies:
        return _Layout(energies, duration, scale, False, window)
    powers = [(k, match) for k, name in enumerate(header) if (match := _MEAN_POWER.fullmatch(name))]
    if len(powers) != 1 or len(whole) > 1 or (scale is None and window is None):
        return None
    k, match = powers[0]
    unit = (match[3] or ("w" if "watt" in header[k].lower() else "")).lower()
    label = " ".join(filter(None, (match[1].strip(" _"), match[2]))) or None
    if unit not in SCALES:
        return None
    named = energy_column(k, f"{label or ''}_energy_j")
    column = EnergyColumn(k, header[k], SCALES[unit], label, named and named.scope)
    return _Layout([column], duration, scale, True, window)


def _window_of(header: Sequence[str]) -> tuple[TimeColumn, TimeColumn] | None:
    """The columns of the times at which each row begins and ends, if there is one of each."""
    begins, ends = ([k for k, name in enumerate(header) if form.fullmatch(name)] for form in (_BEGINS, _ENDS))
    if len(begins) != 1 or len(ends) != 1:
        return None
    units = [(form.fullmatch(header[k]) or [""])[1] for form, k in ((_BEGINS, begins[0]), (_ENDS, ends[0]))]
    first, last = (unit.lower() if unit else None for unit in units)
    return (TimeColumn(begins[0], None, first), TimeColumn(ends[0], None, last)) if first == last else None


def _seconds_of(unit: str) -> float | None:
    if not unit:
        return None
    short = next((short for start, short in _SHORT.items() if unit.startswith(start)), unit[:1])
    return factors("s", "ms", "us", "ns", "min", "h")[short] / factors("s")["s"]


def _once(columns: list[EnergyColumn]) -> list[EnergyColumn]:
    """Each energy once, also where it stands there in joules and in kilowatt-hours."""
    kept: dict[tuple[str | None, str | None], EnergyColumn] = {}
    for column in columns:
        kept.setdefault((column.device, column.scope), column)
    if any(column.scope for column in kept.values()):
        return [
            column if column.device else column._replace(device="total", scope="total")
            for column in kept.values()
            if column.device or not any(each.scope == "total" for each in kept.values())
        ]
    others = any(column.device for column in kept.values())
    return [
        column if column.device or not others else column._replace(device="total", scope="total")
        for column in kept.values()
    ]


def _lacking(header: Sequence[str]) -> str | None:
    """What a table of durations and energies lacks, if their unit."""
    if any(map(_STEPS.fullmatch, header)) or not any(map(_TIMED.search, header)):
        return None
    name = next(filter(lacks_unit, header), None)
    return f"the column {name} has no unit: {name}_j, or {name} [kWh], would say it" if name else None


def read(source: Source, rows: Rows) -> str | None:
    head = head_of(source)
    if is_document(head) and not array_header(head):
        return _read_document(document_of(source), rows)
    lines = sensor_rows(source)
    first = next(lines)
    header = first.cells
    layout = _layout_in(source, header)
    if layout is None:
        return _lacking(header) or "its first line is not the header"
    if why := _other_rows(source, layout, header):
        return why
    shapes = Counter(len(row.cells) == len(header) for row in lines)
    if shapes[False] > _MOST_DAMAGED * shapes[True] or shapes[True] > _MOST:
        why = "its cells may go on in the next line" if shapes[False] else f"it has more than {_MOST} rows"
        if first.line > 1:
            return "a text that holds a table"
        rows.problem(1, f"the table is not read: {why}, and a part of its energies would say nothing")
        return None
    count = 0
    for line, cells, whole, text in itertools.islice(sensor_rows(source), 1, None):
        if len(cells) != len(header):
            rows.problem(line, "the line is cut, or has other columns than the header", text)
            continue
        if not whole:
            rows.problem(line, MAY_BE_CUT, text)
            cells = [*cells[:-1], ""]
        count += 1
        if count > 1:
            rows.new_part()
        _row(line, header, cells, layout, rows)
    return None


def _layout_in(source: Source, header: list[str]) -> _Layout | None:
    table = first_rows(head_of(source))
    return _layout_of(header, cells=table[1] if table and table[0] == header else ())


def _other_rows(source: Source, layout: _Layout, header: Sequence[str]) -> str | None:
    """What the rows are, if not measurements: readings of counters at times since a start, or steps."""
    table = [row.cells for row in sensor_rows(source) if len(row.cells) == len(header)][1:]
    columns = [
        [value for cells in table if (value := _span_or_amount(cells[k])) is not None]
        for k in (layout.duration, *(each.k for each in layout.energies))
        if k is not None
    ]
    counters = any(_COUNTED.search(column.name) for column in layout.energies)
    if layout.duration is None and len(table) < _FEWEST:
        return f"fewer than {_FEWEST} rows without durations: they may be readings of a counter"
    if (columns and all(map(only_grows, columns))) or (counters and len(table) > 1):
        return "its energies and times only grow: they are readings of counters"
    energies = [] if layout.are_powers else columns[layout.duration is not None :]
    if energies and all(only_grows(each, _FEWEST_OF_COUNTER) and each[0] < each[-1] for each in energies):
        return "its energies only grow from row to row: they are readings of counters, or the rows are in their order"
    is_clock = layout.duration is not None and (
        header[layout.duration].lower() == "time" or (layout.are_powers and len(table) >= _FEWEST_OF_SAMPLES)
    )
    if is_clock and not _falls(columns[0]) and (columns[0][:1] < columns[0][-1:] or not layout.are_powers):
        return "its times only grow: rows are not runs"
    for k in (k for k, name in enumerate(header) if _COUNTER.fullmatch(name)):
        counts = [value for cells in table if (value := amount(cells[k])) is not None]
        rises = sum(after > before for before, after in itertools.pairwise(counts))
        if any(map(_RANK.fullmatch, header)) or rises > _MOST_RISES * max(1, len(counts) - 1):
            return "each row is another step"
    return None


def _falls(values: list[float]) -> bool:
    return any(after < before for before, after in itertools.pairwise(values))


def _span_or_amount(cell: str) -> float | None:
    return amount(cell) if ":" not in cell else _duration(cell, None)


def _duration(cell: str, scale: float | None) -> float | None:
    """Seconds of a duration; `1:37:40` says its units itself, whatever the column's name says."""
    if clock := _CLOCK.fullmatch(cell.strip()):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return 86_400 * days + 3600 * hours + 60 * minutes + seconds
    value = amount(cell)
    return value * scale if value is not None and scale else None


def _row(line: int | None, header: Sequence[str], cells: Sequence[str], layout: _Layout, rows: Rows) -> None:
    """The energies of a row, and its words."""
    for name, cell in zip(header, cells, strict=True):
        if _WORD.fullmatch(cell) and amount(cell) is None:
            rows.param(name, cell, line, origin="log")
    seconds = _duration(cells[layout.duration], layout.scale) if layout.duration is not None else None
    ts, origin, between = _window(cells, layout)
    seconds = between if seconds is None else seconds
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


def _window(cells: Sequence[str], layout: _Layout) -> tuple[Moment | None, str | None, float | None]:
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
    found = [*_measurements(document)]
    if not found:
        return next(_units_lacking(document), "no known format in it")
    if len(found) > _MOST:
        rows.problem(1, f"the document is not read: it has more than {_MOST} measurements")
        return None
    for count, row in enumerate(found):
        if count:
            rows.new_part()
        if layout := _layout_of([*row], in_series=False):
            _row(1, [*row], [*row.values()], layout, rows)
    return None


def _measurements(value: Any, depth: int = 0, in_series: bool = False) -> Iterator[dict[str, str]]:
    """Objects with an energy and a duration as cells of text; none within another, and none of means or baselines."""
    if isinstance(value, dict) and len(value) <= _MOST_VALUES:
        for own in (_texts(value), _with_parts(value)):
            layout = _layout_of([*own], in_series=False)
            if layout and not layout.are_powers and _is_measured(own, layout):
                if not in_series:
                    yield own
                return
    if depth < _DEEPEST and isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if not _SUMMARY.search(str(name)):
                yield from _measurements(each, depth + 1, isinstance(value, list) and _are_steps(value))


def _texts(value: dict[str, Any]) -> dict[str, str]:
    return {k: str(each) for k, each in value.items() if isinstance(each, int | float | str) and each is not True}


def _with_parts(value: dict[str, Any]) -> dict[str, str]:
    """An object with the energies of an object within it: `"energy": {"cpu": {"joules": 5}}` is energy_cpu_joules."""
    own = _texts(value)
    for name, inner in value.items():
        if not isinstance(inner, dict) or _SUMMARY.search(name):
            continue
        if not _ENERGIES.search(name) and scope_of_words(name) in _WHOLE_SENSORS:
            own |= {f"{name}_{k}": each for k, each in _texts(inner).items() if energy_column(0, k)}
        if not _ENERGIES.search(name):
            own |= {k: each for k, each in _texts(inner).items() if _DURATION.fullmatch(k) and k not in own}
            continue
        parts = [*itertools.islice(nested_values(inner), _MOST_VALUES + 1)]
        if len(parts) > _MOST_VALUES:
            continue
        unit = energy_column(0, f"energy {name}") is not None
        for k, each in parts:
            part = k.replace(".", "_")
            own[part if energy_column(0, part) else f"{part}_{name}" if unit else f"{name}_{part}"] = str(each)
    return own


def _units_lacking(value: Any, depth: int = 0) -> Iterator[str]:
    """What objects of a document lack, in which an energy has no unit."""
    if isinstance(value, dict) and (why := _lacking([*_texts(value)])):
        yield why.replace("column", "value")
    if depth < _DEEPEST and isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _units_lacking(each, depth + 1)


def _are_steps(objects: list[Any]) -> bool:
    """Whether each object of a list is another step or epoch."""
    for name in (
        (name for name in objects[0] if _STEP.fullmatch(name)) if objects and isinstance(objects[0], dict) else ()
    ):
        values = [str(each.get(name)) for each in objects if isinstance(each, dict)]
        if len({*values}) == len(values) > 1:
            return True
    return False


def _is_measured(own: dict[str, str], layout: _Layout) -> bool:
    cells = [*own.values()]
    return all(amount(cells[column.k]) is not None for column in layout.energies)
