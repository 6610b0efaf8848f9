"""Scaling efficiency against the number of devices.

Shows: how much of the ideal is left as devices are added, one line per series; weak and strong scaling in panels of
    their own.  Series whose model grows with the devices have TFLOP/s per device in a third, never an efficiency.
Query: scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        efficiency in percent from 0, the ideal marked; where the model grows TFLOP/s per device from 0
    line     a series, by colour, shape and dash; it joins the fastest configurations, others at a size are hollow
    bar      interval of the efficiency: full with caps for 95 %, thin, broken and open for a range
    ring     one of several repeats that differ more than they should, small and hollow, with their range
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

from scalelens.charts import axes, style, words
from scalelens.charts.page import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "scaling"
FACTS = ("device_unit", "parameters")

PANEL_TITLES = {
    "weak": "weak scaling", "strong": "strong scaling", "throughput": "scaling", "mixed": "growing model",
}  # fmt: skip
IDEAL = style.Look("ideal", style.GREY, None, [1, 0], 0.7)
WARNING_MARKS = "†‡§¶"
MARK_HEIGHT = 0.08  # of a mark in shares of the highest value
REPEAT_SIZE = 7  # area of the mark of a single repeat, square points
# Of each metric: the statistic, what its records are, the column of its absolute value, and how that value is said.
METRICS = {
    "t_b": ("median step time", "step record", "step_s", "{} s a step"),
    "mean_s": ("mean step time", "step record", "step_s", "{} s a step"),
    "t_ep": ("mean time of an epoch", "epoch", "epoch_s", "{} s an epoch"),
    "t_tr": ("mean time of the training part of an epoch", "epoch", "epoch_s", "{} s of training an epoch"),
    "throughput": ("total samples over total time", "step record", "samples_per_s", "{} samples/s"),
    "tflops": ("median of the TFLOP/s as printed", "step record", "tflops_printed", "{} TFLOP/s per device"),
}
TFLOPS = {
    "model": "TFLOP/s of the model: 6 × parameters + attention, per token.",
    "as printed": "TFLOP/s as the tool printed them, by its own formula.",
}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `scaling`.  Raises UserError where there is no series."""
    if rows.is_empty():
        raise UserError(
            "there is no scaling series to draw",
            "a series needs one model on two sizes or more; see what there is: scalelens query runs_overview",
        )
    sample_s = pl.coalesce(1 / pl.col("speedup"), pl.col("step_s") / pl.col("global_batch_size"))
    fastest_first = rows.with_columns(sample_s=sample_s)
    points: list[Row] = fastest_first.sort("series", "devices", "sample_s", "run_id").to_dicts()
    efficient = [row for row in points if row["scaling"] != "mixed" and row["efficiency"] is not None]
    growing = [row for row in points if row["scaling"] == "mixed" and row["tflops_per_device"] is not None]
    undrawn = [row for row in points if row not in efficient and row not in growing]
    points = [*efficient, *growing]
    if not points:
        raise UserError(*_why_nothing_is_drawn(undrawn))
    shared = [
        words.name_series(group, whose) for group, whose in ((efficient, ""), (growing, "Growing model: ")) if group
    ]
    _judge(points)
    notes = _mark_warnings(points)
    looks = style.looks(sorted({row["label"] for row in points}, key=words.natural), page)
    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    legend += [IDEAL] if efficient else []
    legend += [look for kind, look in style.INTERVALS.items() if any(row["interval"] == kind for row in points)]
    caption = [*filter(None, shared), *_undrawn(undrawn), *_caption(points, parameters or {}, notes)]
    grid = _grid(efficient, growing, looks, page)
    return style.figure(grid, legend, [*caption, words.exclusions(left_out)], page)


def _why_nothing_is_drawn(undrawn: Sequence[Row]) -> tuple[str, str]:
    """What is wrong with series none of which can be drawn, and what to do."""
    if any(row["scaling"] == "mixed" for row in undrawn):
        return (
            "the model grows with the devices, and no TFLOP/s are known to draw instead of an efficiency",
            "choose other runs, or give the model's shape in a sidecar",
        )
    return "no series has an efficiency", f"see the column warning of scalelens query scaling: {undrawn[0]['warning']}"


