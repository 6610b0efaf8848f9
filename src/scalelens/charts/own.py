"""A figure of the rows of a user's SQL: lines, bars or points of two columns.

If the rows have columns `Y_low` and `Y_high`, the ends of an interval of Y, the intervals are drawn; `interval_kind`
(or `Y_kind`) says of which kind they are.  Column names become titles of axes, with the unit at their end in brackets.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl
import polars.selectors as cs

from scalelens.charts import axes, facets, limits, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

MARKS = ("line", "bar", "point")
_MOST_ROWS = 50_000


class Marks(NamedTuple):
    """What is drawn: a mark, and the columns for its properties."""

    mark: str
    x: str
    y: str
    color: str = ""
    facet: str = ""


def draw(rows: pl.DataFrame, marks: Marks, page: Page) -> Any:
    """The figure.  Raises UserError for a mark or column that does not exist, and if there is nothing to draw."""
    marks = marks._replace(facet=marks.facet or page.facet)
    page = page._replace(facet=marks.facet)
    _check(rows, marks, page)
    rows = rows.with_columns((cs.decimal() | cs.by_dtype(pl.Int128)).cast(pl.Float64))
    known = rows.filter(pl.all_horizontal(pl.col(marks.x, marks.y).is_not_null()))
    for name in known.select(cs.by_name(marks.x, marks.y) & cs.float()).columns:
        known = known.filter(pl.col(name).is_finite())
    if known.is_empty():
        raise UserError(f"no row has values in both {marks.x} and {marks.y}", "see the rows: scalelens sql")
    limits.check_count(known.height, _MOST_ROWS, "rows", "aggregate them in the SQL")
    points: list[Row] = [row | {"label": facets.text_of(row, marks.color)} for row in known.iter_rows(named=True)]
    _check_single(points, marks)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    kind = _interval_kind(rows, marks.y)
    groups = facets.parts(points, page)
    across = min(3, len(groups)) if page.is_wide else 1
    charts = [
        (name, _panel(part, points, marks, looks, kind, has_axis=k % across == 0).properties(title=name))
        for k, (name, part) in enumerate(groups.items())
    ]
    grid = facets.grid(charts, across)
    legend: list[style.Look | style.IntervalLook] = [look for look in looks if look.label]
    if marks.mark == "bar":
        legend = [style.swatch(look.label, look.color)._replace(is_series=True) for look in looks if look.label]
    legend += [style.INTERVALS[kind]] if kind else []
    hidden = rows.height - known.height
    caption = [f"{words.counted([known.height], 'row')} of an SQL statement."]
    caption += [f"Not drawn: {words.counted([hidden], 'row')} without {marks.x} or {marks.y}."] if hidden else []
    return style.figure(grid, legend, caption, page)


def _check(rows: pl.DataFrame, marks: Marks, page: Page) -> None:
    if marks.mark not in MARKS:
        raise UserError(f"'{marks.mark}' is not a mark", f"there are: {', '.join(MARKS)}")
    for column in filter(None, (marks.x, marks.y, marks.color, marks.facet)):
        if column not in rows.columns:
            raise UserError(f"the rows have no column '{column}'", f"they have: {', '.join(rows.columns)}")
    if not rows[marks.y].dtype.is_numeric():
        raise UserError(f"'{marks.y}' is not a number", "--y takes a column of numbers")
    if marks.facet:
        facets.check(rows[marks.facet].n_unique(), page, "choose rows with WHERE")


def _check_single(points: Sequence[Row], marks: Marks) -> None:
    """Raises UserError if a bar would hide another one, or a line would have two values at one place."""
    if marks.mark == "point":
        return
    places = Counter((point["label"], facets.text_of(point, marks.facet), point[marks.x]) for point in points)
    (series, panel, place), count = places.most_common(1)[0]
    if count > 1:
        where = ", ".join(filter(None, (f"{marks.x} {place}", series, panel)))
        remedy = "name what sets them apart with --color or --facet, aggregate them, or draw --mark point"
        raise UserError(f"{count} rows are at {where}: a {marks.mark} can show one", remedy)


def _interval_kind(rows: pl.DataFrame, y: str) -> tuple[str, str] | None:
    """How the interval of Y is drawn: as a range, unless every row that has one says that it is a 95 % interval."""
    if not {f"{y}_low", f"{y}_high"} <= set(rows.columns):
        return None
    drawn = rows.filter(pl.col(f"{y}_low").is_not_null())
    kinds = _values(drawn, f"{y}_kind" if f"{y}_kind" in rows.columns else "interval_kind")
    of_steps = "n_steps" in rows.columns and _values(drawn, "interval_of") != {"runs"}
    return ("ci95" if kinds == {"ci95"} else "range", "steps" if of_steps else "runs")


def _values(rows: pl.DataFrame, column: str) -> set[str]:
    return set(rows[column].drop_nulls()) if column in rows.columns else set()


def _panel(
    part: Sequence[Row],
    points: Sequence[Row],
    marks: Marks,
    looks: Sequence[style.Look],
    kind: tuple[str, str] | None,
    has_axis: bool,
) -> Any:
    """One panel.  All panels have the axes of all points, because they are compared; a row of panels shares one."""
    x, y, by = _x(points, marks), _y(points, marks), style.encodings(looks)
    y = y if has_axis else facets.without_axis(y)
    ends = (f"{marks.y}_low", f"{marks.y}_high")
    fields = dict.fromkeys((marks.x, marks.y, "label", *(ends if kind else ())))
    chart = alt.Chart(style.values([{name: _plain(point[name]) for name in fields} for point in part]))
    tips = [alt.Tooltip(name) for name in (f"{marks.x}:N", f"{marks.y}:Q", "label:N")]
    layers = style.interval_layers(part, kind, x, ends, by["color"]) if kind else []
    if marks.mark == "bar":
        offset = {"xOffset": alt.XOffset("label:N", sort=[look.label for look in looks])} if len(looks) > 1 else {}
        return alt.layer(chart.mark_bar().encode(x, y, by["color"], tooltip=tips, **offset), *layers)
    if marks.mark == "line":
        layers.insert(0, chart.mark_line().encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"]))
    return alt.layer(*layers, chart.mark_point().encode(x, y, by["color"], by["shape"], tooltip=tips))


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else f"{value}"


def _x(points: Sequence[Row], marks: Marks) -> Any:
    """A band for each value if there are bars or texts, else an axis of numbers."""
    title = words.with_unit(marks.x)
    values = {point[marks.x] for point in points}
    if marks.mark == "bar" or not all(isinstance(value, int | float) for value in values):
        order = sorted({_plain(value) for value in values}, key=lambda value: words.natural(f"{value}"))
        axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelLimit=80, labelSeparation=3)
        return alt.X(f"{marks.x}:O", title=title, sort=order, axis=axis)
    if marks.x in ("devices", "nodes") and min(values) > 0:
        return axes.of_counts(marks.x, title, values)
    axis = alt.Axis(**axes.even_labels(max(map(abs, values))))
    return alt.X(f"{marks.x}:Q", title=title, scale=alt.Scale(zero=False, nice=False, padding=8), axis=axis)


def _y(points: Sequence[Row], marks: Marks) -> Any:
    values = [point[name] for point in points for name in (marks.y, f"{marks.y}_low", f"{marks.y}_high")
              if point.get(name) is not None]  # fmt: skip
    title = words.with_unit(marks.y)
    if min(values) < 0 or max(values) == 0:
        largest = max(map(abs, values))
        return alt.Y(f"{marks.y}:Q", title=title, axis=alt.Axis(tickCount=5, **axes.even_labels(largest)))
    return axes.from_zero(marks.y, title, max(values))
