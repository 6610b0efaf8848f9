"""Energy of runs side by side, the largest first.

Shows: which runs took how much energy, where no step or batch is known to divide it by.
Query: energy_reconciled
Encodings:
    y        a run, the largest energy first; where several tools measured a run, a bar for each
    x        its energy, each joule once
    panel    what the sensors cover: GPUs, the whole machine, not stated; figures of unlike scopes are not compared
    bar      the energy; where only bounds are known, pale from the least to the most
    many     of more runs than bars find room for: points over a number in their names that the energies follow, such as
             a clock, with a line through the medians; else those whose names differ only in what matters least (a
             repeat, a date) share a bar; else a tick each on the line of their folder or file, with its median
    caption  tools, measurements, what bounds mean
Source: energy_reconciled, by which windows, files and ranks add up
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, facets, many_runs, run_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.run_bars import Measure
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "energy_reconciled"
FACTS = ("name",)
BY_FOLDER = True

_MOST_BARS, _MOST_PANELS = 48, 3
_BAND = 9.5  # height of a bar with its gap
_WIDE = 20  # times below the unit of the axis: such an energy has a unit of its own
_COLOR, _PALE = "#a6cee3", "#dcecf6"  # light, because text is written on them
_SCOPES = {"gpu": "GPUs", "gcd": "GCDs", "ipu": "IPUs", "hpu": "HPUs", "oam": "OAM modules", "module": "modules",
           "board": "boards", "total": "all that the tool measures", "cpu": "CPUs", "node_ac": "nodes",
           "node_dc": "nodes", "job": "job", "job step": "job step"}  # fmt: skip
_UNSTATED = "scope not stated"
_PALE_SAYS = "Pale: from the largest measurement to the sum of all"
# Formats of no tool, as a paper would say it; the others have the name of their tool.
SOURCES = {"energy_table": "tables of energy", "power_csv": "tables of power", "power_lines": "lines of power",
            "jpwr_energy": "jpwr's energies", "jpwr_hdf5": "jpwr in HDF5",
            "nvidia_smi_query": "nvidia-smi", "energy_lines": "lines of energy",
            "megatron_energy": "Megatron's energies",
            "jpwr_console": "jpwr's tables", "jube_result": "tables of JUBE", "amd_smi": "amd-smi",
            "rapl_csv": "counters of RAPL", "pm_counters": "counters of the node", "cray_rur": "RUR",
            "zeus": "Zeus", "mlperf": "MLPerf's power logs",
            "zeus_log": "Zeus", "zeus_measurement": "Zeus", "zeus_power": "Zeus", "zeus_windows": "Zeus",
            "perun_hdf5": "perun", "perun_json": "perun", "perun_report": "perun",
            "dcgm_dmon": "DCGM", "dcgm_exporter": "DCGM", "geopm_report": "GEOPM", "ear": "EAR", "likwid": "LIKWID",
            "mlperf_power": "MLPerf's power logs", "perf_energy": "perf", "power_gadget": "Power Gadget",
            "prometheus_range": "Prometheus", "prometheus_text": "Prometheus",
            "scheduler": "the scheduler", "log": "the log", "slurm": "Slurm",
            "carbontracker": "CarbonTracker", "codecarbon": "CodeCarbon", "eco2ai": "Eco2AI",
            "energibridge": "EnergiBridge", "gc_monitor": "gc-monitor", "influx_power": "InfluxDB",
            "ipmi_dcmi": "ipmitool", "kwollect": "Kwollect", "mlflow_database": "MLflow", "npu_smi": "npu-smi",
            "nvidia_smi": "nvidia-smi", "nvidia_smi_dmon": "nvidia-smi", "nvidia_smi_q": "nvidia-smi",
            "nvidia_smi_xml": "nvidia-smi", "omnistat": "Omnistat", "perun_csv": "perun",
            "powerjoular": "PowerJoular", "ptdaemon": "PTDaemon", "pyjoules": "pyJoules", "pyjoules_lines": "pyJoules",
            "rocm_smi": "rocm-smi", "rocm_smi_table": "rocm-smi", "scaphandre": "Scaphandre",
            "trackio_database": "trackio", "wandb_run": "W&B", "wandb_system": "W&B"}  # fmt: skip
_UNITS = ((3.6e9, "MWh"), (3.6e6, "kWh"), (3600.0, "Wh"))
_SMALLEST = (1.0, "J")


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `energy_reconciled`.  Raises UserError where no energy is known."""
    energy = pl.coalesce("energy_j", "high_j")
    known = rows.filter(energy.is_not_null() & (energy > 0) & pl.col("part_of").is_null())
    if known.is_empty():
        raise UserError("no run has a measured energy", "see what is known: scalelens query energy_reconciled")
    by_scope: dict[str, list[Row]] = {}
    for row in known.sort(energy, "run_id", descending=[True, False], maintain_order=True).to_dicts():
        scope = row["scope"]
        by_scope.setdefault(_SCOPES.get(scope, scope.replace("_", " ")) if scope else _UNSTATED, []).append(row)
    shown = sorted(by_scope.items(), key=lambda pair: -len(pair[1]))[:_MOST_PANELS]
    undrawn = {"of other scopes": known.height - sum(len(points) for _, points in shown)}
    most = _MOST_BARS // len(shown)
    many = {scope for scope, points in shown if len(points) > most and _has_each_run_once(points)}
    shown = [(scope, points if scope in many else points[:most]) for scope, points in shown]
    undrawn["with less energy"] = sum(len(by_scope[scope]) - len(points) for scope, points in shown)
    highest = [max(_ends(point)[1] for point in points) for _, points in shown]
    units = [_unit_of(max(highest) if max(highest) <= _WIDE * high else high) for high in highest]
    grid: list[list[style.Panel]] = []
    legend: list[style.Look] = []
    notes: list[str] = []
    for (scope, points), (size, unit) in zip(shown, units, strict=True):
        heading = scope if len(shown) > 1 else ""
        title = "energy" if heading or scope == _UNSTATED else f"energy of {scope}"
        bounded = scope in many and any(point["energy_j"] is None for point in points)
        title = f"{title}{', at most' if bounded else ''} [{unit}]"
        if scope in many:
            runs = [point | {"energy": _ends(point)[1] / size} for point in points]
            panel, looks, note = many_runs.drawn(runs, Measure("energy", title, "most"), page, most)
            legend += [look for look in looks if look not in legend]
            note = f"{heading[:1].upper()}{heading[1:]}: {note[:1].lower()}{note[1:]}" if heading and note else note
            notes += [note] if note and note not in notes else []
        else:
            panel = _bars(points, title, size, page)
        grid.append([panel._replace(chart=facets.titled(panel.chart, heading, 1, page), name=heading)])
    return style.figure(grid, legend, [*_caption(shown, many, undrawn), *notes], page)


