"""What a column of power covers next to others, where its words do not say: all, a part, or nobody knows what."""

import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.source import Source
from scalelens.parsing.values import amount
from scalelens.tabular.power_kinship import CPU, PACKAGE, PowerColumn
from scalelens.tabular.power_layout import PowerLayout
from scalelens.tabular.power_sensors import MOST_LINES
from scalelens.tabular.sensor_rows import sensor_rows

_PARTS = ("cpu_part", "gpu_part")
_HOLDERS = ("total", "node_dc", "node_ac")  # hold sensors of which nothing says what they cover
_APART = re.compile(  # parts of a machine that are in none of the others
    r"(?:fans?|ssd|hdd|disks?|drives?|nvme|storage|nic|network|ethernet|wi-?fi|usb|ane|npu|dla|display|screen|lcd|backlight"
    r"|pump|others?|rest|misc|peripherals?|motherboard|mainboard|chipset|pch)[_ ]?\d{0,2}",
    re.IGNORECASE,
)
_ALL_OF_SUM = 0.98
_MOST_HELD = 0.95  # of the rows
_SAME_SUM = 0.002
_SAME_STEP = 0.02
_FEWEST_SUMS = 5  # rows in which a column must be the sum of the others

_Powers = Mapping[int, "array[float]"]  # the powers of each row in watts by column, NaN where there is none


def placed(source: Source, layout: PowerLayout) -> tuple[list[PowerColumn], list[str]]:
    """The columns of power with what they cover, and why others are left out.

    Next to powers of which a word says what they cover, one without such a word may be a part, a whole, a target or a
    share: it is a part of a total that is never below it, and else it is not read.
    """
    if len(layout.powers) < 2:
        return layout.powers, []
    read = _read(source, layout)
    counted = _running_sums(read, layout.powers)
    why = [f"{column.name} is the sum of the powers so far: it is not read" for column in counted]
    powers = [column for column in layout.powers if column not in counted]
    if package := _package_with_gpu(powers):
        if _is_sum(read, powers, package):
            powers = _with_total(powers, package)
        else:
            powers = [column for column in powers if column is not package]
            why.append(f"it is unknown whether {package.name} holds the GPU: it is not read")
    powers = _with_sum(read, powers)
    known = [column for column in powers if column.scope]
    unknown = [column for column in powers if not column.scope and column.device]
    if not known or not unknown:
        return powers, why
    holders = [column for column in known if column.scope in _HOLDERS]
    rows = [*_rows(read, [*holders, *unknown])] if holders else []
    scopes: dict[int, str] = {}
    for column in unknown:
        below = sum(any(values[column.k] <= values[each.k] / _ALL_OF_SUM for each in holders) for values in rows)
        if _APART.fullmatch(column.device or "") or (rows and below >= _MOST_HELD * len(rows)):
            scopes[column.k] = "other"
    first = known[0].name
    why += [
        f"it is unknown whether {column.name} is part of {first}, includes it, or is not a measurement: not read"
        for column in unknown
        if column.k not in scopes
    ]
    kept = [column for column in powers if column not in unknown or column.k in scopes]
    return [column._replace(scope=scopes.get(column.k, column.scope)) for column in kept], why


def _package_with_gpu(columns: list[PowerColumn]) -> PowerColumn | None:
    """A package next to a CPU and a GPU: on one chip it holds both, next to a card the CPU alone."""
    package = next((column for column in columns if PACKAGE.fullmatch(column.device or "")), None)
    has_cpu = any(column.scope == "cpu_part" and CPU.fullmatch(column.device or "") for column in columns)
    return package if has_cpu and any(column.scope == "gpu" for column in columns) else None


def _is_sum(read: _Powers, powers: Sequence[PowerColumn], package: PowerColumn) -> bool:
    """Whether a package is just the sum of the CPU and the GPU next to it."""
    parts = [
        column
        for column in powers
        if column.scope == "gpu" or (column.scope == "cpu_part" and CPU.fullmatch(column.device or ""))
    ]
    rows = [*_rows(read, [package, *parts])]
    sums = [(values[package.k], math.fsum(values[each.k] for each in parts)) for values in rows]
    same = sum(abs(mine - others) <= _SAME_SUM * mine for mine, others in sums)
    return len(rows) >= _FEWEST_SUMS and same >= _MOST_HELD * len(rows)


def _running_sums(read: _Powers, powers: Sequence[PowerColumn]) -> list[PowerColumn]:
    """Columns that add up another one, row by row."""
    rows = [*_rows(read, powers)]
    if len(rows) < _FEWEST_SUMS:
        return []

    def counts(column: PowerColumn) -> bool:
        steps = [after[column.k] - before[column.k] for before, after in itertools.pairwise(rows)]
        return (min(steps) >= 0 < max(steps)) and any(
            all(
                abs(step - row[other.k]) <= _SAME_STEP * row[other.k] for step, row in zip(steps, rows[1:], strict=True)
            )
            for other in powers
            if other is not column
        )

    return [column for column in powers if counts(column)]


def _with_sum(read: _Powers, columns: list[PowerColumn]) -> list[PowerColumn]:
    """The total among columns of power, if there is one.

    A power without a word is that of others with one where it is at least their sum in each row; one of which words do
    not say what it covers is that of two others or more where it is just their sum.
    """
    powers = [column for column in columns if column.scope not in _PARTS]
    unknown = [column for column in powers if not column.scope]
    if len(powers) < 2 or not unknown or any(column.scope == "total" for column in powers):
        return columns
    bare = [column for column in unknown if not column.device]
    at_least = bare if len(bare) == 1 and any(column.scope for column in powers) else []
    exactly = unknown if len(powers) > 2 else []
    rows = [*_rows(read, powers)]

    def is_total(column: PowerColumn) -> bool:
        known = [values for values in rows if values[column.k]]
        own = [(values[column.k], math.fsum(values.values()) - values[column.k]) for values in known]
        if column in at_least:
            named = [each.k for each in powers if each.scope]
            sums = [(values[column.k], math.fsum(values[k] for k in named)) for values in known]
            if sums and sum(mine >= _ALL_OF_SUM * others for mine, others in sums) >= _MOST_HELD * len(sums):
                return True
        several = [values for values in known if sum(value > 0 for k, value in values.items() if k != column.k) > 1]
        same = sum(abs(mine - others) <= _SAME_SUM * mine for mine, others in own) if several else 0
        return column in exactly and len(own) >= _FEWEST_SUMS and same >= _MOST_HELD * len(own)

    total = next(filter(is_total, [*at_least, *exactly]), None)
    return _with_total(columns, total) if total else columns


def _with_total(columns: list[PowerColumn], total: PowerColumn) -> list[PowerColumn]:
    return [column._replace(device="total", scope="total") if column is total else column for column in columns]


def _read(source: Source, layout: PowerLayout) -> _Powers:
    """The powers of a file, read once: several questions are asked about them."""
    read = {column.k: array("d") for column in layout.powers}
    for row in itertools.islice(sensor_rows(source), 1, MOST_LINES):
        if len(row.cells) == len(layout.header):
            for column in layout.powers:
                value = amount(row.cells[column.k])
                read[column.k].append(math.nan if value is None else value * (column.scale or 1.0))
    return read


def _rows(read: _Powers, columns: Sequence[PowerColumn]) -> Iterator[dict[int, float]]:
    """The powers of each row that has all of some columns, by column."""
    places = [column.k for column in columns]
    for values in zip(*(read[k] for k in places), strict=True):
        if not any(map(math.isnan, values)):
            yield dict(zip(places, values, strict=True))
