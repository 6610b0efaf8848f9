"""One step of a trace across its ranks.

Shows: what each stream of each rank does at the same time: which rank waits in a collective for which, which
    communication overlaps with computation, and where a device does nothing.
Query: step_timeline
Encodings:
    x        time from the first work of the step
    y        rank; its streams, the busiest at the top; a line between ranks
    bar      work of a class; neighbors that are too close to be drawn apart are one bar
    color    class of the work
    caption  step, ranks, streams, number of kernels, copies and fills, clocks, how bars were joined
Source: Gantt charts of streams, as in the trace views of Kineto and Perfetto; MegaScale (NSDI'24), section 5
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError
from scalelens.units import ratio

QUERY = "step_timeline"
FACTS = ("name",)

_CLASSES = {
    "compute": ("compute", "#0072B2"),
    "communication": ("communication", "#D55E00"),
    "memory": ("copies and fills", "#E69F00"),
}
_MOST_LANES = 96  # streams of all ranks
LANE, HIGHEST = 7, 280  # points: height of a stream, and of all at most
_MANY = 200  # hairlines of one class, which have a color together
_HAIRLINE = 0.2  # points added to each side of a bar, so that a short kernel is visible
_NS = {name: ratio(name, "ns") for name in ("s", "ms", "µs")}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `step_timeline`.  Raises UserError without work of a device, or for several runs."""
    if rows.is_empty():
        raise UserError(
            "that step contains no device activity to draw",
            "see which steps the traces contain: scalelens query trace_steps",
        )
    limits.check_one_run(rows, "a step")
    named = rows.with_columns(lane_rank=pl.coalesce(pl.col("rank").cast(pl.String), pl.col("file_id").str.head(6)))
    lanes = _lanes(named)
    advice = "see their times: scalelens plot temporal_breakdown -o temporal_breakdown.pdf"
    limits.check_count(lanes["lane_rank"].n_unique(), _MOST_LANES, "ranks", advice)
    shown = _shown(lanes)
    bars = named.join(shown.select("file_id", "process", "stream", "lane"), ["file_id", "process", "stream"],
                      nulls_equal=True).sort("lane", "begins_ns", "class")  # fmt: skip
    panel = style.Panel(_panel(bars.to_dicts(), shown.to_dicts()), height=min(HIGHEST, max(60, LANE * shown.height)))
    legend = [style.swatch(*_CLASSES[kind]) for kind in _CLASSES if kind in _seen(bars)]
    return style.figure([[panel]], legend, _caption(named, lanes, shown, parameters or {}), page)


def _seen(bars: pl.DataFrame) -> set[str]:
    """The classes with a bar that is longer than a hairline, or with many, whose color people see."""
    longest = bars["ends_ns"].max() * stacked_bars.SEEN  # type: ignore[operator]
    by_class = bars.group_by("class").agg(longest=(pl.col("ends_ns") - pl.col("begins_ns")).max(), bars=pl.len())
    return set(by_class.filter((pl.col("longest") >= longest) | (pl.col("bars") > _MANY))["class"])


def _lanes(named: pl.DataFrame) -> pl.DataFrame:
    """The streams, grouped by rank, the one with the most work first."""
    lanes = named.group_by("file_id", "process", "stream", "lane_rank").agg(work=pl.sum("work_ns"))
    order = {rank: k for k, rank in enumerate(sorted(set(lanes["lane_rank"]), key=words.natural))}
    place = pl.col("lane_rank").replace_strict(order)
    by = [place, "file_id", pl.col("work"), "process", "stream"]
    return lanes.sort(by, descending=[False, False, True, False, False])


