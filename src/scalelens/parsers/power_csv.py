"""Power samples or counters of energy in a table of nobody's format: long (a row for each sample) or wide (a column for each device).

Tool: scripts, EnergiBridge
Versions: any; a CSV, or a JSON object in each line
Yields: power, energy
Source: the names of the columns, whose units must be said

A table is ours if it has a column of times and one of power or counted energy, and none of steps, their times or rates.
A column of power says its unit in its name (power_w, gpu0_power_mw, P (W), watts, power_watts_cpu), in a line of units
below the header, or in its cells (21.7 W, whatever the name): else it is refused.  `W` alone is one next to V, A or Wh.  A column of energy says its unit in its name (PACKAGE_ENERGY (J), cpu_energy_kwh), and is read where it only
grows, from five rows on: a counter, which may begin anew.  One that goes up and down can be of each interval or of
something else, and is not read, nor is one that grows by little compared to its first number, unless its name says that it
counts.  Energies that are of intervals by their name (energy_delta_j) add up.  A column may be a series of Prometheus
with its labels, as in Grafana's CSV.
The header may be the last comment above the rows, and the cells of a row may go on in the next line.  In a
table of commas the time may hold one, too (2026-01-02 03:04:05,020, as Python's logging writes it), if a zero after it
shows that what follows is not a power.  Of a table with
a value in each row (timestamp,metric,value,unit) the rows of a power are read; without a column of units the metric's
name says it.  Limits, maxima and the like are none.  The time is a date with or without a zone (without: local, --tz), or a number
since 1970 in seconds, milliseconds, microseconds or nanoseconds: for the years 2000 to 2100 these do not overlap, and a
unit in the column's name must agree.  A smaller number counts from an unknown zero (ts_origin `relative`), if the name
says its unit; else it is refused.

The device is what columns gpu, gpu_id, device, uuid, domain, component, sensor, rail, socket, zone, channel, label, ...
hold: the fewest of them that tell the sensors apart; in a wide table what the column's name says apart from power and its
unit, of gpu0 the number.  Left out are the slot and plugs of a graphics card whose board has a power; means, smoothed
copies and other tools' figures next to the power that they are of; outputs next to their input; powers of processes.  A
power without a word is the total of others where it is never below their sum.  Left out as well are the power of all
GPUs (or sockets) next to each of them, kinds of a power next to it (gpu_active_power), and a column that adds up another
from row to row; what a package holds is its part.  Next to powers of which a word says what they cover, one without
such a word may be a part, a whole, a target or a share: it is a part of a total that is never below it (`other`), and
else it is not read.  A column gpu that holds a use, and words
that name phases, are no devices; where words change from row to row at times of their own, nothing tells, and the file
is refused, as are rows that follow each other in quick groups, rows that each have a word of their own (`model`), and
rows of a setting (`threads`) with numbers that count from no known zero.  Rows called -1, mean, max are of several.  In JSON a sample may have a list of devices, and
series may have the name of their device.  The node is a column node, host, server or machine.  Words say the scope:
`package-0` is a CPU, `CPU Cores` a part of it.  Where no such column tells apart rows of the same time, always as many,
the file is refused: their powers can be of several devices.  So is a table whose rows have intervals of their own that
differ, as powers may be means over them.  A counter that is five times what its power adds up to, or a fifth, is not
read, nor is one whose display moves now and then by a large part of all that it counted, next to a power.  A list of numbers without a header, in a file that is called power or watts, is refused: it has neither a unit
nor times.  So is a table whose columns are called after devices alone (timestamp,GPU0,GPU1): nothing says the unit.

Samples:
    timestamp,gpu,power_w
    2026-01-02T03:04:05+01:00,0,312.5
"""

