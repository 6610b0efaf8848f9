"""Bars of parts that add up, one below the other: a bar for each rank or step, for the charts of traces."""

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt

from scalelens.charts import axes, style
from scalelens.charts.layout import Page
from scalelens.units import ratio

SEEN = 1 / 500  # of the longest bar: a thinner part is a hairline, whose color nobody sees
_BAR, _LOWEST = 22, 34  # points: height of a bar, and of a panel, whose title needs room
_NS = {name: ratio(name, "ns") for name in ("s", "ms", "µs")}


def unit_of(longest_ns: float) -> tuple[str, float]:
    """The unit in which a time of so many ns is a number of at least 1, and how many ns it has."""
    return next(((unit, ns) for unit, ns in _NS.items() if longest_ns >= ns), ("µs", _NS["µs"]))


def panel(bars: Any, count: int, page: Page) -> style.Panel:
    """A panel as high as so many bars need."""
    highest = style.WIDE_HEIGHT if page.is_wide else style.HEIGHT
    return style.Panel(bars, height=min(highest, max(_LOWEST, _BAR * count)))


def legend(bars: Iterable[Mapping[str, float]], colors: Mapping[str, str]) -> list[style.Look]:
    """The looks of the parts that can be seen in a bar, in the order of `colors`."""
    known = list(bars)
    least = SEEN * max(sum(parts.values()) for parts in known)
    seen = {name for parts in known for name, size in parts.items() if size >= least}
    return [style.swatch(name.replace("_", " "), color) for name, color in colors.items() if name in seen]


def stacked(
    bars: Mapping[str, Mapping[str, float]],
    colors: Mapping[str, str],
    *,
    x: str,
    value: str = "time",
    row: str = "rank",
    part: str = "part",
) -> Any:
    """The chart of bars: by its label, the parts of each in the order of `colors`.

    `x` is the title of the axis of values; `value`, `row` and `part` are the words of the tooltip, and `row` is that of
    the axis of bars.
    """
    longest = max(sum(parts.values()) for parts in bars.values())
    order = list(colors)
    values = [
        {row: label, part: name, "order": order.index(name), value: size}
        for label, parts in bars.items()
        for name, size in parts.items()
    ]
    scale = alt.Scale(domain=order, range=list(colors.values()))
    marks = alt.Chart(style.values(values)).mark_bar(height={"band": 0.8}, stroke="white", strokeWidth=0.3)
    return marks.encode(
        x=alt.X(f"{value}:Q", stack="zero", title=x, scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=5, **axes.even_labels(longest))),
        y=alt.Y(f"{row}:N", title=row, sort=list(bars),
                axis=alt.Axis(ticks=False, domain=False, labelOverlap="greedy")),
        color=alt.Color(f"{part}:N", scale=scale, legend=None),
        order="order:Q",
        tooltip=[*style.tooltips(f"{row}:N", f"{part}:N"), alt.Tooltip(f"{value}:Q", format=".4g")],
    )  # fmt: skip
