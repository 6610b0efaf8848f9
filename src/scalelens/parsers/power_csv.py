"""Power samples or counters of energy in a table of nobody's format: long (a row for each sample) or wide (a column for each device).

Tool: scripts, EnergiBridge
Versions: any; a CSV, or a JSON object in each line
Yields: power, energy
Source: the names of the columns, whose units must be said

A table is ours if it has a column of times and one of power or counted energy, and none of steps, their times or rates.
A column of power says its unit in its name (power_w, gpu0_power_mw, P (W), watts, power_watts_cpu), in a line of units
below the header, or in its cells (21.7 W, whatever the name): else it is refused.  `W` alone is one beside V, A or Wh.  A column of energy says its unit in its name (PACKAGE_ENERGY (J), cpu_energy_kwh), and is read where it only
grows, from five rows on: a counter, which may begin anew.  One that goes up and down can be of each interval or of
something else, and is not read, nor is one that grows by little beside its first number, unless its name says that it
counts.  Energies that are of intervals by their name (energy_delta_j) add up.  A column may be a series of Prometheus
with its labels, as in Grafana's CSV.
The header may be the last comment above the rows, and the cells of a row may go on in the next line.  Of a table with
a value in each row (timestamp,metric,value,unit) the rows of a power are read; without a column of units the metric's
name says it.  Limits, maxima and the like are none.  The time is a date with or without a zone (without: local, --tz), or a number
since 1970 in seconds, milliseconds, microseconds or nanoseconds: for the years 2000 to 2100 these do not overlap, and a
unit in the column's name must agree.  A smaller number counts from an unknown zero (ts_origin `relative`), if the name
says its unit; else it is refused.

The device is what columns gpu, gpu_id, device, uuid, domain, component, sensor, rail, socket, zone, channel, label, ...
hold: the fewest of them that tell the sensors apart; in a wide table what the column's name says beside power and its
unit, of gpu0 the number.  Left out are the slot and plugs of a graphics card whose board has a power; means, smoothed
copies and other tools' figures beside the power that they are of; outputs beside their input; powers of processes.  A
power without a word is the total of others where it is never below their sum.  A column gpu that holds a use, and words
that name phases, are no devices; where words change from row to row at times of their own, nothing tells, and the file
is refused, as are rows that follow each other in quick groups.  In JSON a sample may have a list of devices, and
series may have the name of their device.  The node is a column node, host, server or machine.  Words say the scope:
`package-0` is a CPU, `CPU Cores` a part of it.  Where no such column tells apart rows of the same time, always as many,
the file is refused: their powers can be of several devices.  So is a table whose rows have intervals of their own that
differ, as powers may be means over them.  A counter that is five times what its power adds up to, or a fifth, is not
read.  A list of numbers without a header, in a file that is called power or watts, is refused: it has neither a unit
nor times.

Samples:
    timestamp,gpu,power_w
    2026-01-02T03:04:05+01:00,0,312.5
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Samples, Sensor, epoch, watts
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, head_lines
from scalelens.tabular.counter_units import Area, drop_other_units
from scalelens.tabular.energy_columns import EnergyColumn, are_windows, counter_columns, energy_column, interval_column
from scalelens.tabular.interval_energies import Intervals
from scalelens.tabular.json_series import document_of, is_document, lists_of_samples
from scalelens.tabular.power_columns import PowerColumn, has_unit, may_be_grouped, power_columns
from scalelens.tabular.prometheus_series import is_series
from scalelens.tabular.sensor_columns import (
    SENSOR,
    are_phases,
    can_name,
    group_of,
    is_number_of_row,
    may_be_phases,
    no_samples,
    same_times,
    telling,
    uneven_interval,
    would_tell,
)
from scalelens.tabular.sensor_lines import form_of
from scalelens.tabular.sensor_rows import SensorRow, first_rows, head_of, sensor_rows
from scalelens.tabular.sensor_times import TableClock, TimeColumn, is_number, time_column

VERSION = 4
LAST = True  # any other format comes first

_STEPS = re.compile(
    r"(?:global_?|train_?)?(?:steps?|iter(?:ation)?s?|batch(?:_?idx)?|epochs?|loss)"
    r"|(?:step|iter|batch|epoch)_?(?:time|duration).*|(?:samples|images|tokens)(?:_per_|/)s.*|throughput.*",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"(?:gpu|device|card|ipu|accelerator|index|id|uuid)(?:[_ ]?(?:id|index|idx|uuid|num|number))?", re.IGNORECASE
)
_NODE = re.compile(r"(?:node|host|server|machine)(?:_?name)?", re.IGNORECASE)
_LONGEST = 100  # characters of a column's name
_OF_GPU = re.compile(r"gpu|card|accelerator", re.IGNORECASE)
_NOT_OF_GPUS = ("total", "cpu", "cpu_part", "memory", "platform", "node_ac", "node_dc", "grace")
_PARTS = ("cpu_part", "gpu_part")
_ALL_OF_SUM = 0.98
_MOST_HELD = 0.95  # of the rows
_FEWEST_SHARED = 3  # values of a column that has, each time, the same one for all devices
_MOST_LINES = 200_000  # that are looked at to learn which columns name the sensors
_PROGRAM = re.compile(r"(?:app|application|process|program|command)[_ ]?(?:name|id)?|pid|exe", re.IGNORECASE)
_MEASURED = re.compile(r"_(?:micro|milli)?(?:joules|watts?)(?:_total)?(?![a-z])")
_LISTED = re.compile(r"power|watt", re.IGNORECASE)


class _Layout(NamedTuple):
    """Where a table has what."""

    header: list[str]
    time: TimeColumn
    powers: list[PowerColumn]
    energies: list[EnergyColumn]
    devices: list[int]  # columns that can name the sensor
    node: int | None


def recognise(head: bytes, name: str) -> bool:
    if (_LISTED.search(name) and _is_list(head)) or is_document(head):
        return True
    first = first_rows(head)
    layout = _layout_of(*first) if first else None
    if first is None or layout is None:
        return first is not None and _are_shares(first[0])
    cells = first[1]
    return len(cells) == len(layout.header) and any(
        watts(cells[k]) is not None for k in [each.k for each in layout.powers] + [each.k for each in layout.energies]
    )


def _are_shares(header: Sequence[str]) -> bool:
    """Whether the columns are series of Prometheus that hold a power or an energy of something other than a sensor."""
    return time_column(header) is not None and any(is_series(name) and _MEASURED.search(name) for name in header)


def _is_list(head: bytes) -> bool:
    """Whether the lines are a number each; the last one may be cut."""
    lines = [*head_lines(head)]
    return len(lines) > 1 and all(re.fullmatch(r"\d{1,6}(?:\.\d{1,9})?", line.strip()) for line in lines[:-1])


def _layout_of(header: list[str], cells: Sequence[str] = ()) -> _Layout | None:
    """What the names of the columns and the first row say, if there are times and powers and no steps."""
    if len(header) < 2 or max(map(len, header)) > _LONGEST:
        return None
    if any(map(_STEPS.fullmatch, header)):
        return None
    fitting = cells if len(cells) == len(header) else ()
    time = time_column(header, fitting)
    powers = power_columns(header, fitting)
    energies = [
        energy for k, name in enumerate(header) if (energy := energy_column(k, name) or interval_column(k, name))
    ]
    if time is None or not (powers or energies):
        return None
    if any(header.count(header[k]) > 1 for k in (time.k, *(each.k for each in powers), *(each.k for each in energies))):
        return None
    devices = [k for k, name in enumerate(header) if _DEVICE.fullmatch(name) or SENSOR.fullmatch(name)]
    nodes = [k for k, name in enumerate(header) if _NODE.fullmatch(name)]
    return _Layout(header, time, powers, energies, devices, nodes[0] if nodes else None)


def _layout_in(source: Source, header: list[str]) -> _Layout | None:
    first = first_rows(head_of(source))
    return _layout_of(header, first[1] if first and first[0] == header else ())


def read(source: Source, rows: Rows) -> str | None:
    if _is_list(source.head()):
        rows.problem(1, "a list of numbers without a header: their unit and their times are not known")
        return None
    lines = sensor_rows(source)
    first = next(lines, None)
    layout = _layout_in(source, first.cells) if first else None
    if first is None or layout is None:
        if is_document(head_of(source)):
            series = len([*lists_of_samples(document_of(source))])
            return (
                f"it holds {series} series of power, of which none says whose it is"
                if series > 1
                else "no known format in it"
            )
        if first and _are_shares(first.cells):
            rows.problem(1, "its series are shares of containers or programs, or of expressions: none is of a sensor")
            return None
        if first:  # a byte that is not text, elsewhere in the head of the file
            rows.problem(first.line, "the header is damaged", first.text)
        return None
    if (program := next(filter(_PROGRAM.fullmatch, layout.header), None)) and not _is_of_gpu(source, layout):
        rows.problem(1, f"{program} names programs: their powers are estimates of a share of what the machine drew")
        return None
    named_by, why = _sensors_of(source)
    if why:
        rows.problem(1, why)
        return None
    layout = layout._replace(powers=_with_sum(source, layout))
    samples = Samples(rows)
    _samples(lines, layout, named_by, samples, source)
    samples.finish("energy")
    return None


def _is_of_gpu(source: Source, layout: _Layout) -> bool:
    """Whether powers beside a program are of its whole GPU, of which no tool knows a program's share.

    So they are where a column numbers the GPU and each GPU had one program.
    """
    gpus = [k for k in layout.devices if _OF_GPU.search(layout.header[k])]
    programs = [k for k, name in enumerate(layout.header) if _PROGRAM.fullmatch(name)]
    if not gpus or any(column.scope not in ("gpu", None) for column in layout.powers):
        return False
    own: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row in itertools.islice(sensor_rows(source), 1, _MOST_LINES):
        if len(row.cells) == len(layout.header):
            own.setdefault(tuple(row.cells[k] for k in gpus), set()).add(tuple(row.cells[k] for k in programs))
    return all(len(each) == 1 for each in own.values())


def _samples(
    lines: Iterable[SensorRow], layout: _Layout, named_by: tuple[int, ...], samples: Samples, source: Source
) -> None:
    """The rows below the header."""
    rows, usable = samples.rows, list[PowerColumn]()
    intervals = Intervals(samples)
    counters = [column for column in layout.energies if column.of_interval]
    counters += counter_columns(source, layout.energies, named_by, layout.node, rows)
    clock = TableClock(layout.time, _times_of(source, layout))
    shared = _shared(source, layout, named_by)
    areas: dict[Sensor, Area] = {}
    said: dict[tuple[int, str], str] = {}  # the last time of a column that no device has for itself, by node
    for number, cells, whole, text in lines:
        if len(cells) != len(layout.header):
            rows.problem(number, "the line is cut, or has other columns than the header", text)
            continue
        unread = None if whole else len(cells) - 1
        if unread is not None:
            rows.problem(number, MAY_BE_CUT, text)
            if unread in (layout.time.k, layout.time.day, layout.node, *named_by):
                continue
        if not usable:
            usable = [column for column in layout.powers if column.scale or has_unit(cells[column.k])]
            for column in (column for column in layout.powers if column not in usable):
                why = f"the column {column.name} has no unit: power_w, or power [mW], would say it"
                rows.problem(number, why, text)
            if not usable and not counters:
                return
        stamp = clock.read(cells)
        if stamp is None:
            time = layout.time.text_of(cells)
            rows.problem(number, _no_time(time, layout), text)
            if is_number(time) and not epoch(time)[1]:
                return  # nor will the others be
            continue
        for column in (column for column in usable if column.k != unread):
            by = () if column.k in shared else named_by
            if column.k in shared:
                key = column.k, cells[layout.node] if layout.node is not None else ""
                if said.get(key) == (time := layout.time.text_of(cells)):
                    continue
                said[key] = time
            sensor = _sensor_of(column, cells, layout, by)
            power_w = samples.power(number, sensor, cells[column.k], stamp, column.scale or 1.0)
            areas.setdefault(sensor, Area()).add(nanoseconds_since_1970(stamp[0]), power_w)
        for counter in (counter for counter in counters if counter.k != unread):
            sensor = _sensor_of(counter, cells, layout, () if counter.k in shared else named_by)
            into = intervals.add if counter.of_interval else samples.counter
            into(number, sensor, cells[counter.k], stamp, counter.scale)
    drop_other_units(samples, areas)
    intervals.finish(areas)


def _no_time(cell: str, layout: _Layout) -> str:
    """Why a cell is not a time."""
    name, counts_in = layout.header[layout.time.k], epoch(cell)[1]
    if counts_in:
        return f"{name} says {layout.time.unit}, but the number counts {counts_in} since 1970"
    if is_number(cell):
        return f"{name} is not a number since 1970, and its name has no unit: time_s, or time [ms], would say it"
    return f"{name} is not a time"


def _times_of(source: Source, layout: _Layout) -> list[str]:
    """The times of the rows, as text."""
    rows = itertools.islice(sensor_rows(source), 1, _MOST_LINES)
    return [layout.time.text_of(row.cells) for row in rows if row.whole and len(row.cells) == len(layout.header)]


def _sensors_of(source: Source) -> tuple[tuple[int, ...], str | None]:
    """The columns that name the sensor of a row, and why they do not."""
    lines = sensor_rows(source)
    layout = _layout_in(source, next(lines).cells)
    if layout is None:
        return (), None
    rows = [
        row.cells for row in itertools.islice(lines, _MOST_LINES) if row.whole and len(row.cells) == len(layout.header)
    ]
    if not rows:
        return (), None
    if grouped := may_be_grouped(rows, layout.powers, form_of(head_of(source)).delimiter):
        return (), f"the numbers of {grouped} may have points between their thousands, or before a fraction"
    if duration := are_windows(layout.header, rows):
        return (
            (),
            f"each row has a duration of its own ({duration}): rows are runs, and not samples of one sensor in time",
        )
    if uneven := uneven_interval(layout.header, rows):
        return (
            (),
            f"each row has an interval of its own ({uneven}), and it is unknown whether its power is the mean over it",
        )
    k = layout.time.k
    rows = [[*row[:k], layout.time.text_of(row), *row[k + 1 :]] for row in rows]
    devices, why = _names(rows, layout)
    if why:
        return (), why
    named_by = telling(rows, devices)
    apart = (*named_by, layout.node) if layout.node is not None else named_by
    if why := no_samples(rows, k, apart):
        return (), why
    several = same_times(rows, k, apart)
    if several == 1:
        quick = 1
        if not apart and len(layout.powers) == 1:
            powers = (watts(row[layout.powers[0].k]) for row in rows)
            quick = group_of(
                (ns, w) for ns, w in zip(_moments(rows, layout), powers, strict=True) if w is not None and w == w
            )
        return named_by, f"{quick} samples always follow each other, as of as many devices" if quick > 1 else None
    column = would_tell(rows, k, apart)
    could = f"the column {layout.header[column]} would: call it sensor" if column is not None else "add one, as sensor"
    return (), f"each time occurs in {several} rows, and no known column tells their devices apart; {could}"


def _moments(rows: list[list[str]], layout: _Layout) -> list[int]:
    """Times in nanoseconds, of some zero; 0 for what is none."""
    clock = TableClock(layout.time._replace(day=None), [row[layout.time.k] for row in rows])
    found = (clock.read(row) for row in rows)
    return [nanoseconds_since_1970(stamp[0]) if stamp else 0 for stamp in found]


def _names(rows: list[list[str]], layout: _Layout) -> tuple[list[int], str | None]:
    """The columns that may name the sensor of a row, and why nothing tells."""
    k = layout.time.k
    are_alone = same_times(rows, k, (layout.node,) if layout.node is not None else ()) == 1
    devices = [
        column
        for column in layout.devices
        if not is_number_of_row(rows, column) and can_name((row[column] for row in rows), are_alone)
    ]
    for column in [*devices]:
        words = {row[column] for row in rows}
        if len(words) > 1 and may_be_phases(layout.header[column], words):
            others = [each for each in (*devices, layout.node) if each is not None and each != column]
            phases = are_phases(rows, _moments(rows, layout), column, others)
            if phases is None:
                return [], f"it is unknown whether {layout.header[column]} names sensors or phases of one"
            devices = [each for each in devices if each != column or not phases]
    return devices, None


def _with_sum(source: Source, layout: _Layout) -> list[PowerColumn]:
    """A power without a word, beside others with one, is their total where it is at least their sum in each row."""
    bare = [column for column in layout.powers if not column.device and not column.scope]
    others = [column for column in layout.powers if column.scope and column.scope not in _PARTS]
    if len(bare) != 1 or not others or any(column.scope == "total" for column in others):
        return layout.powers
    held = total = 0
    for row in itertools.islice(sensor_rows(source), 1, _MOST_LINES):
        values = (
            [amount(row.cells[column.k]) for column in (*bare, *others)] if len(row.cells) == len(layout.header) else []
        )
        known = [
            value * (column.scale or 1.0)
            for value, column in zip(values, (*bare, *others), strict=False)
            if value is not None
        ]
        if values and len(known) == len(values):
            total += 1
            held += known[0] >= _ALL_OF_SUM * sum(known[1:])
    if not total or held < _MOST_HELD * total:
        return layout.powers
    return [column._replace(device="total", scope="total") if column in bare else column for column in layout.powers]


def _shared(source: Source, layout: _Layout, named_by: tuple[int, ...]) -> frozenset[int]:
    """Columns that are of all devices together: each row of a time repeats their value, as that of a total."""
    columns: list[PowerColumn | EnergyColumn] = [*layout.powers, *layout.energies]
    if not named_by:
        return frozenset()
    of_gpus = any(_OF_GPU.search(layout.header[k]) for k in named_by)
    values: dict[tuple[int, str], set[str]] = {}
    rows: Counter[str] = Counter()
    for row in itertools.islice(sensor_rows(source), 1, _MOST_LINES):
        if len(row.cells) == len(layout.header):
            time = f"{row.cells[layout.node] if layout.node is not None else ''} {layout.time.text_of(row.cells)}"
            rows[time] += 1
            for column in columns:
                values.setdefault((column.k, time), set()).add(row.cells[column.k])
    several = [time for time, count in rows.items() if count > 1]

    def is_shared(column: PowerColumn | EnergyColumn) -> bool:
        if of_gpus and column.scope in _NOT_OF_GPUS:
            return True
        distinct = {value for time in several for value in values[column.k, time]}
        return len(distinct) >= _FEWEST_SHARED and all(len(values[column.k, time]) == 1 for time in several)

    return frozenset(column.k for column in columns if is_shared(column))


def _sensor_of(
    column: PowerColumn | EnergyColumn, cells: list[str], layout: _Layout, named_by: tuple[int, ...]
) -> Sensor:
    """Whose power a cell is: of the device that the row names, else of the one that the column names."""
    node = cells[layout.node] if layout.node is not None else None
    if not named_by:
        return Sensor(node, column.device, column.scope)
    cell = " ".join(cells[k] for k in named_by)
    integrated = any("integrated" in cells[k] for k in layout.devices)  # LibreHardwareMonitor's path of a GPU in a CPU
    said = scope_of_words("integrated" if integrated else cell) or scope_of_words(layout.header[named_by[0]])
    return Sensor(node, cell, column.scope or said)
