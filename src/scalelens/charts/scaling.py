"""Scaling efficiency against the number of devices.

Shows: how much of the ideal is left as devices are added, one line per series, with a panel for weak and one for strong
    scaling.  Series whose model grows with the devices have TFLOP/s per device in a third panel, never an efficiency.
    Where no log names the model, throughput or the time of an epoch against devices, with the line of the smallest
    size; bars of runs by name where those of the smallest size are not repeats.
Query: scaling
Encodings:
    x        devices, logarithmic, a tick at each size that was run
    y        efficiency in percent from 0, the ideal marked; if the model grows, TFLOP/s per device from 0
    line     a series, by color, shape and dash; it joins the fastest configurations, others are hollow; of more than
             twelve series, the most efficient and the median one are named and the others pale
    bar      interval of the efficiency: full with caps for 95 %, thin, broken and open for a range
    ring     a repeat, small and hollow, if repeats differ more than they should; with their range
    †        a note of the query, spelled out in the caption
    number   parameters of the model, if it grows
    caption  what the series share, base case with its absolute value, runs, steps, statistic, what was left out
Source: T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC'15, rules 1, 2, 5 and 11
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, efficiency_panels, exclusions, facets, naming, size_rates, style, words
from scalelens.charts.highlights import PALE, Chosen, in_front_last, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "scaling"
FACETS = True
INSTEAD = ({"metric": "throughput"}, {"metric": "tflops"}, {"metric": "t_ep"})  # where the logs have no step time
FACTS = ("name", "device_unit", "parameters")

# For each metric, and for a throughput of tokens: the statistic, what its records are, the column of its absolute
# value, and how that is written.
_METRICS = {
    "t_b": ("median step time", "step record", "step_s", "{} s a step"),
    "mean_s": ("mean step time", "step record", "step_s", "{} s a step"),
    "t_ep": ("mean time of an epoch", "epoch", "epoch_s", "{} s an epoch"),
    "t_tr": ("mean time of the training part of an epoch", "epoch", "epoch_s", "{} s of training an epoch"),
    "throughput": ("total samples over total time", "step record", "samples_per_s", "{} samples/s"),
    "tokens": ("total tokens over total time", "step record", "tokens_per_s", "{} tokens/s"),
    "tflops": ("median of the TFLOP/s as printed", "step record", "tflops_printed", "{} TFLOP/s per device"),
}
_TFLOPS = {
    "model": "TFLOP/s of the model: 6 × parameters + attention, per token.",
    "as printed": "TFLOP/s as the tool printed them, by its own formula.",
}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `scaling`.  Raises UserError if there is no series."""
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
    if not points and (rated := size_rates.measured([row for row in undrawn if row["scaling"] != "mixed"])):
        of_tokens = [row for row in undrawn if row.get("tokens_per_s") and row not in rated]
        apart = [f"Not drawn: {words.counted([len(of_tokens)], 'point')} with rates of tokens."] if of_tokens else []
        return size_rates.figure(rated, " ".join([*apart, _left_out(rows, left_out, parameters or {})]), page)
    if not points:
        raise UserError(*_why_nothing_is_drawn(undrawn))
    shared = [
        naming.name_series(group, whose) for group, whose in ((efficient, ""), (growing, "Growing model: ")) if group
    ]
    efficiency_panels.judge(points)
    notes = efficiency_panels.mark_notes(points)
    for row in points:
        row["whole_label"] = row["label"]
    facets.take_from_labels(points, page.facet)
    chosen, named = _chosen(points, "efficiency" if efficient else "tflops_per_device", page)
    efficient, growing = in_front_last(efficient), in_front_last(growing)
    legend: list[style.Look | style.IntervalLook] = [look for look in chosen.looks if look.label]
    legend += [efficiency_panels.IDEAL] if efficient else []
    legend += [look for kind, look in style.INTERVALS.items() if any(row["interval"] == kind for row in points)]
    caption = [*filter(None, shared), *named, *_undrawn(undrawn), *_caption(points, parameters or {}, notes)]
    grid = _grid(efficient, growing, chosen, page)
    return style.figure(grid, legend, [*caption, _left_out(rows, left_out, parameters or {})], page)


def _chosen(points: Sequence[Row], field: str, page: Page) -> tuple[Chosen, list[str]]:
    """The looks of the series, and a sentence on those that are named where not all are; the others have no bars."""
    rank, where = efficiency_panels.ranking(points, field)
    chosen = looks_of(facets.parts(points, page), rank, page)
    if not chosen.is_part:
        return chosen, []
    for row in points:
        row.update({"interval": None, "repeats": []} if row["front"] == PALE else {})
    of_what = "efficiency" if field == "efficiency" else "TFLOP/s"
    panel = " of each panel" if page.facet else ""
    return chosen, [f"Named: the series{panel} with the highest {of_what}{where}, and the one in the middle."]


