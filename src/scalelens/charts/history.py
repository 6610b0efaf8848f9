"""A measure over the runs of one configuration in time, with the runs where its level changed.

Shows: since when runs are slower or faster, and by how much: a point for each run, in the order of time, a line for
    each level, a rule where a new level begins.
Query: history
Encodings:
    x        number of the run in its series, in the order of time
    y        value of the run, with its interval within the run; an interval much longer than the runs differ is cut at
             the edge of the panel
    color    series, named by what sets it apart
    panel    a series, with an axis of its own, where the values of two series are far apart
    line     level: geometric mean of the runs up to the next change
    rule     change of level; broken where the change is weak
    caption  what all series share, runs, statistic, each change with its size, what is not drawn, what was left out
Source: Fleming and others, Hunter: Using Change Point Detection to Hunt for Performance Regressions, arXiv 2301.03034
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, limits, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "history"
FACETS = True

_TITLES = {
    "step_s": "step time [s]", "samples_per_s": "samples/s", "tokens_per_s": "tokens/s", "data_s": "wait for data [s]",
    "step_j": "energy of a step [J]", "sample_j": "energy of a sample [J]", "power_w": "power of a device [W]",
    "peak_memory_bytes": "peak memory [bytes]",
}  # fmt: skip
_LONGEST_INTERVAL = 0.5  # that the axis makes room for, of the difference of the values
_FAR_APART = 3  # ratio of the medians of two series that one axis would press flat
_RATES = ("samples_per_s", "tokens_per_s")


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `history`.  Raises UserError if no configuration has two runs with a value."""
    if rows.is_empty():
        raise UserError("no run has both a date and a value", "see what there is: scalelens query run_values")
    repeated = rows.filter(pl.len().over("series") > 1)
    if rows.height == 1:
        raise UserError("a history needs at least two runs", "see what there is: scalelens query run_values")
    if repeated.is_empty():
        raise UserError(
            f"there is no history to draw: each of the {rows.height} runs is the only one of its configuration",
            "see what each run has: scalelens query run_values",  # two of them need not differ in a setting
        )
    limits.check_marks(repeated.height, "runs")
    alone = rows.height - repeated.height
    points: list[Row] = repeated.sort("series", "run_number").to_dicts()
    shared, labels = naming.apart(dict.fromkeys(point["series"] for point in points))
    for point in points:
        point["label"] = labels[point["series"]]
    facets.take_from_labels(points, page.facet)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    x = facets.over(_runs(points), (point["run_number"] for point in points), page)
    legend: list[style.Look | style.IntervalLook] = [style.INTERVALS[kind, "steps"] for kind in _kinds(points)]
    groups = {} if page.facet else _far_apart(points)
    if groups:
        grid = _own_panels(groups, looks, page)
    else:
        groups = {"": points}
        legend = [*(look for look in looks if look.label), *legend]
        grid = facets.panels(points, page, lambda part, y: _panel(part, looks, x, y), x, _values(points))
    caption = _caption(points, alone, shared, parameters or {}, left_out)
    if any(map(_is_cut, groups.values())):
        caption.insert(-1, "Intervals that leave the panel are cut at its edge.")
    return style.figure(grid, legend, caption, page)


def _far_apart(points: Sequence[Row]) -> dict[str, list[Row]]:
    """The points of each label where one axis for all would hide every change; else none."""
    groups: dict[str, list[Row]] = {}
    for point in points:
        groups.setdefault(point["label"], []).append(point)
    medians = [statistics.median(point["run_value"] for point in group) for group in groups.values()]
    is_far = 0 < _FAR_APART * min(medians) <= max(medians)
    return groups if is_far and len(groups) <= facets.MOST_PANELS else {}


def _own_panels(groups: Mapping[str, list[Row]], looks: Sequence[style.Look], page: Page) -> list[list[style.Panel]]:
    """A panel for each series, with its name and its axes."""
    columns = min(len(groups), facets.NARROW) if page.is_wide else 1
    charts = []
    for name in sorted(groups, key=lambda name: (page.position(name), words.natural(name))):
        chart = _panel(groups[name], looks, _runs(groups[name]), _values(groups[name]))
        charts.append(style.Panel(facets.titled(chart, name, columns, page, has_axes=True), columns=columns, name=name))
    return [charts[n : n + columns] for n in range(0, len(charts), columns)]


def _runs(points: Sequence[Row]) -> Any:
    """The x axis, with ticks at whole numbers of runs alone, of which Vega would divide the few of a short panel."""
    numbers = {point["run_number"] for point in points}
    step = max(1, math.ceil(axes.ticks(max(numbers))[1]))
    values = [number for number in range(min(numbers), max(numbers) + 1) if number % step == 0]
    axis = alt.Axis(format="d", values=values, tickCount=len(values))
    scale = alt.Scale(zero=False, nice=False, padding=8)
    return alt.X("run_number:Q", title="run, in order of time", scale=scale, axis=axis)


