"""Panels side by side: one for each value of a column (`--facet`), or for each series.

All panels of a figure have the same axes, because they are compared.  The panels of a row share the first one's y axis.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from scalelens.charts import naming, style, words
from scalelens.charts.layout import Page
from scalelens.charts.limits import CHOOSE_RUNS, check_count
from scalelens.charts.style import Row

_TITLE_LINES = 2
NARROW, WIDE = 2, 4  # panels side by side, at most
_MOST_ROWS = 6  # of panels, which fill a page
MOST_PANELS = NARROW * _MOST_ROWS  # of a figure as wide as a column
_BARE = {"labels": False, "ticks": False, "domain": False, "tickSize": 0, "minExtent": 0, "maxExtent": 0}


def text_of(row: Row, column: str) -> str:
    """A value as text; empty without a column."""
    return "" if not column else "unknown" if row[column] is None else f"{row[column]}"


def parts(points: Sequence[Row], page: Page) -> dict[str, list[Row]]:
    """The rows of each panel by its title, in the page's order; all rows if there is no facet.

    Raises UserError for too many panels.
    """
    column = page.facet
    if not column:
        return {"": list(points)}
    names = sorted({text_of(point, column) for point in points}, key=words.natural)
    check(len(names), page)
    titles = {name: f"{page.panel_prefix}{name}" for name in names}
    names.sort(key=lambda name: page.position(titles[name]))
    return {titles[name]: [point for point in points if text_of(point, column) == name] for name in names}


def check(count: int, page: Page, hint: str = CHOOSE_RUNS) -> None:
    """Raises UserError for more panels than a page can show; two columns have room for twice as many."""
    most = (WIDE if page.is_wide else NARROW) * _MOST_ROWS
    is_for_two = most < count <= WIDE * _MOST_ROWS
    check_count(count, most, "panels", f"{hint}, or take two columns: --width double" if is_for_two else hint)


def take_from_labels(points: Sequence[Row], column: str) -> None:
    """Removes the value of the column from each row's label, because the title of the panel has it."""
    for point in points if column else ():
        value = naming.fact_text(point, column)
        point["label"] = " · ".join(part for part in point["label"].split(" · ") if part != value)


def across(count: int, page: Page, x_title: str | Sequence[str] = "") -> int:
    """How many panels are side by side: as many as have room for the title below them, in rows of equal length."""
    most = WIDE if page.is_wide else NARROW
    lines = [x_title] if isinstance(x_title, str) else x_title
    wide = max(map(words.text_width, lines)) * style.LARGE / style.SMALL
    most = next((n for n in range(most, 1, -1) if wide <= style.panel_width(n, page)), 1)
    rows = -(-count // most)
    return -(-count // rows)


def title(text: str, lines: Sequence[str], columns: int, page: Page, has_axes: bool = False) -> Any:
    """Title of a panel, one of `columns` side by side, with smaller lines below, none wider than the panel.

    A long title has two lines; a longer one loses its middle.
    """
    width = style.panel_width(columns, page, has_axes)
    shown = [words.shorten(line, width) for line in lines if line]
    large = words.within_lines(text, width * style.SMALL / style.LARGE, _TITLE_LINES)
    head = large if len(large) > 1 else large[0]
    return alt.TitleParams(head, subtitle=shown) if shown else alt.TitleParams(head)


def titled(chart: Any, name: str, columns: int, page: Page, has_axes: bool = False, lines: Sequence[str] = ()) -> Any:
    """A panel with its name above it, if it has one, and smaller lines below the name."""
    return chart.properties(title=title(name, lines, columns, page, has_axes)) if name else chart


def without_axis(y: Any) -> Any:
    """The y axis of a panel that shares the axis of the panel on its left."""
    bare = y.copy()
    axis = {} if bare["axis"] is alt.Undefined else bare["axis"].to_dict()
    bare["axis"], bare["title"] = alt.Axis(**(axis | _BARE)), None
    return bare


def over(channel: Any, values: Iterable[float | None], page: Page) -> Any:
    """An axis from the lowest to the highest of the values of all panels; unchanged if there is one panel."""
    known = [value for value in values if value is not None]
    if not page.facet or min(known) == max(known):
        return channel
    whole = channel.copy()
    whole["scale"] = alt.Scale(**(channel["scale"].to_dict() | {"domain": [min(known), max(known)], "nice": False}))
    return whole


def grid(charts: Sequence[tuple[str, Any]], columns: int) -> list[list[style.Panel]]:
    """Charts, with their names, as rows of panels.

    The first panel of a row has the axis.  Panels of an incomplete row are as wide as the others.
    """
    rows = [charts[n : n + columns] for n in range(0, len(charts), columns)]
    return [
        [
            style.Panel(chart, n == 0, columns=None if len(row) == columns else columns, name=name)
            for n, (name, chart) in enumerate(row)
        ]
        for row in rows
    ]


def panels(
    points: Sequence[Row],
    page: Page,
    panel: Callable[[Sequence[Row], Any], Any],
    x: Any,
    y: Any,
    lines: Mapping[str, Sequence[str]] = {},
) -> list[list[style.Panel]]:
    """Panels for the values of the page's facet; one panel without a title if there is no facet.

    `panel` draws rows with a y axis.  `x` is the axis of all panels, `lines` stand below the title of each.
    """
    groups = parts(points, page)
    columns = across(len(groups), page, x["title"])
    charts = []
    for k, (name, rows) in enumerate(groups.items()):
        chart = panel(rows, without_axis(y) if k % columns else y)
        charts.append((name, titled(chart, name, columns, page, lines=lines.get(name, ()))))
    return grid(charts, columns)
