"""TFLOP/s of a device and its share of the peak against the number of devices.

Shows: how well the devices are used, by one formula for all runs, and what the tools printed by their own formulas.
Query: mfu
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        TFLOP/s of a device for the model's own operations; below, the share of the dense peak (MFU), if the
             device is known
    point    a run, by the color and shape of its series; of more than twelve series, the one of the
             most TFLOP/s and the median one are named and the others pale
    ring     the TFLOP/s that the tool printed for the same run
    bar      the interval of the MFU, from that of the step time
    caption  what the series share, formula, runs without a figure
Source: tables of achieved TFLOP/s per GPU in D. Narayanan et al. (SC'21); MFU: A. Chowdhery et al., PaLM (2022)
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, naming, style, words
from scalelens.charts.highlights import in_front_last, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "mfu"
FACTS = ("device_unit", "framework", "system", "nodes", "device_model", *naming.FURTHER_FACTS)
_SERIES_FACTS = ("system", "framework", "model", "precision", "device_model")

_PRINTED = style.Look("ring: as printed by the tool", style.GRAY, "circle", [1, 0], 0, is_hollow=True)
_RING_SIZE = 34  # area of a ring, which surrounds a marker, in square points
_NAMED = "Named: the series of the most TFLOP/s, and the one in the middle."
_FORMULAS = {
    "6N": "6 × parameters", "palm": "PaLM's formula", "megatron": "Megatron's formula", "layers": "layers counted",
}  # fmt: skip


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `mfu`.  Raises UserError if no run has devices and operations."""
    known = rows.filter(pl.col("model_tflops").is_not_null(), pl.col("devices").is_not_null())
    if known.is_empty():
        raise UserError("no run has a known operation count", "see the column reason of: scalelens query mfu")
    points: list[Row] = known.sort("model", "precision", "devices", "run_id").to_dicts()
    for point in points:
        point["series"] = " ".join(f"{point[fact]}" for fact in _SERIES_FACTS)
        point |= {name: None if point[name] is None else 100 * point[name] for name in ("mfu", "mfu_low", "mfu_high")}
    shared = naming.name_by_facts(points, _SERIES_FACTS, naming.FURTHER_FACTS, style.legend_room(page))
    chosen = looks_of({"": points}, _tflops_of, page)
    looks, points = chosen.looks, in_front_last(points)
    legend: list[style.Look | style.IntervalLook] = [look._replace(thickness=0) for look in looks if look.label]
    legend += [_PRINTED] if any(point["printed_tflops"] for point in points) else []
    panels = [style.Panel(_tflops(points, looks))]
    if shares := [point for point in points if point["mfu"] is not None]:
        panels.append(style.Panel(_shares(shares, looks, points)))
        kinds = {point["interval_kind"] for point in shares}
        legend += [style.INTERVALS[kind, "steps"] for kind in ("ci95", "range") if kind in kinds]
    grid = [panels] if page.is_wide else [[panel] for panel in panels]
    caption = [shared, *([_NAMED] if chosen.is_part else []), *_caption(points, rows.height - len(points))]
    caption.append(exclusions.sentence(left_out))
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _tflops_of(points: Sequence[Row]) -> float:
    """The TFLOP/s of a device, the median of the runs of a series."""
    return float(median(point["model_tflops"] for point in points))


def _tflops(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Filled: by the formula.  Rings: as printed."""
    printed = [point | {"model_tflops": point["printed_tflops"]} for point in points if point["printed_tflops"]]
    highest = max(point["model_tflops"] for point in [*points, *printed])
    y = axes.from_zero("model_tflops", f"TFLOP/s per {words.unit(points)}", highest)
    x, by = axes.of_devices(points), style.encodings(looks)
    layers = [_chart(points, "model_tflops").mark_point(opacity=0.85).encode(x, y, by["color"], by["shape"])]
    if printed:
        ring = _chart(printed, "model_tflops").mark_point(
            filled=False, size=_RING_SIZE, strokeWidth=0.8, shape="circle"
        )
        layers.append(ring.encode(x, y, by["color"]))
    return alt.layer(*layers)


def _shares(points: Sequence[Row], looks: Sequence[style.Look], of_figure: Sequence[Row]) -> Any:
    """MFU with its intervals, with the x axis of the other panel."""
    x, by = axes.of_devices(of_figure), style.encodings(looks)
    y = axes.from_zero("mfu", "MFU [%]", max(point["mfu_high"] or point["mfu"] for point in points))
    layers: list[Any] = []
    for kind in ("ci95", "range"):
        of_kind = [point for point in points if point["interval_kind"] == kind]
        layers += style.interval_layers(of_kind, (kind, "steps"), x, ("mfu_low", "mfu_high"), by["color"])
    marks = _chart(points, "mfu").mark_point(opacity=0.85)
    return alt.layer(*layers, marks.encode(x, y, by["color"], by["shape"]))


def _chart(points: Sequence[Row], field: str) -> Any:
    fields = ("devices", "label", "run_id", field)
    return alt.Chart(style.values([{name: point[name] for name in fields} for point in points]))


def _caption(points: Sequence[Row], hidden: int) -> list[str]:
    steps = words.counted([point["n_steps"] for point in points], "record")
    formulas = sorted({_FORMULAS.get(formula, formula) for formula in (f"{point['formula_used']}" for point in points)})
    lines = [f"Each point: 1 run of {steps}, median step time.", f"Operations: {', '.join(formulas)}."]
    if hidden:
        lines.append(f"Not drawn: {words.counted([hidden], 'run')} without devices or a known shape.")
    if any(point["mfu"] is None for point in points) and any(point["mfu"] is not None for point in points):
        lines.append("Without an MFU: runs whose device, or its peak, is unknown.")
    return lines
