"""How every figure looks: as wide as a paper's column, and readable there, in color and in black and white.

A pixel of Vega is a point on paper.  Vega-Lite cannot fit concatenated views to a width, so the widths are computed
here: the y axis has fixed room, the panels share the rest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from scalelens.charts import words
from scalelens.charts.layout import SINGLE, Page, in_order
from scalelens.charts.limits import CHOOSE_RUNS, check_count
from scalelens.charts.words import SIZE, brief_processors, fitting, text_width, within_lines, wrap
from scalelens.errors import UserError

# vl-convert carries Liberation Sans, whose letters are as wide as Arial's: a figure is the same on every machine.
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
SMALL, LARGE = SIZE, 8
INK, GRAY, GRID = "#222222", "#666666", "#e4e4e4"

HEIGHT, WIDE_HEIGHT = 110, 140  # of a panel, in a narrow and a wide figure
MARGIN, GAP = 2, 9
Y_AXIS = 32  # room left of a panel for its y axis: labels 19, padding 3, title 9, rounding
_PAGE, _LEAST_HEIGHT = 690, 80  # points of a page of A4, and of a panel where many rows share the page
_LEAST_OF_MANY = 48  # of a panel where more rows share the page than have room for that height
_X_AXIS = 26  # height below a panel of its x axis
_CAPTION_SHARE = 0.35  # of the panels' height, so that the caption takes at most a quarter of the figure
STROKES = 2  # width of the strokes on a panel's edges
_LINE = 8.5  # height of a line of small text
_LEAST_CAPTION = 4 * _LINE  # of a figure of a few bars

# The colors of Okabe and Ito, without the yellow, which is hard to see on white paper.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_DASHES = ([1, 0], [5, 2], [1.5, 1.5], [7, 2, 1.5, 2], [3, 3])
THICKEST, THINNEST = 2.0, 1.0  # lines, if there are several series, in points
MOST_SERIES = 12  # that a reader can tell apart

Row = dict[str, Any]  # of a query


class Look(NamedTuple):
    """How the marks of one series are drawn, and its label in the legend."""

    label: str
    color: str
    shape: str | None
    dash: Sequence[float]
    thickness: float = 1.2
    is_series: bool = False  # whether users may choose its position and color
    is_hollow: bool = False  # whether the shape is an outline


class IntervalLook(NamedTuple):
    """How an interval is drawn: a confidence interval with caps and a full line, a range with a thin broken line."""

    label: str
    dash: Sequence[float]
    thickness: float
    cap: float


# By kind and scope: the steps of one run, or repeated runs.
INTERVALS: dict[tuple[str, str], IntervalLook] = {
    ("ci95", "steps"): IntervalLook("95 % interval, steps of one run", [1, 0], 0.6, 3),
    ("ci95", "runs"): IntervalLook("95 % interval, repeated runs", [1, 0], 1, 6),
    ("range", "steps"): IntervalLook("range, steps of one run", [0.8, 1.2], 0.6, 0),
    ("range", "runs"): IntervalLook("range, repeated runs", [2.5, 1.5], 0.6, 0),
}

_CONFIG: dict[str, Any] = {
    "font": _FONT,
    "background": "white",
    "padding": MARGIN,
    "view": {"stroke": None},
    "concat": {"spacing": GAP},
    "title": {
        "fontSize": LARGE, "fontWeight": "normal", "color": INK, "anchor": "start", "frame": "group", "offset": 4,
        "subtitleFontSize": SMALL, "subtitleColor": GRAY, "subtitlePadding": 1.5, "lineHeight": _LINE,
    },
    "axis": {
        "labelFontSize": SMALL, "titleFontSize": LARGE, "titleFontWeight": "normal", "labelColor": INK,
        "titleColor": INK, "translate": 0, "tickRound": False,
        "labelPadding": 2, "titlePadding": 3, "tickSize": 3, "tickWidth": 0.5, "tickColor": INK,
        "domainWidth": 0.5, "domainColor": INK, "gridColor": GRID, "gridWidth": 0.4,
    },
    "axisY": {"minExtent": 19, "maxExtent": 19},
    "axisX": {"grid": False},
    "line": {"strokeJoin": "round"},  # a strokeWidth here would override those of the series
    "point": {"size": 20, "filled": True, "opacity": 1},
    "text": {"fontSize": SMALL, "color": INK},
}  # fmt: skip


def looks(labels: Iterable[str], page: Page = SINGLE) -> list[Look]:
    """A different look for each label, in the page's order and colors.  Raises UserError for too many labels."""
    named = in_order(list(labels), page.order)
    check_count(len(named), MOST_SERIES, "lines", CHOOSE_RUNS)
    given = page.colors
    colors = [given.get(label, given.get(str(n), COLORS[n % len(COLORS)])) for n, label in enumerate(named)]
    return [
        Look(label, colors[n], _SHAPES[n % len(_SHAPES)], _DASHES[n % len(_DASHES)], _thickness(n, len(named)), True)
        for n, label in enumerate(named)
    ]


