"""Throughput of a device against its batch, and the knee beyond which a larger batch gains little.

Shows: which batch is large enough to keep the devices busy: the line flattens there.
Query: batch_size_curve
Encodings:
    x        batch of a device in samples, logarithmic, a tick at each size that was run
    y        samples per second of a device, from 0
    line     a series, by color, shape and dash
    ring     the knee: from there on, doubling the batch gains less than `least_gain`
    caption  what the series share, runs, series without a knee and why, what was left out
Source: figure of throughput against batch size in C. John et al., CARAML (SC'24 workshops)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "batch_size_curve"
FACETS = True

_SERIES_FACTS = ("system", "model", "precision", "device_model", "devices")
_KNEE_SIZE = 70  # area of the ring, which surrounds a marker, in square points
_KNEE = style.Look("knee", style.INK, "circle", [1, 0], 0, is_hollow=True)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `batch_size_curve`.  Raises UserError if no series has two batches."""
    if rows.is_empty():
        raise UserError(
            "no two runs differ only in their batch size", "see what there is: scalelens query runs_overview"
        )
    points: list[Row] = rows.sort("series", "batch_per_device").to_dicts()
    for point in points:
        point["settings"] = naming.plain(point["settings"]) if point.get("settings") else None
    shared = naming.name_by_facts(points, _SERIES_FACTS, ("settings",), style.legend_room(page))
    caption = [shared, *_caption(points, parameters or {}), exclusions.sentence(left_out)]
    facets.take_from_labels(points, page.facet)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    x = axes.of_counts("batch_per_device", "batch of a device [samples]", {row["batch_per_device"] for row in points})
    y = axes.from_zero(
        "device_samples_per_s", "samples/s of a device", max(row["device_samples_per_s"] for row in points)
    )
    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    legend += [_KNEE] if any(point["is_knee"] for point in points) else []
    grid = facets.panels(points, page, lambda part, y: _panel(part, looks, x, y), x, y)
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _panel(points: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any) -> Any:
    """Lines and points of the series, rings around the knees."""
    by = style.encodings(looks)
    names = ("batch_per_device", "device_samples_per_s", "label", "n_runs")
    chart = alt.Chart(style.values([{name: point[name] for name in names} for point in points]))
    tips = style.tooltips("label:N", "batch_per_device:Q", "device_samples_per_s:Q", "n_runs:Q")
    layers = [
        chart.mark_line().encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"]),
        chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips),
    ]
    if knees := [{name: point[name] for name in names} for point in points if point["is_knee"]]:
        ring = alt.Chart(style.values(knees)).mark_point(shape="circle", filled=False, size=_KNEE_SIZE, strokeWidth=0.8)
        layers.append(ring.encode(x, y, color=alt.value(style.INK)))
    return alt.layer(*layers)


def _caption(points: Sequence[Row], parameters: Mapping[str, str]) -> list[str]:
    statistic = parameters.get("statistic", "median")
    lines = [f"Each point: {words.counted([point['n_runs'] for point in points], 'run')}; {statistic} step time."]
    if any(point["is_knee"] for point in points):
        gain = float(parameters.get("least_gain", 0.1))
        lines.append(f"Ring: from there on a doubling of the batch gains less than {100 * gain:g} %.")
    without: dict[str, list[str]] = {}
    for point in points:
        if point["reason"] and point["label"] not in (labels := without.setdefault(point["reason"], [])):
            labels.append(point["label"])
    has_others = any(not point["reason"] for point in points)
    for reason, labels in without.items():
        is_of_all = len(without) == 1 and not has_others
        whose = "" if is_of_all else f" of {', '.join(filter(None, labels))}"
        lines.append(f"No knee{whose}: {reason}.")
    return lines