def _shown(lanes: pl.DataFrame) -> pl.DataFrame:
    """The streams to draw, numbered from the top; if there are too many, only the busiest of each rank."""
    most = max(_MOST_LANES // lanes["lane_rank"].n_unique(), 1)
    kept = lanes if lanes.height <= _MOST_LANES else lanes.group_by("lane_rank", maintain_order=True).head(most)
    return kept.with_row_index("lane")


def _panel(bars: Sequence[Row], lanes: Sequence[Row]) -> Any:
    """Bars in lanes, with the rank beside its first lane and a line above each rank except the first."""
    longest_ns: int = max(bar["ends_ns"] for bar in bars)
    unit = next((unit for unit, ns in _NS.items() if longest_ns >= ns), "µs")
    places = [lane["lane"] for lane in lanes]
    firsts = [lane for n, lane in enumerate(lanes) if not n or lane["lane_rank"] != lanes[n - 1]["lane_rank"]]
    ranks = " : ".join(f"datum.value == {lane['lane']} ? '{lane['lane_rank']}'" for lane in firsts) + " : ''"
    axis = alt.Axis(labelExpr=ranks, labelOverlap="greedy", ticks=False, domain=False)
    y = alt.Y("lane:O", title="rank", sort=places, scale=alt.Scale(domain=places), axis=axis)
    x = alt.X(
        "begins:Q",
        title=f"time from the first work of the step [{unit}]",
        scale=alt.Scale(domain=[0, longest_ns / _NS[unit]], nice=False),
        axis=alt.Axis(tickCount=5, labelFlush=True, **axes.even_labels(longest_ns / _NS[unit])),
    )
    colors = alt.Scale(domain=list(_CLASSES), range=[color for _, color in _CLASSES.values()])
    values = [
        {name: bar[name] for name in ("lane", "class", "stream", "n_events")}
        | {"begins": bar["begins_ns"] / _NS[unit], "ends": bar["ends_ns"] / _NS[unit]}
        for bar in bars
    ]
    chart = alt.Chart(style.values(values)).mark_bar(height={"band": 0.9}, strokeWidth=_HAIRLINE, aria=False)
    color = alt.Color("class:N", scale=colors, legend=None)
    stroke = alt.Stroke("class:N", scale=colors, legend=None)
    tips = style.tooltips("class:N", "stream:N", "begins:Q", "ends:Q", "n_events:Q")
    drawn = chart.encode(x, y, color, stroke, x2=alt.X2("ends:Q"), tooltip=tips)
    between = alt.Chart(style.values([{"lane": lane["lane"]} for lane in firsts[1:]]))
    rule = between.mark_rule(color=style.GRAY, strokeWidth=0.4).encode(y=alt.Y("lane:O", bandPosition=0))
    return alt.layer(drawn, rule) if len(firsts) > 1 else drawn


def _caption(named: pl.DataFrame, lanes: pl.DataFrame, shown: pl.DataFrame, parameters: Mapping[str, str]) -> list[str]:
    first = named.row(0, named=True)
    ranks = named["lane_rank"].n_unique()
    step = "whole traces" if first["train_step"] is None else f"step {first['train_step']}"
    lines = [f"{first['name']}."] if first.get("name") else []
    events = words.counted([int(named["n_events"].sum())], "kernel, copy or fill", "kernels, copies and fills")
    streams = words.counted([lanes.height], "stream")
    lines.append(f"{words.sentence(step)[:-1]}: {words.counted([ranks], 'rank')}, {streams}, {events}.")
    if first["clock"] == "own":
        lines.append("Clocks of the ranks are not known against each other: each rank counts from its own first work.")
    elif ranks > 1:
        lines.append("All ranks share one zero; clock offsets are subtracted.")
    if hidden := lanes.height - shown.height:
        share = 1 - int(shown["work"].sum()) / (int(lanes["work"].sum()) or 1)
        lines.append(f"Not drawn: {words.counted([hidden], 'stream')} with {100 * share:.2g} % of the work.")
    slots = parameters.get("step_slots", "1000")
    return [*lines, f"Work of one class is joined across gaps shorter than a {slots}th of the step."]
