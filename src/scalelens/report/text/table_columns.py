"""A column of an answer as people read it: header, unit, numbers with their intervals.

`346.7 ± 1.2` is a 95 % interval; `346.7 (range 346.0 – 347.2)` has the smallest and the largest value.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from scalelens.charts.naming import with_devices
from scalelens.inert import visible
from scalelens.question.run_names import with_names
from scalelens.report.columns import Columns
from scalelens.report.text.cells import cell
from scalelens.units import ratio

if TYPE_CHECKING:
    from scalelens.queries.header import QueryColumn

# Units in which a column is shown, by its own unit, each with the size from which it is used.
SHOWN_UNITS: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((0.0, "ms"), (0.2, "s"), (1000.0, "min"), (20_000.0, "h")),
    "ns": ((0.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"), (1e12, "min")),
    "bytes": ((0.0, "B"), (1e4, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "J": ((0.0, "J"), (1e4, "kJ"), (1e7, "MJ")),
    "W": ((0.0, "W"), (1e4, "kW"), (1e7, "MW")),
    "bytes/s": ((0.0, "MB/s"), (1e9, "GB/s")),
}
_SUFFIXES = ("_gb_per_s", "_per_s", "_percent", "_s", "_h", "_ns", "_j", "_w", "_bytes", "_us", "_wh")
_PROBABILITIES = ("p", "q", "p_value")
_DIGITS = 4  # significant digits of the smallest number of a column
_LONGEST_NUMBER = 6  # digits of the largest number of a column
NAME_RUNS = ("run_id", "run_ids", "series", "nearest")  # how names of columns with ids of runs end
_RUNS_NAMED = 3  # of a list of runs
REMARKS = (
    "outcome_text",
    "sentence",
    "note",
    "reason",
    "remedy",
    "warning",
)  # columns of sentences, which stand below the table
_OTHER_NAMES = {
    "run_id": "run", "run_ids": "runs", "global_batch_size": "batch", "batch_per_device": "batch/device",
    "samples_per_s": "samples/s", "tokens_per_s": "tokens/s",
    "printed_samples_per_s": "printed samples/s", "printed_tokens_per_s": "printed tokens/s",
    "samples_per_wh": "samples/Wh", "tokens_per_wh": "tokens/Wh",
    "device_samples_per_s": "samples/s/device", "device_tokens_per_s": "tokens/s/device",
    "tflops_per_device": "TFLOP/s/device", "model_tflops": "TFLOP/s/device", "printed_tflops": "printed TFLOP/s",
    "tflops_printed": "printed TFLOP/s",
    "peak_tflops": "peak TFLOP/s", "mfu": "MFU", "hfu": "HFU",
    "gb_per_s": "rate", "tflops_per_s": "TFLOP/s", "percent": "share",
    "failures_per_1000_node_h": "failures/1000 node-hours",
}  # fmt: skip
# Units of columns that no query documents, by how their names end.  Rates are left as they are.
_ENDS_OF_NAMES = {"_per_s": None, "_s": "s", "_ns": "ns", "_j": "J", "_w": "W", "_bytes": "bytes"}
_SAME_UNIT_WITHIN = 4  # columns whose sizes differ by a smaller factor are compared, so they share a unit
_NAMED_UNITS = (
    "TFLOP/s",
    "samples",
    "tokens",
    "samples/s",
    "tokens/s",
    "samples/Wh",
    "tokens/Wh",
)  # their names are in the header already


_OF_SETTINGS = ("series", "configuration", "held")  # columns of settings that a query joins


class TableColumn(NamedTuple):
    """A column of a table for people."""

    name: str  # in the answer
    header: str
    texts: list[str]
    right: bool  # whether it is aligned right
    values: list[Any] | None = None  # if rows that differ in it may be folded (`~`)


def table_column(
    rows: Columns, wanted: str, columns: Mapping[str, "QueryColumn"], runs: Mapping[str, str],
    all_rows: Columns | None = None, neighbors: Sequence[str] = (), one_form: bool = False,
) -> TableColumn:  # fmt: skip
    """A column with its unit and its intervals.  After its name, % makes it a percentage, ~ lets rows fold over it.

    The unit suits `all_rows`, of which `rows` are a part, and the `neighbors`, columns of the same table.  In
    `one_form`,
    all intervals of the column have both ends as soon as one must have them.
    """
    name = wanted.rstrip("%~")
    values = rows[name]
    unit = _unit_of(name, columns)
    if not rows.is_a(name, "floating") and not (rows.is_a(name, "integer") and unit in SHOWN_UNITS):
        texts = [_plain_text(in_words(name, value), name.endswith(NAME_RUNS), runs) for value in values]
        right = rows.is_a(name, "integer", "temporal")
        return TableColumn(name, header(name), texts, right, values if "~" in wanted else None)
    if name in _PROBABILITIES:
        return TableColumn(name, header(name), [_probability(value) for value in values], True)
    unit, factor = (
        ("%", ratio("%", ""))
        if "%" in wanted
        else _scale(unit, _size_of(rows if all_rows is None else all_rows, name, neighbors, columns))
    )
    around = intervals(rows, name, columns)
    numbers = [*values, *(end for interval in around if interval for end in interval[:2])]
    decimals = decimals_of(_sizes_of(values, factor), 1 if unit == "%" or name == "z" else _LONGEST_NUMBER)
    if all(size == int(size) for size in _sizes_of(numbers, factor)) and unit != "%":
        decimals = 0
    texts = [_number_text(value, factor, decimals) for value in values]
    known = {k: (values[k], *interval) for k, interval in enumerate(around) if interval and values[k] is not None}
    forms = {k: _interval_text(*interval, factor, decimals) for k, interval in known.items()}
    if one_form and any("±" not in form for form in forms.values()):
        forms = {k: _interval_text(*interval, factor, decimals, both_ends=True) for k, interval in known.items()}
    for k, form in forms.items():
        texts[k] += form
    label = header(name) if unit is None or unit in _NAMED_UNITS else f"{header(name)} [{unit}]"
    return TableColumn(name, label, texts, True, values if "~" in wanted else None)


def in_words(name: str, value: Any) -> Any:
    """A value of a column, with the devices in the names of series and configurations as their vendors write them."""
    return with_devices(value) if name in _OF_SETTINGS and isinstance(value, str) else value


def _unit_of(name: str, columns: Mapping[str, "QueryColumn"]) -> str | None:
    """The unit of a column, from the header of its query or from its name."""
    if name.endswith("percent"):
        return "%"
    if name in columns:
        return columns[name].unit
    return next((unit for end, unit in _ENDS_OF_NAMES.items() if name.endswith(end)), None)


def _plain_text(value: Any, is_run: bool, runs: Mapping[str, str]) -> str:
    """A value without a unit.  Runs have their names, a long list of runs its first ones; times end at the minute."""
    if isinstance(value, list) and is_run:
        more = f" and {len(value) - _RUNS_NAMED} more" if len(value) > _RUNS_NAMED else ""
        return ", ".join(visible(runs.get(run_id, run_id)) for run_id in value[:_RUNS_NAMED]) + more
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, str) and not is_run:
        return cell(with_names(value, runs))
    return cell(runs.get(value, value)) if is_run else cell(value)


def _probability(value: float | None) -> str:
    """A p-value with three decimals."""
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _sizes_of(values: Sequence[float | None], factor: float) -> list[float]:
    """Absolute values, except unknown ones and 0, in the unit that is shown."""
    return [abs(value) / factor for value in values if value is not None and math.isfinite(value) and value]


def _size_of(rows: Columns, name: str, neighbors: Sequence[str], columns: Mapping[str, "QueryColumn"]) -> float:
    """The size that decides a column's unit: its own, or that of slightly larger neighbors with the same unit."""
    size, unit = _middle(rows, name), _unit_of(name, columns)
    if unit not in SHOWN_UNITS:
        return size
    others = [other for other in neighbors if other in rows.columns and _unit_of(other, columns) == unit]
    others = [other for other in others if rows.is_number(other)]
    for larger in sorted(_middle(rows, other) for other in others):
        size = larger if size and size < larger <= _SAME_UNIT_WITHIN * size else size
    return size


