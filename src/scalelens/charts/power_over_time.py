"""Power of each device over time.

Shows: what every device draws from start-up to the end, over shades for what the run did at the time.  Idling, a slow
    ramp, a device that lags and a gap in the measurement, which a mean hides, are visible.
Query: power_over_time
Encodings:
    x        time since the first time in the log, or since the first sample if the clocks cannot be joined
    y        watts or kilowatts, from 0
    line     a sensor, by color and dash; more than 12 are colored by what they cover; broken where nothing was measured
    shade    steps, start-up, compilation, evaluations, checkpoints; white where the log says nothing; with more than
             1000, the one that takes most of each half point
    caption  run, sensors, samples, what was thinned, how the clocks were joined
Source: power traces as in A. Herten et al., CARAML (SC'24 workshops), figure of a run's power, with the log's phases
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, shades, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError
from scalelens.units import ratio

QUERY = "power_over_time"
FACTS = ("name",)

_SHADES = {
    "startup": ("start-up", "#e6e6e6"), "compile": ("compilation", "#cbcbcb"), "steps": ("steps", "#dbe9f6"),
    "epoch": ("epoch", "#dbe9f6"), "train": ("training", "#dbe9f6"), "evaluation": ("evaluation", "#fbdcc4"),
    "validation": ("validation", "#fbdcc4"), "checkpoint": ("checkpoint", "#bfe6d8"),
}  # fmt: skip
_MOST_SAMPLES = 100_000
_MOST_PHASES = 1000  # more phases share columns of half a point
_TIME_UNITS = ((7200, "h"), (600, "min"), (0, "s"))  # each with the shortest span in seconds
_KILOWATTS_FROM = 5000  # watts
_NAMELESS = "power"  # a sensor without a node, a device and a scope
_NUMBERED = re.compile(r"(?:[a-z]+:)?(\d+)", re.IGNORECASE)  # a device by its number, as jpwr names it: pynvml:0


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `power_over_time`.  Raises UserError without samples, or for several runs."""
    samples = rows.filter(pl.col("phase").is_null()).sort("scope", "node", "device", "begins_s", nulls_last=True)
    if samples.is_empty():
        raise UserError("there are no power readings to draw", "see what there is: scalelens query runs_overview")
    limits.check_one_run(samples, "power over time")
    limits.check_count(samples.height, _MOST_SAMPLES, "points", "thin them, for example points=200")
    points: list[Row] = samples.to_dicts()
    time, power = _Time.of(points), _Power.of(points)
    names = _names(points)
    by_scope = len(names) > style.MOST_SERIES
    for point in points:
        name = names[_sensor(point)]
        point["label"] = (point["scope"] or "unknown") if by_scope else name
        point["series"] = f"{name} {point['segment']}"
        point |= {"at": point["begins_s"] / time.second, "power": point["power_w"] / power.watts}
    looks = style.looks(dict.fromkeys(point["label"] for point in points), page)
    is_seen = (pl.col("begins_s") < time.ends) & (pl.col("ends_s") > time.begins)
    phases = rows.filter(pl.col("phase").is_in(list(_SHADES)) & is_seen).sort("begins_s", "phase")
    spans = _spans(phases, time, page)
    panel = alt.layer(*_shades(spans, time), _lines(points, looks, time, power, 0.4 if by_scope else 0.8))
    colors = dict(_SHADES.values())
    is_said_by_the_axis = len(looks) == 1 and looks[0].label == _NAMELESS
    legend = [] if is_said_by_the_axis else [look._replace(shape=None, thickness=0.8) for look in looks]
    legend += [style.swatch(label, colors[label]) for label in dict.fromkeys(span.label for span in spans)]
    panel = panel.resolve_scale(color="independent")
    caption = _caption(points, len(names), phases.height)
    return style.figure([[style.Panel(panel)]], legend, caption, page)


class _Time(NamedTuple):
    """The time from the first to the last sample, in seconds, and the unit in which it is drawn."""

    begins: float
    ends: float
    second: float  # how many seconds the unit is
    unit: str

    @classmethod
    def of(cls, points: Sequence[Row]) -> "_Time":
        begins, ends = min(point["begins_s"] for point in points), max(point["begins_s"] for point in points)
        unit = next(unit for shortest, unit in _TIME_UNITS if ends - begins >= shortest)
        return cls(begins, ends, ratio(unit, "s"), unit)


