"""Throughput, energy and work per energy against the batch size.

Shows: where a larger batch still helps: throughput, the energy of a device, and the work per watt-hour, over the same
    batches.  A line joins runs that differ only in the batch.
Query: energy_by_batch
Encodings:
    x        global batch size in samples, logarithmic, a tick at each size that was run
    y        a panel each for tokens per second of a device, or samples if tokens are unknown (of the whole job if a run
             does not state its devices); watt-hours of one device, package or node; tokens or samples per watt-hour;
             logarithmic if the largest is ten times the smallest
    line     a series, by color, shape and dash
    bar      range of repeated runs
    caption  what the series share, runs, steps, where the energy comes from, what was left out
Source: C. John et al., CARAML (SC'24 workshops): throughput, energy and efficiency against batch size
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "energy_by_batch"
INSTEAD = ({"per": "node"},)  # where only whole nodes were measured

_ENERGY_KINDS = {
    "integrated": "integrated from power readings", "reported": "as the tool reports it",
    "printed": "as the log prints it per step",
}  # fmt: skip


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `energy_by_batch`.  Raises UserError if no run has both a batch and an energy."""
    if rows.is_empty():
        raise UserError(
            "no run has both a known batch size and a measured energy",
            "see what is known: scalelens query energy_efficiency",
        )
    points: list[Row] = rows.sort("series", "devices", "global_batch_size").to_dicts()
    shared, labels = naming.apart(dict.fromkeys(point["series"] for point in points))
    for point in points:
        point["label"] = labels[point["series"]]
        _add_token_ranges(point)
    scattered = _scattered(points)
    looks = style.looks(sorted(set(labels.values()), key=words.natural), page)
    looks = [look._replace(thickness=0) if look.label in scattered else look for look in looks]
    unit = _unit(points)
    device = _share_rates(points)
    rate, yields = (_measure(points, ending) for ending in ("_s", "_wh"))
    work, gain = (measure.partition("_")[0] for measure in (rate, yields))
    titles = {rate: f"{work}/s{device}", "unit_wh": f"Wh per {unit}", yields: f"{gain}/Wh"}
    known = [measure for measure in titles if any(point[measure] is not None for point in points)]
    panels = [
        style.Panel(_panel(points, measure, titles[measure], looks, scattered, page.is_wide or measure == known[-1]))
        for measure in known
    ]
    grid = [panels] if page.is_wide else [[panel] for panel in panels]
    batches = Counter(label for label, _ in {(point["label"], point["global_batch_size"]) for point in points})
    joined = {label for label, count in batches.items() if count > 1}
    legend: list[style.Look | style.IntervalLook] = [
        *style.without_lines((look for look in looks if look.label), joined)
    ]
    legend += [style.INTERVALS["range", "runs"]] if any(point["n_runs"] > 1 for point in points) else []
    return style.figure(grid, legend, _caption(points, shared, scattered, left_out), page)


def _scattered(points: Sequence[Row]) -> set[str]:
    """The series that no line joins: points of theirs share a batch, and differ in settings that have no name here."""
    counts = Counter((point["label"], point["global_batch_size"]) for point in points)
    return {label for (label, _), count in counts.items() if count > 1}


def _add_token_ranges(point: Row) -> None:
    """Adds ranges of tokens, from those of samples, because each sample has the same number of tokens."""
    for ending in ("_s", "_wh"):
        samples, tokens = point[f"samples_per{ending}"], point[f"tokens_per{ending}"]
        for end in ("low", "high"):
            value = point[f"samples_per{ending}_{end}"]
            known = tokens is not None and samples and value is not None
            point[f"tokens_per{ending}_{end}"] = value * tokens / samples if known else None


def _share_rates(points: Sequence[Row]) -> str:
    """Divides rates by devices, because series may differ in them.  Returns ` per GPU`, or nothing if unknown."""
    if not all(point["devices"] for point in points):
        return ""
    for point in points:
        for name in [name for name in point if "_per_s" in name and point[name] is not None]:
            point[name] /= point["devices"]
    return f" per {words.unit(points)}"


def _measure(points: Sequence[Row], ending: str) -> str:
    """Tokens if every point has them, else samples."""
    has_tokens = all(point[f"tokens_per{ending}"] is not None for point in points)
    return f"{'tokens' if has_tokens else 'samples'}_per{ending}"


def _panel(
    points: Sequence[Row], measure: str, title: str, looks: Sequence[style.Look], scattered: Set[str], has_title: bool
) -> Any:
    """One measure against the batch.  Of panels above each other, the lowest has the title of the x axis."""
    known = [point for point in points if point[measure] is not None]
    x = axes.of_counts(
        "global_batch_size",
        "global batch size [samples]" if has_title else None,
        {point["global_batch_size"] for point in points},
    )
    y = _y(known, measure, title)
    by = style.encodings(looks)
    names = ["global_batch_size", measure, "label", "n_runs"]
    chart = alt.Chart(style.values([{name: point[name] for name in names} for point in known]))
    rows = [{name: point[name] for name in names} for point in known if point["label"] not in scattered]
    lines = alt.Chart(style.values(rows)) if scattered else chart
    tips = [alt.Tooltip(name, type="nominal") for name in ("label", "n_runs")]
    return alt.layer(
        lines.mark_line().encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"]),
        *style.interval_layers(known, ("range", "runs"), x, (f"{measure}_low", f"{measure}_high"), by["color"]),
        chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips),
    )


def _y(points: Sequence[Row], measure: str, title: str) -> Any:
    """The y axis of a measure, and of its intervals if it has any."""
    drawn = [point.get(name) for point in points for name in (measure, f"{measure}_low", f"{measure}_high")]
    values = [value for value in drawn if value is not None]
    low, high = min(values), max(values)
    apart = {"labelOverlap": "greedy", "labelSeparation": 2}
    if not axes.is_logarithmic(low, high):
        return axes.from_zero(measure, title, high, **apart)
    ticks = [tick for tick in axes.ticks_of_decades(low, high) if low / 2.5 <= tick <= high * 2.5]
    return alt.Y(
        f"{measure}:Q",
        title=f"{title}, log.",
        scale=alt.Scale(type="log", domain=[low / 1.3, high * 1.3], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks), **axes.labels(high), **apart),
    )


def _unit(points: Sequence[Row]) -> str:
    """`package`, `node`, or the kind of device."""
    unit = str(points[0]["unit"])
    return words.unit(points) if unit == "device" else unit


def _caption(points: Sequence[Row], shared: str, scattered: Set[str], left_out: Mapping[str, int]) -> list[str]:
    lines = [f"{shared}."] if shared else []
    several = "; of repeats the median" if any(point["n_runs"] > 1 for point in points) else ""
    lines.append(f"Each point: {words.records_of(points)}{several}.")
    if scattered:
        lines.append("Without a line: points of one batch, which differ in other settings.")
    if any(point["rate_of"] and "epochs" in point["rate_of"] for point in points):
        lines.append("Throughput of whole epochs where the log has no steps.")
    kinds = sorted({kind for point in points for kind in (point["energy_kind"] or "").split()})
    lines.append(f"Energy {', '.join(_ENERGY_KINDS.get(kind, kind) for kind in kinds)}.")
    return [*lines, *words.once_each(words.notes(points)), exclusions.sentence(left_out)]
