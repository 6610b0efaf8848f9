"""What a user can change in a finished figure: texts, the ends of y axes, logarithmic axes, the height, dark ground.

It works on the Vega-Lite of any chart, so charts need not know about it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scalelens.charts import dates
from scalelens.charts.axes import labels, logarithmic
from scalelens.charts.dark import darkened
from scalelens.charts.layout import POINTS_PER_MM, DateLimits, Page
from scalelens.charts.tick_labels import keep_ends
from scalelens.errors import UserError

_Spec = dict[str, Any]
_SHOWN = ("title", "subtitle", "text", "domain", "sort")  # keys of texts outside of the data
_HIDDEN = ("colour", "shape", "run_id", "file_id", "series")  # fields of rows that a figure does not show as text
_MOST_TEXTS = 30  # in a message
_LOWEST_PANEL = 20  # points
_LEAST_DATE = 1e11  # milliseconds since 1970: in 1973, before any log; seconds and counts are less


def adjusted(spec: _Spec, page: Page, height_of: Callable[[_Spec], float]) -> _Spec:
    """The Vega-Lite of a figure, adjusted to a page; `height_of` measures a drawing in points of the layout.

    Raises UserError for texts and axes that the figure does not have, and for values that a log. axis cannot show.
    """
    spec = _renamed(spec, page.labels) if page.labels else _copy_of(spec)
    for default, of_page in (("y", page.limits), ("x", page.x_limits)):
        for title, limits in of_page.items():
            _limit(_axes(spec, title or default), limits)
    for axis in page.logarithmic:
        _make_logarithmic(spec, axis)
    if page.height_mm:
        _fit_height(spec, page.height_mm * POINTS_PER_MM / page.scale, height_of)
    for panel, rows in _panels_with_rows(spec):
        for view, _ in _views(panel, rows):
            keep_ends(view.get("encoding", {}).get("x", {}), panel.get("width", 0))
    return darkened(spec, page.colors.values()) if page.is_dark else spec


def _copy_of(node: Any) -> Any:
    """A figure that can be changed while the given one stays.  Rows, which are nearly all of it, are shared."""
    if isinstance(node, dict):
        return {key: item if key == "values" else _copy_of(item) for key, item in node.items()}
    return [_copy_of(item) for item in node] if isinstance(node, list) else node


def _limit(axes: Sequence["_Axis"], limits: tuple[float, float]) -> None:
    """Gives axes other ends."""
    for view, channel, _ in axes:
        _check_dates(channel, limits)
        channel["scale"] = (channel.get("scale") or {}) | {"domain": list(limits), "nice": False}
        _free_ticks(channel)
        if dates.is_date(channel):
            shown = dates.between(limits, channel.get("title"))
            channel |= shown | {"axis": channel["axis"] | shown["axis"]}
        channel["axis"]["labelFlush"] = True  # a label that sticks out would move the title of its panel
        view["mark"]["clip"] = True  # what lies outside would cover the legend or the caption


def _check_dates(channel: _Spec, limits: tuple[float, float]) -> None:
    """Raises UserError for dates on an axis of numbers, and for numbers that no date can be on an axis of dates."""
    are_dates, title = isinstance(limits, DateLimits), channel.get("title") or "axis"
    if are_dates and not dates.is_date(channel):
        raise UserError(f"the axis '{title}' shows numbers, not dates", "write LOW:HIGH, for example 0:100")
    if not are_dates and dates.is_date(channel) and limits[0] < _LEAST_DATE:
        raise UserError(f"the axis '{title}' shows dates", "write the first and the last day, as 2024-05-01:2024-06-01")


def panels(spec: _Spec) -> list[_Spec]:
    """The panels of a figure, without legend and caption."""
    return [panel for panel, _ in _panels_with_rows(spec)]


def _panels_with_rows(spec: _Spec) -> Iterator[tuple[_Spec, Sequence[_Spec]]]:
    """Each panel with the rows above it, which Altair moves there if all of the panel shares them."""
    for row in spec.get("vconcat", []):
        for panel in row.get("hconcat", []):
            yield panel, row.get("data", {}).get("values", ())


class _Axis(NamedTuple):
    """An axis of numbers in one view: the view, the channel, and the rows drawn, which may be kept above the view."""

    view: _Spec
    channel: _Spec
    rows: Sequence[_Spec]


def _views(panel: _Spec, rows: Sequence[_Spec] = ()) -> Iterator[tuple[_Spec, Sequence[_Spec]]]:
    """The views of a panel that draw something, with their rows."""
    rows = panel.get("data", {}).get("values", rows)
    if "mark" in panel:
        yield panel, rows
    for layer in panel.get("layer", []):
        yield from _views(layer, rows)


def _axes(spec: _Spec, name: str) -> list[_Axis]:
    """The axis called `name` (x, y or a title), in each view that has it.

    Raises UserError if there is none, and if x or y means axes of different quantities.
    """
    by_title: dict[str, list[_Axis]] = {}
    for channel in (name,) if name in ("x", "y") else ("x", "y"):
        title = ""
        for panel, above in _panels_with_rows(spec):
            axes = [_Axis(view, view["encoding"].get(channel, {}), rows) for view, rows in _views(panel, above)]
            axes = [axis for axis in axes if axis.channel.get("type") == "quantitative"]
            # A panel without a title shares the axis of the panel on its left.
            title = next((_title(axis.channel) for axis in axes if axis.channel.get("title")), title)
            by_title.setdefault(title, []).extend(axes)
    if name in by_title:
        return by_title[name]
    if name not in ("x", "y") or not by_title:
        raise UserError(
            f"the figure has no axis of numbers '{name}'", f"there are: {'; '.join(filter(None, by_title))}"
        )
    if len(by_title) > 1:
        example = next(iter(by_title))
        raise UserError(
            f"the figure has several {name} axes: {'; '.join(filter(None, by_title))}", f"name one, such as '{example}'"
        )
    return next(iter(by_title.values()))


def _title(channel: _Spec) -> str:
    """The title of an axis; of several lines the first, which names what is drawn."""
    return str(channel["title"] if isinstance(channel["title"], str) else channel["title"][0])


def _free_ticks(axis: _Spec) -> None:
    """Lets Vega choose the ticks, because those of the chart suit its own ends of the axis."""
    axis["axis"] = {key: value for key, value in (axis.get("axis") or {}).items() if key != "values"}


def _make_logarithmic(spec: _Spec, name: str) -> None:
    axes = [axis for axis in _axes(spec, name) if (axis.channel.get("scale") or {}).get("type") != "log"]
    if not axes:
        return
    values = [value for axis in axes for value in _values(axis)]
    if not values or min(values) <= 0:
        raise UserError("a logarithmic axis cannot show 0 or less", f"leave out --log {name}")
    if any(view["mark"]["type"] in ("bar", "area", "rect") for view, _, _ in axes):
        raise UserError("bars start at 0, which a logarithmic axis cannot show", f"leave out --log {name}")
    ends, ticks = logarithmic(min(values), max(values))
    for _, channel, _ in axes:
        scale = {"type": "log", "domain": ends, "nice": False}
        kept = {key: value for key, value in (channel.get("scale") or {}).items() if key == "padding"}
        channel["scale"] = kept | scale
        _free_ticks(channel)
        if len(ticks) > 1:  # Vega would label 90 and 200, but not 100
            channel["axis"] |= {"values": ticks, "tickCount": len(ticks), "labelOverlap": "greedy", **labels(ends[1])}
        if channel.get("title"):
            channel["title"] = f"{_title(channel)}, log."


def _values(axis: _Axis) -> list[float]:
    """Numbers drawn on an axis, including the ends of intervals."""
    ends = (axis.view["encoding"].get(end, {}) for end in ("x2", "y2"))
    fields = {axis.channel.get("field"), *(end.get("field") for end in ends)}
    values = (row.get(field) for row in axis.rows for field in fields if field)
    return [value for value in values if isinstance(value, int | float)]


def _fit_height(spec: _Spec, points: float, height_of: Callable[[_Spec], float]) -> None:
    """Scales the panels until the figure has the height; legend and caption stay as they are."""
    for _ in range(3):  # an axis may need more or less room below a panel of another height
        rows = [[panel["height"] for panel in row["hconcat"]] for row in spec["vconcat"] if "hconcat" in row]
        whole = sum(map(max, rows))
        share = (whole + points - height_of(spec)) / whole
        if share * min(map(min, rows)) < _LOWEST_PANEL:
            raise UserError("the panels do not fit in that height", "allow more height, or turn the caption off")
        for panel in panels(spec):
            panel["height"] *= share


def _renamed(spec: _Spec, labels: Mapping[str, str]) -> _Spec:
    """The figure with some of its texts replaced by others."""
    shown: dict[str, None] = {}

    def walk(node: Any, key: str = "", in_rows: bool = False) -> Any:
        if isinstance(node, dict):
            return {name: walk(item, name, in_rows) for name, item in node.items()}
        if isinstance(node, list):
            rows = key == "values" and all(isinstance(item, dict) for item in node)
            return _different([walk(item, key, rows) for item in node], node)
        if isinstance(node, str) and (key in _SHOWN or (in_rows and key not in _HIDDEN)):
            shown[node] = None
            return labels.get(node, node)
        return node

    renamed: _Spec = {**spec, "vconcat": walk(spec["vconcat"])}
    if missing := [old for old in labels if old not in shown]:
        texts = [text for text in shown if text not in labels.values()]
        raise UserError(f"the figure does not show '{missing[0]}'", f"it shows: {'; '.join(texts[:_MOST_TEXTS])}")
    return renamed


def _different(new: Sequence[Any], old: Sequence[Any]) -> Sequence[Any]:
    """A list of names.  Raises UserError if different names have become equal: one series would hide another."""
    if all(isinstance(item, str) for item in new) and len(set(new)) < len(set(old)):
        raise UserError("two series would have the same name", "choose names that differ")
    return new
