"""The page of a figure: its size, its texts, and what a user can change without Python.

A figure is laid out with small text of 7 points.  Another font size scales the whole drawing, so lines, markers and
texts stay in proportion, and charts need not know about it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from scalelens.charts.words import SIZE
from scalelens.errors import UserError

POINTS_PER_MM = 72 / 25.4
_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4, "pt": 1 / POINTS_PER_MM}
_WIDEST_MM = 2000

# Widths in millimeters.  single and double fit the columns of all three publishers.
# IEEE: Author Center, "Size Requirements for Graphics": 3.5 in and 7.16 in.
# ACM: \columnwidth and \textwidth of acmart's sigconf, 241.147 and 506.295 TeX points.
# Springer: "Artwork and Illustrations Guidelines" of its journals: 84 mm and 174 mm; LNCS has lines of 122 mm.
# slides: lines of a Beamer slide of 16:9, 160 mm wide with margins of 10 mm.
WIDTHS_MM = {
    "single": 86.4, "double": 177.8, "ieee-single": 88.9, "ieee-double": 182.0, "acm-single": 84.7,
    "acm-double": 177.9, "springer-single": 84.0, "springer-double": 174.0, "lncs": 122.0, "slides": 140.0,
}  # fmt: skip
_FONT_SIZES = {"slides": 10.0}  # of the smallest text in points, if it is not that of papers
_WIDE_FROM = 340  # points of the layout from which panels are side by side


class Page(NamedTuple):
    """Size and texts of a figure.  Axes are named by their visible titles, series by the names that the chart gives."""

    width_mm: float = WIDTHS_MM["single"]
    height_mm: float | None = None  # of the whole figure
    font_size: float = SIZE  # of the smallest text, in points
    title: str = ""
    has_caption: bool = True
    labels: Mapping[str, str] = {}  # new texts, by the texts that they replace
    order: tuple[str, ...] = ()  # series and panels that come first
    colors: Mapping[str, str] = {}  # of series by name, or by their number from 0
    limits: Mapping[str, tuple[float, float]] = {}  # of y axes by title; "" means all
    x_limits: Mapping[str, tuple[float, float]] = {}  # of x axes
    logarithmic: tuple[str, ...] = ()  # x, y or titles of axes
    is_dark: bool = False  # light marks on dark ground, for slides and screens
    facet: str = ""  # column by which the rows are split into panels
    unit: str = ""  # gpu: two GCDs of a module count as one GPU
    mark: str = ""  # bar: bars in place of points
    run: str = ""  # name of the run that the figure is about, where there are others

    @property
    def scale(self) -> float:
        """Points on paper for one point of the layout."""
        return self.font_size / SIZE

    @property
    def points(self) -> int:
        """Width of the layout."""
        return round(self.width_mm * POINTS_PER_MM / self.scale)

    @property
    def panel_prefix(self) -> str:
        """The start of the titles of panels, before the value of the facet."""
        return f"{self.facet.replace('_', ' ')} " if self.facet else ""

    def position(self, panel: str) -> int:
        """The position of a panel in the order, by its title or the value of the facet; the last one if not named."""
        names = (panel, panel.removeprefix(self.panel_prefix))
        return next((n for n, name in enumerate(self.order) if name in names), len(self.order))

    @property
    def is_wide(self) -> bool:
        return self.points >= _WIDE_FROM


SINGLE = Page()


def page_of(settings: Mapping[str, Any]) -> Page:
    """A page from the settings of the command line or of `[figure.NAME]` in `scalelens.toml`.

    Raises UserError for an unknown key and for a value that it cannot have.
    """
    page = Page()
    for key, value in settings.items():
        if key not in _SETTINGS:
            raise UserError(f"'{key}' is not a setting of a figure", f"there are: {', '.join(_SETTINGS)}")
        page = page._replace(**_SETTINGS[key](value))
    if "font_size" not in settings and (size := _FONT_SIZES.get(str(settings.get("width")))):
        page = page._replace(font_size=size)
    return page


def width_of(value: Any) -> float:
    """Millimeters of the name of a width, or of a length.  Raises UserError for what is neither."""
    return WIDTHS_MM[value] if value in WIDTHS_MM else _millimeters(value, ", ".join(WIDTHS_MM))


def _width(value: Any) -> dict[str, Any]:
    return {"width_mm": width_of(value)}


def _millimeters(value: Any, names: str = "") -> float:
    """`86`, `86mm`, `8.6cm`, `3.4in` or `245pt`."""
    found = re.fullmatch(r"([\d.]+)\s*(mm|cm|in|pt)?", str(value))
    try:
        length = float(found[1]) * _MM[found[2] or "mm"] if found else 0
    except ValueError:
        length = 0
    if not 20 <= length <= _WIDEST_MM:
        remedy = f"{f'name one of {names}, or ' if names else ''}give millimeters, or 3.4in, 245pt"
        raise UserError(f"'{value}' is not a length from 20 mm to 2 m", remedy)
    return length


def _font_size(value: Any) -> dict[str, Any]:
    size = _number(value)
    if not 3 <= size <= 60:
        raise UserError(f"'{value}' is not a font size from 3 to 60 points", "papers use 7, slides 10")
    return {"font_size": size}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise UserError(f"'{value}' is not a number", "write for example 7.5") from None


def _pairs(value: Any, example: str) -> dict[str, str]:
    """A table of the sidecar, or texts OLD=NEW."""
    if isinstance(value, Mapping):
        return {str(old): str(new) for old, new in value.items()}
    pairs = {}
    for text in _texts(value):
        # Names in a figure may contain an equals sign; their replacements seldom do.
        old, equals, new = text.rpartition("=")
        if not equals or not old:
            raise UserError(f"'{text}' is not of the form {example}", "quote it if it contains spaces")
        pairs[old] = new
    return pairs


def _texts(value: Any) -> list[str]:
    """A list, or a text separated by commas."""
    return [text.strip() for text in value.split(",")] if isinstance(value, str) else [str(text) for text in value]


def _colors(value: Any) -> dict[str, Any]:
    named = isinstance(value, Mapping) or any("=" in text for text in _texts(value))
    texts = enumerate(_texts(value)) if not named else _pairs(value, "SERIES=#D55E00").items()
    colors = {str(name): color for name, color in texts}
    for color in colors.values():
        if not re.fullmatch(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})", color):
            raise UserError(f"'{color}' is not a color", "write #D55E00")
    return {"colors": colors}


class DateLimits(tuple[float, float]):
    """Ends of an axis that were given as dates, in milliseconds since 1970."""


_DATE = r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)"
_DATES = re.compile(f"{_DATE}:{_DATE}")


def _limits(value: Any) -> dict[str, tuple[float, float]]:
    """`0:100`, or `efficiency [%]=0:100` for one of several axes; dates as `2024-05-01:2024-06-01`."""
    given = value if isinstance(value, Mapping | str) else list(value)
    texts = given.items() if isinstance(given, Mapping) else [
        text.rpartition("=")[::2] for text in ([given] if isinstance(given, str) else given)
    ]  # fmt: skip
    limits = {}
    for title, text in texts:
        limits[title] = _dates(text) or _numbers(text)
        if limits[title][0] >= limits[title][1]:
            raise UserError(f"'{text}' is an empty range", "write LOW:HIGH, for example 0:100")
    return limits


def _numbers(text: Any) -> tuple[float, float]:
    low, colon, high = str(text).partition(":")
    if not colon:
        raise UserError(f"'{text}' is not of the form LOW:HIGH", "write for example 0:100, or 2024-05-01:2024-06-01")
    return _number(low), _number(high)


def _dates(text: Any) -> DateLimits | None:
    """The ends of an axis of dates, in UTC; None where the text has no dates."""
    found = _DATES.fullmatch(str(text).strip())
    if not found:
        return None
    try:
        low, high = (datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000 for day in found.groups())
    except ValueError:
        raise UserError(f"'{text}' has a day or an hour that does not exist", "write 2024-05-01:2024-06-01") from None
    return DateLimits((low, high))


def _theme(value: Any) -> dict[str, Any]:
    if value not in ("light", "dark"):
        raise UserError(f"'{value}' is not a theme", "write light or dark")
    return {"is_dark": value == "dark"}


def _unit(value: Any) -> str:
    if value != "gpu":
        raise UserError(
            f"'{value}' is not a unit to count devices in", "write gpu, which adds the two GCDs of a module"
        )
    return str(value)


def _mark(value: Any) -> str:
    if value != "bar":
        raise UserError(f"'{value}' is not a mark of this chart", "write bar, or leave --mark out")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise UserError(f"'{value}' is neither true nor false", "write caption = false")
    return value


_SETTINGS: Mapping[str, Any] = {
    "width": _width,
    "height": lambda value: {"height_mm": _millimeters(value)},
    "font_size": _font_size,
    "theme": _theme,
    "title": lambda value: {"title": str(value)},
    "caption": lambda value: {"has_caption": _flag(value)},
    "labels": lambda value: {"labels": _pairs(value, "OLD=NEW")},
    "order": lambda value: {"order": tuple(_texts(value))},
    "colors": _colors,
    "ylim": lambda value: {"limits": _limits(value)},
    "xlim": lambda value: {"x_limits": _limits(value)},
    "log": lambda value: {"logarithmic": (value,) if isinstance(value, str) else tuple(value)},  # titles contain commas
    "facet": lambda value: {"facet": str(value)},
    "unit": lambda value: {"unit": _unit(value)},
    "mark": lambda value: {"mark": _mark(value)},
}


def in_order(names: Sequence[str], first: Sequence[str]) -> list[str]:
    """The names, with those in `first` at the front."""
    return sorted(names, key=lambda name: first.index(name) if name in first else len(first))
