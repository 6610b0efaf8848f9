"""The runs of two sides of a comparison, one by one.

Shows: what `compare` is based on: how much the runs of a side differ, and how much the two sides do.
Query: compared_runs
Encodings:
    x        number of the run: those of a first, each side in the order of time
    y        value of the run, with its interval within the run
    color    side
    caption  runs, statistic, what was left out
Source: T. Kalibera, R. Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013: the run is the unit
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "compared_runs"


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `compared_runs`.  Raises UserError if a side has no value."""
    known = rows.filter(pl.col("run_value").is_not_null())
    if known["side"].n_unique() < 2:
        raise UserError("one side has no run with a value", "see: scalelens query compared_runs a=... b=...")
    limits.check_marks(known.height, "runs", "choose fewer for a and b")
    points: list[Row] = known.to_dicts()
    for number, point in enumerate(points, start=1):
        point |= {
            "run": number,
            "label": ": ".join(filter(None, [point["side"], (parameters or {}).get(point["side"])])),
        }
    looks = style.looks(dict.fromkeys(point["label"] for point in points), page)
    by = style.encodings(looks)
    axis = alt.Axis(values=[point["run"] for point in points], format="d", labelOverlap="greedy")
    x = alt.X("run:Q", title="run", scale=alt.Scale(zero=False, nice=False, padding=12), axis=axis)
    ends = [point[name] for point in points for name in ("run_value", "low", "high") if point[name] is not None]
    low, high = min(ends), max(ends)
    domain, ticks = axes.around(low, high)
    labels = alt.Axis(values=ticks, tickCount=len(ticks), **axes.exact_labels(ticks, high))
    title = words.with_unit(points[0]["measure"])
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=6)
    y = alt.Y("run_value:Q", title=title, scale=scale, axis=labels)
    drawn = [{name: point[name] for name in ("run", "run_value", "label", "name")} for point in points]
    kinds = sorted({point["interval_kind"] for point in points} & {"ci95", "range"})
    layers: list[Any] = []
    for kind in kinds:
        of_kind = [point for point in points if point["interval_kind"] == kind]
        layers += style.interval_layers(of_kind, (kind, "steps"), x, ("low", "high"), by["color"])
    chart = alt.Chart(style.values(drawn))
    layers.append(
        chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=style.tooltips("name:N", "run_value:Q"))
    )
    legend: list[style.Look | style.IntervalLook] = [
        *style.without_lines(looks),
        *(style.INTERVALS[kind, "steps"] for kind in kinds),
    ]
    quantile = float((parameters or {}).get("quantile", 0.5))
    statistic = "median" if quantile == 0.5 else f"p{100 * quantile:g}"
    counts = " and ".join(
        f"{words.counted([sum(point['side'] == side for point in points)], 'run')} of {side}" for side in ("a", "b")
    )
    caption = [f"{counts}; a point is the {statistic} of a run's records.", exclusions.sentence(left_out)]
    return style.figure([[style.Panel(alt.layer(*layers))]], legend, caption, page)
