"""RAPL's counters, as scripts copy them from the files `energy_uj` of Linux's powercap into a CSV.

Tool: scripts around /sys/class/powercap/intel-rapl*/energy_uj
Versions: Linux 3.13 on
Yields: energy
Source: linux Documentation/power/powercap/powercap.rst; the user's own script

A column of times (a date, or a number since 1970) and one or more whose names end in energy_uj: counters of microjoules,
each a sensor named by what comes before it, or by a column domain, zone, name, socket, ...  A counter passes its
largest value and begins at 0 again, after a few minutes to hours.  A column max_energy_range_uj says at which value: the
energy is then exact, as long as it passes it once between two rows.  Without it the ranges of Intel's processors are
tried: one is taken if the counter was about to reach it, by its pace in the other rows.  Else the energy is what was
counted at least (flag `reset`).  Values that go up and down are not a counter and are refused, as are rows of the same time that no
known column tells apart; with a column of durations they are energies of runs, which are read as such.

Samples:
    timestamp_unix,energy_uj
    1795238790,262103918274
"""

import itertools
import statistics
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.sensor_words import scope_of_words
from scalelens.parsing.sensors import Samples, Sensor, stamp_of
from scalelens.parsing.source import Source
from scalelens.parsing.values import UNREADABLE_TIME, amount, nanoseconds_since_1970
from scalelens.tabular.cells import MAY_BE_CUT, cells_of, first_cells, head_lines, rows_of
from scalelens.tabular.sensor_columns import SENSOR, same_times, telling
from scalelens.units import ratio

VERSION = 1

_TIME = re.compile(
    r"(?:unix_?|epoch_?)?(?:time_?stamp|date_?time|time|ts|epoch)(?:_?(?:unix|utc|iso|s|ms|us|ns))?", re.IGNORECASE
)
_COUNTER = re.compile(r"(?:(.{1,60}?)[_ .:/-])?energy[_ ]?[\[(]?u[jJ][\])]?", re.IGNORECASE)
_RANGE = re.compile(r"max_energy_range_uj", re.IGNORECASE)
_NODE = re.compile(r"node(?:_?name)?|host(?:_?name)?", re.IGNORECASE)
_JOULES = ratio("uJ", "J")
# Of 32 bits, in units of 61 and 15.3 uJ, as Linux shows it for Intel's processors.
_RANGES_UJ = (262_143_328_850.0, 65_712_999_613.0, 65_532_610_987.0)
_RUN_TIME = re.compile(
    r"(?:time|duration|elapsed|run_?time|exec(?:ution)?_time)(?:_(?:s|sec|seconds|ms))", re.IGNORECASE
)
_MOST_FALLS = 0.2  # of the rows, where a counter passes its range now and then
_PACE = 5  # times the usual power, or that much less, in the interval in which a counter began anew
_MOST_BACK = 0.05  # of its readings may be below the one before, of a counter that begins anew
_Row = tuple[int, list[str]]


class _Layout(NamedTuple):
    time: int
    counters: dict[int, str | None]  # by column: what the name says apart from energy_uj
    range: int | None
    names: list[int]  # columns that can name the sensor
    node: int | None


def recognise(head: bytes, name: str) -> bool:
    header = [*first_cells(head)]
    layout = _layout_of(header)
    return layout is not None and not _are_runs(head, header, layout)


def _are_runs(head: bytes, header: list[str], layout: _Layout) -> bool:
    """Whether rows are runs with an energy and a duration each: these go up and down, as no counter of a sensor does."""
    if layout.names or not any(map(_RUN_TIME.fullmatch, header)):
        return False
    rows = [cells_of(line) for line in list(head_lines(head))[1:-1]]
    for k in layout.counters:
        values = [value for cells in rows if k < len(cells) and (value := amount(cells[k])) is not None]
        falls = sum(after < before for before, after in itertools.pairwise(values))
        if falls <= _MOST_FALLS * len(values):
            return False
    return True


