"""Accuracy or loss over the course of a training: against epoch or step, and against time.

Shows: what a run has learned, and when; runs that learn equally per step may differ in time.
Query: accuracy_course
Encodings:
    x        left: the epochs done, if the records say them, else the step; right: the time since the run began.  With
             `--x epochs`, `steps`, `tokens`, `hours` or `energy` one panel, against that
    y        the score: accuracy in percent, or the loss, logarithmic where it spans a factor of 1000
    color    a run; of more than twelve the best and the median, the others are thin and gray: by the best validation,
             else by the last tenth of the training, as its first records say nothing
    marker   a validation, joined by a line
    thin     records of the training itself, or with `smooth=20` the mean of 20 around each
    caption  records, where an epoch's values stand, and where the time starts; no record is left out
Source: figures of accuracy against epoch and time in the results of MLPerf Training and of DAWNBench
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, facets, style, words
from scalelens.charts.highlights import highlights
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.charts.way import Way, ways
from scalelens.errors import UserError

QUERY = "accuracy_course"
FACETS = True
FACTS = ("name", "model")

_FEW = 4  # records of a training, of which a line alone would be a stroke that nobody sees
_MOST_LETTERS = 4  # of a label left of a panel, as in axes
_HIGHER_IS_BETTER = re.compile(r"(?i)(?:^|[^a-z])(?:acc|top.?\d|prec|recall|map\b|bleu|rouge|dice|iou|f1)(?!.*loss)")
_AT_THE_END = pl.col("score").tail((pl.len() + 9) // 10).mean()
_COURSE = 3  # records that have one, and runs among which one is in the middle
_SLOTS = 400  # of each panel; the lowest and the highest record of a slot are drawn
PALE_POINTS = 12_000  # of all gray lines of a panel together; thousands of them hide each other
LEAST_SLOTS = 10
_LOGARITHMIC_FROM = 1000  # highest score over lowest
_TRAINING = style.Look("training", style.INK, None, [1, 0], 0.5)
_SEVERAL_MODELS = "Scores of different models compare only on the same data."
_UNTOLD = "Some logs do not say whether an accuracy is from training or validation."
_VALIDATION = style.Look("validation", style.INK, "circle", [1, 0], 1)
_CLOCKS = {
    "run start": "since the start of the run", "first record": "since the first record",
    "sum of steps": "as the sum of the steps so far",
}  # fmt: skip

_LAUNCH = "launch"
# The same place of the training in several attempts: a curve through both would go back.
_BEGAN_AGAIN = pl.col("attempt").fill_null(0).n_unique().over("run_id", "phase", "epoch", "step") > 1


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `accuracy_course`.  Raises UserError without scores, or without the axis asked for."""
    parameters = parameters or {}
    score = parameters.get("score_name", "accuracy")
    known = rows.filter(pl.col("score").is_not_null())
    if known.is_empty():
        raise UserError(f"no score called {score} can be drawn", "for the loss: score_name=loss")
    if score == "accuracy":
        known = known.with_columns(pl.col("score") * 100)
    drawn_ways = ways(known, parameters.get("x", ""))
    known = known.with_columns(way.values() for way in drawn_ways)
    undrawn = {way.what: _runs_without(known, way) for way in drawn_ways}
    drawn_ways, at_once = _followed(known, drawn_ways)
    known = known.with_columns(
        pl.when(~way.is_at_once()).then(way.field).alias(way.field) for way in drawn_ways if at_once
    )
    known = known.filter(pl.any_horizontal(pl.col(way.field).is_not_null() for way in drawn_ways))
    if known["run_id"].n_unique() == known.height:
        raise UserError(
            "each run has one score, so there is no course to draw", "see them: scalelens query accuracy_curve"
        )
    known, looks = _labeled(known, score, page)
    phases = _phases(known)
    is_told = not known["phase"].has_nulls()
    title = " ".join(
        [*(phases if len(phases) == 1 and is_told else ()), "accuracy [%]" if score == "accuracy" else score]
    )
    parts = facets.parts(known.unique("run_id").to_dicts(), page)
    facets.check(len(parts) * len(drawn_ways), page)
    grid = []
    for name, runs in parts.items():
        part = known.filter(pl.col("run_id").is_in([run["run_id"] for run in runs]))
        charts = [_panel(part, known, way, title, looks) for way in drawn_ways]
        titled = [facets.titled(chart, name, len(drawn_ways), page, has_axes=True) for chart in charts]
        panels = [style.Panel(chart, name=name) for chart in titled]
        grid += [panels] if page.is_wide else [[panel] for panel in panels]
    legend: list[style.Look | style.IntervalLook] = [_as_drawn(look, phases) for look in looks if len(looks) > 1]
    legend += [_VALIDATION, _TRAINING] if len(phases) > 1 else []
    about = [*_missing(undrawn), *_missing(at_once, " with all scores at one place")]
    about += [] if is_told or score != "accuracy" else [_UNTOLD]
    return style.figure(grid, legend, _caption(known, drawn_ways, about, parameters, _pale_slots(looks, known)), page)


