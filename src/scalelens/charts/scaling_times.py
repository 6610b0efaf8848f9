"""Scaling efficiency by three times: the median batch, the training part of an epoch, the whole epoch.

Shows: where scaling loses: what the median batch loses is communication, what the training part loses beyond that is
    stalls and the starts of epochs, what the epoch loses beyond that is validation; a panel for each series.
Query: scaling_times
Encodings:
    panel    a series, named by what sets it apart
    x        devices, logarithmic, a tick at each size that was run
    y        efficiency in percent from 0, the ideal marked
    line     one of the three times, by color, shape and dash; hollow points, bars and rings as in the chart scaling
    †        a note of the query, spelled out in the caption
    caption  what the series share, runs, the base of each time, notes, what was left out
Source: EPICURE, Best Practice Guide on Artificial Intelligence on EuroHPC Systems (2026), figure 5-1
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from scalelens.charts import axes, efficiency_panels, exclusions, facets, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "scaling_times"
FACTS = ("device_unit",)

_TIMES = {"t_b": "median batch", "t_tr": "training part of the epoch", "t_ep": "epoch"}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `scaling_times`.  Raises UserError if no series has an efficiency."""
    known = rows.filter(pl.col("efficiency").is_not_null())
    known = known.filter(pl.col("devices").n_unique().over("series", "metric") > 1)  # a base alone says nothing
    if known.is_empty():
        raise UserError(
            "there is no series with an efficiency to draw", "see the column note of: scalelens query scaling_times"
        )
    times = list(_TIMES)
    points: list[Row] = known.sort(
        "series", pl.col("metric").replace_strict(times, range(len(times))), "devices", -pl.col("speedup"), "run_id"
    ).to_dicts()
    shared = naming.name_series(points)
    panels = dict(sorted(_panels(points).items(), key=lambda panel: page.position(panel[0][0])))
    facets.check(len(panels), page)
    efficiency_panels.judge(points)
    notes = efficiency_panels.mark_notes(points)
    looks = style.looks([_TIMES[metric] for metric in times if any(row["metric"] == metric for row in points)], page)
    top, x = efficiency_panels.highest(points), axes.of_devices(points)
    charts, columns = [], facets.across(len(panels), page)
    for k, ((name, kind), part) in enumerate(panels.items()):
        panel = efficiency_panels.efficiency(part, looks, top, x, has_axis=k % columns == 0)
        batch = part[0]["batch"]
        first, *further = filter(None, (name, kind, "" if batch in name else batch))
        title = facets.title(first, further, columns, page)
        charts.append((name, panel.properties(title=title)))
    intervals = [look for kind, look in style.INTERVALS.items() if any(row["interval"] == kind for row in points)]
    caption = [*filter(None, [shared]), *_caption(points, panels, notes, rows.height - known.height)]
    legend: list[style.Look | style.IntervalLook] = [*looks, efficiency_panels.IDEAL, *intervals]
    return style.figure(facets.grid(charts, columns), legend, [*caption, exclusions.sentence(left_out)], page)


def _panels(points: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each series, by its name and its kind of scaling.  Each time is a line with its own base."""
    panels: dict[tuple[str, str], list[Row]] = {}
    for row in points:
        panels.setdefault((row["label"], efficiency_panels.KINDS[row["scaling"]]), []).append(row)
        row["series"], row["label"] = f"{row['series']} · {row['metric']}", _TIMES[row["metric"]]
    return panels


def _caption(
    points: Sequence[Row], panels: Mapping[tuple[str, str], Sequence[Row]], notes: Sequence[str], hidden: int
) -> list[str]:
    """Counts, what marks mean, the bases of the lines of each panel, intervals."""
    most_runs = max(row["n_runs"] for row in points)
    lines = [f"Each point: {words.counted([row['n_runs'] for row in points], 'run')}.", *notes]
    has_several_times = len({row["metric"] for row in points}) > 1
    lines.append(f"Bases{', in the order of the legend' if has_several_times else ''}: {'; '.join(_bases(panels))}.")
    if any(row["efficiency_kind"] for row in points):
        lines.append("Bars join the intervals of the point and of its base.")
    else:
        without = "One run per size" if most_runs == 1 else "No repeats of both a size and its base"
        lines.append(f"{without}: no interval for the efficiency.")
    if any(row["repeats"] for row in points):
        lines.append("Rings: single repeats that differ more than they should, with their range.")
    if missing := [time for metric, time in _TIMES.items() if all(row["metric"] != metric for row in points)]:
        lines.append(f"Not timed in the logs: {', '.join(missing)}.")
    if hidden:
        lines.append(f"Not drawn: {words.counted([hidden], 'point')} without an efficiency or another size.")
    return lines


def _bases(panels: Mapping[tuple[str, str], Sequence[Row]]) -> list[str]:
    """`fp32 on 8 GCDs 0.5004, 319.2, 323.8 s` of each panel."""
    texts = []
    for (name, kind), part in panels.items():
        times = ", ".join(words.short_number(row["time_s"]) for row in part if row["is_base"])
        texts.append(f"{name or kind} on {words.devices(part[0])} {times} s")
    return list(dict.fromkeys(texts))
