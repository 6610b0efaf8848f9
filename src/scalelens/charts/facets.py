"""Panels side by side: one for each value of a column (`--facet`), or for each series.

All panels of a figure have the same axes, because they are compared.  Those of a row share the y axis of the first.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from scalelens.charts import style, words
from scalelens.charts.limits import check_count
from scalelens.charts.page import Page
from scalelens.charts.style import Row

MOST_PANELS = 12
NARROW, WIDE = 2, 4  # panels side by side, at most
BARE = {"labels": False, "ticks": False, "domain": False, "tickSize": 0, "minExtent": 0, "maxExtent": 0}


def text_of(row: Row, column: str) -> str:
    """A value as text; empty without a column."""
    return "" if not column else "unknown" if row[column] is None else f"{row[column]}"


def parts(points: Sequence[Row], column: str) -> dict[str, list[Row]]:
    """The rows of each panel by its title; without a column all of them.  Raises UserError for too many panels."""
    if not column:
        return {"": list(points)}
    names = sorted({text_of(point, column) for point in points}, key=words.natural)
    check(len(names))
    name_of = column.replace("_", " ")
    return {f"{name_of} {name}": [point for point in points if text_of(point, column) == name] for name in names}


def check(count: int) -> None:
    """Raises UserError for more panels than a page can show."""
    check_count(count, MOST_PANELS, "panels", "choose runs, for example runs=\"devices = 16 AND precision = 'bf16'\"")


def take_from_labels(points: Sequence[Row], column: str) -> None:
    """Takes the value of the column out of each row's label: the title of its panel says it."""
    for point in points if column else ():
        said = text_of(point, column)
        point["label"] = " · ".join(part for part in point["label"].split(" · ") if part != said)


def across(count: int, page: Page) -> int:
    """How many of the panels stand side by side: rows of equal length where that is possible."""
    most = WIDE if page.is_wide else NARROW
    rows = -(-count // most)
    return -(-count // rows)


def title(text: str, lines: Sequence[str], count: int, page: Page) -> Any:
    """Title of one of `count` panels with smaller lines below it, all as long as the panel is wide at most."""
    width = style.panel_width(across(count, page), page)
    shown = [words.shorten(line, width) for line in lines if line]
    large = words.shorten(text, width * style.SMALL / style.LARGE)
    return alt.TitleParams(large, subtitle=shown) if shown else alt.TitleParams(large)


def without_axis(y: Any) -> Any:
    """A y axis of a panel that shares that of the panel on its left."""
    bare = y.copy()
    axis = {} if bare["axis"] is alt.Undefined else bare["axis"].to_dict()
    bare["axis"], bare["title"] = alt.Axis(**(axis | BARE)), None
    return bare


def has_axis(place: int, count: int, page: Page) -> bool:
    """Whether a panel is the first of its row."""
    return place % across(count, page) == 0


def grid(charts: Sequence[Any], page: Page) -> list[list[style.Panel]]:
    """Charts as rows of panels, of which the first has the axis."""
    wide = across(len(charts), page)
    panels = [style.Panel(chart, has_axis(place, len(charts), page)) for place, chart in enumerate(charts)]
    return [panels[n : n + wide] for n in range(0, len(panels), wide)]