def _left_out(rows: pl.DataFrame, left_out: Mapping[str, int], parameters: Mapping[str, str]) -> str:
    """What is not in the figure: records of steps, or the first epochs."""
    if "metric" not in rows.columns or rows["metric"][0] not in ("t_ep", "t_tr"):
        return exclusions.sentence(left_out)
    chosen = parameters.get("epochs", "").strip() or parameters.get("exclude") == "none"
    return "Nothing left out." if chosen else "Left out: the first epoch of each attempt that has more."


def _why_nothing_is_drawn(undrawn: Sequence[Row]) -> tuple[str, str]:
    """Why none of the series can be drawn, and what to do."""
    if any(row["scaling"] == "mixed" for row in undrawn):
        return (
            "the model grows with the devices, and no TFLOP/s are known to draw instead of an efficiency",
            "choose other runs, or give the model's shape in a sidecar",
        )
    return f"no series has an efficiency: {undrawn[0]['note']}", "see all sizes: scalelens query scaling"


def _undrawn(rows: Sequence[Row]) -> list[str]:
    """Sentences of the caption about points that cannot be drawn."""
    growing = sum(row["scaling"] == "mixed" for row in rows)
    causes = [note for row in rows if row["scaling"] != "mixed" for note in words.split_notes(row["note"])]
    lines = [f"Not drawn: {words.counted([growing], 'point')} of growing models without TFLOP/s."] if growing else []
    if len(rows) > growing:
        points = words.counted([len(rows) - growing], "point")
        lines.append(f"Not drawn: {points} without an efficiency ({', '.join(words.once_each(causes))}).")
    return lines


def _grid(efficient: Sequence[Row], growing: Sequence[Row], chosen: Chosen, page: Page) -> list[list[style.Panel]]:
    """Weak and strong scaling side by side, growing models below them, or beside them in a wide figure."""
    groups = _groups(efficient, page)
    top = efficiency_panels.highest(efficient)
    columns = facets.across(max(len(groups), 1), page)
    charts = []
    for k, (title, rows) in enumerate(groups):
        x = axes.of_devices(efficient if page.facet else rows)
        chart = efficiency_panels.efficiency(rows, chosen.looks, top, x, has_axis=k % columns == 0)
        charts.append((title, chart.properties(title=_title(rows, title, chosen, columns, page))))
    others = [
        style.Panel(
            _throughput(rows, growing, chosen.looks).properties(title=_title(rows, title, chosen, 1, page)), name=title
        )
        for title, rows in (facets.parts(growing, page) if growing else {}).items()
    ]
    facets.check(len(charts) + len(others), page)
    grid = facets.grid(charts, columns)
    if page.is_wide and not page.facet:
        return [[*(panel for row in grid for panel in row), *others]]
    return [*grid, *([panel] for panel in others)]


def _groups(efficient: Sequence[Row], page: Page) -> list[tuple[str, list[Row]]]:
    """The rows of each panel with an efficiency: one kind of scaling and one value of the facet."""
    kinds = ([row for row in efficient if row["scaling"] == kind] for kind in ("weak", "strong", "throughput"))
    return [part for rows in kinds if rows for part in facets.parts(rows, page).items()]


def _throughput(rows: Sequence[Row], growing: Sequence[Row], looks: Sequence[style.Look]) -> Any:
    """Panel of series whose model grows, with the axes of all of them.

    They have no efficiency, because each size does different work.
    """
    sizes = {row["run_id"]: _size(row, growing) for row in growing if row["is_fastest"]}
    highest = max(row["tflops_per_device"] for row in growing)
    y = axes.from_zero("tflops_per_device", f"TFLOP/s per {words.unit(growing)}", highest)
    overhang = max(map(words.text_width, sizes.values())) + 4
    shown = [row for row in rows if row["is_fastest"] and row["front"] > PALE]
    text = [row | {"size": sizes[row["run_id"]]} for row in shown]
    size = alt.Chart(efficiency_panels.values_of(text, "tflops_per_device", "size"))
    size = size.mark_text(align="left", baseline="bottom", dx=3, dy=-2, color=style.GRAY)
    unmarked = [row | {"mark": ""} for row in rows]  # the marks stand beside the sizes
    x = axes.of_devices(growing, overhang)
    series = efficiency_panels.series_layers(unmarked, looks, x, y, "tflops_per_device")
    return alt.layer(*series, size.encode(x=alt.X("devices:Q"), y=y, text=alt.Text("size:N")))