def _followed(rows: pl.DataFrame, drawn_ways: Sequence[Way]) -> tuple[list[Way], dict[str, int]]:
    """The axes along which any run has a course, and how many runs have none there; all axes where no run has one."""
    at_once = {
        way: int(rows.filter(way.is_at_once() & pl.col(way.field).is_not_null())["run_id"].n_unique())
        for way in drawn_ways
    }
    drawn = {way: rows.filter(pl.col(way.field).is_not_null())["run_id"].n_unique() for way in drawn_ways}
    followed = [way for way in drawn_ways if at_once[way] < drawn[way]]
    return (followed, {way.what: at_once[way] for way in followed}) if followed else (list(drawn_ways), {})


def _missing(runs: Mapping[str, int], why: str = "") -> list[str]:
    """`Not drawn over time: 2 runs.`: how many runs an axis leaves out, the axes of one number together."""
    lines = []
    for count in dict.fromkeys(filter(None, runs.values())):
        over = " or ".join(what for what, of_axis in runs.items() if of_axis == count)
        lines.append(f"Not drawn over {over}: {words.counted([count], 'run')}{why}.")
    return lines


def _phases(rows: pl.DataFrame) -> list[str]:
    phases = set(rows["phase"].unique())
    return [*(["validation"] if "validation" in phases else []), *(["training"] if "train" in phases else [])]


def _as_drawn(look: style.Look, phases: Sequence[str]) -> style.Look:
    """Looks of runs, whose lines differ only in color and dash."""
    lines = _TRAINING if phases == ["training"] else _VALIDATION
    return look._replace(shape=None, thickness=1.5 * lines.thickness if look.shape else look.thickness)


def _labeled(rows: pl.DataFrame, score: str, page: Page) -> tuple[pl.DataFrame, Sequence[style.Look]]:
    """The rows with a label of their run, and the looks of the labels; many runs share a label."""
    alike = pl.col("run_id").n_unique().over("name") > 1
    short = pl.concat_str(pl.col("name"), pl.lit(" · "), pl.col("run_id").str.head(6))
    rows = rows.with_columns(label=pl.when(alike).then(short).otherwise(pl.col("name")))
    names = dict(rows.select("run_id", "label").unique().iter_rows())
    rows = _with_launches(rows)
    series = rows["label"].unique().to_list()
    if len(series) <= style.MOST_SERIES:
        return rows, style.looks(sorted(series, key=words.natural), page)
    is_lower_better = not _HIGHER_IS_BETTER.search(score)
    judged, best = rows, _AT_THE_END
    if _all_validated(rows):
        judged = rows.filter(pl.col("phase").ne_missing("train"))
        best = pl.min("score") if is_lower_better else pl.max("score")
    followed = judged.filter(pl.col("n_points") >= _COURSE)  # one or two points show no course
    judged = followed if followed["run_id"].n_unique() >= _COURSE else judged
    chosen = highlights(names, dict(judged.group_by("run_id").agg(best).iter_rows()), is_lower_better, page)
    labels = pl.col("run_id").replace_strict(dict(chosen.labels))
    return rows.with_columns(label=labels), chosen.looks