import itertools
from collections.abc import Iterable, Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Samples, Sensor, epoch, watts
from scalelens.parsing.source import Source
from scalelens.parsing.values import nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, head_lines
from scalelens.tabular.counter_units import Area, drop_coarse, drop_other_units
from scalelens.tabular.energy_columns import EnergyColumn, counter_columns
from scalelens.tabular.interval_energies import Intervals
from scalelens.tabular.json_series import document_of, is_document, lists_of_samples
from scalelens.tabular.power_columns import has_unit
from scalelens.tabular.power_kinship import PowerColumn
from scalelens.tabular.power_layout import PowerLayout, layout_in, layout_of
from scalelens.tabular.power_sensors import MOST_LINES, OF_GPU, sensors_of, shared_columns
from scalelens.tabular.power_totals import placed
from scalelens.tabular.prometheus_series import is_series
from scalelens.tabular.sensor_rows import SensorRow, first_rows, sensor_rows
from scalelens.tabular.sensor_times import TableClock, is_number, time_column

VERSION = 5
LAST = True  # any other format comes first

_PROGRAM = re.compile(r"(?:app|application|process|program|command)[_ ]?(?:name|id)?|pid|exe", re.IGNORECASE)
_OF_SEVERAL = re.compile(r"-\d+|(?:mean|avg|average|median|min|max|std)(?:[_ ].{0,30})?", re.IGNORECASE)
_MEASURED = re.compile(r"_(?:micro|milli)?(?:joules|watts?)(?:_total)?(?![a-z])")
_LISTED = re.compile(r"power|watt", re.IGNORECASE)
_DEVICE_ALONE = re.compile(r"(?:gpu|gcd|cpu|socket|node|device)[ _-]?\d{1,3}|gpu|cpu|soc|ddr|dram|total", re.IGNORECASE)
_OF_DEVICES_ALONE = (
    "its columns are called after devices alone, such as {}: nothing says that they are powers, or in which unit; put "
    "the unit into their names, as in {}_power_w"
)


def recognise(head: bytes, name: str) -> bool:
    if (_LISTED.search(name) and _is_list(head)) or is_document(head):
        return True
    first = first_rows(head)
    layout = layout_of(*first) if first else None
    if first is None or layout is None:
        return first is not None and (_are_shares(first[0]) or _are_devices_alone(first[0], name))
    cells = first[1]
    return len(cells) == len(layout.header) and any(
        watts(cells[k]) is not None for k in [each.k for each in layout.powers] + [each.k for each in layout.energies]
    )


def _are_shares(header: Sequence[str]) -> bool:
    """Whether the columns are series of Prometheus that hold a power or an energy of something other than a sensor."""
    return time_column(header) is not None and any(is_series(name) and _MEASURED.search(name) for name in header)


def _are_devices_alone(header: Sequence[str], name: str) -> bool:
    """Whether a file that is called power or watts has a time, and columns that are called after devices alone."""
    time = time_column(header)
    others = [column for k, column in enumerate(header) if time is not None and k != time.k]
    return bool(_LISTED.search(name) and others) and all(map(_DEVICE_ALONE.fullmatch, others))


def _is_list(head: bytes) -> bool:
    """Whether the lines are a number each; the last one may be cut."""
    lines = [*head_lines(head)]
    return len(lines) > 1 and all(re.fullmatch(r"\d{1,6}(?:\.\d{1,9})?", line.strip()) for line in lines[:-1])