def _values(points: Sequence[Row]) -> Any:
    """The y axis of a panel."""
    low, high = _ends(points)
    domain, ticks = axes.around(low, high)
    scale = alt.Scale(domain=domain, nice=False, zero=False, padding=6)
    axis = alt.Axis(values=ticks, tickCount=len(ticks), **axes.exact_labels(ticks, high))
    return alt.Y("run_value:Q", title=_TITLES[points[0]["measure"]], scale=scale, axis=axis)


def _is_cut(points: Sequence[Row]) -> bool:
    """Whether an interval leaves the panel."""
    low, high = _ends(points)
    return any(point[end] is not None and not low <= point[end] <= high for point in points for end in ("low", "high"))


def _ends(points: Sequence[Row]) -> tuple[float, float]:
    """The ends of the y axis: those of the values, and of intervals that are not much longer than these differ."""
    values = [point[name] for point in points for name in ("run_value", "level")]
    low, high = min(values), max(values)
    room = _LONGEST_INTERVAL * (high - low) or _LONGEST_INTERVAL * abs(high) / 10
    ends = [point[end] for point in points for end in ("low", "high") if point[end] is not None]
    kept = [end for end in ends if low - room <= end <= high + room]
    return min([low, *kept]), max([high, *kept])


def _kinds(points: Sequence[Row]) -> list[str]:
    return sorted({point["interval_kind"] for point in points} & {"ci95", "range"})


def _panel(points: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any) -> Any:
    """Runs with their intervals, levels and changes."""
    by = style.encodings(looks)
    names = ("run_number", "run_value", "label", "name")
    chart = alt.Chart(style.values([{name: point[name] for name in names} for point in points]))
    layers = [_changes(points, is_weak, x) for is_weak in (False, True)]
    layers += [_levels(points, x, by["color"])]
    for kind in _kinds(points):
        of_kind = [point for point in points if point["interval_kind"] == kind]
        layers += style.interval_layers(of_kind, (kind, "steps"), x, ("low", "high"), by["color"], clip=True)
    layers += [
        chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=style.tooltips("name:N", "run_value:Q"))
    ]
    return alt.layer(*(layer for layer in layers if layer is not None))


def _levels(points: Sequence[Row], x: Any, color: Any) -> Any:
    """A line for each level, from its first run to its last."""
    levels: dict[tuple[str, float], list[Row]] = {}
    for point in points:
        levels.setdefault((point["series"], point["level"]), []).append(point)
    lines = [
        {"run_number": runs[0]["run_number"], "last": runs[-1]["run_number"], "level": level, "label": runs[0]["label"]}
        for (_, level), runs in levels.items()
    ]
    return (
        alt.Chart(style.values(lines)).mark_rule(strokeWidth=1).encode(x, alt.Y("level:Q"), color, x2=alt.X2("last:Q"))
    )


def _changes(points: Sequence[Row], is_weak: bool, x: Any) -> Any:
    """A rule before each run that begins a new level."""
    kind = "weak" if is_weak else "strong"
    places = [{"run_number": point["run_number"] - 0.5} for point in points if point["change"] == kind]
    if not places:
        return None
    dash = [2, 2] if is_weak else [1, 0]
    return alt.Chart(style.values(places)).mark_rule(color=style.GRAY, strokeWidth=0.6, strokeDash=dash).encode(x)


def _caption(
    points: Sequence[Row], alone: int, shared: str, parameters: Mapping[str, str], left_out: Mapping[str, int]
) -> list[str]:
    """What the series share, counts, statistic, the changes."""
    lines = [f"{shared}."] if shared else []
    quantile = float(parameters.get("quantile", 0.5))
    statistic = "median" if quantile == 0.5 else f"p{100 * quantile:g}"
    lines.append(f"{words.counted([len(points)], 'run')}; a point is the {statistic} of a run's records.")
    for point in points:
        if point["change"]:
            # The slowdown of a rate is its reciprocal.
            share = 1 / (1 + point["slowdown"]) - 1 if point["measure"] in _RATES else point["slowdown"]
            drawn = _TITLES[point["measure"]].partition(" [")[0]
            percent = f"{100 * share:+.1f}".replace("-", "−")
            lines.append(f"{point['change'].capitalize()} change at {point['name']}: {drawn} {percent}\u00a0%.")
    if alone:
        lines.append(f"Not drawn: {words.counted([alone], 'run')} without another of the same configuration.")
    return [*lines, exclusions.sentence(left_out)]