def _caption(points: Sequence[Row], parameters: Mapping[str, str], notes: Sequence[str]) -> list[str]:
    """Counts, statistic, what marks mean, base cases, intervals."""
    metric = points[0].get("metric") or parameters.get("metric", "t_b")
    statistic = ", or ".join(words.once_each([_measured_by(row, metric)[0] for row in points]))
    record = _METRICS[metric][1]
    most_runs = max(row["n_runs"] for row in points)
    repeats = " of a run, median over the runs" if most_runs > 1 else ""
    lines = [f"Each point: {words.records_of(points, record)}; {statistic}{repeats}.", *notes]
    if any(row["repeats"] for row in points):
        lines.append("Rings: single repeats that differ more than they should, with their range.")
    lines += _bases(points, metric)
    if any(row["efficiency_kind"] for row in points):
        lines.append("Bars join the intervals of the point and of its base.")
    elif any(row["scaling"] != "mixed" and not row["repeats"] for row in points):
        without = "One run per size" if most_runs == 1 else "No repeats of both a size and its base"
        lines.append(f"{without}: no interval for the efficiency.")
    kinds = {row["tflops_kind"] for row in points if row["scaling"] == "mixed" and row["tflops_kind"]}
    if any(row["scaling"] == "mixed" and row.get("parameters") for row in points):
        lines.append("Beside the points: parameters of the model.")
    return lines + [_TFLOPS.get(kind, f"TFLOP/s: {kind}.") for kind in sorted(kinds)]


def _measured_by(point: Row, metric: str) -> tuple[str, str, str, str]:
    """What `_METRICS` says of a point: of a throughput, whether samples are known or tokens alone."""
    of_tokens = metric == "throughput" and point.get("samples_per_s") is None
    return _METRICS["tokens" if of_tokens else metric]


def _bases(points: Sequence[Row], metric: str) -> list[str]:
    """`Base of weak scaling: 0.391 s a step on 1 CPU (bf16), 0.512 s (fp32).`"""
    kinds: dict[str, list[str]] = {}
    for kind in ("weak", "strong", "throughput"):
        bases = [row for row in points if row["scaling"] == kind and row["is_base"] and row["front"] > PALE]
        texts, size_before = [], ""
        for row in sorted(bases, key=lambda row: words.natural(row["whole_label"])):
            size = words.devices(row)
            _, _, column, pattern = _measured_by(row, metric)
            value = words.short_number(row[column])
            whole = f"{pattern.format(value)} on {size}"
            time = whole if size != size_before else " ".join(pattern.format(value).split(" ")[:2])
            texts.append(f"{time} ({row['whole_label']})" if row["whole_label"] else time)
            size_before = size
        if texts:
            kinds.setdefault(", ".join(texts), []).append(efficiency_panels.KINDS[kind])
    names = {text: " and ".join(of).replace(" scaling and", " and") for text, of in kinds.items()}
    return [f"Base of {name}: {text}." for text, name in names.items()]


def _title(rows: Sequence[Row], facet: str, chosen: Chosen, columns: int, page: Page) -> Any:
    """The kind of scaling, and below it the batch that is the same within a series: `batch 8, 16 per device`.

    The title of a facet, one of `columns` side by side, has both below it, and which series stand out.
    """
    kind, batch = efficiency_panels.KINDS[rows[0]["scaling"]], _batch(rows)
    if facet:
        return facets.title(facet, (kind, batch, *chosen.lines.get(facet, ())), columns, page)
    return alt.TitleParams(kind, subtitle=batch) if batch else alt.TitleParams(kind)


def _batch(rows: Sequence[Row]) -> str:
    batches = sorted({row["batch"] for row in rows}, key=words.natural)
    if all(row["batch"] in row["own"] for row in rows):  # the legend says it
        return ""
    sizes = [number for batch in batches for number in re.findall(r"[\d.]+", batch)]
    many = ", ".join(sizes) if len(sizes) <= 3 else f"{sizes[0]} to {sizes[-1]}"
    return re.sub(r"[\d.]+", many, batches[0], count=1)


def _size(point: Row, points: Sequence[Row]) -> str:
    """The parameters of a point's model, and the marks of all points of its series on as many devices: `18 B †`."""
    alike = [row for row in points if (row["series"], row["devices"]) == (point["series"], point["devices"])]
    marks = "".join(dict.fromkeys(mark for row in alike for mark in row["marks"]))
    return " ".join(filter(None, (_parameters(point.get("parameters")), marks)))


def _parameters(count: float | None) -> str:
    """`18 B`, `350 M`."""
    if not count:
        return ""
    return f"{count / 1e9:.3g} B" if count >= 1e9 else f"{count / 1e6:.3g} M"
