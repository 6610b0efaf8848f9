"""Bandwidth of collectives alone, by the size of the message.

Shows: how well a collective uses the links: latency limits small messages, large ones reach the bandwidth of the links.
Query: collective_benchmarks
Encodings:
    x        bytes of the message as the test counts them, logarithmic, labels at powers of two (1 KiB is 1024 bytes);
             devices, where one size was measured on several numbers of them
    y        bus bandwidth in 10^9 bytes per second, logarithmic
    line     a test of a run, by color and shape; it joins the medians if sizes were measured several times
    dash     full and filled: out of place; broken and hollow: in place, where both were measured
    cross    a measurement whose result had wrong values
    caption  what the series share, runs, measurements, those that are not drawn and why
Source: plots of nccl-tests' output (bus bandwidth against size), as in NVIDIA's performance notes on NCCL
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, facets, naming, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "collective_benchmarks"
FACETS = True
FACTS = ("name", "devices", "device_unit")

# The first facts that distinguish series are used.  Old versions do not print the test: then each file may be one.
_SERIES_FACTS = ("test", "devices", "dtype", "redop", "root", "name", "run_id", "file_of_unknown_test")
SIZE, RATE = "message_bytes", "busbw_gb_per_s"
_OF_ONE_SIZE = ("test", "dtype", "redop", "root")  # the same over devices: runs differ in these
_X_TITLE = "message size"
# In place is drawn over out of place, with larger markers, so that both are visible if they are equal.
_PLACES = {
    "out": style.Look("out of place", style.INK, None, [1, 0]),
    "in": style.Look("in place: hollow markers", style.INK, None, [2, 2]),
}
_MARKER_SIZES = {"out": 10, "in": 34}  # areas in square points
_CROSS_SIZE = 80
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
_LINE = 0.9  # points: thin, because lines in place and out of place are close
_HEADROOM = 1.15  # of the y axis above its last tick, whose label would stick out of the panel
_ABOVE = 1.2  # of the y axis above the values, where this is below the next tick


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `collective_benchmarks`.  Raises UserError if nothing has a bandwidth."""
    known = rows.filter(pl.col("message_bytes") > 0, pl.col("busbw_bytes_per_s") > 0)
    if known.is_empty():
        raise UserError(
            "there are no measurements of collectives, such as those from nccl-tests or all_reduce_bench.py",
            "see what was read: scalelens query collective_benchmarks",
        )
    known = known.with_columns(pl.col("busbw_bytes_per_s").truediv(1e9).alias(RATE))
    points = known.sort("test", "run_id", "place", SIZE, "line", "busbw_bytes_per_s").to_dicts()
    over = "devices" if _is_over_devices(points) else SIZE
    shared = _name_series(points, _OF_ONE_SIZE if over == "devices" else _SERIES_FACTS)
    caption = [shared, *_caption(points, rows.height - known.height, over)]
    facets.take_from_labels(points, page.facet)
    looks = style.looks(sorted({point["label"] for point in points}, key=words.natural), page)
    legend: list[style.Look | style.IntervalLook] = [
        look._replace(dash=[1, 0], thickness=_LINE) for look in looks if look.label
    ]
    legend += _PLACES.values() if len({point["place"] for point in points}) > 1 else ()
    columns = facets.across(len(facets.parts(points, page)), page, _X_TITLE)
    if over == "devices":
        x = axes.of_devices(points)
    else:
        x = axes.of_bytes(SIZE, _X_TITLE, [point[SIZE] for point in points], style.panel_width(columns, page))
    y = _rates([point[RATE] for point in points])
    grid = facets.panels(points, page, lambda part, y: _panel(part, looks, x, y, over), x, y)
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _is_over_devices(points: Sequence[Row]) -> bool:
    devices = {point["devices"] for point in points}
    return len({point[SIZE] for point in points}) == 1 < len(devices) and None not in devices


def _name_series(points: list[Row], facts: Sequence[str]) -> str:
    """Gives each row a `series` and a `label`, no longer than needed.  Returns a sentence about what all share."""
    for point in points:
        point["file_of_unknown_test"] = None if point["test"] else point["file_id"][:8]
        point["series"], point["label"] = tuple(point[fact] for fact in facts), ""
    for fact in facts:
        for label in {point["label"] for point in points}:
            alike = [point for point in points if point["label"] == label]
            if len({point[fact] for point in alike}) > 1:
                for point in alike:
                    point["label"] = " · ".join(filter(None, (label, _fact_text(point, fact))))
    shared = [fact for fact in ("test", "devices", "dtype", "redop") if len({point[fact] for point in points}) == 1]
    texts = [_fact_text(points[0], fact) for fact in shared if points[0][fact] is not None]
    return f"{' · '.join(texts)}." if texts else ""