class _Power(NamedTuple):
    """The unit in which power is drawn."""

    watts: float  # how many watts the unit is
    unit: str

    @classmethod
    def of(cls, points: Sequence[Row]) -> "_Power":
        return cls(1000, "kW") if max(point["power_w"] for point in points) >= _KILOWATTS_FROM else cls(1, "W")


def _lines(points: Sequence[Row], looks: Sequence[style.Look], time: _Time, power: _Power, thickness: float) -> Any:
    """One line for each sensor and segment; it ends where nothing was measured."""
    x = alt.X(
        "at:Q",
        title=f"time [{time.unit}]",
        axis=alt.Axis(tickCount=6),
        scale=alt.Scale(
            domain=[time.begins / time.second, max(time.ends, time.begins + 1e-3) / time.second], nice=False
        ),
    )
    y = axes.from_zero("power", f"power [{power.unit}]", max(point["power"] for point in points) or 1)
    by = style.encodings(looks)
    drawn = [{name: point[name] for name in ("at", "power", "label", "series")} for point in points]
    lines = alt.Chart(style.values(drawn)).mark_line(strokeWidth=thickness, clip=True)
    return lines.encode(x, y, by["color"], by["strokeDash"], detail=alt.Detail("series:N"))


def _spans(phases: pl.DataFrame, time: _Time, page: Page) -> list[shades.Span]:
    """The phases of the run during the measurement; if there are many, those that take most of each column."""
    spans = [
        shades.Span(max(row["begins_s"], time.begins), min(row["ends_s"], time.ends), _SHADES[row["phase"]][0])
        for row in phases.iter_rows(named=True)
    ]
    if len(spans) <= _MOST_PHASES:
        return spans
    return shades.by_slots(spans, time.begins, time.ends, 2 * page.points)


def _shades(spans: Sequence[shades.Span], time: _Time) -> list[Any]:
    """One layer for the phases of the run."""
    if not spans:
        return []
    drawn = [{"from": span.begins / time.second, "to": span.ends / time.second, "phase": span.label} for span in spans]
    of_phases = list(dict(_SHADES.values()).items())
    colors = alt.Scale(domain=[label for label, _ in of_phases], range=[color for _, color in of_phases])
    chart = alt.Chart(style.values(drawn)).mark_rect(clip=True)
    return [chart.encode(alt.X("from:Q"), alt.Color("phase:N", scale=colors, legend=None), x2=alt.X2("to:Q"))]


def _sensor(point: Row) -> tuple[Any, Any, Any]:
    return point["node"], point["device"], point["scope"]


def _names(points: Sequence[Row]) -> dict[tuple[Any, Any, Any], str]:
    """Names of sensors: the device, the node if there are several, the scope if needed, and before a number."""
    sensors = list(dict.fromkeys(map(_sensor, points)))
    nodes = {node for node, _, _ in sensors}
    devices = [(node, device) for node, device, _ in sensors]
    numbers = {sensor: found[1] for sensor in sensors if (found := _NUMBERED.fullmatch(f"{sensor[1]}"))}
    numbered = Counter((node, numbers[node, device, scope], scope) for node, device, scope in numbers)
    names = {}
    for node, device, scope in sensors:
        parts = [node] if len(nodes) > 1 else []
        number = numbers.get((node, device, scope))
        if number and numbered[node, number, scope] == 1:
            parts += [words.unit([{"device_unit": scope}]), number]  # `GPU 0`
        else:
            parts += [device, scope] if devices.count((node, device)) > 1 else [device]
        names[node, device, scope] = " ".join(filter(None, parts)) or _NAMELESS
    return names


def _caption(points: Sequence[Row], sensors: int, phases: int) -> list[str]:
    first = points[0]
    samples = sum({_sensor(point): point["readings"] for point in points}.values())
    lines = [f"{first['name']}."] if first.get("name") else []
    lines.append(f"{words.counted([sensors], 'sensor')}, {words.counted([samples], 'sample')}.")
    if len(points) < samples:
        shown = words.short_number(len(points))
        lines.append(f"Drawn: {shown} of them, the first, last, lowest and highest of each slot of time.")
    if len({point["segment"] for point in points}) > 1:
        lines.append("Lines break where nothing was measured for more than three sampling periods.")
    if not first["has_clock"]:
        lines.append("Time starts at the first sample: no log of the run shares the clock of the readings.")
    elif phases:
        lines.append("Time starts at the first time in the log. Not shaded: the log says nothing about that time.")
    else:
        lines.append("Time starts at the first time in the log. The log has no phases.")
    if phases > _MOST_PHASES:
        lines.append(f"{words.counted([phases], 'phase')}: a column shows the one that takes most of it.")
    return lines
