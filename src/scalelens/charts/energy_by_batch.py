"""Throughput, energy and work per energy against the batch size.

Shows: where a larger batch still helps: throughput, what a device took, and what came of a watt-hour, over the same
    batches, one line for each set of runs that differ in nothing else.
Query: energy_by_batch
Encodings:
    x        global batch size in samples, logarithmic, a tick at each size that was run
    y        tokens per second of the whole job, samples where tokens are not known; watt-hours of one device, package
             or node; tokens or samples per watt-hour of all; logarithmic where the largest is ten times the least
    line     a series, by colour, shape and dash
    bar      range of repeated runs
    caption  what the series share, runs, steps, where the energy comes from, what was left out
Source: C. John et al., CARAML (SC'24 workshops): throughput, energy and efficiency against batch size
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "energy_by_batch"

LOGARITHMIC_FROM = 10  # largest over least
SHORT = "datum.value == 0 ? '0' : format(datum.value, '~s')"  # 200k; the axis itself would write 0k
KINDS = {
    "integrated": "integrated from power readings", "reported": "as the tool reports it",
    "printed": "as the log prints it per step",
}  # fmt: skip

Row = dict[str, Any]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `energy_by_batch`.  Raises UserError where no run has both a batch and an energy."""
    if rows.is_empty():
        raise UserError(
            "there are no runs whose batch size and energy are known",
            "see what is known: scalelens query energy_efficiency",
        )
    points: list[Row] = rows.sort("series", "devices", "global_batch_size").to_dicts()
    shared, labels = words.apart(dict.fromkeys(point["series"] for point in points))
    for point in points:
        point["label"] = labels[point["series"]]
    looks = style.looks(sorted(set(labels.values()), key=words.natural))
    unit = _unit(points)
    rate, yields = (_measure(points, ending) for ending in ("_s", "_wh"))
    work, gain = (measure.partition("_")[0] for measure in (rate, yields))
    titles = {rate: f"{work}/s", "unit_wh": f"Wh per {unit}", yields: f"{gain}/Wh"}
    panels = [
        style.Panel(_panel(points, measure, title, looks))
        for measure, title in titles.items()
        if any(point[measure] is not None for point in points)
    ]
    grid = [panels] if width == "double" else [[panel] for panel in panels]
    legend: list[style.Look | style.Bar] = [look for look in looks if look.label]
    legend += [style.BARS["range", "runs"]] if any(point["n_runs"] > 1 for point in points) else []
    return style.figure(grid, legend, _caption(points, shared, left_out), width)


def _measure(points: Sequence[Row], ending: str) -> str:
    """Tokens where every point has them, else samples."""
    has_tokens = all(point[f"tokens_per{ending}"] is not None for point in points)
    return f"{'tokens' if has_tokens else 'samples'}_per{ending}"


def _panel(points: Sequence[Row], measure: str, title: str, looks: Sequence[style.Look]) -> Any:
    """One measure against the batch."""
    known = [point for point in points if point[measure] is not None]
    sizes = sorted({point["global_batch_size"] for point in points})
    x = alt.X(
        "global_batch_size:Q",
        title="global batch size [samples]",
        scale=alt.Scale(
            type="log", base=2, domain=[sizes[0], sizes[-1]] if len(sizes) > 1 else [sizes[0] / 2, sizes[0] * 2],
            nice=False, padding=12,
        ),
        axis=alt.Axis(values=sizes, tickCount=len(sizes), format="d", labelOverlap="greedy", labelSeparation=3),
    )  # fmt: skip
    low, high = min(point[measure] for point in known), max(point[measure] for point in known)
    barred = [point for point in known if point.get(f"{measure}_low") is not None]
    low, high = (pick([end, *(point[f"{measure}_{name}"] for point in barred)]) for end, name, pick in (
        (low, "low", min), (high, "high", max)))  # fmt: skip
    if high >= LOGARITHMIC_FROM * low > 0:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [float(f"{n}e{decade}") for decade in decades for n in (1, 2, 5)]
        ticks = [tick for tick in ticks if low / 2.5 <= tick <= high * 2.5]
        scale, title = alt.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False), f"{title}, log."
    else:
        ticks = style.ticks(high)
        scale = alt.Scale(domain=[0, style.HEADROOM * ticks[-1]], nice=False)
    axis = alt.Axis(values=ticks, tickCount=len(ticks), labelExpr=SHORT, labelOverlap="greedy", labelSeparation=2)
    y = alt.Y(f"{measure}:Q", title=title, scale=scale, axis=axis)
    by = style.encodings(looks)
    names = ["global_batch_size", measure, "label", "n_runs"]
    chart = alt.Chart(style.values([{name: point[name] for name in names} for point in known]))
    layers = [chart.mark_line().encode(x, y, by["color"], by["strokeDash"])]
    if barred:
        ends = (f"{measure}_low", f"{measure}_high")
        data = style.values([{name: point[name] for name in ("global_batch_size", "label", *ends)} for point in barred])
        layers += style.bars(data, ("range", "runs"), x, *ends, by["color"])
    tips = [alt.Tooltip(name, type="nominal") for name in ("label", "n_runs")]
    layers.append(chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips))
    return alt.layer(*layers)


def _unit(points: Sequence[Row]) -> str:
    """`package` or `node`, and of devices what they are."""
    unit = str(points[0]["unit"])
    return words.unit(points).removesuffix("s") if unit == "device" else unit


def _caption(points: Sequence[Row], shared: str, left_out: Mapping[str, int]) -> list[str]:
    said = [f"{shared}."] if shared else []
    counts = [f"{words.span([point['n_runs'] for point in points], 'run')}"]
    if steps := [point["n_steps"] for point in points if point["n_steps"]]:
        counts.append(words.span(steps, "step record"))
    several = "; of repeats the median" if any(point["n_runs"] > 1 for point in points) else ""
    said.append(f"Each point: {', '.join(counts)}{several}.")
    if any(point["rate_of"] and "epochs" in point["rate_of"] for point in points):
        said.append("Throughput of whole epochs where the log has no steps.")
    kinds = sorted({kind for point in points for kind in (point["energy_kind"] or "").split()})
    said.append(f"Energy {', '.join(KINDS.get(kind, kind) for kind in kinds)}.")
    notes = dict.fromkeys(note for point in points for note in (point["note"] or "").split("; ") if note)
    said += [f"{note[0].upper()}{note[1:]}." for note in notes]
    return [*said, words.exclusions(left_out)]