def _middle(rows: Columns, name: str) -> float:
    """The median of the absolute values of a column."""
    sizes = _sizes_of(rows[name], 1.0)
    return statistics.median(sizes) if sizes else 0.0


def decimals_of(sizes: Sequence[float], most: int) -> int:
    """Decimals that suit the smallest number of a column and do not make the largest too long."""
    if not sizes:
        return 0
    of_smallest = _DIGITS - 1 - math.floor(math.log10(min(sizes)))
    of_largest = _LONGEST_NUMBER - 1 - math.floor(math.log10(max(sizes)))
    return max(min(of_smallest, of_largest, most), 0)


def header(name: str) -> str:
    """A column's name without its unit, in words."""
    stem = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
    return _OTHER_NAMES.get(name, visible(stem.removeprefix("n_").replace("_", " ")))


def _scale(unit: str | None, middle: float) -> tuple[str | None, float]:
    """The unit to show a column in, and its size in the column's own unit."""
    if unit is None or unit not in SHOWN_UNITS:
        return unit, 1.0
    shown = next(name for least, name in reversed(SHOWN_UNITS[unit]) if middle >= least)
    return shown, ratio(shown, unit)


def _number_text(value: float | None, factor: float, decimals: int) -> str:
    if value is None:
        return ""
    text = f"{value / factor:.{decimals}f}" if math.isfinite(value) else cell(value)
    return text.removeprefix("-") if text.strip("-0.") == "" else text


def intervals(rows: Columns, name: str, columns: Mapping[str, "QueryColumn"]) -> list[tuple[float, float, str] | None]:
    """Both ends of the interval of each value, and its kind; None for a value without an interval.

    Without a column for the kind, the header of the query says whether it is a 95 % interval.
    """
    stem = next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)
    base = next((s for s in (name, stem) if f"{s}_low" in rows.columns and f"{s}_high" in rows.columns), None)
    if base is None:
        return [None] * rows.height
    low, high = f"{base}_low", f"{base}_high"
    of_kind = next((k for k in (f"{stem}_kind", f"{name}_kind", "interval_kind") if k in rows.columns), None)
    documented = "ci95" if low in columns and "95 %" in columns[low].meaning else "range"
    kinds = rows[of_kind] if of_kind else [documented] * rows.height
    ends = zip(rows[low], rows[high], kinds, strict=True)
    return [None if a is None or b is None else (a, b, c or "range") for a, b, c in ends]


def _interval_text(
    value: float, low: float, high: float, kind: str, factor: float, decimals: int, both_ends: bool = False
) -> str:
    """What follows a value: `± 1.2`, or both ends if the interval is a range, lopsided, or would reach below zero."""
    below, above = value - low, high - value
    half = max(below, above)
    is_even = below >= 0 and above >= 0 and half <= 2 * min(below, above) and (low < 0 or half <= value)
    if not both_ends and kind == "ci95" and is_even:
        return f" ± {_number_text(half, factor, decimals)}"
    ends = f"{_number_text(low, factor, decimals)} – {_number_text(high, factor, decimals)}"
    return f" ({ends})" if kind == "ci95" else f" (range {ends})"
