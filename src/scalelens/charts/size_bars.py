"""Bars of runs side by side at each number of devices: `throughput` with `--mark bar`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt

from scalelens.charts import axes, facets, limits, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

_MOST_SERIES, _MOST_SIZES = 8, 8  # beyond them bars are too thin to be told apart
NOTE = "A bar is the rate of all devices of a run."


def facet_of(points: Sequence[Row], page: Page) -> Page:
    """The page with a panel for each model, where the user asks for no other panels and there are several models."""
    is_split = not page.facet and len({point["model"] for point in points}) > 1
    return page._replace(facet="model") if is_split else page


def panels(points: Sequence[Row], work: str, page: Page, ending: str = "") -> tuple[list[list[style.Panel]], list[Any]]:
    """The panels, with a bar for each run, and their legend.

    Raises UserError where two runs would have one place, or bars would be too thin.
    """
    _check_single(points, page)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    limits.check_count(len(looks), _MOST_SERIES, "bars side by side", limits.CHOOSE_RUNS)
    sizes = sorted({point["devices"] for point in points})
    limits.check_count(len(sizes), _MOST_SIZES, "numbers of devices", limits.CHOOSE_RUNS)
    bars = [{"devices": point["devices"], "label": point["label"], "run_id": point["run_id"],
             "rate": point[f"device_{work}_per_s"] * point["devices"], **_facet_value(point, page)}
            for point in points]  # fmt: skip
    x = alt.X("devices:O", title=f"{words.unit(points)}s", sort=sizes, axis=alt.Axis(labelAngle=0),
              scale=alt.Scale(paddingInner=0.2, paddingOuter=0.1))  # fmt: skip
    title = f"{work}/s of all {words.unit(points)}s{ending}"
    y = axes.from_zero("rate", title, max(bar["rate"] for bar in bars))
    by, order = style.encodings(looks)["color"], [look.label for look in looks]

    def panel(part: Sequence[Row], y: Any) -> Any:
        fields = ("devices", "label", "run_id", "rate")
        chart = alt.Chart(style.values([{name: bar[name] for name in fields} for bar in part])).mark_bar()
        offset = {"xOffset": alt.XOffset("label:N", sort=order)} if len(order) > 1 else {}
        return chart.encode(x, y, by, tooltip=style.tooltips("label:N", "run_id:N", "rate:Q"), **offset)

    legend = [style.swatch(look.label, look.color)._replace(is_series=True) for look in looks if look.label]
    return facets.panels(bars, page, panel, x, y), legend


def _facet_value(point: Row, page: Page) -> dict[str, Any]:
    return {page.facet: point[page.facet]} if page.facet and page.facet != "devices" else {}


def _check_single(points: Sequence[Row], page: Page) -> None:
    """Raises UserError if a bar would hide another one."""
    places = Counter((facets.text_of(point, page.facet), point["label"], point["devices"]) for point in points)
    (panel, label, devices), count = places.most_common(1)[0]
    if count > 1:
        where = ", ".join(filter(None, (panel, label)))
        raise UserError(
            f"{count} runs on {devices} devices would share a bar{': ' if where else ''}{where}",
            "choose one of them with runs=..., name what sets them apart with --facet, or leave --mark out",
        )