def _undrawn(rows: Sequence[Row]) -> list[str]:
    """Sentences of the caption on points that have nothing to be drawn by."""
    growing = sum(row["scaling"] == "mixed" for row in rows)
    others = sorted(
        {warning for row in rows if row["scaling"] != "mixed" for warning in words.split_notes(row["warning"])}
    )
    lines = [f"Not drawn: {words.counted([growing], 'point')} of growing models without TFLOP/s."] if growing else []
    if len(rows) > growing:
        points = words.counted([len(rows) - growing], "point")
        lines.append(f"Not drawn: {points} without an efficiency ({', '.join(others)}).")
    return lines


def _grid(
    efficient: Sequence[Row], growing: Sequence[Row], looks: Sequence[style.Look], page: Page
) -> list[list[style.Panel]]:
    """Weak and strong scaling side by side; growing models below them, or beside them in a wide figure."""
    panels: list[style.Panel] = []
    top = max([1.0, *(row[name] for row in efficient for name in ("efficiency", "efficiency_high") if row[name])])
    top = max([top, *(value for row in efficient for value in row["repeats"])])
    for kind in ("weak", "strong", "throughput"):
        if shown := [row for row in efficient if row["scaling"] == kind]:
            panels.append(style.Panel(_efficiency(shown, looks, top, has_axis=not panels), has_axis=not panels))
    other = [style.Panel(_throughput(growing, looks))] if growing else []
    return [[*panels, *other]] if page.is_wide else [row for row in (panels, other) if row]


def _efficiency(rows: Sequence[Row], looks: Sequence[style.Look], top: float, has_axis: bool) -> Any:
    """Panel of weak or of strong series.  The second of the two has no axis and shares that of the first."""
    measured = ("efficiency", "efficiency_low", "efficiency_high")
    percent = [row | {name: None if row[name] is None else 100 * row[name] for name in measured} for row in rows]
    percent = [row | {"repeats": [100 * value for value in row["repeats"]]} for row in percent]
    bare = {"labels": False, "ticks": False, "domain": False, "tickSize": 0, "minExtent": 0, "maxExtent": 0}
    title, options = ("efficiency [%]", {}) if has_axis else (None, bare)
    y = axes.from_zero("efficiency", title, 100 * top, **options)
    ideal = alt.Chart(style.values([{"ideal": 100}]))
    ideal = ideal.mark_rule(color=IDEAL.colour, strokeWidth=IDEAL.thickness)
    layers = [ideal.encode(y="ideal:Q"), *_series(percent, looks, y, "efficiency")]
    return alt.layer(*layers).properties(title=_title(rows))