def _thickness(number: int, count: int) -> float:
    """The first line is the thickest, so that equal lines drawn over it do not hide it."""
    return 1.2 if count == 1 else round(THICKEST - number / (count - 1) * (THICKEST - THINNEST), 2)


def without_lines(drawn: Iterable[Look], joined: Collection[str] = ()) -> list[Look]:
    """Entries of the legend without a line for looks whose points none joins: all but those of the labels `joined`."""
    return [look if look.label in joined or not look.shape else look._replace(thickness=0) for look in drawn]


def swatch(label: str, color: str) -> Look:
    """Legend entry for areas of a color."""
    return Look(label, color, "square", [1, 0], 5)


def encodings(drawn: Sequence[Look], field: str = "label") -> dict[str, Any]:
    """Color, shape, dash and thickness of a field, from looks, without Vega's legend."""
    domain = [look.label for look in drawn]

    def scale(values: Sequence[Any]) -> Any:
        return alt.Scale(type="ordinal", domain=domain, range=list(values))

    return {
        "color": alt.Color(f"{field}:N", scale=scale([look.color for look in drawn]), legend=None),
        "shape": alt.Shape(f"{field}:N", scale=scale([look.shape or "circle" for look in drawn]), legend=None),
        "strokeDash": alt.StrokeDash(f"{field}:N", scale=scale([look.dash for look in drawn]), legend=None),
        "strokeWidth": alt.StrokeWidth(f"{field}:N", scale=scale([look.thickness for look in drawn]), legend=None),
    }


_PLAIN = frozenset({bool, int, float, str, type(None)})  # values that JSON has, too


class _Rows(alt.InlineData):  # type: ignore[misc]  # Altair is Any
    """Inline data that copies of a chart share: Altair copies each panel and layer several times, with all its rows."""

    def __deepcopy__(self, _: Any) -> "_Rows":
        return self

    def to_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
        """As Altair gives it, which asks of each value of each row what it is."""
        rows: list[Row] = self["values"]
        if all(type(value) in _PLAIN for row in rows for value in row.values()):
            return {"values": [dict(row) for row in rows]}
        given: dict[str, Any] = super().to_dict(*args, **options)
        return given


def _shared_by_copies(chart: Any) -> Any:
    """The chart, whose copies share its encodings and marks.

    Altair copies a layer whenever something is put around it, and four of five of the values are not set.
    """
    for name in ("encoding", "mark"):
        part = getattr(chart, name, alt.Undefined)
        if isinstance(part, alt.SchemaBase):
            object.__setattr__(part, "__deepcopy__", lambda _, part=part: part)
    for layer in getattr(chart, "layer", ()):
        _shared_by_copies(layer)
    return chart


