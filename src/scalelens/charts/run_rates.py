"""Bars of runs, the fastest first, with their names inside: `throughput` where devices do not tell them apart.

Where there are more runs than bars, those whose names differ least share one.
"""

from collections.abc import Sequence

import altair as alt

from scalelens.charts import axes, facets, name_groups, run_labels, style, words
from scalelens.charts.layout import Page
from scalelens.charts.style import Row
from scalelens.charts.work_kinds import Kind

MOST_RUNS = 48
_BAND = 9.5  # height of a bar with its gap
_REPEATED = 1.05  # repeats of a run differ by less
_COLOR = "#a6cee3"  # light, because text is written on it
_TITLE = 78  # points that its whole title takes
_TEXT_START = 2  # points from the left edge of a bar


def tells_more(points: Sequence[Row]) -> bool:
    """Whether bars with names tell the runs apart better than points over devices.

    They do on one number of devices, where no two sizes are of one series, and where most points have the look and the
    size of another, and other rates.
    """
    sizes: dict[tuple[object, object], set[object]] = {}
    for point in points:
        sizes.setdefault((point["model"], point["label"]), set()).add(point["devices"])
    if len({point["devices"] for point in points}) == 1 or all(len(of_series) == 1 for of_series in sizes.values()):
        return True
    alike: dict[tuple[object, ...], list[float]] = {}
    for point in points:
        rate = point["device_tokens_per_s"] or point["device_samples_per_s"]
        alike.setdefault((point["model"], point["label"], point["devices"]), []).append(rate)
    return 2 * sum(len(rates) for rates in alike.values() if max(rates) > _REPEATED * min(rates)) > len(points)


def sharing(kinds: Sequence[Kind]) -> tuple[list[Kind], str]:
    """The runs of one size as bars that several share, with a sentence about that; else as they are, and ""."""
    points = [point for kind in kinds for point in kind.points]
    if len(kinds) != 1 or len(points) <= MOST_RUNS or len({point["devices"] for point in points}) != 1:
        return [*kinds], ""
    (kind,) = kinds
    merged = name_groups.merged(kind.points, kind.rate, MOST_RUNS)
    if merged is None:
        return [*kinds], ""
    return [kind._replace(points=merged.rows)], name_groups.sentence(merged.left_out)


def panels(kinds: Sequence[Kind], page: Page, ending: str = "") -> list[list[style.Panel]]:
    """Bars of all runs, a panel below the other for each kind of work.  `ending` is that of the axes' titles."""
    points = [point for kind in kinds for point in kind.points]
    sizes = {point["devices"] for point in points}
    where = f", on {words.devices(points[0])}" if len(sizes) == 1 and None not in sizes else ""
    found = []
    for kind in kinds:
        of_what = "" if ending and words.unit(points) == words.JOB else f" per {words.unit(points)}"
        title = f"{kind.work}/s{of_what}{where}{ending}"
        heading = kind.name if len(kinds) > 1 else ""
        bars = _panel(kind.points, kind.rate, title, page, len(sizes) > 1, heading)
        found.append([bars._replace(chart=facets.titled(bars.chart, heading, 1, page), name=heading)])
    return found


def _panel(points: Sequence[Row], rate: str, title: str, page: Page, has_size: bool, heading: str) -> style.Panel:
    """The bars; `rate` is the column that they show.  Their names end with the devices, if these differ."""
    fastest = sorted(points, key=lambda point: (-point[rate], words.natural(_name(point))))
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars = [
        {
            "place": k,
            "rate": point[rate],
            "run_id": point["run_id"],
            "text": words.shorten(text_of(point, rate, has_size, heading), room),
            **({"lowest": point["lowest"], "highest": point["highest"]} if point.get("runs", 1) > 1 else {}),
        }
        for k, point in enumerate(fastest)
    ]
    y = alt.Y("place:O", title=_title(len(bars)), axis=alt.Axis(labels=False, ticks=False, domain=False))
    x = alt.X(
        "rate:Q", title=title, scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5, **axes.even_labels(max(bar.get("highest", bar["rate"]) for bar in bars))),
    )  # fmt: skip
    chart = alt.Chart(style.values(bars))
    bar = chart.mark_bar(height={"band": 0.85}, color=_COLOR).encode(x, y, tooltip=["text:N", "run_id:N", "rate:Q"])
    text = chart.mark_text(align="left", baseline="middle", dx=_TEXT_START).encode(y=y, x=alt.value(0), text="text:N")
    ranges = [bar for bar in bars if "lowest" in bar]
    rule = alt.Chart(style.values(ranges)).mark_rule(color=style.INK, strokeWidth=0.75)
    rules = [rule.encode(x=alt.X("lowest:Q", title=title), x2="highest:Q", y=y)] if ranges else []
    return style.Panel(alt.layer(bar, *rules, text), height=_BAND * len(bars))


def _title(bars: int) -> str:
    """As long as the axis has room for."""
    return "runs, the fastest first" if bars * _BAND >= _TITLE else "runs" if bars > 1 else "run"


def _name(point: Row) -> str:
    return run_labels.fact(point, "name") or run_labels.fact(point, "run_id")


def text_of(point: Row, rate: str, has_size: bool, heading: str) -> str:
    """The name, unless the heading of the panel is the same, with the size, unless the name has it, and the rate."""
    name, size = _name(point), words.devices(point) if has_size else ""
    pieces = [name if name != heading else "", size if size not in name else ""]
    pieces += [f"{point['runs']} runs" if point.get("runs", 1) > 1 else "", words.short_number(point[rate])]
    return " · ".join(filter(None, pieces))
