"""Each rank's own compute time against that of its peers, and in how many steps it is longer.

Shows: whether a rank is slow, how far it is beyond the others and the threshold, and whether always or at times.
Query: outlier_gpus
Encodings:
    x        rank
    y        above: compute time without communication over that of the peers; below: share of steps in which it exceeds
             the threshold
    point    a rank, with the verdict as color and shape; those that stand out are named with their node
    line     the threshold; equal ranks are at 1
    caption  ranks, steps, peers, evidence for the ranks that are named
Source: figures of stragglers by rank in X. Wu et al., FALCON (2024), and J. Lin et al., StragglerAnalysis (2025)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "outlier_gpus"

_VERDICTS = {
    "slow": style.Look("slow", "#D55E00", "square", [1, 0], 0),
    "intermittent": style.Look("slow at times", "#E69F00", "diamond", [1, 0], 0),
    "late": style.Look("late for another reason", "#CC79A7", "triangle-up", [1, 0], 0),
    "contention": style.Look("slowed by communication", "#56B4E9", "triangle-down", [1, 0], 0),
    "unknown": style.Look("undecided", "#777777", "cross", [1, 0], 0),
    "ordinary": style.Look("ordinary", "#0072B2", "circle", [1, 0], 0),
}
_NAMED = ("slow", "intermittent", "late", "contention")
_MOST_NAMES = 4
_THRESHOLD = style.Look("threshold", style.INK, None, [3, 2], 0.7)
_NAMED_LEFT_FROM = 0.8  # share of the axis from which names are left of their points
_SIZE = 12  # area of a point in square points
_SHARE_HEIGHT = 72  # points, of the lower panel


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `outlier_gpus`.  Raises UserError for several runs, or without compute times."""
    known = rows.filter(pl.col("ratio").is_not_null(), pl.col("rank").is_not_null())
    if known.is_empty():
        reasons = [reason for reason in rows["reason"].unique() if reason]
        why = reasons[0] if len(reasons) == 1 else "no run has compute times of several ranks"
        raise UserError("there are no ranks to compare", f"{why}; see: scalelens query outlier_gpus")
    limits.check_one_run(known, "the ranks")
    limits.check_marks(known.height, "ranks", "see the slow ones: scalelens query outlier_gpus")
    threshold = float((parameters or {}).get("threshold", 0.1))
    points: list[Row] = known.sort("rank").to_dicts()
    last = max(points[-1]["rank"], 1)
    for point in points:
        point["percent"] = 100 * (point["flagged_share"] or 0)
    x = alt.X(
        "rank:Q",
        title="rank",
        scale=alt.Scale(domain=[0, last], nice=False, padding=8),
        axis=alt.Axis(format="d", tickMinStep=1, tickCount=8, labelOverlap="greedy"),
    )
    grid = [[style.Panel(_ratios(points, threshold, x, last))], [style.Panel(_shares(points, x), height=_SHARE_HEIGHT)]]
    seen = {point["verdict"] for point in points}
    legend = [*(look for verdict, look in _VERDICTS.items() if verdict in seen), _THRESHOLD]
    return style.figure(grid, legend, _caption(points, threshold), page)


def _ratios(points: Sequence[Row], threshold: float, x: Any, last: int) -> Any:
    """Compute times over those of the peers, with the threshold and the names of ranks that stand out."""
    values = [point["ratio"] for point in points] + [1 + threshold]
    low, high = min(*values, 1 - threshold / 2), max(values)
    room = (high - low) * 0.06
    scale = alt.Scale(domain=[low - room, high + room], nice=False)
    y = alt.Y("ratio:Q", title="compute time over peers'", scale=scale, axis=alt.Axis(tickCount=5))
    rule = alt.Chart(style.values([{"ratio": 1 + threshold}]))
    rule = rule.mark_rule(strokeDash=list(_THRESHOLD.dash), strokeWidth=_THRESHOLD.thickness, color=_THRESHOLD.color)
    layers = [rule.encode(y=y), _points(points, x, y, "ratio")]
    beyond = [point for point in points if point["verdict"] in _NAMED and point["ratio"] > 1 + threshold / 2]
    standing_out = sorted(beyond, key=lambda point: -point["ratio"])[:_MOST_NAMES]
    for align, dx in (("left", 5), ("right", -5)):
        texts = [
            {"rank": point["rank"], "ratio": point["ratio"], "text": _name(point)}
            for point in _apart(standing_out, (high - low) / 12)
            if (point["rank"] > _NAMED_LEFT_FROM * last) == (align == "right")
        ]
        text = alt.Chart(style.values(texts)).mark_text(align=align, baseline="middle", dx=dx)
        layers += [text.encode(x, y, text=alt.Text("text:N"))] if texts else []
    return alt.layer(*layers)


def _apart(points: Sequence[Row], close: float) -> list[Row]:
    """The rows to name: of points at nearly the same height only the highest, so that names do not overlap."""
    kept: list[Row] = []
    for point in points:
        if not kept or kept[-1]["ratio"] - point["ratio"] > close:
            kept.append(point)
    return kept


def _name(point: Row) -> str:
    return f"rank {point['rank']}{' on ' + words.shorten(point['node'], 60) if point['node'] else ''}"


def _shares(points: Sequence[Row], x: Any) -> Any:
    return alt.layer(
        _points(points, x, axes.from_zero("percent", "longer [% of steps]", 100, titlePadding=3), "percent")
    )


def _points(points: Sequence[Row], x: Any, y: Any, field: str) -> Any:
    fields = ("rank", field, "verdict", "node", "cause", "q")
    drawn = [{name: point[name] for name in fields} for point in points]
    looks = list(_VERDICTS.values())
    scales = {
        "color": alt.Scale(domain=list(_VERDICTS), range=[look.color for look in looks]),
        "shape": alt.Scale(domain=list(_VERDICTS), range=[look.shape for look in looks]),
    }
    color, shape = (
        alt.Color("verdict:N", scale=scales["color"], legend=None),
        alt.Shape("verdict:N", scale=scales["shape"], legend=None),
    )
    tips = style.tooltips("rank:Q", "node:N", "verdict:N", "cause:N", f"{field}:Q", "q:Q")
    return alt.Chart(style.values(drawn)).mark_point(size=_SIZE, opacity=0.9).encode(x, y, color, shape, tooltip=tips)


def _caption(points: Sequence[Row], threshold: float) -> list[str]:
    peers = words.counted([point["peers"] - 1 for point in points], "other")
    steps = words.counted([point["n_steps"] for point in points], "step")
    lines = [f"{words.counted([len(points)], 'rank')} of one run, each among {peers}, over {steps}: median."]
    lines.append(f"Threshold: {100 * threshold:g}\u00a0% longer than the peers.")
    for point in [point for point in points if point["verdict"] in _NAMED][:_MOST_NAMES]:
        cause = f", {point['cause'].replace('gpu', 'GPU')}" if point["cause"] else ""
        lines.append(f"Rank {point['rank']}{cause}: {point['evidence'] or 'no further evidence'}.")
    return [*lines, "No step is left out."]
