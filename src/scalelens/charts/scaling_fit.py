"""Measured speedup against devices, with the laws of scaling that were fitted to it.

Shows: which law a series follows, and what each law predicts for one more doubling.
Query: scaling_fit_points
Encodings:
    x        devices, logarithmic, a tick at each size
    y        speedup over the smallest size, logarithmic
    point    measured: a size, or the median of its repeats
    bar      its 95 % interval, if it and the smallest size have repeats
    line     a law, by color and dash: Amdahl, Gustafson (weak scaling), universal scalability law
    thin     where nothing was measured; a cross marks what lies beyond twice the largest size
    gray     perfect scaling
    panel    a series
    caption  what the series share, the largest residual of each law, series without a fit and why
Source: figures of measured and modeled speedup in N. Gunther, Guerrilla Capacity Planning (2007)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, limits, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "scaling_fit_points"

_MOST_PANELS = 6
_LAWS = {
    "amdahl": style.Look("Amdahl", style.COLORS[0], None, [1, 0], 1.8),
    "gustafson": style.Look("Gustafson", style.COLORS[2], None, [5, 2], 1.4),
    "usl": style.Look("universal scalability law", style.COLORS[1], None, [1.5, 1.5], 1.2),
}
_MEASURED = style.Look("measured", style.INK, "circle", [1, 0], 0)
_IDEAL = style.Look("perfect scaling", "#999999", None, [1, 0], 0.8)
_FAR = style.Look("beyond twice the largest size", style.INK, "cross", [1, 0], 0)
_INTERVAL = ("ci95", "runs")
_THIN = 0.6  # share of the thickness that a line has where nothing was measured


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `scaling_fit_points`.  Raises UserError if no series has a fit."""
    fitted = rows.filter(pl.col("fitted_speedup").is_not_null())
    if fitted.is_empty():
        raise UserError(
            "a fit needs a series of at least four sizes, and there is none", "see: scalelens query scaling_fit"
        )
    points: list[Row] = fitted.sort("series", "law", "devices").to_dicts()
    shared, labels = naming.apart(dict.fromkeys(point["series"] for point in points))
    limits.check_count(len(labels), _MOST_PANELS, "series", limits.CHOOSE_RUNS)
    labels = dict(sorted(labels.items(), key=lambda series: page.position(series[1])))
    across = 2 if page.is_wide and len(labels) > 1 else 1
    panels = [
        style.Panel(
            facets.titled(_panel([point for point in points if point["series"] == series]), label, across, page, True),
            name=label,
        )
        for series, label in labels.items()
    ]
    grid = [panels[n : n + across] for n in range(0, len(panels), across)]
    legend: list[style.Look | style.IntervalLook] = [
        _MEASURED,
        *(look for law, look in _LAWS.items() if any(point["law"] == law for point in points)),
        _IDEAL,
    ]
    legend += [_FAR] if any(_is_far(point) for point in points) else []
    legend += [style.INTERVALS[_INTERVAL]] if any(point["speedup_low"] is not None for point in points) else []
    without = rows["series"].n_unique() - len(labels)
    caption = [f"{shared}." if shared else "", *_caption(points, labels, without), exclusions.sentence(left_out)]
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _is_far(point: Row) -> bool:
    return point["mark"] is not None and point["mark"] != "extrapolated"


def _panel(points: Sequence[Row]) -> Any:
    """One series: the ideal line below the laws, the measured points above them."""
    x, y = axes.of_devices(points), _speedup(points)
    sizes = sorted({point["devices"] for point in points})
    ideal = alt.Chart(style.values([{"devices": size, "speedup": size / sizes[0]} for size in sizes]))
    layers = [ideal.mark_line(color=_IDEAL.color, strokeWidth=_IDEAL.thickness).encode(x, y)]
    for law, look in _LAWS.items():
        layers += _law([point for point in points if point["law"] == law], look, x, y)
    of_law = [point for point in points if point["law"] == points[0]["law"]]  # each law repeats the measured sizes
    known = [point | {"label": _MEASURED.label} for point in of_law if point["speedup"] is not None]
    ink = style.encodings([_MEASURED])["color"]
    layers += style.interval_layers(known, _INTERVAL, x, ("speedup_low", "speedup_high"), ink)
    measured = alt.Chart(style.values([{name: point[name] for name in ("devices", "speedup")} for point in known]))
    layers.append(
        measured.mark_point(color=_MEASURED.color).encode(x, y, tooltip=style.tooltips("devices:Q", "speedup:Q"))
    )
    return alt.layer(*layers)


def _law(points: Sequence[Row], look: style.Look, x: Any, y: Any) -> list[Any]:
    """A law's line over the measured sizes, its thin continuation, and crosses far beyond them."""
    inside = [point for point in points if point["mark"] is None]
    outside = [*inside[-1:], *(point for point in points if point["mark"] is not None)]
    layers = []
    for part, thickness in ((inside, look.thickness), (outside, look.thickness * _THIN)):
        line = _values(part).mark_line(color=look.color, strokeDash=list(look.dash), strokeWidth=thickness)
        layers += [line.encode(x, y)] if len(part) > 1 else []
    if far := [point for point in points if _is_far(point)]:
        layers.append(_values(far).mark_point(color=look.color, shape="cross").encode(x, y))
    return layers


def _values(points: Sequence[Row]) -> Any:
    return alt.Chart(
        style.values([{"devices": point["devices"], "speedup": point["fitted_speedup"]} for point in points])
    )


def _speedup(points: Sequence[Row]) -> Any:
    """A logarithmic y axis of powers of two, on which perfect scaling is a straight line."""
    devices = [point["devices"] for point in points]
    values = [value for point in points for value in (point["speedup"], point["fitted_speedup"]) if value]
    low, high = min(*values, 1), max(*values, max(devices) / min(devices))
    ticks = [2.0**n for n in range(-10, 30) if low / 1.2 <= 2**n <= high * 1.2]
    return alt.Y(
        "speedup:Q",
        title="speedup, log.",
        scale=alt.Scale(type="log", base=2, domain=[low / 1.2, high * 1.2], nice=False),
        axis=alt.Axis(
            values=ticks, tickCount=len(ticks), labelOverlap="greedy", labelSeparation=3, **axes.labels(high)
        ),
    )


def _caption(points: Sequence[Row], labels: Mapping[str, str], without: int) -> list[str]:
    lines = ["Each point: one size; speedup over the smallest. Thin lines: sizes that were not measured."]
    for series, label in labels.items():
        texts = []
        for law, look in _LAWS.items():
            known = [abs(point["residual"]) for point in points
                     if (point["series"], point["law"]) == (series, law) and point["residual"] is not None]  # fmt: skip
            texts += [f"{look.label} {100 * max(known):.1f}\u00a0%"] if known else []
        lines.append(f"Largest residual{' of ' + label if label else ''}: {', '.join(texts)}.")
    if without:
        lines.append(
            f"Not drawn: {words.counted([without], 'series', 'series')} without a fit (fewer than four sizes)."
        )
    return lines
