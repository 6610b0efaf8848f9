"""Cumulative distribution of the times of steps.

Shows: which share of the steps took at most how long, one curve per run.  The fast mode and the tail, which a mean
    hides, are visible at once.
Query: batch_cdf
Encodings:
    x        time of a step in seconds, logarithmic if the slowest takes ten times the fastest; relative to the median
             of its run if the medians differ by a factor of ten, which would hide everything else
    y        share of the steps in percent
    curve    a run, by color, shape and dash; named by what sets the runs apart, and by its median if x is relative
    point    p50, where the curve reaches one half
    circle   elbows, from the query `elbow`, with the 95 % interval of their share
    caption  runs, steps, what a record is, what was left out, which runs have no distribution and why, whether
             invisible corners were dropped
Source: T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC'15, rules 5 and 12
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from scalelens.charts import axes, exclusions, facets, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "batch_cdf"
FACETS = True
MOST_RUNS = style.MOST_SERIES * facets.MOST_PANELS
FACTS = ("name", "system", "model", "precision", "devices", "device_unit", "global_batch_size")
PARAMETERS = {"cdf_slots": "10000"}  # finer than the grid of the widest page: nobody sees corners within a slot

_ONE_STEP = "single steps"  # the query's label for runs whose records are single steps
_INTERVAL = ("ci95", "steps")  # kind and scope of the interval of an elbow's share
_RELATIVE_FROM = 10  # ratio of the largest to the smallest median of a run
DOTS_PER_POINT = 5  # of the grid for thinning curves: a dot is a sixth of the line's width


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `batch_cdf`.  Raises UserError if no run has a distribution."""
    refused = rows.filter(pl.col("step_s").is_null()).sort("run_id")
    known = rows.filter(pl.col("step_s").is_not_null()).sort("run_id", "step_s")
    if known.is_empty():
        reasons = "; ".join(sorted(set(refused["reason"].drop_nulls())))
        raise UserError(
            f"there is no distribution of step times to draw{f' ({reasons})' if reasons else ''}",
            "see what the runs hold: scalelens query batch_stats",
        )
    known = known.with_columns(batch=_batch(known))
    labels = _labels(known)
    medians_s = _medians_s(known)
    is_relative = max(medians_s.values()) > _RELATIVE_FROM * min(medians_s.values())
    if is_relative:
        labels = {run: f"{label} · {words.short_number(medians_s[run])} s" for run, label in labels.items()}
        known = known.with_columns(pl.col("step_s") / pl.col("run_id").replace_strict(medians_s))
    runs = [run | {"label": labels[run["run_id"]]} for run in known.unique("run_id", maintain_order=True).to_dicts()]
    facets.take_from_labels(runs, page.facet)
    labels = {run["run_id"]: run["label"] for run in runs}
    looks = style.looks(sorted(set(labels.values()), key=words.natural), page)
    extent = Extent(*known.select(low=pl.min("step_s"), high=pl.max("step_s")).row(0))
    curves = {f"{run}": curve_rows(curve, extent, page.points) for (run,), curve in known.group_by("run_id")}
    medians: dict[str, list[Row]] = {
        run: [{"step_s": half_s, "percent": 50}] for run, half_s in _medians_s(known).items()
    }
    elbows = _elbows(known)
    x, y = _axes(extent, sorted(set(known["label"])), is_relative)
    x, y = (
        facets.over(x, extent, page),
        facets.over(y, (0, 100 * axes.HEADROOM), page),
    )  # titles have the same height

    def panel(part: Sequence[Row], y: Any) -> Any:
        def of_part(rows_of: Mapping[str, Sequence[Row]]) -> list[Row]:
            return [row | {"label": run["label"]} for run in part for row in rows_of.get(run["run_id"], [])]

        return _panel(of_part(curves), of_part(medians), of_part(elbows), looks, x, y)

    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    legend += [style.INTERVALS[_INTERVAL]] if elbows else []
    caption = [*_caption(known, refused), exclusions.sentence(left_out)]
    return style.figure(facets.panels(runs, page, panel, x, y), legend, caption, page)


