"""Throughput of a device against the number of devices.

Shows: throughput per device: a level line is perfect scaling, and repeats and configurations that differ are visible.
Query: throughput
Encodings:
    x        devices, logarithmic, a tick at each size that was run
             below them the nodes, where they are known
    y        tokens per second of a device if all runs have them, else samples; from 0, or logarithmic where runs differ
             by a factor of 40
    point    a run, by the color and shape of its series, which is named by what sets it apart: system, framework,
             model, precision, device, batch, sequence length, parallelism; no line joins runs that may differ in more
    caption  what the series share, runs, records, what the rates hold, what was left out
    unit     devices as the logs count them; --unit gpu adds the two GCDs of a module
    bar      a run with its name, the fastest first, where all runs had the same number of devices
Source: bars of images and tokens per second and device in the results of MLPerf and of CARAML (SC'24 workshops)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, device_units, exclusions, facets, limits, naming, run_rates, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "throughput"
FACETS = True
UNITS = True
FACTS = ("name", "device_unit", "framework", "system", "device_model", *naming.FURTHER_FACTS)
_SERIES_FACTS = ("system", "framework", "model", "precision", "device_model")
_FURTHER_FACTS = ("batch_per_device", *naming.FURTHER_FACTS)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `throughput`.  Raises UserError if no run has devices and a rate."""
    rated = rows.filter(pl.col("device_samples_per_s").is_not_null() | pl.col("device_tokens_per_s").is_not_null())
    work = "samples" if rated["device_tokens_per_s"].has_nulls() else "tokens"
    rate = f"device_{work}_per_s"
    known = rated.filter(pl.col(rate).is_not_null(), pl.col("devices").is_not_null())
    if known.is_empty():
        raise UserError("no run has both devices and a throughput", "see what there is: scalelens query throughput")
    limits.check_marks(known.height, "runs")
    points: list[Row] = known.sort("model", "precision", "devices", "run_id").to_dicts()
    is_added = device_units.in_unit(points, page.unit)
    for point in points:
        point["series"] = " ".join(f"{point[fact]}" for fact in _SERIES_FACTS)
    shared = naming.name_by_facts(points, _SERIES_FACTS, _FURTHER_FACTS, style.legend_room(page))
    hidden = rows.height - known.height
    if len({point["devices"] for point in points}) == 1 and 1 < len(points) <= run_rates.MOST_RUNS and not page.facet:
        title = f"{work}/s per {words.unit(points)}, on {words.devices(points[0])}"
        caption = [shared, *_caption(points, work, hidden, "bar", is_added), exclusions.sentence(left_out)]
        return style.figure([[run_rates.panel(points, rate, title, page)]], [], [*filter(None, caption)], page)
    facets.take_from_labels(points, page.facet)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    legend: list[style.Look | style.IntervalLook] = [look._replace(thickness=0) for look in looks if look.label]
    title = f"{work}/s per {words.unit(points)}"
    x, y = axes.of_devices(points), axes.from_zero_or_logarithmic(rate, title, (point[rate] for point in points))
    by = style.encodings(looks)

    def panel(part: Sequence[Row], y: Any) -> Any:
        names = ("devices", rate, "label", "run_id")
        chart = alt.Chart(style.values([{name: point[name] for name in names} for point in part]))
        tips = ["label:N", "run_id:N", f"{rate}:Q"]
        return chart.mark_point(opacity=0.85).encode(x, y, by["color"], by["shape"], tooltip=tips)

    caption = [shared, *_caption(points, work, hidden, "point", is_added), exclusions.sentence(left_out)]
    grid = facets.panels(points, page, panel, x, y)
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _caption(points: Sequence[Row], work: str, hidden: int, mark: str, is_added: bool) -> list[str]:
    steps = words.counted([point["n_steps"] for point in points], "record")
    lines = [f"Each {mark}: 1 run of {steps}; total {work} over total time, stalls included."]
    lines += [device_units.ADDED] if is_added else []
    if hidden:
        lines.append(f"Not drawn: {words.counted([hidden], 'run')} without devices or {work}.")
    return lines
