"""An answer at one glance: the columns that matter, in one block, in units that people read.

A query names the columns in its header (`-- Glance: run_id devices step_s efficiency%`), the most important first.  A
column that has an interval shows it: `346.7 ± 1.2` is a 95 % interval, `346.7 (range 346.0 – 347.2)` the smallest and
the largest value.  Rows of one series have a heading; what all rows share stands in it.
"""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scalelens.report.text_formats import cell

if TYPE_CHECKING:
    import polars as pl

# Units that a column is shown in, by the unit that it has: from which size on, name, and how many of the one it is.
SCALES: dict[str, tuple[tuple[float, str, float], ...]] = {
    "s": ((0.0, "ms", 1e-3), (0.2, "s", 1.0), (1000.0, "min", 60.0), (20_000.0, "h", 3600.0)),
    "bytes": ((0.0, "B", 1.0), (1e4, "kB", 1e3), (1e6, "MB", 1e6), (1e9, "GB", 1e9), (1e12, "TB", 1e12)),
    "J": ((0.0, "J", 1.0), (1e4, "kJ", 1e3), (1e7, "MJ", 1e6)),
    "W": ((0.0, "W", 1.0), (1e4, "kW", 1e3), (1e7, "MW", 1e6)),
    "bytes/s": ((0.0, "MB/s", 1e6), (1e9, "GB/s", 1e9)),
}
SUFFIXES = ("_s", "_ns", "_j", "_w", "_bytes", "_per_s", "_us", "_wh")
REMARKS = ("warning", "note", "reason")  # sentences: they stand below the table
SHORTEST = 12  # characters that a text keeps
DIGITS = 4  # significant ones of a number in the middle of its column
LONGEST_NUMBER = 6  # digits of the largest number of a column
OTHER_NAMES = {
    "run_id": "run", "global_batch_size": "batch", "tflops_per_device": "TFLOP/s/device", "samples_per_s": "samples/s",
    "tokens_per_s": "tokens/s", "samples_per_wh": "samples/Wh", "tokens_per_wh": "tokens/Wh",
}  # fmt: skip


class Shown(NamedTuple):
    """A column as people see it."""

    name: str  # in the answer
    header: str
    texts: list[str]
    right: bool  # whether it is set to the right


class Block(NamedTuple):
    """Rows that share a heading, and what is to be said of some of them, by what their first column shows."""

    heading: str
    columns: list[Shown]
    remarks: dict[str, list[str]]


def blocks(
    rows: "pl.DataFrame", names: Sequence[str], units: Mapping[str, str | None], runs: Mapping[str, str]
) -> list[Block]:
    """The glance of an answer.  `names` are those of the header, `units` by column, `runs` the names of runs by id.

    Rows in the order of run_id, which says nothing, are put into that of the names.
    """
    if names[0] == "run_id" and rows["run_id"].is_sorted():
        order = [runs.get(run_id, run_id) for run_id in rows["run_id"]]
        rows = rows[sorted(range(rows.height), key=order.__getitem__)]
    wanted = [name for name in names if name.removesuffix("%") in rows.columns]
    groups = [rows]
    if wanted and wanted[0] == "series":
        groups = rows.partition_by("series", maintain_order=True)
        wanted = wanted[1:]
    whole = {name: shown(rows, name, units, runs) for name in wanted}
    made, first = [], 0
    for group in groups:
        columns = [column._replace(texts=column.texts[first : first + group.height]) for column in whole.values()]
        series = cell(group["series"][0]) if names[0] == "series" and group.height else ""
        made.append(folded(block(series, [column for column in columns if any(column.texts)])))
        first += group.height
    return made


def block(series: str, columns: list[Shown]) -> Block:
    """A block whose constant columns are in the heading, but those that the series names already."""
    remarks: dict[str, list[str]] = {}
    for column in (column for column in columns if column.name in REMARKS):
        for key, text in zip(columns[0].texts, column.texts, strict=True):
            if text:
                remarks.setdefault(text, []).append(key)
    columns = [column for column in columns if column.name not in REMARKS]
    said = series.split(" \u00b7 ")
    constant = [column for column in columns if len(column.texts) > 1 and len({*column.texts}) == 1]
    constant = [column for column in constant if column is not columns[0]]
    facts = [
        f"{column.header} {column.texts[0]}" if column.right else column.texts[0]
        for column in constant
        if column.texts[0] and column.texts[0] not in said
    ]
    return Block(" \u00b7 ".join(filter(None, [series, *facts])), [c for c in columns if c not in constant], remarks)


def folded(given: Block) -> Block:
    """The block with each row once, and how often it was there."""
    rows = list(zip(*(column.texts for column in given.columns), strict=True))
    counts = Counter(rows)
    if len(counts) == len(rows):
        return given
    times = [f"\u00d7{count}" if count > 1 else "" for count in counts.values()]
    columns = [
        column._replace(texts=list(texts))
        for column, texts in zip(given.columns, zip(*counts, strict=True), strict=True)
    ]
    return given._replace(columns=[*columns, Shown("", "", times, False)])


