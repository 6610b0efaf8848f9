"""Time of each step of a run, with what the statistics leave out and where the pace changes.

Shows: whether a run keeps its pace: warm-up, stalls, drift and restarts are visible where they happen.
Query: step_course
Encodings:
    x        step, or position in the run if it was restarted
    y        time of the step in seconds, logarithmic if the slowest record that counts takes ten times the fastest.
             Up to the slowest record that counts where others take more than twice as long
    point    a record that counts, or the fastest and the slowest of many at one place
    cross    a record that a rule leaves out
    arrow    a record that a rule leaves out, beyond the axis: at its edge
    rule     vertical, broken: another level begins; vertical, full: a restart
    line     median of the steady state, from its first step on
    caption  run, records, what was left out, pace, what was thinned
Source: run-sequence plot with change points, as in E. Barrett et al., Virtual Machine Warmup Blows Hot and Cold,
    OOPSLA 2017
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "step_course"
FACETS = True
MOST_RUNS = facets.MOST_PANELS
FACTS = ("name",)

_COUNTS = style.Look("record", style.COLORS[0], "circle", [1, 0], 0)
_LEFT_OUT = style.Look("left out by a rule", style.COLORS[1], "cross", [1, 0], 0)
_BEYOND = style.Look("left out, beyond the axis", style.COLORS[1], "triangle-up", [1, 0], 0)
_STEADY = style.Look("median of the steady state", style.INK, None, [1, 0], 1)
_CHANGE = style.Look("another level begins", style.GRAY, None, [2, 1.5], 0.7)
_RESTART = style.Look("restart", style.GRAY, None, [1, 0], 0.7)
_BEYOND_FROM = 2  # time of a record left out over the slowest that counts, from which the axis ends at the latter
_EDGE = 3  # points from the upper edge of a panel to the middle of a mark for what is beyond it
_STEADY_VERDICT = "steady"
_VERDICTS = {
    _STEADY_VERDICT: "it keeps its pace", "warming": "it is slower before its steady state",
    "slowing": "it is faster before its steady state", "unsteady": "it has no steady state",
    "too_short": "it is too short to judge its pace",
}  # fmt: skip


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `step_course`.

    Raises UserError without steps, and for several runs, unless each has a panel of its own.
    """
    known = rows.filter(pl.col("step_s") > 0).sort("position_in_run")
    if known.is_empty():
        raise UserError("there are no step times to draw", "see what was measured: scalelens query batch_stats")
    for part in known.partition_by(page.facet) if page.facet else [known]:
        limits.check_one_run(part, "step times")
    points: list[Row] = known.to_dicts()
    restarted = any(point["step"] is None for point in points) or any(
        len(_by_attempt(of)) > 1 for of in _by(points, "run_id").values()
    )
    for point in points:
        point["at"] = point["position_in_run"] if restarted else point["step"]
        point["rules"] = " ".join(point["excluded_by"] or ()) or None
    _mark_beyond(points)
    x, y = _axes(points, "record" if restarted else "step")
    legend = [look for look, part in _marks(points) if part]

    def panel(part: Sequence[Row], y: Any) -> Any:
        return alt.layer(*(_layer(look, of_look, x, y) for look, of_look in _marks(part) if of_look))

    return style.figure(facets.panels(points, page, panel, x, y), legend, _caption(points, left_out), page)


def _marks(points: Sequence[Row]) -> list[tuple[style.Look, list[Row]]]:
    """The marks for the records of one run or several, in the order in which they are drawn."""
    runs = _by(points, "run_id").values()
    return [
        (_COUNTS, [point for point in points if not point["rules"]]),
        (_LEFT_OUT, [point for point in points if point["rules"] and not point["is_beyond"]]),
        (_BEYOND, [point for point in points if point["is_beyond"]]),
        (_STEADY, [level for of in runs for level in _levels(of)]),
        (_CHANGE, [change for of in runs for change in _changes(of)]),
        (_RESTART, [restart for of in runs for restart in _restarts(of)]),
    ]


def _mark_beyond(points: Sequence[Row]) -> None:
    """Says of each record whether it is beyond the axis: one left out that would press those that count together."""
    counted = [point["step_s"] for point in points if not point["rules"]]
    is_log = bool(counted) and axes.is_logarithmic(min(counted), max(counted))
    end = math.inf if is_log or not counted else _BEYOND_FROM * max(counted)
    for point in points:
        point["is_beyond"] = point["step_s"] > end


