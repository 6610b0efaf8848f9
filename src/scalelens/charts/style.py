"""How every figure looks: at the width of a paper's column, readable there, in colour and in black and white.

One pixel of Vega is one point of the paper.  Concatenated views cannot be fitted to a width by Vega-Lite, so the widths
are reckoned here: fixed room for the y axis, the rest for the panels.  Legend and caption are wrapped here too, by the
widths of the letters.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import altair as alt

from scalelens.errors import UserError

Width = Literal["single", "double"]
WIDTHS: dict[Width, int] = {"single": 245, "double": 504}  # 3.4 in and 7 in: columns of ACM, IEEE and Springer

# vl-convert carries Liberation Sans, whose letters are as wide as Arial's: no machine draws the figure otherwise.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
SMALL, LARGE = 7, 8
INK, GREY, GRID = "#222222", "#666666", "#e4e4e4"

HEIGHTS: dict[Width, int] = {"single": 110, "double": 140}  # of a panel
MARGIN, GAP = 2, 9
Y_AXIS = 31  # room left of a panel for title, labels and ticks: extent 19, padding 3, title 9
LINE = 8.5  # height of a line of small text

# Okabe and Ito, without the yellow that white paper swallows.  Every series differs in shape and dash as well.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DASHES = ([1, 0], [5, 2], [1.5, 1.5], [7, 2, 1.5, 2], [3, 3])
MOST_SERIES = 12


class Look(NamedTuple):
    """How the marks of one series are drawn, and what the legend says of it."""

    label: str
    colour: str
    shape: str
    dash: Sequence[float]
    thickness: float = 1.2


class Bar(NamedTuple):
    """How an interval is drawn.  Confidence has caps and a full line; a range is thin, broken and open."""

    label: str
    dash: Sequence[float]
    thickness: float
    cap: float


# By kind of the interval and what it is of: steps within one run, or repeats of it.
BARS: dict[tuple[str, str], Bar] = {
    ("ci95", "steps"): Bar("95 % interval, steps of one run", [1, 0], 0.6, 3),
    ("ci95", "runs"): Bar("95 % interval, repeated runs", [1, 0], 1, 6),
    ("range", "steps"): Bar("range, steps of one run", [0.8, 1.2], 0.6, 0),
    ("range", "runs"): Bar("range, repeated runs", [2.5, 1.5], 0.6, 0),
}

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": "white",
    "padding": MARGIN,
    "view": {"stroke": None},
    "concat": {"spacing": GAP},
    "title": {
        "fontSize": LARGE, "fontWeight": "normal", "color": INK, "anchor": "start", "frame": "group", "offset": 4,
        "subtitleFontSize": SMALL, "subtitleColor": GREY, "subtitlePadding": 1.5, "lineHeight": LINE,
    },
    "axis": {
        "labelFontSize": SMALL, "titleFontSize": LARGE, "titleFontWeight": "normal", "labelColor": INK,
        "titleColor": INK, "translate": 0,
        "labelPadding": 2, "titlePadding": 3, "tickSize": 3, "tickWidth": 0.5, "tickColor": INK,
        "domainWidth": 0.5, "domainColor": INK, "gridColor": GRID, "gridWidth": 0.4,
    },
    "axisY": {"minExtent": 19, "maxExtent": 19},
    "axisX": {"grid": False},
    "line": {"strokeWidth": 1.2, "strokeJoin": "round"},
    "point": {"size": 20, "filled": True, "opacity": 1},
    "text": {"fontSize": SMALL, "color": INK},
}  # fmt: skip


def looks(labels: Iterable[str]) -> list[Look]:
    """A look for each label, all different.  Raises UserError for more than a reader can tell apart."""
    named = list(labels)
    if len(named) > MOST_SERIES:
        raise UserError(
            f"{len(named)} lines are more than one chart can tell apart ({MOST_SERIES})",
            "choose runs, for example runs=\"devices = 16 AND precision = 'bf16'\"",
        )
    return [
        Look(label, COLOURS[n % len(COLOURS)], SHAPES[n % len(SHAPES)], DASHES[n % len(DASHES)])
        for n, label in enumerate(named)
    ]


def encodings(drawn: Sequence[Look], field: str = "label") -> dict[str, Any]:
    """Colour, shape and dash of a field by its looks, without Vega's legend."""
    domain = [look.label for look in drawn]

    def scale(values: Sequence[Any]) -> Any:
        return alt.Scale(domain=domain, range=list(values))

    return {
        "color": alt.Color(f"{field}:N", scale=scale([look.colour for look in drawn]), legend=None),
        "shape": alt.Shape(f"{field}:N", scale=scale([look.shape for look in drawn]), legend=None),
        "strokeDash": alt.StrokeDash(f"{field}:N", scale=scale([look.dash for look in drawn]), legend=None),
    }


