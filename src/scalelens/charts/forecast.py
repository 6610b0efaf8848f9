"""Measured efficiency against devices, with a fan of what larger sizes would give.

Shows: how efficient a series is at the sizes that were run, and between which ends a larger size would lie.
Query: forecast
Encodings:
    x        devices, logarithmic, a tick at each size
    y        efficiency: speedup over devices, in percent of the smallest size
    point    measured: a size, or the median of its repeats
    area     the interval that holds nine of ten such forecasts; it begins at the largest size that was run
    line     measured sizes; broken where it is forecast
    color    series
    panel    a series, where more than three would cover each other
    caption  what the series share, the forecasts in words, series without one and why
Source: fan charts: E. Britton, P. Fisher, J. Whitley, Bank of England Quarterly Bulletin 38, 1998
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, limits, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "forecast"

_FAN = style.swatch("contains nine of ten forecasts", "#dddddd")
_MEASURED = style.Look("measured", style.INK, "circle", [1, 0], 1)
_TOGETHER = 3  # series of one panel, whose fans can be told apart
_OPACITY = 0.22
_DASH = [3, 2]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `forecast`.  Raises UserError if no series has a forecast."""
    known = rows.filter(pl.col("efficiency").is_not_null())
    with_forecast = known.filter(pl.col("doublings") > 0)["series"].unique()
    if with_forecast.is_empty():
        raise UserError(
            "there is no series of four sizes or more, which a forecast needs", "see: scalelens query forecast"
        )
    points: list[Row] = (
        known.filter(pl.col("series").is_in(with_forecast.to_list())).sort("series", "devices").to_dicts()
    )
    shared, labels = naming.apart(dict.fromkeys(point["series"] for point in points))
    for point in points:
        point |= {"label": labels[point["series"]], "percent": 100 * point["efficiency"]}
        is_forecast = point["doublings"] > 0
        for end in ("at_least", "at_most"):
            value = point[f"efficiency_{end}"] if is_forecast else point["efficiency"]
            point[f"percent_{end}"] = 100 * value
    limits.check_marks(len(points), "sizes")
    by_label: dict[str, list[Row]] = {}
    for point in sorted(points, key=lambda point: (page.position(point["label"]), words.natural(point["label"]))):
        by_label.setdefault(point["label"], []).append(point)
    without = rows["series"].n_unique() - len(with_forecast)
    caption = _caption(points, shared, without, left_out)
    y = axes.from_zero("percent", "efficiency [%]", max(point["percent_at_most"] for point in points))
    if len(by_label) > _TOGETHER:
        return style.figure(_own_panels(by_label, y, page), [_MEASURED, _FAN], caption, page)
    looks = style.looks(sorted(by_label, key=words.natural), page)
    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    return style.figure(
        [[style.Panel(_panel(points, looks, axes.of_devices(points), y))]], [*legend, _FAN], caption, page
    )


def _own_panels(by_label: Mapping[str, Sequence[Row]], y: Any, page: Page) -> list[list[style.Panel]]:
    """A panel for each series, of the same color and y axis.  Raises UserError for more than a page can show."""
    facets.check(len(by_label), page)
    x = axes.of_devices([point for part in by_label.values() for point in part])
    columns = facets.across(len(by_label), page, x["title"])
    charts = []
    for k, (label, part) in enumerate(by_label.items()):
        looks = [style.Look(label, style.COLORS[0], "circle", [1, 0])]
        chart = _panel(part, looks, axes.of_devices(part), facets.without_axis(y) if k % columns else y)
        charts.append((label, facets.titled(chart, label, columns, page)))
    return facets.grid(charts, columns)


def _panel(points: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any) -> Any:
    """Of each series the fan, then the line, then the points that were measured."""
    by = style.encodings(looks)
    layers = []
    for series in dict.fromkeys(point["series"] for point in points):
        mine = [point for point in points if point["series"] == series]
        largest = next(place for place, point in enumerate(mine) if point["doublings"] > 0) - 1
        fan = _values(mine[largest:], "percent_at_least", "percent_at_most")
        layers.append(
            fan.mark_area(opacity=_OPACITY).encode(
                x, alt.Y("percent_at_least:Q"), by["color"], y2=alt.Y2("percent_at_most:Q")
            )
        )
        for part, dash in ((mine[: largest + 1], [1, 0]), (mine[largest:], _DASH)):
            layers.append(_values(part).mark_line(strokeDash=dash, strokeWidth=1).encode(x, y, by["color"]))
        measured = _values(mine[: largest + 1])
        layers.append(
            measured.mark_point().encode(
                x, y, by["color"], by["shape"], tooltip=style.tooltips("devices:Q", "percent:Q")
            )
        )
    return alt.layer(*layers)


def _values(points: Sequence[Row], *more: str) -> Any:
    fields = ("devices", "percent", "label", *more)
    return alt.Chart(style.values([{field: point[field] for field in fields} for point in points]))


def _caption(points: Sequence[Row], shared: str, without: int, left_out: Mapping[str, int]) -> list[str]:
    lines = [f"{shared}."] if shared else []
    for series in dict.fromkeys(point["series"] for point in points):
        mine = [point for point in points if point["series"] == series]
        last = mine[-1]
        name = f"{last['label']}: " if last["label"] else ""
        ends = f"{last['percent_at_least']:.0f} to {last['percent_at_most']:.0f}"
        lines.append(
            f"{name}At {last['devices']} devices {ends}\u00a0% of the efficiency at {last['baseline_devices']}."
        )
    lines.append(f"Intervals rest on {words.counted([points[-1]['n_residuals']], 'known forecast')}.")
    if without:
        few = words.counted([without], "series", "series")
        lines.append(f"Not drawn: {few} without a forecast (fewer than four sizes).")
    return [*lines, exclusions.sentence(left_out)]
