"""Energy against scale, with the speedup that it buys.

Shows: the energy of the same work on more devices, relative to the base case, above the speedup over the same devices.
    Energy that rises while the speedup flattens is the price of a shorter time.
Query: energy_scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        energy per sample relative to the base of the series, from 0, the base marked; speedup, logarithmic, the
             ideal as a gray line
    line     a series, by color, shape and dash
    bar      range of repeated runs
    caption  what the series share, base case with its joules per sample, runs, steps, whose energy it is, what was left
             out
Source: energy-to-solution against time-to-solution, as in T. Hoefler, R. Belli, SC'15, rules 1 and 2 (base case named)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "energy_scaling"
FACTS = ("device_unit",)

_BASE_AND_IDEAL = style.Look("base, and ideal speedup", style.GRAY, None, [1, 0], 0.7)
_ENERGY_OF = {
    "steps": "Energy of the steps only.",
    "runs": "Energy of whole runs, including start-up.",
}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `energy_scaling`.  Raises UserError if there is nothing to compare."""
    compared = rows.filter(pl.col("relative_energy").is_not_null()).sort("series", "devices", "sample_j", "run_id")
    if compared.is_empty():
        raise UserError(
            "there is no series with an energy at two sizes or more",
            "see what is known: scalelens query energy_efficiency; scalelens query scaling",
        )
    points: list[Row] = compared.to_dicts()
    shared = naming.name_series(points)
    several = len({point["scaling"] for point in points}) > 1
    for point in points:
        point["label"] = " · ".join(filter(None, (point["label"], point["scaling"] if several else "")))
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    grid = [[style.Panel(_energy(points, looks))]]
    if fast := [point for point in points if point["speedup"] is not None]:
        panel = style.Panel(_speedup(fast, looks))
        grid = [[*grid[0], panel]] if page.is_wide else [*grid, [panel]]
    legend: list[style.Look | style.IntervalLook] = [*(look for look in looks if look.label), _BASE_AND_IDEAL]
    legend += [style.INTERVALS["range", "runs"]] if any(point["relative_low"] is not None for point in points) else []
    others = rows.filter(pl.col("relative_energy").is_null())
    caption = [shared, *_caption(points, others), exclusions.sentence(left_out)]
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _energy(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of the energy relative to the base."""
    highest = max(point["relative_high"] or point["relative_energy"] for point in points)
    y = axes.from_zero("relative_energy", "relative energy", max(1.0, highest))
    base = alt.Chart(style.values([{"base": 1}]))
    base = base.mark_rule(color=_BASE_AND_IDEAL.color, strokeWidth=_BASE_AND_IDEAL.thickness)
    ends, color = ("relative_low", "relative_high"), style.encodings(looks)["color"]
    ranges = style.interval_layers(points, ("range", "runs"), axes.of_devices(points), ends, color)
    return alt.layer(base.encode(y=alt.Y("base:Q")), *_lines(points, looks, "relative_energy", y, ranges))


def _speedup(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of the speedup.  The ideal speedup grows as fast as the number of devices."""
    ideals = _ideal_ends(points)
    speedups = [row["speedup"] for row in (*points, *ideals)]
    lowest, highest = min(speedups), max(speedups)
    ticks = [float(2**power) for power in range(-8, 24) if lowest / 1.5 <= 2**power <= highest * 1.5]
    y = alt.Y(
        "speedup:Q", title="speedup, log.",
        scale=alt.Scale(type="log", base=2, domain=[lowest / 1.1, highest * 1.1], nice=False),
        axis=alt.Axis(
            values=ticks, tickCount=len(ticks), labelOverlap="greedy", labelSeparation=2, **axes.labels(highest)
        ),
    )  # fmt: skip
    ideal = alt.Chart(style.values(ideals))
    ideal = ideal.mark_line(color=_BASE_AND_IDEAL.color, strokeWidth=_BASE_AND_IDEAL.thickness)
    x = axes.of_devices(points)
    return alt.layer(ideal.encode(x, y, detail=alt.Detail("series:N")), *_lines(points, looks, "speedup", y, []))


def _ideal_ends(points: Sequence[Row]) -> list[Row]:
    """Both ends of each series' ideal line, from its first point to the largest number of devices of any series."""
    first: dict[str, Row] = {}
    for point in points:
        first.setdefault(point["series"], point)
    most = max(point["devices"] for point in points)
    return [
        {"devices": devices, "speedup": base["speedup"] * devices / base["devices"], "series": series}
        for series, base in first.items()
        for devices in (base["devices"], most)
    ]


def _lines(points: Sequence[Row], looks: Sequence[style.Look], field: str, y: Any, ranges: Sequence[Any]) -> list[Any]:
    """Lines of the series with their points.  A line runs through the lowest energy at each size."""
    by, x = style.encodings(looks), axes.of_devices(points)
    names = ("devices", field, "label", "series", "run_id", "n_runs")
    least = {(point["series"], point["devices"]): point for point in reversed(points)}
    line = alt.Chart(style.values([{name: point[name] for name in names} for point in reversed(least.values())]))
    dots = alt.Chart(style.values([{name: point[name] for name in names} for point in points]))
    tips = [alt.Tooltip(name, type="nominal") for name in ("series", "run_id", "n_runs")]
    return [
        line.mark_line().encode(
            x, y, by["color"], by["strokeDash"], by["strokeWidth"], detail=alt.Detail("series:N")
        ),
        *ranges,
        dots.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips),
    ]  # fmt: skip


def _caption(points: Sequence[Row], others: pl.DataFrame) -> list[str]:
    lines = [_bases(points), f"Each point: {words.records_of(points)}."]
    if all(point["n_runs"] == 1 for point in points):
        lines.append("One run per size: no interval.")
    lines += [_ENERGY_OF[kind] for kind in _ENERGY_OF if any(point["energy_of"] == kind for point in points)]
    notes = words.notes(points)
    if _ENERGY_OF["runs"] in lines:
        notes = [note for note in notes if not note.startswith("The energy includes start-up")]
    lines += notes
    growing = others.filter(pl.col("scaling") == "mixed").height
    if growing:
        lines.append(f"Not drawn: {words.counted([growing], 'point')} of series whose model grows: the work differs.")
    if others.height > growing:
        known = words.counted([others.height - growing], "point")
        lines.append(f"Not drawn: {known} that cannot be compared with the base.")
    return lines


def _bases(points: Sequence[Row]) -> str:
    """`Base: 42.87 J a sample on 8 GCDs (bf16), 75.91 J a sample on 8 GCDs (fp32).`"""
    bases: dict[str, Row] = {}
    for point in points:
        if point["devices"] == point["baseline_devices"]:
            bases.setdefault(point["series"], point)
    texts = []
    for base in sorted(bases.values(), key=lambda base: words.natural(base["label"])):
        label = f" ({base['label']})" if base["label"] else ""
        texts.append(f"{words.short_number(base['sample_j'])} J a sample on {words.devices(base)}{label}")
    return f"Base: {', '.join(texts)}."
