"""Bars of runs of one size, the fastest first, with their names inside: `throughput` without a second size."""

from collections.abc import Sequence

import altair as alt

from scalelens.charts import axes, run_labels, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row

MOST_RUNS = 48
_BAND = 9.5  # height of a bar with its gap
_COLOR = "#a6cee3"  # light, because text is written on it
_TEXT_START = 2  # points from the left edge of a bar


def panel(points: Sequence[Row], rate: str, title: str, page: Page) -> style.Panel:
    """The bars; `rate` is the column that they show."""
    fastest = sorted(points, key=lambda point: (-point[rate], words.natural(_name(point))))
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars = [
        {"place": k, "rate": point[rate], "run_id": point["run_id"], "text": words.shorten(_text(point, rate), room)}
        for k, point in enumerate(fastest)
    ]
    y = alt.Y("place:O", title="runs, the fastest first", axis=alt.Axis(labels=False, ticks=False, domain=False))
    x = alt.X(
        "rate:Q", title=title, scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5, **axes.even_labels(max(bar["rate"] for bar in bars))),
    )  # fmt: skip
    chart = alt.Chart(style.values(bars))
    bar = chart.mark_bar(height={"band": 0.85}, color=_COLOR).encode(x, y, tooltip=["text:N", "run_id:N", "rate:Q"])
    text = chart.mark_text(align="left", baseline="middle", dx=_TEXT_START).encode(y=y, x=alt.value(0), text="text:N")
    return style.Panel(alt.layer(bar, text), height=_BAND * len(bars))


def _name(point: Row) -> str:
    return run_labels.fact(point, "name") or run_labels.fact(point, "run_id")


def _text(point: Row, rate: str) -> str:
    return f"{_name(point)} · {words.short_number(point[rate])}"
