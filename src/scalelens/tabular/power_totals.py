"""What a column of power covers next to others, where its words do not say: all, a part, or nobody knows what."""

import itertools
import math
from collections.abc import Iterator

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


def placed(source: Source, layout: PowerLayout) -> tuple[list[PowerColumn], list[str]]:
    """The columns of power with what they cover, and why others are left out.

    Next to powers of which a word says what they cover, one without such a word may be a part, a whole, a target or a
    share: it is a part of a total that is never below it, and else it is not read.
    """
    counted = _running_sums(source, layout)
    why = [f"{column.name} is the sum of the powers so far: it is not read" for column in counted]
    layout = layout._replace(powers=[column for column in layout.powers if column not in counted])
    if package := _package_with_gpu(layout.powers):
        total = _is_sum(source, layout, package)
        own = [
            column._replace(device="total", scope="total") if column is package else column for column in layout.powers
        ]
        layout = layout._replace(powers=own if total else [column for column in layout.powers if column is not package])
        why += [] if total else [f"it is unknown whether {package.name} holds the GPU: it is not read"]
    powers = _with_sum(source, layout)
    known = [column for column in powers if column.scope]
    unknown = [column for column in powers if not column.scope and column.device]
    if not known or not unknown:
        return powers, why
    holders = [column for column in known if column.scope in _HOLDERS]
    rows = [*_known_powers(source, layout, [*holders, *unknown])] if holders else []
    scopes: dict[int, str] = {}
    for column in unknown:
        below = sum(any(values[column.k] <= values[each.k] / _ALL_OF_SUM for each in holders) for values in rows)
        if _APART.fullmatch(column.device or "") or (rows and below >= _MOST_HELD * len(rows)):
            scopes[column.k] = "other"
    why += [
        f"it is unknown whether {column.name} is a part of {known[0].name}, holds it or is no measurement: not read"
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


def _is_sum(source: Source, layout: PowerLayout, package: PowerColumn) -> bool:
    """Whether a package is just the sum of the CPU and the GPU next to it."""
    parts = [
        column
        for column in layout.powers
        if column.scope == "gpu" or (column.scope == "cpu_part" and CPU.fullmatch(column.device or ""))
    ]
    rows = [*_known_powers(source, layout, [package, *parts])]
    sums = [(values[package.k], math.fsum(values[each.k] for each in parts)) for values in rows]
    same = sum(abs(mine - others) <= _SAME_SUM * mine for mine, others in sums)
    return len(rows) >= _FEWEST_SUMS and same >= _MOST_HELD * len(rows)


def _running_sums(source: Source, layout: PowerLayout) -> list[PowerColumn]:
    """Columns that add up another one, row by row."""
    rows = [*_known_powers(source, layout, layout.powers)] if len(layout.powers) > 1 else []
    if len(rows) < _FEWEST_SUMS:
        return []

    def counts(column: PowerColumn) -> bool:
        steps = [after[column.k] - before[column.k] for before, after in itertools.pairwise(rows)]
        return (min(steps) >= 0 < max(steps)) and any(
            all(
                abs(step - row[other.k]) <= _SAME_STEP * row[other.k] for step, row in zip(steps, rows[1:], strict=True)
            )
            for other in layout.powers
            if other is not column
        )

    return [column for column in layout.powers if counts(column)]


def _with_sum(source: Source, layout: PowerLayout) -> list[PowerColumn]:
    """The total among columns of power, if there is one.

    A power without a word is that of others with one where it is at least their sum in each row; one of which words do
    not say what it covers is that of two others or more where it is just their sum.
    """
    powers = [column for column in layout.powers if column.scope not in _PARTS]
    unknown = [column for column in powers if not column.scope]
    if len(powers) < 2 or not unknown or any(column.scope == "total" for column in powers):
        return layout.powers
    bare = [column for column in unknown if not column.device]
    at_least = bare if len(bare) == 1 and any(column.scope for column in powers) else []
    exactly = unknown if len(powers) > 2 else []
    rows = [*_known_powers(source, layout, powers)]

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
    return [column._replace(device="total", scope="total") if column is total else column for column in layout.powers]


def _known_powers(source: Source, layout: PowerLayout, powers: list[PowerColumn]) -> Iterator[dict[int, float]]:
    """The powers of each row that has all of them, by column."""
    for row in itertools.islice(sensor_rows(source), 1, MOST_LINES):
        if len(row.cells) == len(layout.header):
            values = {column.k: amount(row.cells[column.k]) for column in powers}
            known = {
                column.k: value * (column.scale or 1.0) for column in powers if (value := values[column.k]) is not None
            }
            if len(known) == len(powers):
                yield known
