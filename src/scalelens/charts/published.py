"""Runs against published numbers of the same quantity, devices and batch.

Shows: how close runs are to published results, and for which of them a setting is known to differ.
Query: compare_published
Encodings:
    panel    a quantity in the unit of the document
    x        the published number, logarithmic
    y        the same quantity of the run, on the same scale
    point    a run and a published row; open if a setting is known to differ
    color    the document
    line     equal numbers
    caption  runs, documents, what was not drawn and why
Source: predicted against measured values on equal axes, as in Hoefler and Belli, Scientific Benchmarking of Parallel
    Computing Systems, SC'15
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "compare_published"
FACETS = True

_MOST_PANELS = 6
_EQUAL = style.Look("as published", style.GRAY, None, [2, 1.5], 0.7)
_DIFFERENT = style.Look("open: a setting differs", style.INK, "circle", [1, 0], 0, is_hollow=True)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `compare_published`.  Raises UserError if no run has a published row."""
    numbers = rows.with_columns(published=pl.col("measured") / pl.col("ratio"))
    known = numbers.filter((pl.col("measured") > 0) & (pl.col("published") > 0))
    known = known.sort("name", "quantity", "entry", "run_id")
    if known.is_empty():
        raise UserError(
            "no run has a published number to be compared with",
            "name what was published, published_name=caraml/gpt-ipu; see: scalelens query compare_published",
        )
    points: list[Row] = [row | {"label": row["name"]} for row in known.to_dicts()]
    looks = style.looks(dict.fromkeys(point["label"] for point in points), page)
    quantities = dict.fromkeys((point["quantity"], point["unit"]) for point in points)
    limits.check_count(len(quantities), _MOST_PANELS, "quantities", "choose a document, published_name=caraml/gpt-ipu")
    panels = []
    for quantity in quantities:
        of_quantity = [point for point in points if (point["quantity"], point["unit"]) == quantity]
        for name, part in facets.parts(of_quantity, page).items():
            chart = facets.titled(_panel(part, of_quantity, *quantity, looks), name, 2, page, has_axes=True)
            panels.append(style.Panel(chart, name=name))
    facets.check(len(panels), page)
    across = min(2, len(panels)) if page.is_wide else 1
    grid = [panels[n : n + across] for n in range(0, len(panels), across)]
    is_any_different = any(point["differs"] for point in points)
    legend = [*(look._replace(dash=[1, 0], thickness=0) for look in looks), _EQUAL]
    legend += [_DIFFERENT] if is_any_different else []
    return style.figure(grid, legend, [*_caption(numbers, points), exclusions.sentence(left_out)], page)


def _panel(
    points: Sequence[Row], of_quantity: Sequence[Row], quantity: str, unit: str | None, looks: Sequence[style.Look]
) -> Any:
    """Points of one quantity, on two equal axes."""
    values = [point[side] for point in of_quantity for side in ("published", "measured")]
    ends = [min(values) / 1.5, max(values) * 1.5]
    ticks = axes.round_ticks(*ends)
    rate, in_units = quantity.removesuffix("_per_s"), (unit or "").replace("/sec", "/s")
    in_unit = "/s" if in_units == "1/s" else f" [{in_units}]" if in_units else ""
    is_named = rate != quantity and not in_units.startswith("1/") and in_units.endswith("/s")
    what = f"{in_units if is_named else rate.replace('_', ' ') + in_unit}, log."

    def side(channel: Any, field: str, title: str) -> Any:
        axis = alt.Axis(
            values=ticks, tickCount=len(ticks), labelOverlap="greedy", labelSeparation=3, **axes.labels(ends[1])
        )
        return channel(f"{field}:Q", title=title, scale=alt.Scale(type="log", domain=ends, nice=False), axis=axis)

    named = f"measured {what}"
    fits = words.text_width(named) * style.LARGE / style.SMALL <= style.HEIGHT
    x, y = side(alt.X, "published", f"published {what}"), side(alt.Y, "measured", named if fits else "measured, log.")
    by = style.encodings(looks)
    fields = ("label", "published", "measured", "run_id", "differs")
    line = alt.Chart(style.values([{"published": end, "measured": end} for end in ends]))
    layers = [
        line.mark_line(color=_EQUAL.color, strokeDash=list(_EQUAL.dash), strokeWidth=_EQUAL.thickness).encode(x, y)
    ]
    for is_different in (False, True):
        part = [{name: point[name] for name in fields} for point in points if bool(point["differs"]) == is_different]
        if part:
            mark = alt.Chart(style.values(part)).mark_point(filled=not is_different, strokeWidth=0.8)
            layers.append(
                mark.encode(
                    x, y, by["color"], by["shape"], tooltip=style.tooltips("run_id:N", "measured:Q", "differs:N")
                )
            )
    return alt.layer(*layers)


def _caption(rows: pl.DataFrame, points: Sequence[Row]) -> list[str]:
    runs = words.counted([len({point["run_id"] for point in points})], "run")
    documents = words.counted([len({point["name"] for point in points})], "published table")
    ratios = words.counted([point["ratio"] for point in points], "time", "times")
    lines = [
        f"{runs} compared with {documents}; measured is {ratios} as much. No interval: a document prints one number."
    ]
    if different := sorted({point["differs"] for point in points if point["differs"]}):
        lines.append(f"Open: {'; '.join(different).replace(' -> ', ', published ')}.")
    unknown = dict.fromkeys(name for point in points for name in (point["unknown"] or "").split(", ") if name)
    lines += [f"Not stated on one side: {', '.join(unknown)}."] if unknown else []
    lines += [words.sentence(note) for note in dict.fromkeys(point["note"] for point in points if point["note"])]
    hidden = rows.height - len(points)
    if hidden:
        lines.append(f"Not drawn: {words.counted([hidden], 'row')} for which several published rows fit.")
    return lines
