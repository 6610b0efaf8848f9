"""Throughput of a device over devices and batch, as a map.

Shows: which number of devices and which batch use a device best, and what each step away from them costs.
Query: batch_device_grid
Encodings:
    x        devices
    y        batch of a device in samples, the largest at the top; with `per=job`, the global batch
    color    throughput of a device against the best of the series, darker for more, from the lowest of the figure on;
             with `per=job`, of the whole job
    number   the same in percent; with `per=job`, samples per second
    caption  series, the best combination with its throughput, runs, what was left out; a blank cell was not measured
Source: heat map of throughput over batch and devices in C. John et al., CARAML (SC'24 workshops)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import exclusions, facets, limits, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "batch_device_grid"
_SERIES_FACTS = ("system", "model", "precision", "device_model")

_MOST_PANELS = 6
_DARK_FROM = 0.5  # of the way from the lowest to 100 %, from where on the number in a cell is white
ROW_HEIGHT, LOWEST_MAP = 30, 66  # points
_COLORS = ["#eef4fb", "#08468b"]  # of the lowest and of 100 %


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `batch_device_grid`.  Raises UserError if no series has two batches and two sizes."""
    known = rows.filter(pl.col("relative").is_not_null())
    is_map = pl.all_horizontal(
        pl.col(of).n_unique().over("series") > 1 for of in ("devices", "batch_per_device")
    )  # fmt: skip
    several = known.filter(is_map)
    if several.is_empty():
        raise UserError(
            "there is no map to draw: no series has at least two batches per device and two numbers of devices",
            "for one batch: scalelens plot throughput -o throughput.pdf",
        )
    points: list[Row] = several.sort("series", "devices", "batch_per_device").to_dicts()
    room = style.panel_width(2 if page.is_wide else 1, page) * style.SMALL / style.LARGE
    shared = naming.name_by_facts(points, _SERIES_FACTS, room=room)
    by_series: dict[str, list[Row]] = {}
    for point in points:
        by_series.setdefault(point["label"], []).append(point)
    limits.check_count(len(by_series), _MOST_PANELS, "maps", limits.CHOOSE_RUNS)
    is_of_jobs = (parameters or {}).get("per") == "job"
    by_series = dict(sorted(by_series.items(), key=lambda series: (page.position(series[0]), series[0])))
    lowest = 100 * min(point["relative"] for point in points)
    panels = [
        style.Panel(_map(cells, name, is_of_jobs, lowest, page), height=_height(cells, page), name=name)
        for name, cells in by_series.items()
    ]
    across = 2 if page.is_wide and len(panels) > 1 else 1
    grid = [panels[n : n + across] for n in range(0, len(panels), across)]
    flat = known["series"].n_unique() - len(by_series)
    caption = [shared, *_caption(by_series, is_of_jobs, flat), exclusions.sentence(left_out)]
    return style.figure(grid, [], [sentence for sentence in caption if sentence], page)


def _height(cells: Sequence[Row], page: Page) -> float:
    """The height of the map: a few batches need little, but the title of the y axis needs room."""
    batches = len({cell["batch_per_device"] for cell in cells})
    return min(style.WIDE_HEIGHT if page.is_wide else style.HEIGHT, max(LOWEST_MAP, ROW_HEIGHT * batches))


def _map(cells: Sequence[Row], name: str, is_of_jobs: bool, lowest: float, page: Page) -> Any:
    drawn = [
        {
            "devices": cell["devices"],
            "batch": _batch(cell, is_of_jobs),
            "percent": 100 * cell["relative"],
            "text": words.short_number(cell["samples_per_s"]) if is_of_jobs else f"{100 * cell['relative']:.0f}",
        }
        for cell in cells
    ]
    bare = {"ticks": False, "domain": False, "labelAngle": 0}
    x = alt.X("devices:O", title=f"{words.unit(cells)}s", axis=alt.Axis(labelOverlap="greedy", **bare))
    order = sorted({cell["batch"] for cell in drawn}, reverse=True)
    title = "global batch" if is_of_jobs else "batch of a device"
    y = alt.Y("batch:O", title=title, sort=order, axis=alt.Axis(labelOverlap="greedy", **bare))
    color = alt.Color("percent:Q", scale=alt.Scale(domain=[lowest, 100], range=_COLORS), legend=None)
    chart = alt.Chart(style.values(drawn))
    dark_from = lowest + _DARK_FROM * (100 - lowest)
    ink = alt.condition(f"datum.percent >= {dark_from:.4g}", alt.value("white"), alt.value(style.INK))
    cell = chart.mark_rect(stroke="white", strokeWidth=0.5).encode(x, y, color, tooltip=style.tooltips("percent:Q"))
    text = chart.mark_text().encode(x, y, text=alt.Text("text:N"), color=ink)
    return facets.titled(alt.layer(cell, text), name, 2 if page.is_wide else 1, page, has_axes=True)


def _batch(cell: Row, is_of_jobs: bool) -> float:
    return float(cell["batch_per_device"] * (cell["devices"] if is_of_jobs else 1))


def _caption(by_series: Mapping[str, Sequence[Row]], is_of_jobs: bool, flat: int) -> list[str]:
    lines = [
        "Number: samples/s of the whole job, the global batch over the time of a step. Color: share of the best."
        if is_of_jobs
        else "Number: throughput of a device, its batch over the time of a step, in percent of the best of its map."
    ]
    for name, cells in by_series.items():
        best = max(cells, key=lambda cell: cell["relative"])
        whose = f" of {name}" if name else ""
        rate = words.short_number(best["samples_per_s" if is_of_jobs else "device_samples_per_s"])
        batch, unit = words.short_number(_batch(best, is_of_jobs)), words.unit([best])
        lines.append(
            f"Best{whose}: {rate} samples/s with {words.devices(best)} and a global batch of {batch}."
            if is_of_jobs
            else f"Best{whose}: {rate} samples/s per {unit} with {words.devices(best)} and a batch of {batch} each."
        )
    runs = words.counted([cell["n_runs"] for cells in by_series.values() for cell in cells], "run")
    lines.append(f"Each cell: {runs}. Without a cell: not measured.")
    if flat:
        lines.append(f"Not drawn: {flat} series of one batch or one number of devices.")
    notes = dict.fromkeys(cell["note"] for cells in by_series.values() for cell in cells if cell["note"])
    return lines + [words.sentence(note) for note in notes]