def _axes(points: Sequence[Row], title: str) -> tuple[Any, Any]:
    shown = [point["step_s"] for point in points if not point["is_beyond"]]
    counted = [point["step_s"] for point in points if not point["rules"]] or shown
    low, high = min(shown), max(shown)
    first, last = points[0]["at"], max(point["at"] for point in points)
    scale = alt.Scale(domain=[first, max(last, first + 1)], nice=False, padding=5)
    x = alt.X("at:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6, tickMinStep=1, **axes.labels(last)))
    if not axes.is_logarithmic(min(counted), max(counted)):
        return x, axes.from_zero("step_s", "step time [s]", high)
    ticks = [tick for tick in axes.ticks_of_decades(low, high) if low / 2 <= tick <= high * 2]
    axis = alt.Axis(values=ticks, tickCount=len(ticks), labelOverlap="greedy", labelSeparation=2, **axes.labels(high))
    scale = alt.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False)
    return x, alt.Y("step_s:Q", title="step time [s], log.", scale=scale, axis=axis)


def _layer(look: style.Look, part: Sequence[Row], x: Any, y: Any) -> Any:
    """Points for records, lines for levels, or vertical rules, which have no time."""
    fields = [name for name in ("at", "step_s", "until", "rules") if name in part[0]]
    chart = alt.Chart(style.values([{name: row[name] for name in fields} for row in part]))
    if look.shape:
        mark = chart.mark_point(color=look.color, shape=look.shape, size=7 if look is _COUNTS else 14, opacity=0.8)
        return mark.encode(
            x, alt.YValue(_EDGE) if look is _BEYOND else y, tooltip=style.tooltips("at:Q", "step_s:Q", "rules:N")
        )
    rule = chart.mark_rule(color=look.color, strokeDash=list(look.dash), strokeWidth=look.thickness)
    return rule.encode(x, y, x2=alt.X2("until:Q")) if "until" in fields else rule.encode(x)


def _by(points: Sequence[Row], column: str) -> dict[Any, list[Row]]:
    parts: dict[Any, list[Row]] = {}
    for point in points:
        parts.setdefault(point[column], []).append(point)
    return parts


def _by_attempt(of_run: Sequence[Row]) -> dict[Any, list[Row]]:
    return _by(of_run, "attempt")


def _place(of_attempt: Sequence[Row], step: int) -> Any:
    """The position of a step on the x axis, or of the first one after it that is drawn."""
    return next((point["at"] for point in of_attempt if (point["step"] or 0) >= step), of_attempt[-1]["at"])


def _levels(points: Sequence[Row]) -> list[Row]:
    return [
        {"at": _place(of, of[0]["steady_from_step"]), "until": of[-1]["at"], "step_s": of[0]["steady_s"]}
        for of in _by_attempt(points).values()
        if of[0]["steady_s"] is not None and of[0]["steady_from_step"] is not None
    ]


def _changes(points: Sequence[Row]) -> list[Row]:
    """Where another level begins; of an attempt that keeps its pace, levels are alike or short."""
    return [
        {"at": _place(of, int(step))}
        for of in _by_attempt(points).values()
        for step in (of[0]["change_steps"] or "").split()
        if of[0]["verdict"] != _STEADY_VERDICT
    ]


def _restarts(points: Sequence[Row]) -> list[Row]:
    return [{"at": of[0]["at"]} for of in list(_by_attempt(points).values())[1:]]


def _caption(points: Sequence[Row], left_out: Mapping[str, int]) -> list[str]:
    """Runs, records, the pace of each run, what was thinned and left out."""
    runs = sorted(_by(points, "run_id").values(), key=lambda of: words.natural(f"{of[0].get('name')}"))
    firsts = [of[0] for of in runs]
    lines = [f"{firsts[0]['name']}."] if len(runs) == 1 and firsts[0].get("name") else []
    kind = " (means of several steps)" if firsts[0]["value_kind"] == "interval_mean" else ""
    records = words.counted([first["n_steps"] for first in firsts], "record")
    each = f"{len(runs)} runs, each of " if len(runs) > 1 else ""
    lines.append(f"{each}{records}{kind}.")
    for of in runs:
        verdicts = [attempt[0]["verdict"] for attempt in _by_attempt(of).values()]
        texts = dict.fromkeys(_VERDICTS[verdict] for verdict in verdicts if verdict)
        pace = "; ".join(texts)
        lines += [f"{of[0].get('name')}: {pace}." if len(runs) > 1 else words.sentence(pace)] if texts else []
    are_thinned = any(len(of) < of[0]["n_steps"] for of in runs)
    if are_thinned:
        lines.append("Of records at one place, the fastest and the slowest are drawn.")
    if beyond := [point["step_s"] for point in points if point["is_beyond"]]:
        many = "records" if are_thinned else words.counted([len(beyond)], "record")
        lines.append(f"Beyond the axis: {many} left out by a rule, up to {words.short_number(max(beyond))}\u00a0s.")
    return [*lines, exclusions.sentence(left_out)]
