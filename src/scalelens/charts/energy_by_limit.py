"""Energy, time and power of the same work against the power limit.

Shows: which limit takes the least energy, and how much longer the work takes under it.
Query: energy_by_limit
Encodings:
    x        power limit of a device, a tick at each that was measured
    y        a panel each for the energy of a window over all devices, its time, and the mean power; from 0
    line     a run, by color, shape and dash; of more than twelve, the one that saves most and the median one are named
             and the others pale
    ring     the limit with the least energy of a run
    caption  what the least energy saves against the highest limit, and the time that it costs
Source: J. You et al., Zeus (NSDI 2023): energy and time of a training against the power limit of its GPU
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, run_labels, style, words
from scalelens.charts.highlights import PALE, in_front_last, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "energy_by_limit"
FACTS = ("name",)

_FEWEST = 2  # limits of a run
_KILO = 5_000.0  # joules from which on the axis counts thousands
_RING_SIZE = 70  # area of the ring, which surrounds a marker, in square points
_LEAST = style.Look("least energy", style.INK, "circle", [1, 0], 0, is_hollow=True)
_NAMED = "Named: the run that saves the largest share of its energy, and the one in the middle."


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `energy_by_limit`.  Raises UserError if no run has two limits."""
    several = rows.filter(pl.len().over("run_id") >= _FEWEST)
    if several.is_empty():
        raise UserError(
            "no run was measured under two power limits", "see what is known: scalelens query energy_reconciled"
        )
    points: list[Row] = several.sort("run_id", "limit_w").to_dicts()
    runs = {point["run_id"] for point in points}
    for point in points:
        point["label"] = _name(point) if len(runs) > 1 else ""
        point["energy_kj"] = point["energy_j"] / 1000
    chosen = looks_of({"": points}, _saved, page, "runs")
    looks, points = chosen.looks, in_front_last(points)
    energy = "energy_kj" if max(point["energy_j"] for point in points) >= _KILO else "energy_j"
    titles = {
        energy: f"energy [{'kJ' if energy == 'energy_kj' else 'J'}]",
        "time_s": "time [s]",
        "power_w": "power [W]",
    }
    panels = [
        style.Panel(_panel(points, measure, title, looks, page.is_wide or measure == "power_w"))
        for measure, title in titles.items()
    ]
    grid = [panels] if page.is_wide else [[panel] for panel in panels]
    legend = [*(look for look in looks if look.label), _LEAST]
    notes = [_NAMED] if chosen.is_part else []
    return style.figure(grid, legend, [*_caption(points, len(runs)), *notes, *words.notes(points)], page)


def _name(point: Row) -> str:
    return run_labels.fact(point, "name") or run_labels.fact(point, "run_id")


def _saved(points: Sequence[Row]) -> float | None:
    """The share of its energy that a run saves under the limit of the least."""
    return next((point["saved"] for point in points if point["is_least"]), None)


def _panel(points: Sequence[Row], measure: str, title: str, looks: Sequence[style.Look], has_title: bool) -> Any:
    """One measure against the limit.  Of panels above each other, the lowest has the title of the x axis."""
    ticks = sorted({point["limit_w"] for point in points})
    low, high = ticks[0], ticks[-1]
    room = 0.03 * (high - low)
    x = alt.X(
        "limit_w:Q", title="power limit of a device [W]" if has_title else None,
        scale=alt.Scale(domain=[low - room, high + room], nice=False, zero=False),
        axis=alt.Axis(
            values=ticks, tickCount=len(ticks), labelOverlap="greedy", labelSeparation=2, **axes.labels(high)
        ),
    )  # fmt: skip
    y = axes.from_zero(measure, title, max(point[measure] for point in points))
    by = style.encodings(looks)
    names = ["limit_w", measure, "label", "run_id"]
    chart = alt.Chart(style.values([{name: point[name] for name in names} for point in points]))
    rings = [point for point in points if point["is_least"] and point["front"] > PALE]
    least = alt.Chart(style.values([{name: point[name] for name in names} for point in rings]))
    tips = [alt.Tooltip(name, type="nominal") for name in ("run_id", "limit_w", measure)]
    return alt.layer(
        chart.mark_line().encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"], detail=alt.Detail("run_id:N")),
        chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips),
        least.mark_point(shape="circle", size=_RING_SIZE, filled=False, color=style.INK, strokeWidth=0.8).encode(x, y),
    )


def _caption(points: Sequence[Row], runs: int) -> list[str]:
    sensors = {point["devices"] for point in points}
    devices = f" over {words.counted(list(sensors), 'GPU')}" if max(sensors) > 1 else " of 1 GPU"
    lines = [f"Energy{devices}, time and mean power of the same work under each limit, from Zeus."]
    least = [point for point in points if point["is_least"]]
    for point in least if len(least) <= _FEWEST else []:
        whose = f"{_name(point)}: least" if runs > 1 else "Least"
        saved, longer = 100 * point["saved"], 100 * point["longer"]
        lines.append(
            f"{whose} energy at {point['limit_w']:.0f} W: {saved:.0f} % less than under the highest limit, "
            f"in {abs(longer):.0f} % {'more' if longer >= 0 else 'less'} time."
        )
    return lines
