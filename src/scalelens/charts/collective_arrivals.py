"""When the ranks arrive at their collectives.

Shows: how much later than the first each rank arrives, collective by collective, and which rank arrives last and makes
    the others wait.
Query: collective_arrivals
Encodings:
    x        delay after the first rank, logarithmic above 10 us, or above the decade of the least delay; linear below
    y        rank, with the one that causes the most waiting at the top
    tick     an arrival, or the latest of many at one place
    point    an arrival after all others: filled, in color
    caption  collectives, ranks, how often the worst rank is last and its share of the waiting that late ranks cause,
             what is known about the clocks, what was thinned, ranks that are not drawn
Source: a strip plot, W. S. Cleveland, The Elements of Graphing Data, 1985; the blame is that of the query
"""

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.errors import UserError
from scalelens.units import ratio

QUERY = "collective_arrivals"

_MOST_RANKS = 16  # rows that fit the height of a panel
_DRAWN_ALL = 5000  # the largest number of arrivals that are all drawn
_LEAST_LINEAR_UP_TO = 10  # microseconds, by which the ends of one collective differ
_UNITS = {name: ratio(name, "µs") for name in ("s", "ms", "µs")}  # an axis has the largest that fits ten times
_ALL_TICKS_UP_TO = 3  # decades; with more, only 1, 10, 100 have room for labels

_ARRIVES = style.Look("arrives", style.GRAY, None, [1, 0], 0.7)
_ARRIVES_LAST = style.Look("arrives last", style.COLORS[1], "circle", [1, 0], 0)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `collective_arrivals`.  Raises UserError if no collective has two ranks."""
    compared = rows.filter(pl.col("ranks") > 1).sort("run_id", "call", "rank")
    if compared.is_empty():
        raise UserError(
            "there are no collectives of two ranks or more to draw", "see what was traced: scalelens query collectives"
        )
    limits.check_one_run(compared, "the arrival of ranks")
    compared = compared.with_columns(is_last=pl.col("blame_ns") > 0)
    blame = _blame(compared)
    order = blame["rank"].to_list()[:_MOST_RANKS]
    lateness_us = pl.col("lateness_ns") / 1000
    arrivals = compared.filter(pl.col("rank").is_in(order)).select("rank", "is_last", "call", lateness_us=lateness_us)
    linear_us = _linear_up_to(arrivals["lateness_us"])
    seen = _seen(arrivals, linear_us, page)
    caption = _caption(compared, blame, order)
    if seen.height < arrivals.height:
        caption.append("Drawn: of arrivals at one place the latest.")
    panel = _panel(seen.to_dicts(), order, linear_us)
    return style.figure([[style.Panel(panel)]], [_ARRIVES, _ARRIVES_LAST], caption, page)


def _seen(arrivals: pl.DataFrame, linear_us: float, page: Page) -> pl.DataFrame:
    """The arrivals; if there are many, only the latest of those within half the thickness of a tick."""
    if arrivals.height <= _DRAWN_ALL:
        return arrivals
    # The axis is logarithmic above the linear part, as Vega's symlog.
    place = (arrivals["lateness_us"] / linear_us).log1p()
    slots = math.ceil(page.points / (_ARRIVES.thickness / 2))
    slot = (place / (place.max() or 1) * slots).floor()
    by = arrivals.with_columns(slot=slot).sort("lateness_us", "call", descending=[True, False])
    latest = by.unique(["rank", "is_last", "slot"], keep="first", maintain_order=True)
    return latest.drop("slot").sort("call", "rank")


def _linear_up_to(lateness_us: pl.Series) -> float:
    """Microseconds up to which the axis is linear: the decades below the least delay would be empty."""
    least = min((each for each in lateness_us.to_list() if each > 0), default=0.0)
    return max(10.0 ** math.floor(math.log10(least)), _LEAST_LINEAR_UP_TO) if least else _LEAST_LINEAR_UP_TO


def _blame(compared: pl.DataFrame) -> pl.DataFrame:
    """Ranks, sorted by the waiting that they cause."""
    return (
        compared.group_by("rank")
        .agg(times=pl.col("is_last").sum(), blame=pl.col("blame_ns").sum(), latest=pl.col("lateness_ns").sum())
        .sort("blame", "latest", "rank", descending=[True, True, False])
    )


def _panel(points: list[dict[str, Any]], order: list[int], linear_us: float) -> Any:
    highest = max(point["lateness_us"] for point in points)
    unit = next((unit for unit, size in _UNITS.items() if highest >= 10 * size), "µs")
    points = [point | {"lateness": point.pop("lateness_us") / _UNITS[unit]} for point in points]
    x = _x(highest, unit, linear_us)
    y = alt.Y("rank:O", title="rank", sort=order, axis=alt.Axis(labelOverlap=False))
    others = alt.Chart(style.values([point for point in points if not point["is_last"]]))
    ticked = others.mark_tick(color=_ARRIVES.color, thickness=_ARRIVES.thickness, orient="vertical", opacity=0.8)
    latest = alt.Chart(style.values([point for point in points if point["is_last"]]))
    dots = latest.mark_point(color=_ARRIVES_LAST.color, shape="circle", opacity=0.9)
    tips = ["rank:O", "call:Q", alt.Tooltip("lateness:Q", title=f"lateness [{unit}]")]
    return alt.layer(ticked.encode(x, y, tooltip=tips), dots.encode(x, y, tooltip=tips))


def _x(highest_us: float, unit: str, linear_us: float) -> Any:
    """An axis that is linear up to so many microseconds and logarithmic above."""
    round_us = [0, linear_us / 2, *axes.ticks_of_decades(linear_us, 10**9)]
    end_us = next((tick for tick in round_us if tick >= highest_us), round_us[-1])
    is_long = end_us > linear_us * 10**_ALL_TICKS_UP_TO
    shown = [tick for tick in round_us if math.log10(tick or 1).is_integer()] if is_long else round_us
    ticks = [tick / _UNITS[unit] for tick in shown if tick <= end_us]
    end, constant = end_us / _UNITS[unit], linear_us / _UNITS[unit]
    return alt.X(
        "lateness:Q",
        title=f"later than the first [{unit}], log.",
        scale=alt.Scale(type="symlog", constant=constant, domain=[0, end], nice=False, padding=5),
        axis=alt.Axis(
            values=ticks,
            tickCount=len(ticks),
            labelOverlap="greedy",
            labelSeparation=4,
            grid=True,
            **axes.labels(end),
        ),
    )


def _caption(compared: pl.DataFrame, blame: pl.DataFrame, order: list[int]) -> list[str]:
    calls, total = compared["call"].n_unique(), blame["blame"].sum()
    worst = blame.row(0, named=True)
    lines = [f"{words.counted([calls], 'collective')} of {words.counted([blame.height], 'rank')}."]
    if total:
        lines.append(
            f"Rank {worst['rank']} arrives last at {worst['times']} of {calls} and causes "
            f"{100 * worst['blame'] / total:.0f} % of the waiting for late ranks. Ranks that cause most come first."
        )
    offsets = compared["offset_ns"].to_list()
    if None in offsets:
        lines.append("Clock offsets are unknown: starts are compared without correction.")
    elif any(offsets):
        largest = max(map(abs, offsets)) / 1000
        lines.append(f"Clock offsets of up to {words.short_number(largest)} µs are subtracted.")
    if hidden := blame.height - len(order):
        lines.append(f"Not drawn: {words.counted([hidden], 'rank')} (least waiting caused).")
    return lines