def values(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as data of a chart, inline however many they are."""
    return alt.InlineData(values=[dict(row) for row in rows])


class Panel(NamedTuple):
    """A chart in a figure; one without an axis of its own shares the y axis of the panel before it."""

    chart: Any
    has_axis: bool = True


def figure(grid: Sequence[Sequence[Panel]], legend: Sequence[Look | Bar], caption: Sequence[str], width: Width) -> Any:
    """Rows of panels under one legend and above the caption, which makes the figure as wide as the column."""
    room = WIDTHS[width] - 2 * MARGIN
    parts = [_legend(legend, room)] if legend else []
    for row in grid:
        inner = room - sum(panel.has_axis for panel in row) * Y_AXIS - (len(row) - 1) * GAP
        sized = [panel.chart.properties(width=inner / len(row), height=HEIGHTS[width]) for panel in row]
        parts.append(alt.hconcat(*sized, spacing=GAP))
    parts.append(_caption(" ".join(caption), room))
    return alt.concat(*parts, columns=1, align="none", spacing=6).configure(**CONFIG)


def _caption(text: str, room: float) -> Any:
    """The caption's lines; an unseen rule holds the width whatever the panels take."""
    lines = wrap(text, room)
    mark = alt.Chart(values([{}]))
    texts = [
        mark.mark_text(text=line, align="left", baseline="top", color=GREY).encode(
            x=alt.value(0), y=alt.value(n * LINE)
        )
        for n, line in enumerate(lines)
    ]
    rule = mark.mark_rule(opacity=0).encode(x=alt.value(0), x2=alt.value(room), y=alt.value(0))
    return alt.layer(rule, *texts, width=room, height=len(lines) * LINE)


def bars(data: Any, kind: tuple[str, str], x: Any, low: str, high: str, colour: Any) -> list[Any]:
    """Layers of intervals of one kind."""
    bar, chart = BARS[kind], alt.Chart(data)
    rule = chart.mark_rule(strokeWidth=bar.thickness, strokeDash=list(bar.dash))
    layers = [rule.encode(x, alt.Y(f"{low}:Q"), colour, y2=f"{high}:Q")]
    cap = chart.mark_tick(orient="horizontal", size=bar.cap, thickness=bar.thickness, opacity=1)
    return layers + [cap.encode(x, alt.Y(f"{end}:Q"), colour) for end in (low, high) if bar.cap]


def wrap(text: str, width: float, size: float = SMALL) -> list[str]:
    """Text in lines of at most `width` points."""
    lines = [""]
    for word in text.split(" "):  # not at a no-break space
        longer = f"{lines[-1]} {word}".strip()
        if text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


# Widths of Arial's letters in thousandths of the font size.
_LETTERS = {
    "'": 191, "ijl": 222, "|": 260, " !,./:;[]\\Ift": 278, "()-`r·°": 333, "{}": 334, '"': 355, "*": 389,
    "cksvxyzJ": 500,
    "+<=>~±×−": 584, "FTZ": 611, "ABEKPSVXY&": 667, "CDHNRUw": 722, "GOQ": 778, "mM": 833, "%": 889, "W": 944,
    "@—…": 1015,
}  # fmt: skip
_LETTER_WIDTH = {letter: width for letters, width in _LETTERS.items() for letter in letters}


def text_width(text: str, size: float = SMALL) -> float:
    """Width of a text in points."""
    return sum(_LETTER_WIDTH.get(letter, 556) for letter in text) * size / 1000


def number(value: float) -> str:
    """Four significant digits, large numbers in full."""
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def span(counts: Sequence[float], what: str) -> str:
    """`1 run`, `3 runs`, `58 to 498 steps`: how many of a thing, or from how few to how many."""
    low, high = min(counts), max(counts)
    many = f"{number(low)}" if low == high else f"{number(low)} to {number(high)}"
    return f"{many} {what}" if high == 1 else f"{many} {what}s"


def unit(rows: Iterable[Mapping[str, Any]]) -> str:
    """`GPUs` where all devices are, else `devices`."""
    units = {row.get("device_unit") for row in rows}
    one = units.pop() if len(units) == 1 else None
    return f"{one.upper()}s" if one else "devices"


def natural(text: str) -> list[tuple[bool, float, str]]:
    """Order in which `batch 16` comes before `batch 128`."""
    return [(part.isdigit(), float(part) if part.isdigit() else 0.0, part) for part in re.split(r"(\d+)", text)]


def ticks(top: float) -> list[float]:
    """Round values from 0, at most seven, none so near the top that its label would stand out above the panel."""
    step = next(s for e in range(-12, 18) for s in (10.0**e, 2 * 10.0**e, 5 * 10.0**e) if top / s < 7)
    return [n * step for n in range(7) if n * step <= 0.95 * top]


def exclusions(left_out: Mapping[str, int]) -> str:
    """Sentence of the caption that says what the query left out, by rule."""
    if not left_out:
        return "Nothing left out."
    rules = ", ".join(f"{rule} {count}" for rule, count in sorted(left_out.items()))
    return f"Records left out by rule: {rules}."


SAMPLE = 18  # length of a legend's sample


def _legend(entries: Sequence[Look | Bar], room: float) -> Any:
    """Samples with their labels: series in columns, below them how intervals are drawn."""
    layers: list[Any] = []
    height = 0.0
    for kind in (Look, Bar):
        group = [entry for entry in entries if isinstance(entry, kind)]
        column = max((text_width(entry.label) for entry in group), default=0) + SAMPLE + 12
        across = max(int((room - Y_AXIS + 8) // column), 1)
        for n, entry in enumerate(group):
            layers += _sample(entry, Y_AXIS + n % across * column, height + n // across * (LINE + 1) + LINE / 2)
        height += math.ceil(len(group) / across) * (LINE + 1)
    rule = alt.Chart(values([{}])).mark_rule(opacity=0).encode(x=alt.value(0), x2=alt.value(room), y=alt.value(0))
    return alt.layer(rule, *layers, width=room, height=height)


def _sample(entry: Look | Bar, x: float, y: float) -> list[Any]:
    """Marks of one entry, placed in points."""
    mark = alt.Chart(values([{}]))

    def line(x: float, y: float, x2: float, y2: float, colour: str, dash: Sequence[float] = (1, 0)) -> Any:
        rule = mark.mark_rule(color=colour, strokeDash=list(dash), strokeWidth=entry.thickness)
        return rule.encode(x=alt.value(x), y=alt.value(y), x2=alt.value(x2), y2=alt.value(y2))

    text = mark.mark_text(text=entry.label, align="left", baseline="middle")
    label = text.encode(x=alt.value(x + SAMPLE + 3), y=alt.value(y))
    if isinstance(entry, Look):
        point = mark.mark_point(color=entry.colour, shape=entry.shape)
        point = point.encode(x=alt.value(x + SAMPLE / 2), y=alt.value(y))
        return [line(x, y, x + SAMPLE, y, entry.colour, entry.dash), point, label]
    ends = (x + 3, x + SAMPLE - 3)
    half = entry.cap / 2
    caps = [line(end, y - half, end, y + half, INK) for end in ends if entry.cap]
    return [line(ends[0], y, ends[1], y, INK, entry.dash), *caps, label]
