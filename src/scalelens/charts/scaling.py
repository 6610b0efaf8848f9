"""Scaling efficiency against the number of devices.

Shows: how much of the ideal is left as devices are added, one line per series; weak and strong scaling in panels of
    their own.  Series whose model grows with the devices have TFLOP/s per device in a third, never an efficiency.
Query: scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        efficiency in percent from 0, the ideal marked; where the model grows TFLOP/s per device from 0
    line     a series, by colour, shape and dash; it joins the fastest configurations, others at a size are hollow
    bar      interval of the efficiency: full with caps for 95 %, thin, broken and open for a range
    †        a warning of the query, spelled out in the caption
    number   parameters of the model, where it grows
    caption  what the series share, base case with its absolute value, runs, steps, statistic, what was left out
Source: T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC'15, rules 1, 2, 5 and 11
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "scaling"
FACTS = ("device_unit", "parameters")

PANELS = {"weak": "weak scaling", "strong": "strong scaling", "mixed": "growing model"}
IDEAL = style.Look("ideal", style.GREY, None, [1, 0], 0.7)
MARKS = "†‡§¶"
STATISTICS = {"step_s": "median", "mean_s": "mean"}
TFLOPS = {
    "model": "TFLOP/s of the model: 6 × parameters + attention, per token.",
    "as printed": "TFLOP/s as the tool printed them, by its own formula.",
}

Row = dict[str, Any]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `scaling`.  Raises UserError where there is no series."""
    if rows.is_empty():
        raise UserError(
            "there is no scaling series to draw",
            "a series needs one model on two sizes or more; see what there is: scalelens query runs_overview",
        )
    fastest_first = rows.with_columns(sample_s=pl.col("step_s") / pl.col("global_batch_size"))
    points: list[Row] = fastest_first.sort("series", "devices", "sample_s", "run_id").to_dicts()
    efficient = [row for row in points if row["scaling"] != "mixed"]
    growing = [row for row in points if row["scaling"] == "mixed" and row["tflops_per_device"] is not None]
    if not efficient and not growing:
        raise UserError(
            "the model grows with the devices, and no TFLOP/s are known to draw instead of an efficiency",
            "choose other runs, or give the model's shape in a sidecar",
        )
    undrawn = len(points) - len(efficient) - len(growing)
    points = [*efficient, *growing]
    shared = [
        words.name_series(group, whose) for group, whose in ((efficient, ""), (growing, "Growing model: ")) if group
    ]
    _judge(points)
    notes = _mark(points)
    looks = style.looks(sorted({row["label"] for row in points}, key=words.natural))

    panels: list[style.Panel] = []
    top = max([1.0, *(row[name] for row in efficient for name in ("efficiency", "efficiency_high") if row[name])])
    for kind in ("weak", "strong"):
        if shown := [row for row in efficient if row["scaling"] == kind]:
            panels.append(style.Panel(_efficiency(shown, looks, top, has_axis=not panels), has_axis=not panels))
    other = [style.Panel(_throughput(growing, looks))] if growing else []
    grid = [[*panels, *other]] if width == "double" else [row for row in (panels, other) if row]

    legend: list[style.Look | style.Bar] = [look for look in looks if look.label]
    legend += [IDEAL] if efficient else []
    legend += [bar for kind, bar in style.BARS.items() if any(row["bar"] == kind for row in points)]
    said = [*filter(None, shared), *_caption(points, parameters or {}), *notes]
    if undrawn:
        said.append(f"Not drawn: {words.span([undrawn], 'point')} of growing models without TFLOP/s.")
    return style.figure(grid, legend, [*said, words.exclusions(left_out)], width)


