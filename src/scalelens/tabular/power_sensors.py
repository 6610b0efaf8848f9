"""Which columns of a table of power name the sensor of a row, and which are of all sensors together."""

import itertools
from collections import Counter

from scalelens.parsing import lazy_re as re
from scalelens.parsing.sensors import epoch, watts
from scalelens.parsing.source import Source
from scalelens.parsing.values import nanoseconds_since_1970
from scalelens.tabular import rows_of_runs
from scalelens.tabular.energy_columns import EnergyColumn, are_windows
from scalelens.tabular.power_columns import may_be_grouped
from scalelens.tabular.power_kinship import PowerColumn
from scalelens.tabular.power_layout import PowerLayout, layout_in
from scalelens.tabular.sensor_columns import (
    are_phases,
    can_name,
    group_of,
    is_number_of_row,
    may_be_phases,
    no_samples,
    same_times,
    telling,
    times_again,
    uneven_interval,
    would_tell,
)
from scalelens.tabular.sensor_lines import form_of
from scalelens.tabular.sensor_rows import sensor_rows
from scalelens.tabular.sensor_times import TableClock

OF_GPU = re.compile(r"gpu|card|accelerator", re.IGNORECASE)
_NOT_OF_GPUS = ("total", "cpu", "cpu_part", "memory", "platform", "node_ac", "node_dc", "grace")
_FEWEST_SHARED = 3  # values of a column that has, each time, the same one for all devices
MOST_LINES = 200_000  # that are looked at to learn which columns name the sensors


def sensors_of(source: Source) -> tuple[tuple[int, ...], str | None]:
    """The columns that name the sensor of a row, and why they do not."""
    lines = sensor_rows(source)
    layout = layout_in(source, next(lines).cells)
    if layout is None:
        return (), None
    rows = [
        row.cells for row in itertools.islice(lines, MOST_LINES) if row.whole and len(row.cells) == len(layout.header)
    ]
    if not rows:
        return (), None
    if grouped := may_be_grouped(rows, layout.powers, form_of(source.text_head()).delimiter):
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
    measured = [*(each.k for each in layout.powers), *(each.k for each in layout.energies)]
    place = [each for each in (*layout.devices, layout.node, layout.time.day) if each is not None]
    if word := rows_of_runs.told_by(layout.header, rows, k, (*measured, *place)):
        return (), f"each row has its own {word}: rows are runs, and not samples of one sensor in time"
    rows = [[*row[:k], layout.time.text_of(row), *row[k + 1 :]] for row in rows]
    devices, why = _names(rows, layout)
    if why:
        return (), why
    named_by = telling(rows, devices)
    apart = (*named_by, layout.node) if layout.node is not None else named_by
    if why := no_samples(rows, k, apart):
        return (), why
    series: dict[tuple[str, ...], list[tuple[int, list[str]]]] = {}
    moments = _moments(rows, layout)
    for row, ns in zip(rows, moments, strict=True):
        series.setdefault(tuple(row[each] for each in apart), []).append((ns, [row[each.k] for each in layout.powers]))
    if times_again(series.values(), epoch(rows[0][k])[1] is None):
        return (
            (),
            "many times come again further below, with other powers, as of several devices: add a column sensor",
        )
    several = same_times(rows, k, apart)
    if several == 1:
        quick = 1
        if not apart and len(layout.powers) == 1:
            powers = (watts(row[layout.powers[0].k]) for row in rows)
            quick = group_of((ns, w) for ns, w in zip(moments, powers, strict=True) if w is not None and w == w)
        return named_by, f"{quick} samples always follow each other, as of as many devices" if quick > 1 else None
    column = would_tell(rows, k, apart)
    could = f"the column {layout.header[column]} would: call it sensor" if column is not None else "add one, as sensor"
    return (), f"each time occurs in {several} rows, and no known column tells their devices apart; {could}"


def _moments(rows: list[list[str]], layout: PowerLayout) -> list[int]:
    """Times in nanoseconds, of some zero; 0 for what is none."""
    clock = TableClock(layout.time._replace(day=None), [row[layout.time.k] for row in rows])
    found = (clock.read(row) for row in rows)
    return [nanoseconds_since_1970(stamp[0]) if stamp else 0 for stamp in found]


def _names(rows: list[list[str]], layout: PowerLayout) -> tuple[list[int], str | None]:
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


def shared_columns(source: Source, layout: PowerLayout, named_by: tuple[int, ...]) -> frozenset[int]:
    """Columns that are of all devices together: each row of a time repeats their value, as that of a total."""
    columns: list[PowerColumn | EnergyColumn] = [*layout.powers, *layout.energies]
    if not named_by:
        return frozenset()
    of_gpus = any(OF_GPU.search(layout.header[k]) for k in named_by)
    values: dict[tuple[int, str], set[str]] = {}
    rows: Counter[str] = Counter()
    for row in itertools.islice(sensor_rows(source), 1, MOST_LINES):
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