def _has_each_run_once(points: Sequence[Row]) -> bool:
    """Whether the runs can be told by their energies: each has one, and all are known, or of all the bounds."""
    are_known = {point["run_id"]: point["energy_j"] is not None for point in points}
    return len(are_known) == len(points) and len({*are_known.values()}) == 1


def _bars(points: Sequence[Row], title: str, size: float, page: Page) -> style.Panel:
    """The bars of one scope, in a unit of `size` joules."""
    highest = max(_ends(point)[1] for point in points)
    room = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    is_wide = min(_ends(point)[1] for point in points) < size / _WIDE
    bars = []
    for place, point in enumerate(points):
        low, high = (end / size for end in _ends(point))
        amount = _amount(*_ends(point), size, is_wide)
        bars.append({"place": place, "low": low, "high": high, "run_id": point["run_id"],
                     "text": words.shorten(f"{_name(point, points)} · {amount}", room)})  # fmt: skip
    axis = alt.Axis(tickCount=5, **axes.even_labels(highest / size))
    x = alt.X("low:Q", title=title, scale=alt.Scale(domainMin=0, nice=False), axis=axis)
    y = alt.Y("place:O", title=_title(len(bars)), axis=alt.Axis(labels=False, ticks=False, domain=False))
    chart = alt.Chart(style.values(bars))
    tips = style.tooltips("text:N", "run_id:N")
    bar = chart.mark_bar(height={"band": 0.85}, color=_COLOR).encode(x, y, tooltip=tips)
    text = chart.mark_text(align="left", baseline="middle", dx=2).encode(y=y, x=alt.value(0), text=alt.Text("text:N"))
    pale = chart.mark_bar(height={"band": 0.85}, color=_PALE).encode(x=x, x2=alt.X2("high:Q"), y=y, tooltip=tips)
    bounds = [pale] if any(bar["low"] != bar["high"] for bar in bars) else []

    return style.Panel(alt.layer(bar, *bounds, text), height=_BAND * len(bars))


def _amount(low: float, high: float, size: float, with_units: bool) -> str:
    """An energy, or its bounds, in the unit of the axis, else in one that suits it."""
    unit = ""
    if with_units:
        size, unit = _unit_of(high)
    ends = [words.short_number(end / size) for end in ((high,) if low == high else (low, high))]
    return " ".join([" to ".join(ends), unit]).rstrip()


def _unit_of(energy: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in _UNITS if energy >= size), _SMALLEST)


def _ends(point: Row) -> tuple[float, float]:
    """At least and at most, in joules; the same where the energy is known."""
    known = point["energy_j"]
    return (known, known) if known is not None else (point["low_j"] or 0.0, point["high_j"])


def _name(point: Row, points: Sequence[Row]) -> str:
    name = run_bars.name(point)
    is_alone = sum(other["run_id"] == point["run_id"] for other in points) == 1
    return name if is_alone else f"{name}, {tool(point)}"


def tool(point: Row) -> str:
    """What measured it: the tools of a file that several formats read, without the formats of other lines."""
    source = str(point["source"])
    tools = dict.fromkeys(SOURCES[part] for part in source.split() if part in SOURCES)
    return " and ".join(tools) or source


def _title(bars: int) -> str:
    """As long as the axis has room for."""
    return "runs, the most first" if bars > 7 else "runs" if bars > 1 else "run"


def _caption(shown: Sequence[tuple[str, list[Row]]], many: Collection[str], undrawn: Mapping[str, int]) -> list[str]:
    drawn = [row for _, points in shown for row in points]
    of_one_scope = f" of {shown[0][0]}" if len(shown) == 1 and shown[0][0] != _UNSTATED else ""
    sources = sorted({tool(row) for row in drawn})
    lines = [f"Energy{of_one_scope} in a run, from {', '.join(sources)}; each joule counts once."]
    windows = [row["windows"] for row in drawn if row["windows"]]
    if windows:
        lines.append(f"{words.counted(windows, 'measurement')} per run.")
    bounded = {scope in many for scope, rows in shown if any(row["energy_j"] is None for row in rows)}
    for in_points, which in ((True, "At most: the sum of all measurements"), (False, _PALE_SAYS)):
        if in_points in bounded:
            lines.append(f"{which}, because it is unknown when they took place.")
    hidden = [f"{words.counted([count], 'figure')} {which}" for which, count in undrawn.items() if count]
    return [*lines, f"Not drawn: {', '.join(hidden)}."] if hidden else lines