def _throughput(rows: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of series whose model grows.  They have no efficiency, because no size does the work of another."""
    sizes = {row["run_id"]: _parameters(row.get("parameters")) for row in rows if row["is_fastest"]}
    highest = max(row["tflops_per_device"] for row in rows)
    y = axes.from_zero("tflops_per_device", f"TFLOP/s per {words.unit(rows)}", highest)
    overhang = max(map(words.text_width, sizes.values())) + 4
    text = [row | {"size": sizes[row["run_id"]]} for row in rows if row["is_fastest"]]
    size = alt.Chart(_values(text, "tflops_per_device", "size"))
    size = size.mark_text(align="left", baseline="bottom", dx=3, dy=-2, color=style.GREY)
    series = _series(rows, looks, y, "tflops_per_device", overhang)
    return alt.layer(*series, size.encode(x="devices:Q", y=y, text="size:N")).properties(title=_title(rows))


def _series(
    rows: Sequence[Row], looks: Sequence[style.Look], y: Any, field: str, overhang: float = axes.OVERHANG
) -> list[Any]:
    """Lines, intervals, points and marks of warnings."""
    x, by = axes.of_devices(rows, overhang), style.encodings(looks)
    told = ("series", "devices", "run_id", "n_runs", "n_steps", "warning")
    tips = [alt.Tooltip(name, type="nominal") for name in told]
    tips += [alt.Tooltip(name, type="quantitative", format=".4~g") for name in (field, "step_s")]

    def points(chosen: Sequence[Row]) -> Any:
        return alt.Chart(_values(chosen, field, *told, "step_s"))

    fastest = points([row for row in rows if row["is_fastest"]])
    layers = [fastest.mark_line().encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"], detail="series:N")]
    ends = (f"{field}_low", f"{field}_high")
    for kind in style.INTERVALS:
        of_kind = [row for row in rows if row["interval"] == kind]
        layers += style.interval_layers(of_kind, kind, x, ends, by["color"])
    layers.append(fastest.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips))
    if rivals := [row for row in rows if not row["is_fastest"]]:
        hollow = points(rivals).mark_point(filled=False, fill="white", strokeWidth=0.8)
        layers.append(hollow.encode(x, y, by["color"], by["shape"], tooltip=tips))
    if repeats := [row | {field: value} for row in rows for value in row["repeats"]]:
        ring = points(repeats).mark_point(filled=False, fill="white", strokeWidth=0.6, size=REPEAT_SIZE, shape="circle")
        layers.append(ring.encode(x, y, by["color"], tooltip=tips))
    if marked := [row for row in rows if row["mark"]]:
        mark = alt.Chart(_values(_marks_apart(marked, field), field, "mark")).mark_text(align="left", dx=3, dy=-4)
        layers.append(mark.encode(x, y, text="mark:N"))
    return layers


def _marks_apart(marked: Sequence[Row], field: str) -> list[Row]:
    """Rows with marks; those of points that lie close together stand at the highest of them, or they would overlap."""
    close = MARK_HEIGHT * max(row[field] for row in marked)
    kept: list[Row] = []
    for row in sorted(marked, key=lambda row: (row["devices"], -row[field])):
        if kept and kept[-1]["devices"] == row["devices"] and kept[-1]["lowest"] - row[field] < close:
            marks = "".join(dict.fromkeys(kept[-1]["mark"] + row["mark"]))
            kept[-1] |= {"mark": marks, "lowest": row[field]}
        else:
            kept.append(row | {"lowest": row[field]})
    return kept


def _values(rows: Sequence[Row], *fields: str) -> Any:
    """The columns that a layer draws, without the others."""
    return style.values([{name: row[name] for name in ("devices", "label", *fields)} for row in rows])


def _judge(points: list[Row]) -> None:
    """Adds to each row whether it is the base, whether the line runs through it, its repeats and its kind of interval.

    Where the base has one run, repeats that differ more than they should have their own range instead of an interval.
    """
    series, sizes = set(), set()
    for row in points:
        row["is_base"] = row["series"] not in series
        row["is_fastest"] = (row["series"], row["devices"]) not in sizes
        row["interval"] = (row["efficiency_kind"], row["interval_of"] or "runs") if row["efficiency_kind"] else None
        row["repeats"] = row.get("repeat_efficiencies") or []
        if row["repeats"] and not row["interval"]:
            row["efficiency_low"], row["efficiency_high"] = min(row["repeats"]), max(row["repeats"])
            row["interval"] = ("range", "runs")
        series.add(row["series"])
        sizes.add((row["series"], row["devices"]))


def _mark_warnings(points: list[Row]) -> list[str]:
    """Marks the rows that a warning singles out.  Returns the warnings as notes of the caption."""
    warned: dict[str, list[tuple[str, Row]]] = {}
    for row in points:
        row["mark"] = ""
        for warning in words.split_notes(row["warning"]):
            warned.setdefault(re.sub(words.NUMBER, "#", warning), []).append((warning, row))
    notes, marks = [], 0
    for alike in warned.values():
        warning, rows = words.joined([warning for warning, _ in alike]), [row for _, row in alike]
        kinds = {row["scaling"] for row in rows}
        if len(rows) == sum(row["scaling"] in kinds for row in points):  # a mark at every point would say nothing
            notes.append(words.sentence(warning))
            continue
        mark = WARNING_MARKS[marks % len(WARNING_MARKS)] * (marks // len(WARNING_MARKS) + 1)
        marks += 1
        notes.append(f"{mark}\u00a0{words.sentence(warning)}")
        for row in rows:
            row["mark"] += mark
    return notes


def _caption(points: Sequence[Row], parameters: Mapping[str, str], notes: Sequence[str]) -> list[str]:
    """Counts, statistic, what marks stand for, base cases, intervals."""
    statistic, record, column, said = METRICS[points[0].get("metric") or parameters.get("metric", "t_b")]
    most_runs = max(row["n_runs"] for row in points)
    repeats = " of a run, median over the runs" if most_runs > 1 else ""
    lines = [f"Each point: {words.records_of(points, record)}; {statistic}{repeats}.", *notes]
    if any(row["repeats"] for row in points):
        lines.append("Rings: single repeats that differ more than they should, with their range.")
    lines += _bases(points, column, said)
    if any(row["efficiency_kind"] for row in points):
        lines.append("Bars join the intervals of the point and of its base.")
    elif any(row["scaling"] != "mixed" and not row["repeats"] for row in points):
        without = "One run per size" if most_runs == 1 else "No repeats of both a size and its base"
        lines.append(f"{without}: no interval for the efficiency.")
    kinds = {row["tflops_kind"] for row in points if row["scaling"] == "mixed" and row["tflops_kind"]}
    if any(row["scaling"] == "mixed" and row.get("parameters") for row in points):
        lines.append("Beside the points: parameters of the model.")
    return lines + [TFLOPS.get(kind, f"TFLOP/s: {kind}.") for kind in sorted(kinds)]


def _bases(points: Sequence[Row], column: str, said: str) -> list[str]:
    """`Base of weak scaling: 0.391 s a step on 1 CPU (bf16), 0.512 s (fp32).`  `said` says a value of `column`."""
    kinds: dict[str, list[str]] = {}
    for kind in ("weak", "strong", "throughput"):
        bases = [row for row in points if row["scaling"] == kind and row["is_base"]]
        texts, size_before = [], ""
        for row in sorted(bases, key=lambda row: words.natural(row["label"])):
            size = words.devices(row)
            value = words.short_number(row[column])
            whole = f"{said.format(value)} on {size}"
            time = whole if size != size_before else " ".join(said.format(value).split(" ")[:2])
            texts.append(f"{time} ({row['label']})" if row["label"] else time)
            size_before = size
        if texts:
            kinds.setdefault(", ".join(texts), []).append(PANEL_TITLES[kind])
    names = {text: " and ".join(of).replace(" scaling and", " and") for text, of in kinds.items()}
    return [f"Base of {name}: {text}." for text, name in names.items()]


def _title(rows: Sequence[Row]) -> Any:
    """The kind of scaling, and below it the batch that is equal within a series: `batch 8, 16 per device`."""
    batches = sorted({row["batch"] for row in rows}, key=words.natural)
    if all(row["batch"] in row["label"] for row in rows):  # the legend says it
        return alt.TitleParams(PANEL_TITLES[rows[0]["scaling"]])
    sizes = [number for batch in batches for number in re.findall(r"[\d.]+", batch)]
    many = ", ".join(sizes) if len(sizes) <= 3 else f"{sizes[0]} to {sizes[-1]}"
    return alt.TitleParams(PANEL_TITLES[rows[0]["scaling"]], subtitle=re.sub(r"[\d.]+", many, batches[0], count=1))


def _parameters(count: float | None) -> str:
    """`18 B`, `350 M`."""
    if not count:
        return ""
    return f"{count / 1e9:.3g} B" if count >= 1e9 else f"{count / 1e6:.3g} M"