def _panel(
    curves: Sequence[Row], medians: Sequence[Row], elbows: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any
) -> Any:
    """The curves of runs, with their medians and elbows."""
    by = style.encodings(looks)
    half = alt.Chart(style.values([{"percent": 50}])).mark_rule(color=style.GRAY, strokeWidth=0.5, strokeDash=[2, 1.5])
    lines = alt.Chart(style.values(curves)).mark_line(interpolate="step-after")
    points = alt.Chart(style.values(medians)).mark_point()
    return alt.layer(
        half.encode(y="percent:Q"),
        lines.encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"]),
        points.encode(x, y, by["color"], by["shape"], tooltip=["label:N", "step_s:Q"]),
        *_elbow_marks(elbows, x, y, by["color"]),
    )


def _medians_s(known: pl.DataFrame) -> dict[str, float]:
    """For each run, the shortest time that half of its steps do not exceed."""
    return dict(known.filter(pl.col("cdf") >= 0.5).group_by("run_id").agg(pl.min("step_s")).iter_rows())


def _elbows(known: pl.DataFrame) -> dict[str, list[Row]]:
    """Elbows of the curves by run; none if the rows do not have them."""
    if "elbow_number" not in known.columns:
        return {}
    found = known.filter(pl.col("elbow_number").is_not_null())
    columns = {"percent": "cdf", "percent_low": "elbow_share_low", "percent_high": "elbow_share_high"}
    shares = [(100 * pl.col(share)).alias(name) for name, share in columns.items()]
    elbows: dict[str, list[Row]] = {}
    for row in found.select("run_id", "step_s", *shares).to_dicts():
        elbows.setdefault(row["run_id"], []).append(row)
    return elbows


def _elbow_marks(elbows: Sequence[Row], x: Any, y: Any, color: Any) -> list[Any]:
    """Open circles, and bars for the intervals of their shares."""
    if not elbows:
        return []
    circles = alt.Chart(style.values(elbows)).mark_point(shape="circle", filled=False, fill="white", strokeWidth=0.8)
    bars = style.interval_layers(elbows, _INTERVAL, x, ("percent_low", "percent_high"), color)
    return [*bars, circles.encode(x, y, color, tooltip=["label:N", "step_s:Q", "percent:Q"])]


class Extent(NamedTuple):
    """The fastest and the slowest step of all runs, in seconds."""

    low: float
    high: float

    @property
    def is_log(self) -> bool:
        return axes.is_logarithmic(self.low, self.high)


def _axes(extent: Extent, kinds: list[str], is_relative: bool) -> tuple[Any, Any]:
    """The x and y axis of curves with records of these kinds."""
    parts = ["step time over the run's median" if is_relative else "step time [s]"]
    if len(kinds) == 1 and kinds != [_ONE_STEP]:
        parts += kinds
    ticks: dict[str, Any] = {"tickCount": 6}
    if extent.is_log:
        parts.append("logarithmic")
        values = axes.ticks_of_decades(extent.low, extent.high)
        ticks = {"values": values, "tickCount": len(values)}
    x = alt.X(
        "step_s:Q",
        title=", ".join(parts),
        scale=alt.Scale(type="log" if extent.is_log else "linear", zero=False, nice=False, padding=8),
        axis=alt.Axis(labelOverlap="greedy", labelSeparation=3, **axes.labels(extent.high), **ticks),
    )
    y = alt.Y(
        "percent:Q",
        title="share of steps [%]" if kinds == [_ONE_STEP] else "share of records [%]",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], tickCount=5),
    )
    return x, y


def curve_rows(curve: pl.DataFrame, extent: Extent, width: int) -> list[Row]:
    """Corners of a run's curve, without those that the line would cover.

    All corners of a million steps would make a figure of 100 MB.  The grid is finer than the line, and the first and
    the last corner in each of its columns are kept, so the curve looks the same.
    """
    place = pl.col("step_s").log() if extent.is_log else pl.col("step_s")
    span = (math.log(extent.high / extent.low) if extent.is_log else extent.high - extent.low) or 1.0
    column = (place / span * width * DOTS_PER_POINT).floor()
    kept = curve.with_columns(column=column).filter(
        (pl.col("column") != pl.col("column").shift(1, fill_value=math.nan))
        | (pl.col("column") != pl.col("column").shift(-1, fill_value=math.nan))
    )
    corners = [{"step_s": row["step_s"], "percent": 100 * row["cdf"]} for row in kept.iter_rows(named=True)]
    return [{"step_s": corners[0]["step_s"], "percent": 0}, *corners]


