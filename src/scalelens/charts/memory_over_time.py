"""Memory of a device over time, from a snapshot of PyTorch's allocator.

Shows: what tensors ask for, and what the allocator reserves from the device for them; where the peak is, and how
    much of what is reserved no tensor uses at that moment.
Query: memory_over_time
Encodings:
    x        time since the first entry of the history; entries, where the snapshot has no times
    y        GB or MB (1e9, 1e6 bytes), from 0
    line     requested, as an area; reserved, as a line
    point    the peak of what was requested; a cross where an allocation failed
    caption  run, rank and device, entries, what was thinned, the peak and what was reserved then
Source: "Active Memory Timeline" of torch/cuda/_memory_viz.py; "Understanding GPU memory 1", PyTorch's blog, 2023
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "memory_over_time"
FACTS = ("name",)

_REQUESTED, _RESERVED, _PEAK, _FAILED = "requested", "reserved", "peak", "failed allocation"
_AREA, _LINE, _MARK = "#56B4E9", "#0072B2", "#D55E00"
_MOST_POINTS = 20_000
_BEYOND = 1.03  # of the x axis, so that a mark at the end is whole
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `memory_over_time`.  Raises UserError without a history, or for several runs."""
    if rows.is_empty():
        raise UserError(
            "there is no history of a device's memory to draw",
            "see what its snapshots contain: scalelens query memory_snapshots",
        )
    limits.check_one_run(rows, "memory over time")
    largest = rows.sort("requested_bytes", "file_id", "device", descending=[True, False, False]).row(0, named=True)
    is_shown = pl.col("file_id").eq_missing(largest["file_id"]) & pl.col("device").eq_missing(largest["device"])
    shown = rows.filter(is_shown).sort("line")
    limits.check_count(shown.height, _MOST_POINTS, "points", "thin them, for example points=1000")
    points = shown.to_dicts()
    panel, legend = _panel(points)
    devices = rows.select("file_id", "device").unique().height
    return style.figure([[style.Panel(panel)]], legend, _caption(points, devices), page)


def _panel(points: Sequence[Row]) -> tuple[Any, list[style.Look]]:
    highest = max(max(point["reserved_bytes"], point["requested_bytes"]) for point in points) or 1
    size, unit = next((size, unit) for size, unit in _UNITS if highest >= size)
    timed = all(point["at_s"] is not None for point in points)
    span = points[-1]["at_s"] if timed else points[-1]["line"] - points[0]["line"]
    second, time_unit = next(((each, name) for each, name in _TIMES if span >= each), _TIMES[-1]) if timed else (1, "")
    values = [
        {
            "at": (point["at_s"] if timed else point["line"] - points[0]["line"]) / second,
            "requested": point["requested_bytes"] / size, "reserved": point["reserved_bytes"] / size,
        }
        for point in points
    ]  # fmt: skip
    title = f"time [{time_unit}]" if timed else "entry of the history"
    end = values[-1]["at"] or 1
    x = alt.X(
        "at:Q",
        title=title,
        axis=alt.Axis(tickCount=6, **axes.even_labels(end)),
        scale=alt.Scale(domain=[0, _BEYOND * end], nice=False),
    )
    y = axes.from_zero("requested", f"memory [{unit}]", highest / size).stack(None)  # entries may share a time
    base = alt.Chart(style.values(values))
    area = base.mark_area(interpolate="step-after", color=_AREA, opacity=0.7, clip=True, aria=False).encode(x, y)
    line = base.mark_line(interpolate="step-after", color=_LINE, strokeWidth=1, clip=True, aria=False)
    layers = [area, line.encode(x, y=alt.Y("reserved:Q"))]
    legend = [style.swatch(_REQUESTED, _AREA), style.Look(_RESERVED, _LINE, None, [1, 0], 1.0)]
    marks = (("is_peak", "circle", _PEAK, True), ("action", "cross", _FAILED, "oom"))
    for field, shape, label, expected in marks:
        found = [value for value, point in zip(values, points, strict=True) if point[field] == expected]
        if found:
            mark = alt.Chart(style.values(found)).mark_point(shape=shape, color=_MARK, filled=True, size=24, opacity=1)
            layers.append(mark.encode(x, y))
            legend.append(style.Look(label, _MARK, shape, [1, 0], 0))
    return alt.layer(*layers), legend


def _caption(points: Sequence[Row], devices: int) -> list[str]:
    first = points[0]
    lines = [f"{first['name']}."] if first.get("name") else []
    whose = ", ".join(
        f"{what} {first[what]}" for what in ("rank", "device") if first[what] is not None
    ) or "a device"  # fmt: skip
    others = f", the one with the highest peak of {devices}" if devices > 1 else ""
    lines.append(
        words.sentence(f"{whose}{others}: {words.counted([first['entries']], 'entry', 'entries')} of its history")
    )
    if len(points) < first["entries"]:
        lines.append(f"Drawn: {words.short_number(len(points))} of them, with the lowest and highest of each slot.")
    peak = next(point for point in points if point["is_peak"])
    unused = peak["reserved_bytes"] - peak["requested_bytes"]
    lines.append(f"Peak: {_bytes(peak['requested_bytes'])} requested, {_bytes(unused)} more reserved at that moment.")
    if any(point["at_s"] is None for point in points):
        lines.append("The snapshot has no times.")
    return lines


def _bytes(count: int) -> str:
    size, unit = next(((size, unit) for size, unit in _UNITS if abs(count) >= size), _UNITS[-1])
    return f"{count / size:.3g} {unit}"
