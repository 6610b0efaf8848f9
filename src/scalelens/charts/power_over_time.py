"""Power of each device over time.

Shows: what every device draws from start-up to the end, with what the run did meanwhile shaded behind it, so that
    idling, a slow ramp, a device that lags and a gap in the measurement are seen, which a mean hides.
Query: power_over_time
Encodings:
    x        time since the first time of the log; since the first sample where the clocks do not join
    y        watts or kilowatts, from 0
    line     a sensor, by colour and dash; more than 12 are coloured by what they cover.  It breaks where nothing was
             measured
    shade    steps, start-up, compilation, evaluations, checkpoints; white where the log says nothing
    caption  run, sensors, samples, what was thinned, how the clocks were joined
Source: power traces as in A. Herten et al., CARAML (SC'24 workshops), figure of a run's power, with the log's phases
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "power_over_time"
FACTS = ("name",)

SHADES = {
    "startup": ("start-up", "#e6e6e6"), "compile": ("compilation", "#cbcbcb"), "steps": ("steps", "#dbe9f6"),
    "epoch": ("epoch", "#dbe9f6"), "train": ("training", "#dbe9f6"), "evaluation": ("evaluation", "#fbdcc4"),
    "validation": ("validation", "#fbdcc4"), "checkpoint": ("checkpoint", "#bfe6d8"),
}  # fmt: skip
MOST_POINTS = 100_000
UNITS = ((7200, 3600, "h"), (600, 60, "min"), (0, 1, "s"))  # from which span on, seconds of the unit, its name

Row = dict[str, Any]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `power_over_time`.  Raises UserError without samples, or for several runs."""
    samples = rows.filter(pl.col("phase").is_null()).sort("scope", "node", "device", "begins_s", nulls_last=True)
    if samples.is_empty():
        raise UserError("there are no power readings to draw", "see what there is: scalelens query runs_overview")
    if samples["run_id"].n_unique() > 1:
        raise UserError(
            f"power over time is drawn of one run, not of {samples['run_id'].n_unique()}",
            "choose one, for example runs=\"name = 'baseline'\"; see scalelens query runs_overview",
        )
    if samples.height > MOST_POINTS:
        raise UserError(
            f"{samples.height} points are more than one chart can show", "thin them, for example points=200"
        )
    points: list[Row] = samples.to_dicts()
    begins, ends = min(point["begins_s"] for point in points), max(point["begins_s"] for point in points)
    _, second, unit = next(known for known in UNITS if ends - begins >= known[0])
    names = _names(points)
    by_scope = len(names) > style.MOST_SERIES
    for point in points:
        sensor = point["node"], point["device"], point["scope"]
        point |= {"label": point["scope"] or "unknown" if by_scope else names[sensor], "at": point["begins_s"] / second}
        point["series"] = f"{names[sensor]} {point['segment']}"
    looks = style.looks(dict.fromkeys(point["label"] for point in points))
    phases = rows.filter(
        pl.col("phase").is_in(list(SHADES)) & (pl.col("begins_s") < ends) & (pl.col("ends_s") > begins)
    ).sort("begins_s", "phase")
    x = alt.X(
        "at:Q", title=f"time [{unit}]", axis=alt.Axis(tickCount=6),
        scale=alt.Scale(domain=[begins / second, max(ends, begins + 1e-3) / second], nice=False),
    )  # fmt: skip
    watts, power = (1000, "kW") if max(point["power_w"] for point in points) >= 5000 else (1, "W")
    for point in points:
        point["power"] = point["power_w"] / watts
    ticks = style.ticks(max(point["power"] for point in points) or 1)
    y = alt.Y(
        "power:Q", title=f"power [{power}]", scale=alt.Scale(domain=[0, style.HEADROOM * ticks[-1]], nice=False),
        axis=alt.Axis(values=ticks, tickCount=len(ticks)),
    )  # fmt: skip
    by = style.encodings(looks)
    fields = ("at", "power", "label", "series")
    lines = alt.Chart(style.values([{name: point[name] for name in fields} for point in points]))
    lines = lines.mark_line(strokeWidth=0.4 if by_scope else 0.8, clip=True)
    layers = [
        *_shades(phases, begins, ends, second),
        lines.encode(x, y, by["color"], by["strokeDash"], detail="series:N"),
    ]
    drawn = dict.fromkeys(SHADES[phase] for phase in phases["phase"])
    legend = [look._replace(shape=None, thickness=0.8) for look in looks]
    legend += [style.Look(label, colour, "square", [1, 0], 5) for label, colour in drawn]
    panel = alt.layer(*layers).resolve_scale(color="independent")
    return style.figure([[style.Panel(panel)]], legend, _caption(points, len(names), bool(drawn)), width)


def _shades(phases: pl.DataFrame, begins: float, ends: float, second: float) -> list[Any]:
    """One layer for the phases of the run, as far as they were measured."""
    if phases.is_empty():
        return []
    spans = [
        {
            "from": max(row["begins_s"], begins) / second, "to": min(row["ends_s"], ends) / second,
            "phase": SHADES[row["phase"]][0],
        }
        for row in phases.iter_rows(named=True)
    ]  # fmt: skip
    shades = list(dict(SHADES.values()).items())
    colours = alt.Scale(domain=[label for label, _ in shades], range=[colour for _, colour in shades])
    chart = alt.Chart(style.values(spans)).mark_rect(clip=True)
    return [chart.encode(alt.X("from:Q"), alt.Color("phase:N", scale=colours, legend=None), x2="to:Q")]


def _names(points: list[Row]) -> dict[tuple[Any, ...], str]:
    """Sensors by what sets them apart: the device, the node where there are several, the scope where that is needed."""
    sensors = list(dict.fromkeys((point["node"], point["device"], point["scope"]) for point in points))
    nodes = {node for node, _, _ in sensors}
    devices = [(node, device) for node, device, _ in sensors]
    return {
        (node, device, scope): " ".join(
            part
            for part, is_needed in (
                (node, len(nodes) > 1), (device, True), (scope, devices.count((node, device)) > 1)
            )
            if part and is_needed
        ) or "power"
        for node, device, scope in sensors
    }  # fmt: skip


def _caption(points: list[Row], sensors: int, has_phases: bool) -> list[str]:
    first = points[0]
    measured = {(point["node"], point["device"], point["scope"]): point["readings"] for point in points}
    said = [f"{first['name']}." if first.get("name") else ""]
    said.append(f"{words.span([sensors], 'sensor')}, {words.span([sum(measured.values())], 'sample')}.")
    if len(points) < sum(measured.values()):
        said.append(
            f"Drawn: {words.number(len(points))} of them, the first, last, lowest and highest of each slot of time."
        )
    if len({point["segment"] for point in points}) > 1:
        said.append("Lines break where nothing was measured for more than three sampling periods.")
    if not first["has_clock"]:
        said.append("Time since the first sample: the run has no log on the clock of the readings (power_clock).")
    elif has_phases:
        said.append("Time since the first time of the log. White: it says nothing of that time.")
    else:
        said.append("Time since the first time of the log, which has no phases.")
    return [sentence for sentence in said if sentence]
