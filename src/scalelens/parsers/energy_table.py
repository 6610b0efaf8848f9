"""Energies of measured programs in a CSV of nobody's format: a row for each, with its duration.

Tool: scripts around perf, RAPL, NVML or a meter
Versions: any
Yields: energy, params
Source: the names of the columns, whose units must be said

A table is ours if it has a column of energy with its unit in its name (energy_joules, Total Energy (J), energy_kwh), one
of durations (time_seconds, Duration (s); without a unit they stay unknown, but `1:37:40` has one), and none of steps.
Each row is a part of the file: a measurement of its own.  When it took place is not read, so the energy of the run is
only known to lie between the largest row and the sum of all.  Words of the name give the scope, as in power_csv; an
energy without such words, beside others with them, is their total.  Energies per token, sample or step, means, limits
and estimates are not read.  Cells of words are params under the names of their columns.

Samples:
    run_id,energy_joules,time_seconds
    1,40.09,60.000947775
"""

from collections import Counter
from typing import NamedTuple

from scalelens.parsing import lazy_re as re
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.cells import MAY_BE_CUT, csv_header, rows_of
from scalelens.tabular.energy_columns import EnergyColumn, energy_column, only_grows
from scalelens.units import factors

VERSION = 1
LAST = True  # any other format comes first

_DURATION = re.compile(
    r"(?:[a-z_ ]*[_ ])?(?:duration|run_?time|elapsed|time|latency)[_ ]?[\[(]?(s|secs?|seconds?|ms|min|minutes?|h|hours?)?[\])]?",
    re.IGNORECASE,
)
# With its fraction, which the seconds of a scheduler's record (values.clock_span) leave out.
_CLOCK = re.compile(r"(?:(\d{1,4})(?:-| days?,? ))?(\d{1,4}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)")
_NO_DURATION = re.compile(r"per|std|mean|avg|stamp|start|end|first|predict|idle|limit", re.IGNORECASE)
_STEPS = re.compile(
    r"(?:global_?|train_?)?(?:steps?|iter(?:ation)?s?|batch(?:_?idx)?|epochs?|loss)|(?:step|iter|batch|epoch)_?(?:time|duration).*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d][^,\n]{0,98}")
_MOST = 10_000  # rows
_MOST_DAMAGED = 0.05  # lines with other cells than the header, for each whole one


class _Layout(NamedTuple):
    energies: list[EnergyColumn]
    duration: int
    scale: float | None  # of the durations, to seconds


def recognise(head: bytes, name: str) -> bool:
    return _layout_of(csv_header(head)) is not None


def _layout_of(header: tuple[str, ...]) -> _Layout | None:
    if any(map(_STEPS.fullmatch, header)):
        return None
    energies = [column for k, name in enumerate(header) if (column := energy_column(k, name))]
    spans = [
        (k, (match[1] or "").lower())
        for k, name in enumerate(header)
        if (match := _DURATION.fullmatch(name)) and not _NO_DURATION.search(name) and name.lower() != "time"
    ]
    if not energies or not spans:
        return None
    if any(column.scope for column in energies):
        energies = [column if column.device else column._replace(device="total", scope="total") for column in energies]
    k, unit = spans[0]
    base = "ms" if unit == "ms" else {"s": "s", "m": "min", "h": "h"}.get(unit[:1])
    return _Layout(energies, k, factors("s", "ms", "min", "h")[base] / factors("s")["s"] if base else None)


def read(source: Source, rows: Rows) -> str | None:
    lines = rows_of(source)
    _, header, _ = next(lines, (0, [], True))
    layout = _layout_of(tuple(header))
    if layout is None:
        return "its first line is not the header"
    shapes = Counter(len(cells) == len(header) for _, cells, _ in rows_of(source))
    if shapes[False] > _MOST_DAMAGED * shapes[True] or shapes[True] > _MOST:
        why = "its cells may go on in the next line" if shapes[False] else f"it has more than {_MOST} rows"
        rows.problem(1, f"the table is not read: {why}, and a part of its energies would say nothing")
        return None
    if _is_series(source, layout, len(header)):
        return "its energies and times only grow: they are readings of counters"
    count = 0
    for line, cells, whole in lines:
        if not whole or len(cells) != len(header):
            fits = "the line is cut, or has other columns than the header" if whole else MAY_BE_CUT
            rows.problem(line, fits, ",".join(cells))
        elif cells != header:
            count += 1
            if count > 1:
                rows.new_part()
            _row(line, header, cells, layout, rows)
    return None


def _is_series(source: Source, layout: _Layout, width: int) -> bool:
    """Whether the rows are readings of counters at times since a start."""
    table = [cells for _, cells, _ in rows_of(source) if len(cells) == width][1:]
    columns = [[amount(cells[k]) for cells in table] for k in (layout.duration, *(each.k for each in layout.energies))]
    return all(only_grows([value for value in column if value is not None]) for column in columns)


def _duration(cell: str, scale: float | None) -> float | None:
    """Seconds of a duration; `1:37:40` says its units itself, whatever the column's name says."""
    if clock := _CLOCK.fullmatch(cell.strip()):
        days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
        return 86_400 * days + 3600 * hours + 60 * minutes + seconds
    value = amount(cell)
    return value * scale if value is not None and scale else None


def _row(line: int, header: list[str], cells: list[str], layout: _Layout, rows: Rows) -> None:
    """The energies of a row, and its words."""
    for name, cell in zip(header, cells, strict=True):
        if _WORD.fullmatch(cell) and amount(cell) is None:
            rows.param(name, cell, line, origin="log")
    seconds = _duration(cells[layout.duration], layout.scale)
    for column in layout.energies:
        energy = amount(cells[column.k])
        if energy is None or energy < 0:
            if cells[column.k]:
                rows.problem(line, f"{column.name} is not an energy", cells[column.k])
        elif energy:
            rows.add(
                "energy", line, device=column.device, scope=column.scope, energy_j=energy * column.scale,
                span_s=seconds or None, method="table",
            )  # fmt: skip
