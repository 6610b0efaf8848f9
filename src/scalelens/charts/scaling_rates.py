"""Throughput of a device in scaling series, from the median step or as the tool prints it.

Shows: the absolute throughput that an efficiency hides: a series may scale worse and still be faster at every size, and
    weak and strong scaling meet where their batches are equal.
Query: scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run; below them the nodes, where they are known
    y        tokens per second of a device if all series have sequences, else samples, the batch over the median step;
             with metric=tflops the TFLOP/s that the tool prints; from 0, or logarithmic where series differ by a factor
             of 40
    line     a series, and its kind of scaling where there are several, by color, shape and dash; it joins the fastest
             configurations, others are hollow
    bar      interval of the median or of the repeats, where it is one of 95 %; between repeats also their range
    †        a note of the query, spelled out in the caption
    unit     devices as the logs count them; --unit gpu adds the two GCDs of a module
    caption  what the series share, runs, records, statistic, what was left out
Source: EPICURE, Best Practice Guide on Artificial Intelligence on EuroHPC Systems (2026), figures 5-3 and 5-22
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, device_units, efficiency_panels, exclusions, facets, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "scaling"
FACETS = True
UNITS = True
FACTS = ("device_unit", "seq_length")
INSTEAD = ({"metric": "throughput"}, {"metric": "tflops"})  # where the logs have no step time

_STATISTICS = {
    "t_b": "batch over the median step time", "mean_s": "batch over the mean step time",
    "throughput": "total work over total time",
    "tflops": "median of the TFLOP/s that the tool prints, by its own formula",
}  # fmt: skip
_ENDS = ("rate_low", "rate_high")


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `scaling`.  Raises UserError for a metric of epochs and if no row has a rate."""
    if rows.is_empty():
        raise UserError(
            "there is no scaling series to draw",
            "a series needs one model on two sizes or more; every run: scalelens plot throughput -o throughput.pdf",
        )
    metric = rows["metric"][0] or (parameters or {}).get("metric", "t_b")
    if metric not in _STATISTICS:
        raise UserError(f"metric={metric} measures whole epochs, not steps", f"choose from {', '.join(_STATISTICS)}")
    has_tokens = not rows["seq_length"].has_nulls()
    rated = [_rated(row, metric, has_tokens) for row in rows.iter_rows(named=True)]
    points = [row for row in rated if row["rate"]]
    if not points:
        raise UserError("no size has a throughput by this metric", "see what there is: scalelens query throughput")
    is_added = device_units.in_unit(points, page.unit, ("rate", *_ENDS))
    points.sort(key=lambda row: (row["series"], row["devices"], -row["rate"], row["run_id"]))
    shared = naming.name_series(points)
    for row in points:  # a series of GCDs names their batch, however many of them a device of the figure has
        row["label"] = row["label"].replace("per device", "per GCD") if row["is_gcd"] else row["label"]
    notes = efficiency_panels.mark_notes(points)
    _tell_kinds_apart(points)
    _judge(points)
    facets.take_from_labels(points, page.facet)
    looks = style.looks(sorted({row["label"] for row in points}, key=words.natural), page)
    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    legend += [look for kind, look in style.INTERVALS.items() if any(row["interval"] == kind for row in points)]
    work = "TFLOP/s" if metric == "tflops" else f"{'tokens' if has_tokens else 'samples'}/s"
    title = f"{work} per {words.unit(points)}{', as printed' if metric == 'tflops' else ''}"
    highest = [row["rate_high"] if row["interval"] else row["rate"] for row in points]
    x, y = axes.of_devices(points), axes.from_zero_or_logarithmic("rate", title, highest)

    def panel(part: Sequence[Row], y: Any) -> Any:
        return alt.layer(*efficiency_panels.series_layers(part, looks, x, y, "rate"))

    caption = [shared, *_caption(points, metric, notes, len(rated) - len(points)), *([device_units.ADDED] * is_added)]
    return style.figure(
        facets.panels(points, page, panel, x, y), legend, [*filter(None, caption), exclusions.sentence(left_out)], page
    )


def _rated(row: Row, metric: str, has_tokens: bool) -> Row:
    """A row with the rate of a device and the ends of its interval, both None where it has none."""
    row = row | {"is_gcd": row["device_unit"] == "gcd"}
    if metric == "tflops":
        return row | {"rate": row["tflops_printed"], "rate_low": None, "rate_high": None}
    if metric == "throughput":
        work, times = row["samples_per_s"], (1.0, None, None)
    else:
        work, times = row["global_batch_size"], (row["step_s"], row["step_s_high"], row["step_s_low"])
    work = work and work / row["devices"] * (row["seq_length"] if has_tokens else 1)
    rates = [work / time if work and time else None for time in times]
    return row | dict(zip(("rate", *_ENDS), rates, strict=True))


def _judge(points: Sequence[Row]) -> None:
    """Adds which points the lines join, and which intervals are drawn.

    The range of the single steps of a short run is none of its median, and would reach across the whole panel.
    """
    sizes = set()
    for row in points:
        row["is_fastest"] = (row["series"], row["devices"]) not in sizes
        sizes.add((row["series"], row["devices"]))
        kind = (row["interval_kind"], row["interval_of"] or "steps")
        has_interval = None not in (row["rate_low"], row["rate_high"]) and kind in style.INTERVALS
        row["interval"] = kind if has_interval and kind != ("range", "steps") else None
        row["repeats"] = []


def _tell_kinds_apart(points: Sequence[Row]) -> None:
    """Ends labels with the kind of scaling, where there are several."""
    kinds = {row["scaling"] for row in points}
    for row in points if len(kinds) > 1 else ():
        kind = efficiency_panels.KINDS[row["scaling"]].removesuffix(" scaling")
        row["label"] = " · ".join(filter(None, (row["label"], kind)))


def _caption(points: Sequence[Row], metric: str, notes: Sequence[str], hidden: int) -> list[str]:
    repeats = ", median over the runs" if max(row["n_runs"] for row in points) > 1 else ""
    lines = [f"Each point: {words.records_of(points)}; {_STATISTICS[metric]}{repeats}.", *notes]
    if not any(row["interval"] for row in points):
        lines.append("No point has an interval of 95 %.")
    if hidden:
        lines.append(f"Not drawn: {words.counted([hidden], 'point')} without a rate.")
    return lines
