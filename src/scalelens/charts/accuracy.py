"""Accuracy or loss over the course of a training: against epoch or step, and against time.

Shows: what a run has learned, and when; runs that learn equally per step may differ in time.
Query: accuracy_course
Encodings:
    x        left: the epoch, if the records have one, else the step; right: the time since the run began
    y        the score: accuracy in percent, or the loss
    color    a run
    marker   a validation, joined by a line
    thin     records of the training itself
    caption  records, and where the time starts; no record is left out
Source: figures of accuracy against epoch and time in the results of MLPerf Training and of DAWNBench
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, facets, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError
from scalelens.units import factors

QUERY = "accuracy_course"
FACETS = True
FACTS = ("name", "model")

_SLOTS = 400  # of each panel; the lowest and the highest record of a slot are drawn
_TRAINING = style.Look("training", style.INK, None, [1, 0], 0.5)
_VALIDATION = style.Look("validation", style.INK, "circle", [1, 0], 1)
_UNITS_OF_TIME = factors("h", "min", "s")
_CLOCKS = {
    "run start": "the start of the run", "first record": "the first record", "sum of steps": "the sum of its steps",
}  # fmt: skip


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `accuracy_course`.  Raises UserError without scores, or with too many runs."""
    score = (parameters or {}).get("score_name", "accuracy")
    known = rows.filter(pl.col("score").is_not_null())
    if known.is_empty():
        raise UserError(f"no run says a score of the name {score}", "for the loss: score_name=loss")
    if score == "accuracy":
        known = known.with_columns(pl.col("score") * 100)
    known = _named(known)
    looks = style.looks(sorted(known["label"].unique(), key=words.natural), page)
    longest = float(known["elapsed_s"].max() or 0)  # type: ignore[arg-type]
    unit, seconds = next(each for each in _UNITS_OF_TIME.items() if each[1] == 1 or longest >= 2 * each[1])
    known = known.with_columns(elapsed=pl.col("elapsed_s") / seconds)
    place = "step" if known["epoch"].has_nulls() else "epoch"
    title = "accuracy [%]" if score == "accuracy" else score
    sides = [(field, name) for field, name in ((place, place), ("elapsed", f"time [{unit}]")) if known[field].count()]
    if not sides:
        raise UserError("the scores have neither a step nor a time", "see: scalelens query accuracy_curve")
    parts = facets.parts(known.unique("run_id").to_dicts(), page)
    facets.check(len(parts) * len(sides))
    grid = []
    for name, runs in parts.items():
        part = known.filter(pl.col("run_id").is_in([run["run_id"] for run in runs]))
        charts = [_panel(part, known, field, axis, title, looks) for field, axis in sides]
        titled = [facets.titled(chart, name, len(sides), page, has_axes=True) for chart in charts]
        panels = [style.Panel(chart, name=name) for chart in titled]
        grid += [panels] if page.is_wide else [[panel] for panel in panels]
    phases = set(known["phase"].unique())
    legend: list[style.Look | style.IntervalLook] = [_as_drawn(look, phases) for look in looks if len(looks) > 1]
    legend += [_VALIDATION] if phases - {"train"} else []
    legend += [_TRAINING] if "train" in phases else []
    return style.figure(grid, legend, _caption(known), page)


def _as_drawn(look: style.Look, phases: set[str | None]) -> style.Look:
    """Looks of runs, whose lines differ only in color and dash."""
    lines = _TRAINING if phases == {"train"} else _VALIDATION
    return look._replace(shape=None, thickness=1.5 * lines.thickness)


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    """Each run by its name, with its id if two runs have the same name."""
    alike = pl.col("run_id").n_unique().over("name") > 1
    short = pl.concat_str(pl.col("name"), pl.lit(" · "), pl.col("run_id").str.head(6))
    return rows.with_columns(label=pl.when(alike).then(short).otherwise(pl.col("name")))


def _panel(
    rows: pl.DataFrame, known: pl.DataFrame, field: str, title: str, score: str, looks: Sequence[style.Look]
) -> Any:
    """Scores against one of the two axes, which are the same in all panels."""
    rows = rows.filter(pl.col(field).is_not_null())
    ends = float(known["score"].min()), float(known["score"].max())  # type: ignore[arg-type]
    largest = float(known[field].max())  # type: ignore[arg-type]
    x = alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(domain=[min(0.0, float(known[field].min())), largest or 1], nice=False, padding=4),  # type: ignore[arg-type]
        axis=alt.Axis(tickCount=5, labelFlush=True, labelOverlap="greedy", **axes.labels(largest)),
    )
    room = (ends[1] - ends[0]) * 0.04 or 1
    y = alt.Y(
        "score:Q",
        title=score,
        scale=alt.Scale(domain=[ends[0] - room, ends[1] + room], nice=False),
        axis=alt.Axis(tickCount=5),
    )
    by = style.encodings(looks)
    order, group = alt.Order(f"{field}:Q"), "part:N"
    layers = []
    trained = _reduced(rows.filter(pl.col("phase") == "train"), field)
    if trained:
        line = alt.Chart(style.values(trained)).mark_line(strokeWidth=_TRAINING.thickness, opacity=0.7)
        layers.append(line.encode(x, y, by["color"], by["strokeDash"], detail=group, order=order))
    validated = _reduced(rows.filter(pl.col("phase").ne_missing("train")), field)
    if validated:
        chart = alt.Chart(style.values(validated))
        line = chart.mark_line(strokeWidth=_VALIDATION.thickness)
        layers.append(line.encode(x, y, by["color"], by["strokeDash"], detail=group, order=order))
        layers.append(chart.mark_point(size=9).encode(x, y, by["color"], by["shape"], tooltip=["label:N", "score:Q"]))
    return alt.layer(*layers)


def _reduced(rows: pl.DataFrame, field: str) -> list[Row]:
    """The lowest and the highest record in each slot of the axis; lines join the records of one attempt."""
    width = (float(rows[field].max() or 0) - float(rows[field].min() or 0)) / _SLOTS or 1  # type: ignore[arg-type]
    part = pl.concat_str("label", pl.lit("/"), pl.col("attempt").cast(pl.String).fill_null("0"))
    placed = rows.with_columns(part=part, slot=(pl.col(field) / width).floor()).sort("score")
    slots = placed.group_by("part", "slot", maintain_order=True)
    ends = pl.concat([slots.first(), slots.last()]).select("label", "part", field, "score").unique()
    return ends.sort("label", "part", field, "score").to_dicts()


def _caption(rows: pl.DataFrame) -> list[str]:
    counts = rows.group_by("run_id").agg(pl.max("n_points"))["n_points"].to_list()
    models = sorted({model for model in rows["model"].unique() if model})
    lines = [f"{', '.join(models)}."] if models else []
    lines.append(f"{words.counted([len(counts)], 'run')}, each of {words.counted(counts, 'record')}.")
    clocks = [_CLOCKS.get(clock, clock) for clock in sorted(filter(None, rows["clock"].unique()))]
    lines += [f"Time since {' or '.join(clocks)}."] if clocks else []
    if max(counts) > _SLOTS:
        lines.append(f"Of each {_SLOTS}th of the axis the lowest and the highest record of a run.")
    return [*lines, "No record is left out."]
