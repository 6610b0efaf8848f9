"""Energy against scale, with the speedup that it buys.

Shows: what the same work takes on more devices, relative to the base case, above the speedup over the same devices:
    energy that rises while the speedup flattens is the price of a shorter time.
Query: energy_scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        energy per sample relative to the base of the series, from 0, the base marked; speedup, logarithmic, the
             ideal as a grey line
    line     a series, by colour, shape and dash
    bar      range of repeated runs
    caption  what the series share, base case with its joules per sample, runs, steps, whose energy it is, what was left
             out
Source: energy-to-solution against time-to-solution, as in T. Hoefler, R. Belli, SC'15, rules 1 and 2 (base case named)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "energy_scaling"
FACTS = ("device_unit",)

IDEAL = style.Look("base, and ideal speedup", style.GREY, None, [1, 0], 0.7)
OF = {
    "steps": "Energy of the steps alone.",
    "runs": "Energy of whole runs, start-up and all.",
}

Row = dict[str, Any]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `energy_scaling`.  Raises UserError where there is nothing to compare."""
    compared = rows.filter(pl.col("relative_energy").is_not_null()).sort("series", "devices", "sample_j", "run_id")
    if compared.is_empty():
        raise UserError(
            "there is no series with an energy at two sizes or more",
            "see what is known: scalelens query energy_efficiency; scalelens query scaling",
        )
    points: list[Row] = compared.to_dicts()
    shared = words.name_series(points)
    several = len({point["scaling"] for point in points}) > 1
    for point in points:
        point["label"] = " · ".join(filter(None, (point["label"], point["scaling"] if several else "")))
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural))
    grid = [[style.Panel(_energy(points, looks))]]
    if fast := [point for point in points if point["speedup"] is not None]:
        panel = style.Panel(_speedup(fast, looks))
        grid = [[*grid[0], panel]] if width == "double" else [*grid, [panel]]
    legend: list[style.Look | style.Bar] = [*(look for look in looks if look.label), IDEAL]
    legend += [style.BARS["range", "runs"]] if any(point["relative_low"] is not None for point in points) else []
    caption = [shared, *_caption(points, rows.height - compared.height), words.exclusions(left_out)]
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], width)


def _energy(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of the energy relative to the base."""
    highest = max(point["relative_high"] or point["relative_energy"] for point in points)
    ticks = style.ticks(max(1.0, highest))
    y = alt.Y(
        "relative_energy:Q", title="relative energy",
        scale=alt.Scale(domain=[0, style.HEADROOM * ticks[-1]], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks)),
    )  # fmt: skip
    base = alt.Chart(style.values([{"base": 1}])).mark_rule(color=IDEAL.colour, strokeWidth=IDEAL.thickness)
    barred = [point for point in points if point["relative_low"] is not None]
    bars = []
    if barred:
        ends = ("relative_low", "relative_high")
        data = style.values([{name: point[name] for name in ("devices", "label", *ends)} for point in barred])
        bars = style.bars(data, ("range", "runs"), _x(points), *ends, style.encodings(looks)["color"])
    return alt.layer(base.encode(y="base:Q"), *_lines(points, looks, "relative_energy", y, bars))


def _speedup(points: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of the speedup, ideal where it grows as the devices do."""
    first: dict[str, Row] = {}
    for point in points:
        first.setdefault(point["series"], point)
    most = max(point["devices"] for point in points)
    ideals = [
        {"devices": devices, "speedup": base["speedup"] * devices / base["devices"], "series": series}
        for series, base in first.items()
        for devices in (base["devices"], most)
    ]
    highest = max([*(point["speedup"] for point in points), *(end["speedup"] for end in ideals)])
    lowest = min([*(point["speedup"] for point in points), *(end["speedup"] for end in ideals)])
    ticks = [float(2**power) for power in range(-8, 24) if lowest / 1.5 <= 2**power <= highest * 1.5]
    y = alt.Y(
        "speedup:Q", title="speedup, log.",
        scale=alt.Scale(type="log", base=2, domain=[lowest / 1.1, highest * 1.1], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks), format="~g", labelOverlap="greedy", labelSeparation=2),
    )  # fmt: skip
    ideal = alt.Chart(style.values(ideals)).mark_line(color=IDEAL.colour, strokeWidth=IDEAL.thickness)
    return alt.layer(ideal.encode(_x(points), y, detail="series:N"), *_lines(points, looks, "speedup", y, []))


def _lines(points: Sequence[Row], looks: Sequence[style.Look], field: str, y: Any, bars: Sequence[Any]) -> list[Any]:
    """Lines of the series with their points; the line runs through the lowest energy of each size."""
    by, x = style.encodings(looks), _x(points)
    names = ("devices", field, "label", "series", "run_id", "n_runs")
    least = {(point["series"], point["devices"]): point for point in reversed(points)}
    line = alt.Chart(style.values([{name: point[name] for name in names} for point in reversed(least.values())]))
    dots = alt.Chart(style.values([{name: point[name] for name in names} for point in points]))
    tips = [alt.Tooltip(name, type="nominal") for name in ("series", "run_id", "n_runs")]
    return [
        line.mark_line().encode(x, y, by["color"], by["strokeDash"], detail="series:N"), *bars,
        dots.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips),
    ]  # fmt: skip


def _x(points: Sequence[Row]) -> Any:
    sizes = sorted({point["devices"] for point in points})
    domain = [sizes[0], sizes[-1]] if len(sizes) > 1 else [sizes[0] / 2, sizes[0] * 2]
    return alt.X(
        "devices:Q", title=words.unit(points),
        scale=alt.Scale(type="log", base=2, domain=domain, nice=False, padding=12),
        axis=alt.Axis(values=sizes, tickCount=len(sizes), format="d", labelOverlap="greedy", labelSeparation=3),
    )  # fmt: skip


def _caption(points: Sequence[Row], others: int) -> list[str]:
    bases: dict[str, Row] = {}
    for point in points:
        if point["devices"] == point["baseline_devices"]:
            bases.setdefault(point["series"], point)
    said = []
    for base in sorted(bases.values(), key=lambda base: words.natural(base["label"])):
        size = words.span([base["devices"]], words.unit([base]).removesuffix("s"))
        name = f" ({base['label']})" if base["label"] else ""
        said.append(f"{words.number(base['sample_j'])} J a sample on {size}{name}")
    lines = [f"Base: {', '.join(said)}."]
    counts = [words.span([point["n_runs"] for point in points], "run")]
    if steps := [point["n_steps"] for point in points if point["n_steps"]]:
        counts.append(words.span(steps, "step record"))
    lines.append(f"Each point: {', '.join(counts)}.")
    if all(point["n_runs"] == 1 for point in points):
        lines.append("One run per size: no interval.")
    lines += [OF[kind] for kind in OF if any(point["energy_of"] == kind for point in points)]
    notes = dict.fromkeys(note for point in points for note in (point["note"] or "").split("; ") if note)
    lines += [f"{note[0].upper()}{note[1:]}." for note in notes]
    if others:
        lines.append(f"Not drawn: {words.span([others], 'point')} of series whose model grows: the work differs.")
    return lines
