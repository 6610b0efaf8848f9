"""How often jobs failed, by cause and by node.

Shows: what keeps failing, with intervals, and which nodes fail more often than chance explains.
Query: failures
Encodings:
    x        failures in 1,000 node-hours, with the 95 % interval of the count, logarithmic; how many runs
             ended by a cause, where the logs give no times or nodes of those that failed
    y        a cause, or a node: those that fail more than chance come first; the label is the number of failures
    color    a cause, a node that fails more than chance or is confounded with others, an ordinary node
    panel    above causes, below nodes
    caption  runs, failures, mean time between failures, nodes in words
Source: figures of failure rates in A. Kokolis and others, Revisiting Reliability in Large-Scale ML Clusters, HPCA 2025
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "failures"

_KINDS = {
    "cause": style.Look("cause", "#0072B2", "circle", [1, 0], 0),
    "failing": style.Look("node that fails more than chance", "#D55E00", "square", [1, 0], 0),
    "confounded": style.Look("one of several nodes", "#CC79A7", "diamond", [1, 0], 0),
    "ordinary": style.Look("ordinary node", "#777777", "circle", [1, 0], 0),
}
_ACCUSED = ("failing", "confounded")
_INTERVAL = style.IntervalLook("95 % interval of the count", [1, 0], 1, 0)
_MOST_NODES = 12
_ROW = 9.0  # points
_BAND, _PALE = 9.5, "#a6cee3"  # of a bar: its height with its gap; light, because text is written on it
_NO_RATES = "No rate: the logs do not give the times and nodes of the runs that failed."
_NAMES = 0.32  # share of the panel that names take


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `failures`.  Raises UserError if no run failed."""
    known = rows.filter(pl.col("failures_per_1000_node_h") > 0)
    causes: list[Row] = (
        known.filter(pl.col("part") == "cause")
        .sort("failures_per_1000_node_h", "what", descending=[True, False])
        .to_dicts()
    )
    if not causes:
        return _counted(rows, page)
    nodes = sorted(known.filter(pl.col("part") == "node").to_dicts(), key=_order)[:_MOST_NODES]
    room = _NAMES * (page.points - 2 * style.MARGIN - style.Y_AXIS) - 4
    for group in (causes, nodes):
        for place, point in enumerate(group):
            is_cause = point["part"] == "cause"
            text = words.cause(point["what"]) if is_cause else point["what"]
            point |= {"place": place, "kind": "cause" if is_cause else point["verdict"]}
            point["text"] = words.shorten(text, room)
    shown = [group for group in (causes, nodes) if group]
    grid = [[style.Panel(_panel(group), height=max(_ROW * len(group), 2 * _ROW))] for group in shown]
    seen = {point["kind"] for group in shown for point in group}
    legend: list[style.Look | style.IntervalLook] = [
        *(look for kind, look in _KINDS.items() if kind in seen),
        _INTERVAL,
    ]
    return style.figure(grid, legend, _caption(rows, nodes), page)


def _counted(rows: pl.DataFrame, page: Page) -> Any:
    """Bars of how many runs each cause ended, which is known without times and nodes."""
    causes = rows.filter(pl.col("part") == "cause").sort("failures", "what", descending=[True, False]).to_dicts()
    if not causes:
        raise UserError("there are no failures to draw", "see how runs ended: scalelens query runs_overview")
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars = [
        {"place": place, "failures": cause["failures"],
         "text": words.shorten(f"{words.cause(cause['what'])} · {cause['failures']}", room)}
        for place, cause in enumerate(causes)
    ]  # fmt: skip
    most = max(bar["failures"] for bar in bars)
    step = max(1, round(most / 4))
    ticks = list(range(0, most + 1, step))
    axis = alt.Axis(values=ticks, tickCount=len(ticks), **axes.labels(most))
    x = alt.X("failures:Q", title="number of runs", scale=alt.Scale(domainMin=0, nice=False), axis=axis)
    y = alt.Y(
        "place:O", title="causes" if len(bars) > 2 else None, axis=alt.Axis(labels=False, ticks=False, domain=False)
    )
    chart = alt.Chart(style.values(bars))
    bar = chart.mark_bar(height={"band": 0.85}, color=_PALE).encode(
        x, y, tooltip=style.tooltips("text:N", "failures:Q")
    )
    text = chart.mark_text(align="left", baseline="middle", dx=2).encode(y=y, x=alt.value(0), text=alt.Text("text:N"))
    panel = style.Panel(alt.layer(bar, text), height=_BAND * len(bars))
    return style.figure([[panel]], [], [*_caption(rows, []), _NO_RATES], page)