def _layout_of(header: list[str]) -> _Layout | None:
    times = [k for k, name in enumerate(header) if _TIME.fullmatch(name)]
    found = {k: match[1] for k, name in enumerate(header) if (match := _COUNTER.fullmatch(name))}
    if not times or not found or len(set(header)) < len(header):
        return None
    ranges = [k for k, name in enumerate(header) if _RANGE.fullmatch(name)]
    nodes = [k for k, name in enumerate(header) if _NODE.fullmatch(name)]
    names = [k for k, name in enumerate(header) if SENSOR.fullmatch(name)]
    return _Layout(times[0], found, ranges[0] if ranges else None, names, nodes[0] if nodes else None)


def read(source: Source, rows: Rows) -> None:
    lines = rows_of(source)
    _, header, _ = next(lines)
    layout = _layout_of(header)
    if layout is None:
        rows.problem(1, "the header is damaged", ",".join(header))
        return
    records: list[_Row] = []
    for line, cells, whole in lines:
        if cells == header:
            continue
        if not whole or len(cells) != len(header):
            fits = "the line is cut, or has other columns than the header" if whole else MAY_BE_CUT
            rows.problem(line, fits, ",".join(cells))
        elif stamp_of(cells[layout.time]) is None:
            rows.problem(line, UNREADABLE_TIME, ",".join(cells))
        else:
            records.append((line, cells))
    if records:
        _counted(records, layout, rows)


def _counted(records: list[_Row], layout: _Layout, rows: Rows) -> None:
    """The energies of the counters in these rows."""
    table = [cells for _, cells in records]
    named_by = telling(table, layout.names)
    apart = (*named_by, layout.node) if layout.node is not None else named_by
    if (several := same_times(table, layout.time, apart)) > 1:
        rows.problem(
            1, f"each time occurs in {several} rows, and no known column tells their counters apart: add one, as domain"
        )
        return
    samples = Samples(rows)
    for k, before in layout.counters.items():
        series: dict[tuple[str, ...], list[_Row]] = {}
        for record in records:
            series.setdefault(tuple(record[1][column] for column in apart), []).append(record)
        for own in series.values():
            name = " ".join(filter(None, (before, *(own[0][1][column] for column in named_by)))) or None
            node = own[0][1][layout.node] if layout.node is not None else None
            if not _is_counter(own, k):
                rows.problem(own[0][0], f"the energy of {name or 'energy_uj'} goes up and down: it is not a counter")
                continue
            sensor = Sensor(node, name, scope_of_words(name or "cpu"))
            known_uj = None if layout.range is not None else _range_of(own, k, layout.time)
            for line, cells in own:
                limit = amount(cells[layout.range]) if layout.range is not None else known_uj
                range_j = limit * _JOULES if limit else None
                samples.counter(line, sensor, cells[k], stamp_of(cells[layout.time]), _JOULES, range_j)
    samples.finish("energy_uj")


def _is_counter(own: list[_Row], k: int) -> bool:
    values = [value for _, cells in own if (value := amount(cells[k])) is not None]
    back = sum(after < before for before, after in itertools.pairwise(values))
    return back <= max(1, _MOST_BACK * len(values))


def _range_of(own: list[_Row], k: int, time: int) -> float | None:
    """The value at which a counter began anew, if it is a known one that it was about to reach each time."""
    readings = sorted(
        (nanoseconds_since_1970(stamp[0]), value)
        for _, cells in own
        if (value := amount(cells[k])) is not None and (stamp := stamp_of(cells[time]))
    )
    steps = [(after[0] - before[0], before[1], after[1]) for before, after in itertools.pairwise(readings)]
    paces = [(after - before) / ns for ns, before, after in steps if ns > 0 and after > before]
    passes = [(ns, before, after) for ns, before, after in steps if after < before]
    if not paces or not passes:
        return None
    pace = statistics.median(paces)
    for limit in _RANGES_UJ:
        counted = [(limit - before + after, pace * ns) for ns, before, after in passes if before <= limit]
        if len(counted) == len(passes) and all(usual / _PACE <= uj <= usual * _PACE for uj, usual in counted):
            return limit
    return None