def _labels(rows: pl.DataFrame) -> dict[str, str]:
    """Label of each run: the facts that set it apart, else its name, else its id."""
    runs = rows.unique("run_id", maintain_order=True).to_dicts()
    facts = [[_fact(run, fact) for fact in ("system", "model", "precision", "devices", "batch")] for run in runs]
    differ = [len(set(column)) > 1 for column in zip(*facts, strict=True)]
    labels = [[text for text, tells in zip(row, differ, strict=True) if tells and text] for row in facts]
    for further in ("name", "run_id"):
        same = [labels.count(label) > 1 for label in labels]
        labels = [
            [*label, _fact(run, further)] if alike else label
            for label, run, alike in zip(labels, runs, same, strict=True)
        ]
    tells_kind = rows["label"].n_unique() > 1
    return {
        run["run_id"]: " · ".join([*label, run["label"]] if tells_kind and run["label"] != _ONE_STEP else label)
        for run, label in zip(runs, labels, strict=True)
    }


def _batch(known: pl.DataFrame) -> Any:
    """The batch of each run in words: the batch per device if it is the same on different numbers of devices."""
    if not {"global_batch_size", "devices"} <= set(known.columns):
        return pl.lit(None, pl.String)
    of_device = known["global_batch_size"] / known["devices"]
    if known["devices"].n_unique() > 1 and of_device.n_unique() == 1 and of_device[0] is not None:
        return pl.lit(f"batch {of_device[0]:g} per {words.unit(known.to_dicts())}")
    batch = pl.col("global_batch_size")
    return pl.when(batch.is_not_null()).then(pl.format("batch {}", batch))


def _fact(run: Row, fact: str) -> str:
    """A fact of a run in words; empty if it is unknown."""
    value = run.get(fact)
    if value is None:
        return ""
    if fact == "devices":
        return words.devices(run)
    return f"run {value[:8]}" if fact == "run_id" else f"{value}"


def _caption(known: pl.DataFrame, refused: pl.DataFrame) -> list[str]:
    """What the runs share, counts, what a record is, and which runs are not drawn."""
    runs = known.unique("run_id", maintain_order=True).to_dicts()
    facts = [
        {_fact(run, fact) for run in runs} for fact in ("name", "system", "model", "precision", "devices", "batch")
    ]
    shared = " · ".join(values.pop() for values in facts if len(values) == 1 and "" not in values)
    records = words.counted([run["n_steps"] for run in runs], "record")
    kinds = ", ".join(sorted({run["label"] for run in runs}))
    counts = f"1 run of {records}" if len(runs) == 1 else f"{len(runs)} runs of {records} each"
    lines = [f"{shared}."] if shared else []
    lines.append(f"{counts} ({kinds}). Marker: p50, without an interval.")
    lines += _about_elbows(known)
    if max(run["n_steps"] for run in runs) > int(PARAMETERS["cdf_slots"]):
        lines.append("Drawn: the corners of each curve that its line does not cover.")
    for reason, count in sorted(Counter(re.sub(r"\d+ ", "", why) for why in refused["reason"]).items()):
        which = (
            [_fact(run, "name") or _fact(run, "run_id") for run in refused.to_dicts()] if refused.height == 1 else []
        )
        lines.append(f"Not drawn: {which[0] if which else words.counted([count], 'run')} ({reason}).")
    return lines


def _about_elbows(known: pl.DataFrame) -> list[str]:
    """What the circles are, and how many runs have no elbow, by the reason."""
    lines: list[str] = []
    if _elbows(known):
        lines.append("Circle: elbow, with the interval of its share.")
    if "note" in known.columns:
        runs = known.filter(pl.col("note").is_not_null()).unique("run_id")
        reasons = Counter(reason.partition(":")[0] for reason in runs["note"])
        counts = [f"{words.counted([count], 'run')} ({reason})" for reason, count in sorted(reasons.items())]
        lines += [f"Without an elbow: {', '.join(counts)}."] if counts else []
    return lines