def _order(point: Row) -> tuple[bool, float, int, str]:
    p_value = 1.0 if point["p_value"] is None else point["p_value"]
    return point["verdict"] not in _ACCUSED, p_value, -point["failures"], point["what"]


def _panel(points: Sequence[Row]) -> Any:
    """Rates with their intervals, names at the left."""
    lowest = min(point["failures_per_1000_node_h_low"] for point in points)
    highest = max(point["failures_per_1000_node_h_high"] for point in points)
    span = highest / lowest
    domain = [lowest / span ** (_NAMES / (1 - _NAMES)), highest]
    ticks = [tick for tick in axes.ticks_of_decades(lowest, highest) if lowest <= tick <= highest]
    marks = {"values": ticks, "tickCount": len(ticks), "labelOverlap": "greedy", "labelSeparation": 3}
    axis = alt.Axis(grid=False, **marks, **axes.labels(highest))
    scale = alt.Scale(type="log", domain=domain, nice=False)
    x = alt.X("failures_per_1000_node_h:Q", title="failures in 1,000 node-hours, log.", scale=scale, axis=axis)
    counts = " : ".join(f"datum.value == {point['place']} ? '{point['failures']}'" for point in points) + " : ''"
    labels = alt.Axis(labelExpr=counts, ticks=False, domain=False, grid=False)
    y = alt.Y("place:O", title="failures" if len(points) > 3 else None, axis=labels)
    colors = alt.Scale(domain=list(_KINDS), range=[look.color for look in _KINDS.values()])
    shapes = alt.Scale(domain=list(_KINDS), range=[look.shape for look in _KINDS.values()])
    color, shape = (
        alt.Color("kind:N", scale=colors, legend=None),
        alt.Shape("kind:N", scale=shapes, legend=None),
    )
    fields = (
        "place",
        "what",
        "text",
        "kind",
        "failures_per_1000_node_h",
        "failures_per_1000_node_h_low",
        "failures_per_1000_node_h_high",
        "failures",
    )
    chart = alt.Chart(style.values([{field: point[field] for field in fields} for point in points]))
    rule = chart.mark_rule(strokeWidth=_INTERVAL.thickness)
    return alt.layer(
        rule.encode(
            alt.X("failures_per_1000_node_h_low:Q", scale=scale), y, color, x2=alt.X2("failures_per_1000_node_h_high:Q")
        ),
        chart.mark_point(size=14).encode(
            x, y, color, shape, tooltip=style.tooltips("what:N", "failures:Q", "failures_per_1000_node_h:Q")
        ),
        chart.mark_text(align="left", baseline="middle").encode(y=y, x=alt.value(2), text=alt.Text("text:N")),
    )


def _caption(rows: pl.DataFrame, nodes: Sequence[Row]) -> list[str]:
    of_all = rows.filter(pl.col("part") == "all").to_dicts()[0]
    known = words.counted([of_all["n_runs"]], "run whose end is known", "runs whose end is known")
    runs = known if of_all["n_unknown"] else words.counted([of_all["n_runs"]], "run")
    lines = [
        f"{of_all['failures']} of {runs} failed, those that reached their time limit not counted"
        + (f": one in {of_all['mtbf_h']:.3g} hours of a running job." if of_all["mtbf_h"] else ".")
    ]
    for node in nodes:
        if node["verdict"] in _ACCUSED:
            rivals = f", not to be told from {node['rivals']}" if node["rivals"] else ""
            lines.append(
                f"{node['what']}: {node['failures']} of {node['n_runs']} runs{rivals}, p {node['p_value']:.2g}."
            )
    uncounted = rows.filter(pl.col("part") == "cause", pl.col("failures_per_1000_node_h") == 0)["what"].sort().to_list()
    if uncounted and len(uncounted) < rows.filter(pl.col("part") == "cause").height:
        lines.append(f"Not drawn, as no log gives the time and nodes: {', '.join(map(words.cause, uncounted))}.")
    if of_all["n_unknown"]:
        lines.append(f"No log says how {words.counted([of_all['n_unknown']], 'further run')} ended.")
    n_nodes = rows.filter(pl.col("part") == "node").height
    if n_nodes > len(nodes):
        lines.append(f"Not drawn: {words.counted([n_nodes - len(nodes)], 'node')} with fewer failures.")
    return lines