def _fact_text(point: Row, fact: str) -> str:
    if point[fact] is None:
        return f"unknown {fact}"
    what = {"root": "root ", "run_id": "run ", "file_of_unknown_test": "file "}.get(fact, "")
    return f"{what}{naming.fact_text(point, fact)}"


def _rates(rates: Sequence[float]) -> Any:
    """The y axis from a tick to above the values, or to the next tick: there are two even if values hardly differ."""
    ticks = axes.ticks_of_decades(min(rates), max(rates))
    low = max(tick for tick in ticks if tick <= min(rates))
    high = min(tick for tick in ticks if tick > max(rates))
    values = [tick for tick in ticks if low <= tick <= high]
    end = _HEADROOM * high
    if len(values) > 2 and _ABOVE * max(rates) < high:
        values, end = values[:-1], _ABOVE * max(rates)
    if len(values) <= 2:  # rates that hardly differ
        values = axes.round_ticks(low, end)
    return alt.Y(
        f"{RATE}:Q",
        title="bus bandwidth [GB/s], log.",
        scale=alt.Scale(type="log", domain=[low, end], nice=False),
        axis=alt.Axis(values=values, tickCount=len(values), labelOverlap="greedy", **axes.labels(high)),
    )


def _panel(points: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any, over: str) -> Any:
    """Lines through the medians, a marker for each measurement, and crosses over those with wrong values."""
    by = style.encodings(looks)
    told = ("label:N", "name:N", "test:N", "place:N", f"{SIZE}:Q", f"{RATE}:Q", "time_s:Q", "wrong:Q")
    names, tips = [*dict.fromkeys([*(tip[:-2] for tip in told), over])], style.tooltips(*told)
    layers, is_one_place = [], len({point["place"] for point in points}) == 1
    for place, look in _PLACES.items():
        measured = [{name: point[name] for name in names} for point in points if point["place"] == place]
        if measured:
            likeness, dash = ("out", [1, 0]) if is_one_place else (place, list(look.dash))
            line = alt.Chart(style.values(_medians(measured, over)))
            line = line.mark_line(strokeDash=dash, strokeWidth=_LINE)
            layers.append(line.encode(x, y, by["color"]))
            marker = alt.Chart(style.values(measured)).mark_point(
                filled=likeness == "out", size=_MARKER_SIZES[likeness], strokeWidth=0.7
            )
            layers.append(marker.encode(x, y, by["color"], by["shape"], tooltip=tips))
    if wrong := [{name: point[name] for name in (over, RATE)} for point in points if point["wrong"]]:
        cross = alt.Chart(style.values(wrong)).mark_point(shape="M-1,-1L1,1M-1,1L1,-1", size=_CROSS_SIZE, filled=False)
        layers.append(cross.encode(x, y, color=alt.value(style.INK)))
    return alt.layer(*layers)


def _medians(measured: Sequence[Row], over: str) -> list[Row]:
    """One row for each series and size."""
    rows = pl.DataFrame([{name: row[name] for name in ("label", over, RATE)} for row in measured])
    return rows.group_by("label", over).agg(pl.median(RATE)).sort("label", over).to_dicts()


def _caption(points: Sequence[Row], hidden: int, over: str) -> list[str]:
    runs, wrong = len({point["run_id"] for point in points}), sum(1 for point in points if point["wrong"])
    measured = words.counted([len(points)], "measurement")
    lines = [f"{words.counted([runs], 'run')}, {measured}, each a mean over the iterations of the test."]
    if over == "devices":
        size, unit = next(each for each in _UNITS if points[0][SIZE] >= each[0])
        lines.insert(0, f"Messages of {points[0][SIZE] / size:.3g} {unit}.")
    if len({(point["series"], point["place"], point[over]) for point in points}) < len(points):
        lines.append("Lines join the medians of measurements of one size.")
    lines += [f"Cross: wrong values in the result ({words.counted([wrong], 'measurement')})."] if wrong else []
    lines += [f"Not drawn: {words.counted([hidden], 'measurement')} without a bandwidth above 0."] if hidden else []
    return lines