def read(source: Source, rows: Rows) -> str | None:
    if _is_list(source.text_head()):
        rows.problem(1, "a list of numbers without a header: their unit and their times are not known")
        return None
    lines = sensor_rows(source)
    first = next(lines, None)
    layout = layout_in(source, first.cells) if first else None
    if first is None or layout is None:
        if is_document(source.text_head()):
            series = len([*lists_of_samples(document_of(source))])
            return (
                f"it holds {series} series of power, of which none says whose it is"
                if series > 1
                else "no known format in it"
            )
        if first and _are_shares(first.cells):
            rows.problem(1, "its series are shares of containers or programs, or of expressions: none is of a sensor")
            return None
        if first and _are_devices_alone(first.cells, source.name):
            rows.assigned = []  # by another reader
            device = next(filter(_DEVICE_ALONE.fullmatch, first.cells))
            rows.problem(1, _OF_DEVICES_ALONE.format(device, device.lower()))
            return None
        if first:  # a byte that is not text, elsewhere in the head of the file
            rows.problem(first.line, "the header is damaged", first.text)
        return None
    if (program := next(filter(_PROGRAM.fullmatch, layout.header), None)) and not _is_of_gpu(source, layout):
        rows.problem(1, f"{program} names programs: their powers are estimates of a share of what the machine drew")
        return None
    named_by, why = sensors_of(source)
    if why:
        rows.problem(1, why)
        return None
    powers, unknown = placed(source, layout)
    for each in unknown:
        rows.problem(1, each)
    layout = layout._replace(powers=powers)
    samples = Samples(rows)
    _samples(lines, layout, named_by, samples, source)
    samples.finish("energy")
    return None


def _is_of_gpu(source: Source, layout: PowerLayout) -> bool:
    """Whether powers next to a program are of its whole GPU, of which no tool knows a program's share.

    So they are where a column numbers the GPU and each GPU had one program.
    """
    gpus = [k for k in layout.devices if OF_GPU.search(layout.header[k])]
    programs = [k for k, name in enumerate(layout.header) if _PROGRAM.fullmatch(name)]
    if not gpus or any(column.scope not in ("gpu", None) for column in layout.powers):
        return False
    own: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for row in itertools.islice(sensor_rows(source), 1, MOST_LINES):
        if len(row.cells) == len(layout.header):
            own.setdefault(tuple(row.cells[k] for k in gpus), set()).add(tuple(row.cells[k] for k in programs))
    return all(len(each) == 1 for each in own.values())


def _samples(
    lines: Iterable[SensorRow], layout: PowerLayout, named_by: tuple[int, ...], samples: Samples, source: Source
) -> None:
    """The rows below the header."""
    rows, usable = samples.rows, list[PowerColumn]()
    intervals = Intervals(samples)
    counters = [column for column in layout.energies if column.of_interval]
    counters += counter_columns(source, layout.energies, named_by, layout.node, rows)
    clock = TableClock(layout.time, _times_of(source, layout))
    shared = shared_columns(source, layout, named_by)
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
        if summary := next((cells[k] for k in named_by if _OF_SEVERAL.fullmatch(cells[k])), None):
            rows.problem(number, f"{summary} is not a device, but a figure of several: it is not read", text)
            continue
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
    drop_coarse(samples, bool(areas))
    intervals.finish(areas)


def _no_time(cell: str, layout: PowerLayout) -> str:
    """Why a cell is not a time."""
    name, counts_in = layout.header[layout.time.k], epoch(cell)[1]
    if counts_in:
        return f"{name} says {layout.time.unit}, but the number counts {counts_in} since 1970"
    if is_number(cell):
        return f"{name} is not a number since 1970, and its name has no unit: time_s, or time [ms], would say it"
    return f"{name} is not a time"


def _times_of(source: Source, layout: PowerLayout) -> list[str]:
    """The times of the rows, as text."""
    rows = itertools.islice(sensor_rows(source), 1, MOST_LINES)
    return [layout.time.text_of(row.cells) for row in rows if row.whole and len(row.cells) == len(layout.header)]


def _sensor_of(
    column: PowerColumn | EnergyColumn, cells: list[str], layout: PowerLayout, named_by: tuple[int, ...]
) -> Sensor:
    """Whose power a cell is: of the device that the row names, else of the one that the column names."""
    node = cells[layout.node] if layout.node is not None else None
    if not named_by:
        return Sensor(node, column.device, column.scope)
    cell = " ".join(cells[k] for k in named_by)
    integrated = any("integrated" in cells[k] for k in layout.devices)  # LibreHardwareMonitor's path of a GPU in a CPU
    said = scope_of_words("integrated" if integrated else cell) or scope_of_words(layout.header[named_by[0]])
    return Sensor(node, cell, column.scope or said)