def shown(rows: "pl.DataFrame", name: str, units: Mapping[str, str | None], runs: Mapping[str, str]) -> Shown:
    """A column with its unit and its interval."""
    percent = name.endswith("%")
    name = name.removesuffix("%")
    values = rows[name].to_list()
    if not rows.schema[name].is_float():
        texts = [runs.get(value, cell(value)) if name == "run_id" else cell(value) for value in values]
        return Shown(name, header(name), texts, rows.schema[name].is_numeric())
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    unit, factor = ("%", 0.01) if percent else scale(units.get(name), statistics.median(sizes) if sizes else 0.0)
    decimals = decimals_of([size / factor for size in sizes], most=1 if percent else LONGEST_NUMBER)
    texts = [number_text(value, factor, decimals) for value in values]
    for k, interval in enumerate(intervals(rows, name)):
        if interval and values[k] is not None:
            texts[k] += interval_text(values[k], *interval, factor, decimals)
    label = header(name)
    return Shown(name, f"{label} [{unit}]" if unit and name not in OTHER_NAMES else label, texts, True)


def decimals_of(sizes: Sequence[float], most: int) -> int:
    """Decimals that show the smallest number of a column well, and do not make the largest too long."""
    if not sizes or (most > 1 and all(size == int(size) for size in sizes)):
        return 0
    of_smallest = DIGITS - 1 - math.floor(math.log10(min(sizes)))
    of_largest = LONGEST_NUMBER - 1 - math.floor(math.log10(max(sizes)))
    return max(min(of_smallest, of_largest, most), 0)


def header(name: str) -> str:
    """A column's name without its unit, in words."""
    stem = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
    return OTHER_NAMES.get(name, stem.removeprefix("n_").replace("_", " "))


def scale(unit: str | None, middle: float) -> tuple[str | None, float]:
    """The unit to show a column in, and how many of its own unit that is."""
    steps = SCALES.get(unit or "", ((0.0, unit, 1.0),))
    return next((name, factor) for least, name, factor in reversed(steps) if middle >= least)


def number_text(value: float | None, factor: float, decimals: int) -> str:
    if value is None:
        return ""
    return f"{value / factor:.{decimals}f}" if math.isfinite(value) else cell(value)


def intervals(rows: "pl.DataFrame", name: str) -> list[tuple[float, float, str] | None]:
    """Both ends of the interval of each value, and its kind; None where it has none."""
    low, high = f"{name}_low", f"{name}_high"
    stem = next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)
    kind = next((k for k in (f"{stem}_kind", f"{name}_kind", "interval_kind") if k in rows.columns), None)
    if low not in rows.columns or high not in rows.columns or kind is None:
        return [None] * rows.height
    ends = zip(rows[low], rows[high], rows[kind], strict=True)
    return [None if a is None or b is None else (a, b, c or "range") for a, b, c in ends]


def interval_text(value: float, low: float, high: float, kind: str, factor: float, decimals: int) -> str:
    """What stands behind a value: `± 1.2`, or both ends where the interval is a range, or is lopsided."""
    below, above = value - low, high - value
    if kind == "ci95" and below >= 0 and above >= 0 and max(below, above) <= 2 * min(below, above):
        return f" \u00b1 {number_text(max(below, above), factor, decimals)}"
    ends = f"{number_text(low, factor, decimals)} \u2013 {number_text(high, factor, decimals)}"
    return f" ({ends})" if kind == "ci95" else f" (range {ends})"


def fitted(given: Block, width: int) -> tuple[Block, list[str]]:
    """The block within a width, and the columns that have no room: texts are shortened first, then the last go."""
    columns = list(given.columns)
    dropped: list[str] = []
    while columns:
        widths = [max(len(column.header), *map(len, column.texts)) for column in columns]
        over = sum(widths) + 2 * (len(columns) - 1) - width
        texts = [k for k, column in enumerate(columns) if not column.right and widths[k] > SHORTEST]
        spare = sum(widths[k] - SHORTEST for k in texts)
        if over <= 0 or spare >= over:
            for k in sorted(texts, key=lambda k: -widths[k]):
                room = max(widths[k] - max(over, 0), SHORTEST)
                over -= widths[k] - room
                columns[k] = columns[k]._replace(texts=[shortened(text, room) for text in columns[k].texts])
            return given._replace(columns=columns), dropped
        last = max((k for k in range(len(columns)) if columns[k].header), default=0)
        dropped.insert(0, columns.pop(last).name)
    return given._replace(columns=columns), dropped


def shortened(text: str, room: int) -> str:
    """A text with its middle left out where it is too long."""
    if len(text) <= room:
        return text
    end = (room - 1) // 2
    return f"{text[: room - 1 - end]}\u2026{text[len(text) - end :]}"
