"""Nodes, settings or hours by how much slower the jobs with them are.

Shows: which suspects slow jobs, by how much, and what cannot be told; accused suspects come first.
Query: blame
Encodings:
    x        how much slower jobs with the suspect are than comparable jobs without it, with its interval
    y        suspect; the label is how many of the jobs with it are slower
    color    verdict
    rule     no difference; broken: the effect that was asked about
    caption  suspects, jobs, the verdicts in words, what is not drawn
Source: forest plots: S. Lewis, M. Clarke, BMJ 322, 2001
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "blame"

_VERDICTS = {
    "slow": style.Look("slow", "#D55E00", "square", [1, 0], 0),
    "confounded": style.Look("one of several", "#CC79A7", "diamond", [1, 0], 0),
    "unknown": style.Look("too few jobs", "#777777", "cross", [1, 0], 0),
    "ordinary": style.Look("ordinary", "#0072B2", "circle", [1, 0], 0),
}
_ACCUSED = ("slow", "confounded")
_MOST = 24  # suspects that are drawn
_ROW = 8.5  # points
_NAMES = 0.3  # share of the panel that names take
_BEYOND = 4.0  # an interval longer than that many times the largest difference is cut
_ROOM = 0.04  # of the span of the values, at both ends
_NOTHING = {
    "node": (
        "there are no nodes to compare: no configuration has jobs with a node and jobs without it",
        "see which nodes are known: scalelens query run_nodes",
    ),
    "setting": (
        "there are no settings to compare: no configuration has jobs with a neutral setting and jobs without it",
        "see the settings: scalelens query configuration",
    ),
    "hour": (
        "there are no hours to compare: no configuration has jobs that began on one day, or in one hour, and others",
        "see when the runs began: scalelens query runs_overview",
    ),
}  # by what is suspected


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `blame`.  Raises UserError if no suspect can be compared."""
    known = rows.filter(pl.col("slowdown").is_not_null())
    suspects = (parameters or {}).get("suspects", "node")
    if known.is_empty():
        raise UserError(*_NOTHING.get(suspects, _NOTHING["node"]))
    points: list[Row] = sorted(known.to_dicts(), key=_order)[:_MOST]
    room = _NAMES * (page.points - 2 * style.MARGIN - style.Y_AXIS) - 4
    for place, point in enumerate(points):
        point |= {"place": place, "text": _name(point["suspect"], room)}
        point |= {f"percent{end}": 100 * point[f"slowdown{end}"] for end in ("", "_low", "_high")}
    effect = 100 * float((parameters or {}).get("effect", 0.05))
    panel = style.Panel(_panel(points, effect), height=max(_ROW * len(points), 40))
    seen = {point["verdict"] for point in points}
    legend: list[style.Look | style.IntervalLook] = [look for verdict, look in _VERDICTS.items() if verdict in seen]
    kinds = {point["interval_kind"] for point in points if point["slowdown_low"] < point["slowdown_high"]}
    legend += [style.INTERVALS[kind, "runs"] for kind in ("ci95", "range") if kind in kinds]
    return style.figure([[panel]], legend, _caption(points, known.height, effect, left_out), page)


def _name(suspect: str, room: float) -> str:
    """A suspect in `room` points: of nodes that were in the same runs the first, and how many more, else all."""
    first, *others = suspect.split("+")
    if not others or words.text_width(suspect) <= room:
        return words.shorten(suspect, room)
    more = f" + {len(others)} more"
    return words.shorten(first, room - words.text_width(more)) + more


def _order(point: Row) -> tuple[bool, float, float, str]:
    """Accused suspects first, then by how conspicuous they are."""
    p_value = 1.0 if point["p_value"] is None else point["p_value"]
    return point["verdict"] not in _ACCUSED, p_value, -point["slowdown"], point["suspect"]


def _panel(points: Sequence[Row], effect: float) -> Any:
    """Points with their intervals, names at the left."""
    low, high = _ends(points, effect)
    domain = [low - _NAMES / (1 - _NAMES) * (high - low), high]
    ticks = axes.ticks_between(low, high)
    axis = alt.Axis(values=ticks, tickCount=len(ticks), grid=False)
    x = alt.X("percent:Q", title="slower [%]", scale=alt.Scale(domain=domain, nice=False), axis=axis)
    counts = " : ".join(f"datum.value == {p['place']} ? '{p['n_slower']}/{p['n_jobs']}'" for p in points) + " : ''"
    labels = alt.Axis(labelExpr=counts, ticks=False, domain=False, grid=False)
    y = alt.Y("place:O", title="slower jobs / all jobs", axis=labels)
    scale = alt.Scale(domain=list(_VERDICTS), range=[look.color for look in _VERDICTS.values()])
    color = alt.Color("verdict:N", scale=scale, legend=None)
    shapes = alt.Scale(domain=list(_VERDICTS), range=[look.shape for look in _VERDICTS.values()])
    layers = []
    for value, dash in ((0.0, [1, 0]), (effect, [2, 2])):
        rule = alt.Chart(style.values([{"percent": value}]))
        layers.append(rule.mark_rule(color=style.GRAY, strokeWidth=0.5, strokeDash=dash).encode(x))
    for kind in ("ci95", "range"):
        look = style.INTERVALS[kind, "runs"]
        ends = [
            {"place": point["place"], "verdict": point["verdict"], "percent": max(point["percent_low"], low),
             "end": min(point["percent_high"], high)}
            for point in points if point["interval_kind"] == kind
        ]  # fmt: skip
        if ends:
            rule = alt.Chart(style.values(ends))
            rule = rule.mark_rule(strokeWidth=look.thickness, strokeDash=list(look.dash))
            layers.append(rule.encode(x, y, color, x2=alt.X2("end:Q")))
    fields = ("place", "percent", "verdict", "suspect", "p_value", "text")
    chart = alt.Chart(style.values([{field: point[field] for field in fields} for point in points]))
    tips = style.tooltips("suspect:N", "verdict:N", "percent:Q", "p_value:Q")
    shape = alt.Shape("verdict:N", scale=shapes, legend=None)
    layers.append(chart.mark_point(size=14).encode(x, y, color, shape, tooltip=tips))
    layers.append(chart.mark_text(align="left", baseline="middle").encode(y=y, x=alt.value(2), text=alt.Text("text:N")))
    return alt.layer(*layers)


def _ends(points: Sequence[Row], effect: float) -> tuple[float, float]:
    """The ends of the x axis: all differences, and intervals that are not much longer."""
    values = [point["percent"] for point in points] + [0.0, effect]
    room = _BEYOND * max(map(abs, values))
    ends = [point[end] for point in points for end in ("percent_low", "percent_high")]
    kept = [*values, *(min(max(end, -room), room) for end in ends)]
    room = _ROOM * (max(kept) - min(kept))
    return min(kept) - room, max(kept) + room


def _caption(points: Sequence[Row], n_known: int, effect: float, left_out: Mapping[str, int]) -> list[str]:
    lines = [f"{words.counted([n_known], 'suspect')}, each with comparable jobs without it."]
    for point in points:
        if point["verdict"] in _ACCUSED:
            lines.append(f"{point['suspect']}: {point['note']}.")
    lines.append(f"Broken line: {effect:g}\u00a0% slower.")
    if n_known > len(points):
        lines.append(f"Not drawn: {words.counted([n_known - len(points)], 'suspect')}, less conspicuous.")
    return [*lines, exclusions.sentence(left_out)]