def _efficiency(rows: Sequence[Row], looks: Sequence[style.Look], top: float, has_axis: bool) -> Any:
    """Panel of weak or of strong series; the second of the two goes by the y axis of the first."""
    measured = ("efficiency", "efficiency_low", "efficiency_high")
    percent = [row | {name: None if row[name] is None else 100 * row[name] for name in measured} for row in rows]
    ticks = style.ticks(100 * top)
    bare = {"labels": False, "ticks": False, "domain": False, "tickSize": 0, "minExtent": 0, "maxExtent": 0}
    y = alt.Y(
        "efficiency:Q",
        title="efficiency [%]" if has_axis else None,
        scale=alt.Scale(domain=[0, style.HEADROOM * ticks[-1]], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks), **({} if has_axis else bare)),
    )
    ideal = alt.Chart(style.values([{"ideal": 100}]))
    ideal = ideal.mark_rule(color=IDEAL.colour, strokeWidth=IDEAL.thickness)
    layers = [ideal.encode(y="ideal:Q"), *_series(percent, looks, y, "efficiency")]
    return alt.layer(*layers).properties(title=_title(rows))


def _throughput(rows: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of series whose model grows: they have no base to be efficient against."""
    sizes = {row["run_id"]: _parameters(row.get("parameters")) for row in rows if row["is_fastest"]}
    ticks = style.ticks(max(row["tflops_per_device"] for row in rows))
    y = alt.Y(
        "tflops_per_device:Q",
        title=f"TFLOP/s per {words.unit(rows).removesuffix('s')}",
        scale=alt.Scale(domain=[0, style.HEADROOM * ticks[-1]], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks)),
    )
    overhang = max(map(words.text_width, sizes.values())) + 4
    text = [row | {"size": sizes[row["run_id"]]} for row in rows if row["is_fastest"]]
    size = alt.Chart(_values(text, "tflops_per_device", "size"))
    size = size.mark_text(align="left", baseline="bottom", dx=3, dy=-2, color=style.GREY)
    series = _series(rows, looks, y, "tflops_per_device", overhang)
    return alt.layer(*series, size.encode(x="devices:Q", y=y, text="size:N")).properties(title=_title(rows))


def _series(rows: Sequence[Row], looks: Sequence[style.Look], y: Any, field: str, overhang: float = 12) -> list[Any]:
    """Lines, intervals, points and marks of warnings."""
    sizes = sorted({row["devices"] for row in rows})
    domain = [sizes[0], sizes[-1]] if len(sizes) > 1 else [sizes[0] / 2, sizes[0] * 2]
    overhang = max(overhang, words.text_width(f"{sizes[-1]}") / 2)
    x = alt.X(
        "devices:Q",
        title=words.unit(rows),
        scale=alt.Scale(type="log", base=2, domain=domain, nice=False, padding=overhang),
        axis=alt.Axis(values=sizes, tickCount=len(sizes), format="d", labelOverlap="greedy", labelSeparation=3),
    )
    by = style.encodings(looks)
    tips = [
        alt.Tooltip(name, type="nominal") for name in ("series", "devices", "run_id", "n_runs", "n_steps", "warning")
    ]
    tips += [alt.Tooltip(name, type="quantitative", format=".4~g") for name in (field, "step_s")]

    def chart(chosen: Sequence[Row], *further: str) -> Any:
        return alt.Chart(_values(chosen, field, *(tip["shorthand"] for tip in tips), *further))

    fastest = chart([row for row in rows if row["is_fastest"]])
    layers = [fastest.mark_line().encode(x, y, by["color"], by["strokeDash"], detail="series:N")]
    for kind in style.BARS:
        if barred := [row for row in rows if row["bar"] == kind]:
            ends = (f"{field}_low", f"{field}_high")
            layers += style.bars(_values(barred, *ends), kind, x, *ends, by["color"])
    layers.append(fastest.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips))
    if rivals := [row for row in rows if not row["is_fastest"]]:
        hollow = chart(rivals).mark_point(filled=False, fill="white", strokeWidth=0.8)
        layers.append(hollow.encode(x, y, by["color"], by["shape"], tooltip=tips))
    if marked := [row for row in rows if row["mark"]]:
        mark = alt.Chart(_values(marked, field, "mark")).mark_text(align="left", dx=3, dy=-4)
        layers.append(mark.encode(x, y, text="mark:N"))
    return layers


def _values(rows: Sequence[Row], *fields: str) -> Any:
    """What a layer draws, and no more."""
    return style.values([{name: row[name] for name in ("devices", "label", *fields)} for row in rows])


def _judge(points: list[Row]) -> None:
    """Says of each row whether it is the base, whether the line runs through it, and how its interval is drawn."""
    series, sizes = set(), set()
    for row in points:
        row["is_base"] = row["series"] not in series
        row["is_fastest"] = (row["series"], row["devices"]) not in sizes
        row["bar"] = (row["efficiency_kind"], row["interval_of"]) if row["efficiency_kind"] else None
        series.add(row["series"])
        sizes.add((row["series"], row["devices"]))


def _mark(points: list[Row]) -> list[str]:
    """Marks the rows that a warning singles out.  Returns the warnings as notes of the caption."""
    said: dict[str, list[Row]] = {}
    for row in points:
        row["mark"] = ""
        for warning in filter(None, (row["warning"] or "").split("; ")):
            said.setdefault(warning, []).append(row)
    notes, marks = [], 0
    for warning, rows in said.items():
        kinds = {row["scaling"] for row in rows}
        if len(rows) == sum(row["scaling"] in kinds for row in points):  # of whole panels: a mark would say nothing
            notes.append(f"{warning[0].upper()}{warning[1:]}.")
            continue
        mark = MARKS[marks % len(MARKS)] * (marks // len(MARKS) + 1)
        marks += 1
        notes.append(f"{mark}\u00a0{warning[0].upper()}{warning[1:]}.")
        for row in rows:
            row["mark"] += mark
    return notes


def _caption(points: Sequence[Row], parameters: Mapping[str, str]) -> list[str]:
    """Base cases, counts, statistic, intervals."""
    lines = _bases(points)
    runs, steps = ([row[count] for row in points] for count in ("n_runs", "n_steps"))
    statistic = STATISTICS.get(parameters.get("metric", "step_s"), parameters.get("metric", ""))
    repeats = " of a run, median over the runs" if max(runs) > 1 else ""
    lines.append(
        f"Each point: {words.span(runs, 'run')}, {words.span(steps, 'step record')}; {statistic} step time{repeats}."
    )
    if any(row["bar"] for row in points):
        lines.append("Bars join the intervals of the point and of its base.")
    elif any(row["scaling"] != "mixed" for row in points):
        without = "One run per size" if max(runs) == 1 else "No repeats of both a size and its base"
        lines.append(f"{without}: no interval for the efficiency.")
    kinds = {row["tflops_kind"] for row in points if row["scaling"] == "mixed" and row["tflops_kind"]}
    if any(row["scaling"] == "mixed" and row.get("parameters") for row in points):
        lines.append("Beside the points: parameters of the model.")
    return lines + [TFLOPS.get(kind, f"TFLOP/s: {kind}.") for kind in sorted(kinds)]


def _bases(points: Sequence[Row]) -> list[str]:
    """`Base of weak scaling: 0.391 s a step on 1 CPU (bf16), 0.512 s (fp32).`"""
    kinds: dict[str, list[str]] = {}
    for kind in ("weak", "strong"):
        bases = [row for row in points if row["scaling"] == kind and row["is_base"]]
        said, before = [], ""
        for row in sorted(bases, key=lambda row: words.natural(row["label"])):
            size = words.span([row["devices"]], words.unit([row]).removesuffix("s"))
            time = f"{words.number(row['step_s'])} s" + (f" a step on {size}" if size != before else "")
            said.append(f"{time} ({row['label']})" if row["label"] else time)
            before = size
        if said:
            kinds.setdefault(", ".join(said), []).append(kind)
    return [f"Base of {' and '.join(kinds)} scaling: {text}." for text, kinds in kinds.items()]


def _title(rows: Sequence[Row]) -> Any:
    """What a panel shows, and the batch that each of its series holds equal: `batch 8, 16 per device`."""
    batches = sorted({row["batch"] for row in rows}, key=words.natural)
    sizes = [number for batch in batches for number in re.findall(r"[\d.]+", batch)]
    many = ", ".join(sizes) if len(sizes) <= 3 else f"{sizes[0]} to {sizes[-1]}"
    return alt.TitleParams(PANELS[rows[0]["scaling"]], subtitle=re.sub(r"[\d.]+", many, batches[0], count=1))


def _parameters(count: float | None) -> str:
    """`18 B`, `350 M`."""
    if not count:
        return ""
    return f"{count / 1e9:.3g} B" if count >= 1e9 else f"{count / 1e6:.3g} M"
