"""Bars of runs with their names inside, from the first down."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt

from scalelens.charts import axes, run_labels, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

_BAND = 9.5  # height of a bar with its gap
_BELOW_TEXT = 3.4  # below the middle of a bar: where a line crosses none of its letters
_COLOR = "#a6cee3"  # light, because text is written on it
_TITLE = 78  # points that the whole title of the runs takes
_TEXT_START = 2  # points from the left edge of a bar


class Measure(NamedTuple):
    """The column that bars show, the title of its axis, and which run comes first: `fastest`."""

    column: str
    title: str
    first: str


def name(run: Row) -> str:
    """The name of a run, else its id."""
    return run_labels.fact(run, "name") or run_labels.fact(run, "run_id")


def amount(run: Row, column: str) -> list[str]:
    """What stands after the name in a bar: how many runs share it, if several do, and its value."""
    shared = [f"{run['runs']} runs"] if run.get("runs", 1) > 1 else []
    return [*shared, words.short_number(run[column])]


def panel(runs: Sequence[Row], texts: Sequence[str], measure: Measure, page: Page) -> style.Panel:
    """A bar for each run with its text.  Runs that share one are a row with `runs`, `lowest` and `highest`."""
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars = [
        {
            "place": k,
            "value": run[measure.column],
            "run_id": run["run_id"],
            "text": text,
            **({"lowest": run["lowest"], "highest": run["highest"]} if run.get("runs", 1) > 1 else {}),
        }
        for k, (run, text) in enumerate(zip(runs, words.shortened(texts, room), strict=True))
    ]
    y = alt.Y("place:O", title=_title(len(bars), measure), axis=alt.Axis(labels=False, ticks=False, domain=False))
    x = alt.X(
        "value:Q", title=measure.title, scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5, **axes.even_labels(max(bar.get("highest", bar["value"]) for bar in bars))),
    )  # fmt: skip
    chart = alt.Chart(style.values(bars))
    bar = chart.mark_bar(height={"band": 0.85}, color=_COLOR).encode(
        x, y, tooltip=style.tooltips("text:N", "run_id:N", "value:Q")
    )
    text = chart.mark_text(align="left", baseline="middle", dx=_TEXT_START).encode(
        y=y, x=alt.value(0), text=alt.Text("text:N")
    )
    ranges = [bar for bar in bars if "lowest" in bar]
    rule = alt.Chart(style.values(ranges)).mark_rule(color=style.INK, strokeWidth=0.75, yOffset=_BELOW_TEXT)
    rules = [rule.encode(x=alt.X("lowest:Q", title=measure.title), x2=alt.X2("highest:Q"), y=y)] if ranges else []
    return style.Panel(alt.layer(bar, *rules, text), height=_BAND * len(bars))


def _title(bars: int, measure: Measure) -> str:
    """As long as the axis has room for."""
    return f"runs, the {measure.first} first" if bars * _BAND >= _TITLE else "runs" if bars > 1 else "run"