def values(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as inline data of a chart, because Altair refuses lists of more than 5000."""
    return _Rows(values=[dict(row) for row in rows])


class Panel(NamedTuple):
    """A chart in a figure.  Without its own axis it shares the y axis of the panel on its left."""

    chart: Any
    has_axis: bool = True
    height: float | None = None  # else the usual one of figures of this width
    columns: int | None = None  # number of panels side by side that its width is for, else those in its row
    name: str = ""  # its title, by which users order panels


def figure(
    grid: Sequence[Sequence[Panel]], legend: Sequence[Look | IntervalLook], caption: Sequence[str], page: Page = SINGLE
) -> Any:
    """Title and legend, rows of panels, and the caption, which is also the figure's description.

    Raises UserError if the page names series or panels that the figure does not have.
    """
    caption = _naming_run(caption, legend, page)
    _check_series(legend, [panel.name for row in grid for panel in row if panel.name], page)
    room = page.points - 2 * MARGIN
    parts = [_lines_of_text(page.title, room, INK, LARGE)] if page.title else []
    parts += [_legend(legend, room - Y_AXIS, page.labels)] if legend else []
    share: float = _PAGE // max(len(grid), 1) - _X_AXIS
    if share < _LEAST_HEIGHT:  # titles of many panels take their part of the page
        share = max(share - max(_title_height(panel.chart) for row in grid for panel in row), _LEAST_OF_MANY)
    usual = min(WIDE_HEIGHT if page.is_wide else HEIGHT, share)
    for row in grid:
        columns = row[0].columns or len(row)
        inner = room - sum(panel.has_axis for panel in row) * Y_AXIS - (columns - 1) * GAP - columns * STROKES
        sized = [
            _shared_by_copies(panel.chart).properties(width=inner / columns, height=panel.height or usual)
            for panel in row
        ]
        parts.append(alt.hconcat(*sized, spacing=GAP))
    heights = [max(panel.height or usual for panel in row) + _X_AXIS for row in grid]
    shown = _as_short_as(caption, max(sum(heights) * _CAPTION_SHARE, _LEAST_CAPTION), room) if page.has_caption else ""
    parts.append(_lines_of_text(shown, room, GRAY, SMALL))
    parts = [_shared_by_copies(part) for part in parts]
    return alt.vconcat(*parts, spacing=6, description=" ".join(caption)).configure(**_CONFIG)


def _title_height(chart: Any) -> float:
    """The height of the lines above a panel."""
    title = getattr(chart, "title", alt.Undefined)
    parts = (title["text"], title["subtitle"]) if isinstance(title, alt.TitleParams) else (title,)
    lines = sum(len(part) if isinstance(part, list) else 1 for part in parts if part is not alt.Undefined)
    return lines * _LINE * LARGE / SMALL


def panel_width(count: int, page: Page, has_axes: bool = False) -> float:
    """The width of each of `count` panels side by side that share one y axis, or have an axis each."""
    y_axes = count if has_axes else 1
    return (page.points - 2 * MARGIN - y_axes * Y_AXIS - (count - 1) * GAP) / count - STROKES


def _naming_run(caption: Sequence[str], legend: Sequence[Look | IntervalLook], page: Page) -> list[str]:
    """The caption with the name of the only run before its first sentence, unless the figure has it already."""
    texts = [page.title, *caption, *(entry.label for entry in legend if isinstance(entry, Look))]
    if not page.run or not caption or any(page.run in text for text in texts):
        return list(caption)
    return [f"{page.run}. {caption[0]}", *caption[1:]]


def _as_short_as(caption: Sequence[str], height: float, room: float) -> str:
    """The caption, without as many sentences as needed to fit the height; it says how many are missing.

    The last sentence stays, because it says what was left out of the numbers.  Of the others, later ones matter less.
    """
    kept = list(caption)
    while True:
        missing = len(caption) - len(kept)
        more = [f"(Shortened by {words.counted([missing], 'sentence')}.)"] if missing else []
        text = " ".join([*kept, *more])
        if len(kept) <= 2 or len(wrap(text, room)) * _LINE <= height:
            return text
        kept.pop(-2)


def _check_series(legend: Sequence[Look | IntervalLook], panels: Sequence[str], page: Page) -> None:
    series = [entry.label for entry in legend if isinstance(entry, Look) and entry.is_series]
    places = {str(n) for n in range(MOST_SERIES)} if series else set()
    for name in page.colors:
        if name not in series and name not in places:
            _refuse("series", name, series)
    values = [panel.removeprefix(page.panel_prefix) for panel in panels]
    for name in page.order:
        if name not in (*series, *panels, *values):
            _refuse("series or panel" if panels else "series", name, [*series, *dict.fromkeys(values)])


def _refuse(what: str, name: str, known: Sequence[str]) -> None:
    has = f"it has: {'; '.join(known)}" if known else "only figures with several series take order and colors"
    raise UserError(f"the figure has no {what} '{name}'", has)


def _lines_of_text(text: str, room: float, color: str, size: int) -> Any:
    """Wrapped text from the left edge of the figure, as a view as wide as the figure.

    Vega-Lite aligns the left edges of views and draws y axes left of them, so the text starts at -Y_AXIS.
    """
    height = _LINE * size / SMALL
    lines = wrap(text, room * SMALL / size) if text else []
    texts = [{"x": -Y_AXIS, "y": n * height, "text": line} for n, line in enumerate(lines)]
    # An invisible rule makes the figure as wide as the column, whatever the width of the panels.
    edge = [{"x": -Y_AXIS, "x2": room - Y_AXIS, "y": 0}]
    rule = alt.Chart(values(edge)).mark_rule(opacity=0).encode(_at("x"), _at("y"), x2=alt.X2("x2:Q"))
    mark = alt.Chart(values(texts)).mark_text(align="left", baseline="top", color=color, fontSize=size)
    return alt.layer(
        rule,
        mark.encode(_at("x"), _at("y"), text=alt.Text("text:N")),
        width=room - Y_AXIS,
        height=max(len(lines) * height, 1),
    )


def tooltips(*shorthands: str) -> list[Any]:
    """What a pointer shows of a mark.  Altair takes 2 ms for each string that stands for one, not for these."""
    return [alt.Tooltip(shorthand) for shorthand in shorthands]


def _at(field: str) -> Any:
    """A position in points, as in the data."""
    channel = alt.X if field == "x" else alt.Y
    return channel(f"{field}:Q", scale=None, axis=None)


def interval_layers(
    rows: Sequence[Row], kind: tuple[str, str], x: Any, ends: tuple[str, str], color: Any, **mark: Any
) -> list[Any]:
    """Layers for the intervals of one kind.  `ends` are the columns of their lower and upper ends, or NULL."""
    fields = (x.shorthand.partition(":")[0], "label", *ends)
    known = [{name: row[name] for name in fields} for row in rows if row.get(ends[0]) is not None]
    if not known:
        return []
    look, chart = INTERVALS[kind], alt.Chart(values(known))
    low, high = (f"{end}:Q" for end in ends)
    rule = chart.mark_rule(strokeWidth=look.thickness, strokeDash=list(look.dash), **mark)
    layers = [rule.encode(x, alt.Y(low), color, y2=alt.Y2(high))]
    cap = chart.mark_tick(orient="horizontal", size=look.cap, thickness=look.thickness, opacity=1, **mark)
    return layers + [cap.encode(x, alt.Y(end), color) for end in (low, high) if look.cap]


_MOST_WRAPPED = 8  # labels of two lines; more would leave no room for the panels
_SAMPLE = 18  # points: length of the sample of a look in the legend


def legend_room(page: Page) -> float:
    """Width of the longest label that a legend shows whole."""
    return page.points - 2 * MARGIN - Y_AXIS - _SAMPLE - 3


def _legend(entries: Sequence[Look | IntervalLook], width: float, names: Mapping[str, str]) -> Any:
    """Samples of looks with their labels, or with `names` for these: series in columns, intervals below."""
    lines: list[dict[str, Any]] = []
    points: dict[bool, list[dict[str, Any]]] = {True: [], False: []}  # hollow ones, filled ones
    texts: list[dict[str, Any]] = []
    height = 0.0
    for look in (Look, IntervalLook):
        group = [entry for entry in entries if isinstance(entry, look)]
        labels = label_lines([names.get(entry.label, entry.label) for entry in group], width - _SAMPLE - 3)
        column = max((text_width(line) for label in labels for line in label), default=0) + _SAMPLE + 12
        across = max(int((width + 8) // column), 1)
        for n, entry in enumerate(group):
            if n and n % across == 0:
                height += _rows_height(labels[n - across : n])
            x, y = n % across * column, height + _LINE / 2
            lines += _strokes(entry, x, y)
            texts += [
                {"x": x + _SAMPLE + 3, "y": y + k * _LINE, "text": line, "label": entry.label}
                for k, line in enumerate(labels[n])
            ]
            if isinstance(entry, Look) and entry.shape:
                place = {"x": x + _SAMPLE / 2, "y": y, "shape": entry.shape, "colour": entry.color}
                points[entry.is_hollow].append(place)
        height += _rows_height(labels[-(len(group) % across or across) :])
    as_it_is = {"scale": None, "legend": None}
    color = alt.Color("colour:N", **as_it_is)
    dash, thickness = alt.StrokeDash("dash:N", **as_it_is), alt.StrokeWidth("thickness:Q", **as_it_is)
    rule = alt.Chart(values(lines)).mark_rule()
    text = alt.Chart(values(texts)).mark_text(align="left", baseline="middle")
    shape = alt.Shape("shape:N", **as_it_is)
    marks = [
        alt.Chart(values(points[is_hollow]))
        .mark_point(**({"filled": False, "strokeWidth": 0.8} if is_hollow else {}))
        .encode(_at("x"), _at("y"), color, shape)
        for is_hollow in (False, True)
        if points[is_hollow] or not is_hollow
    ]
    return alt.layer(
        rule.encode(_at("x"), _at("y"), color, dash, thickness, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q")),
        *marks,
        text.encode(_at("x"), _at("y"), text=alt.Text("text:N")),
        width=width,
        height=height,
    )


def label_lines(labels: Sequence[str], width: float) -> list[list[str]]:
    """Each label in one line; where one is too wide and there are few, in two, broken between its facts."""
    if all(text_width(label) <= width for label in labels) or len(labels) > _MOST_WRAPPED:
        return [[label] for label in fitting(labels, width)]
    labels = brief_processors(labels)
    if all(text_width(label) <= width for label in labels):
        return [[label] for label in labels]
    kept = [label.replace(" ", "\u00a0").replace("\u00a0·\u00a0", "\u00a0· ") for label in labels]
    return [[line.replace("\u00a0", " ") for line in within_lines(label, width, 2)] for label in kept]


def _rows_height(labels: Sequence[Sequence[str]]) -> float:
    """The height of a row of the legend."""
    return max(map(len, labels), default=0) * _LINE + (1 if labels else 0)


def _strokes(entry: Look | IntervalLook, x: float, y: float) -> list[dict[str, Any]]:
    """The lines of an entry's sample: one line, and caps if an interval has caps."""
    inset, cap = (0, 0.0) if isinstance(entry, Look) else (3, entry.cap)
    plain = {"colour": entry.color if isinstance(entry, Look) else INK, "thickness": entry.thickness}
    left, right = x + inset, x + _SAMPLE - inset
    line = plain | {"x": left, "x2": right, "y": y, "y2": y, "dash": list(entry.dash)}
    caps = [plain | {"x": end, "x2": end, "y": y - cap / 2, "y2": y + cap / 2, "dash": [1, 0]} for end in (left, right)]
    return [line, *caps] if cap else [line]