def _with_launches(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the launch in the label of runs that began again, where that leaves few enough lines."""
    again = rows.filter(_BEGAN_AGAIN)["run_id"].unique().to_list()
    name = pl.lit("") if rows["run_id"].n_unique() == 1 else pl.col("label") + " · "  # of one run, the launch tells
    launch = pl.concat_str(name, pl.lit(f"{_LAUNCH} "), pl.col("attempt").fill_null(0) + 1)
    parted = rows.with_columns(label=pl.when(pl.col("run_id").is_in(again)).then(launch).otherwise(pl.col("label")))
    return parted if parted["label"].n_unique() <= style.MOST_SERIES else rows


def _all_validated(rows: pl.DataFrame) -> bool:
    """Whether every run has a validation, which then ranks them; else the training does."""
    return rows.filter(pl.col("phase").ne_missing("train"))["run_id"].n_unique() == rows["run_id"].n_unique()


def _panel(rows: pl.DataFrame, known: pl.DataFrame, way: Way, score: str, looks: Sequence[style.Look]) -> Any:
    """Scores against one axis, which is the same in all panels."""
    rows = rows.filter(pl.col(way.field).is_not_null())
    y = _scores(known["score"], score)
    x, by = way.axis(known), style.encodings(looks)
    pale = [look.label for look in looks if look.shape is None]  # drawn first, so that the others cover them
    behind, before = (rows.filter(is_pale) for is_pale in (pl.col("label").is_in(pale), ~pl.col("label").is_in(pale)))
    slots = _pale_slots(looks, known)
    return alt.layer(*_lines(behind, way.field, x, y, by, slots), *_lines(before, way.field, x, y, by))


def _pale_slots(looks: Sequence[style.Look], rows: pl.DataFrame) -> int:
    """Slots of the axis for each of the gray lines: the fewer, the more of these there are."""
    n_pale = rows["run_id"].n_unique() if any(look.shape is None for look in looks) else 0
    return max(LEAST_SLOTS, min(_SLOTS, PALE_POINTS // (2 * n_pale))) if n_pale else 0


def _scores(scores: pl.Series, title: str) -> Any:
    """The y axis; logarithmic where a loss begins so high that nothing of its course would be seen."""
    low, high = float(scores.min()), float(scores.max())  # type: ignore[arg-type]
    if 0 < low * _LOGARITHMIC_FROM <= high:
        return axes.from_zero_or_logarithmic("score", title, (low, high))
    room = (high - low) * 0.04 or 1
    lowest = max(low - room, -0.04 * room) if low >= 0 and high == low else low - room  # one value of 0 or more
    usual = (high + 2 * room - low) / 5  # a step of about five ticks
    letters = len(f"{high:.{max(0, -math.floor(math.log10(usual)))}f}")
    ends, values = [lowest, high + room], None
    if letters > _MOST_LETTERS:
        ends, values = axes.around(*ends)
    ticks: dict[str, Any] = {"values": values, "tickCount": len(values)} if values else {"tickCount": 5}
    return alt.Y(
        "score:Q",
        title=title,
        scale=alt.Scale(domain=ends, nice=False),
        axis=alt.Axis(**ticks, **axes.even_labels(max(abs(low), abs(high)))),
    )


def _lines(rows: pl.DataFrame, field: str, x: Any, y: Any, by: Mapping[str, Any], pale_slots: int = 0) -> list[Any]:
    """Lines of the training, thin, and of validations, with their points; gray lines have none, and fewer slots."""
    is_pale, slots = bool(pale_slots), pale_slots or _SLOTS
    order, group = alt.Order(f"{field}:Q"), alt.Detail("part:N")
    layers = []
    trained = _reduced(rows.filter(pl.col("phase") == "train"), field, slots)
    if trained:
        line = alt.Chart(style.values(trained)).mark_line(strokeWidth=_TRAINING.thickness, opacity=0.7)
        layers.append(line.encode(x, y, by["color"], by["strokeDash"], detail=group, order=order))
    if trained and not is_pale and max(Counter(row["part"] for row in trained).values()) <= _FEW:
        points = alt.Chart(style.values(trained)).mark_point(size=9)
        layers.append(points.encode(x, y, by["color"], by["shape"], tooltip=style.tooltips("label:N", "score:Q")))
    validated = _reduced(rows.filter(pl.col("phase").ne_missing("train")), field, slots)
    if validated:
        chart = alt.Chart(style.values(validated))
        line = chart.mark_line(strokeWidth=(_TRAINING if is_pale else _VALIDATION).thickness)
        layers.append(line.encode(x, y, by["color"], by["strokeDash"], detail=group, order=order))
    if validated and not is_pale:
        points = chart.mark_point(size=9)
        layers.append(points.encode(x, y, by["color"], by["shape"], tooltip=style.tooltips("label:N", "score:Q")))
    return layers


def _reduced(rows: pl.DataFrame, field: str, slots: int) -> list[Row]:
    """The lowest and the highest record in each slot of the axis; lines join the records of one attempt."""
    width = (float(rows[field].max() or 0) - float(rows[field].min() or 0)) / slots or 1  # type: ignore[arg-type]
    part = pl.concat_str("run_id", pl.lit("/"), pl.col("attempt").cast(pl.String).fill_null("0"))
    placed = rows.with_columns(part=part, slot=(pl.col(field) / width).floor()).sort("score")
    in_slot = placed.group_by("part", "slot", maintain_order=True)
    ends = pl.concat([in_slot.first(), in_slot.last()]).select("label", "part", field, "score").unique()
    return ends.sort("label", "part", field, "score").to_dicts()


def _runs_without(rows: pl.DataFrame, way: Way) -> int:
    """How many runs have no value on an axis."""
    return int(rows.filter(pl.col(way.field).is_null().all().over("run_id"))["run_id"].n_unique())


def _caption(
    rows: pl.DataFrame,
    drawn_ways: Sequence[Way],
    undrawn: Sequence[str],
    parameters: Mapping[str, str],
    pale_slots: int,
) -> list[str]:
    counts = rows.group_by("run_id").agg(pl.max("n_points"))["n_points"].to_list()
    models = sorted({model for model in rows["model"].unique() if model})
    lines = [f"{', '.join(models)}."] if models else []
    lines += [_SEVERAL_MODELS] if len(models) > 1 else []
    of = "of" if len(counts) == 1 else "each of"
    lines.append(f"{words.counted([len(counts)], 'run')}, {of} {words.counted(counts, 'record')}.")
    smooth = int(parameters.get("smooth") or 1)
    if smooth > 1 and (rows["phase"] == "train").any():
        lines.append(f"Training: the mean of the {smooth} records around each.")
    if rows["label"].str.contains(rf"(?:^| · ){_LAUNCH} \d").any():
        lines.append("A log that begins again has a line for each launch.")
    fields = {way.field for way in drawn_ways}
    if "epochs_done" in fields and (rows["epochs_done"] != rows["epoch"]).any():
        several = (rows["epochs_done"] != rows["epoch"] + 1).any()
        spread = "The log counts whole epochs: the records of an epoch are spread over it, the last at its end."
        lines.append(spread if several else "Epochs are counted from 0, and each record is at the end of its epoch.")
    if "elapsed" in fields:
        clocks = [_CLOCKS.get(clock, clock) for clock in sorted(filter(None, rows["clock"].unique()))]
        lines += [f"Time {' or '.join(clocks)}."] if clocks else []
    lines += undrawn
    if max(counts) > _SLOTS:
        lines.append(f"Long runs: the lowest and the highest record in each {_SLOTS}th of the axis.")
    if 0 < pale_slots < _SLOTS and max(counts) > pale_slots:
        lines.append(f"Gray lines: the lowest and the highest record in each of {pale_slots} parts of the axis.")
    return [*lines, "No record is left out."]
