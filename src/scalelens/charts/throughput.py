"""Throughput of a device against the number of devices.

Shows: throughput per device: a level line is perfect scaling, and repeats and configurations that differ are visible.
Query: throughput
Encodings:
    x        devices, logarithmic, a tick at each size that was run
             below them the nodes, where they are known; the nodes alone where no log states the devices
    y        tokens per second of a device if all runs of a panel have them, else samples; from 0, or logarithmic where
             runs differ by a factor of 40; where no rate follows from steps, what the logs print
    panel    a kind of work, with an axis of its own: samples of unlike models or data sets are not compared
    point    a run, by the color and shape of its series, which is named by what sets it apart: system, framework,
             model, precision, device, batch, sequence length, parallelism; no line joins runs that may differ in more
    caption  what the series share, runs, records, what the rates hold, what was left out
    unit     devices as the logs count them; --unit gpu adds the two GCDs of a module
             those of different series that would overlap stand beside each other
    bar      a run with its name, the fastest first, where no series has two numbers of devices, or where only their
             names tell most of them apart, or where no log states the devices; where the devices of most runs are
             unknown, the rate of the whole job, or the printed one of which nothing says what it is of
             of more than 48 runs: over a number in their names that the rates follow, such as a batch; else those
             whose names differ only in what matters least (a seed, a date) share a bar; else a tick each on a line,
             for each folder, file or value of a setting
             the median step time of runs of which most have no rate, as no log states what a step does
    look     of more than twelve series, the fastest and the median one are named and the others pale
    --mark bar  the rate of all devices of a run, bars of the series side by side at each number of devices, a panel
             for each model
Source: bars of images and tokens per second and device in the results of MLPerf and of CARAML (SC'24 workshops)
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import (
    axes,
    device_units,
    dodge,
    exclusions,
    facets,
    limits,
    naming,
    run_rates,
    run_times,
    size_bars,
    style,
    words,
    work_kinds,
)  # fmt: skip
from scalelens.charts.highlights import Chosen, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "throughput"
FACETS = True
UNITS = True
BARS = True
FACTS = (
    "name",
    "global_batch_size",
    "device_unit",
    "framework",
    "system",
    "device_model",
    "dataset",
    *naming.FURTHER_FACTS,
)
BY_FOLDER = True
_RATES = ["device_samples_per_s", "device_tokens_per_s"]
_HAS_RATE = pl.any_horizontal(pl.col(_RATES).is_not_null())
_AS_PRINTED = ", as printed"
_SERIES_FACTS = ("system", "framework", "model", "precision", "device_model")
_FURTHER_FACTS = ("batch_per_device", *naming.FURTHER_FACTS)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `throughput`.  Raises UserError if no run has a rate of a device."""
    rated, is_printed = rows.filter(_HAS_RATE), False
    if rated.is_empty():
        rated, is_printed = _printed(_with_nodes(rows)).filter(_HAS_RATE), True
    if not page.mark and 2 * rated.height < rows.height and rows["nodes"].n_unique() == 1:
        of_jobs, jobs_printed = _of_jobs(rows)
        if 2 * rated.height < of_jobs.height:  # the devices of most runs are unknown
            rated, is_printed = of_jobs, jobs_printed
    if not page.mark and not page.facet and (timed := run_times.of(rows, rated.height)):
        grid, looks, of_times = run_times.panels(timed, rows.height - len(timed), page)
        return style.figure(grid, looks, [*of_times, exclusions.sentence(left_out, parameters)], page)
    sized = rated.filter(pl.col("devices").is_not_null())
    known = rated if sized.is_empty() else sized  # a rate of a device needs no number of them, if no run has it
    every = known.sort("model", "precision", "devices", "run_id").to_dicts()
    page = size_bars.facet_of(every, page) if page.mark else page
    kinds = work_kinds.of(every, is_split=not page.facet and not page.mark)
    points = [point for kind in kinds for point in kind.points]
    if not points:
        raise UserError("no run has a known throughput per device", "see what there is: scalelens query throughput")
    limits.check_marks(len(points), "runs")
    facets.check(len(kinds), page)
    is_added = device_units.in_unit(points, page.unit)
    for point in points:
        point["series"] = " ".join(f"{point[fact]}" for fact in _SERIES_FACTS)
    shared = naming.name_by_facts(points, _SERIES_FACTS, _FURTHER_FACTS, style.legend_room(page))
    work_kinds.take_from_labels(kinds)
    hidden = rows.height - len(points)
    is_bars = sized.is_empty() or (not page.mark and not page.facet and _are_bars(kinds, points, page))
    facets.take_from_labels(points, page.facet)
    ending = _AS_PRINTED if is_printed else ""
    notes: list[str] = []
    is_dodged = False
    if page.mark and not sized.is_empty():
        grid, legend = size_bars.panels(points, kinds[0].work, page, ending)
        is_bars = True
    elif is_bars:
        grid, legend, notes = run_rates.panels(kinds, page, ending)
    else:
        grid, legend, is_dodged = _points(kinds, page, ending)
    mark = "bar" if is_bars else "point"
    is_shared = is_bars and not page.mark and len(points) > run_rates.MOST_RUNS
    caption = [shared, *_caption(kinds, hidden, None if is_shared else mark, is_added, is_printed), *notes]
    caption += [_of_unsized(rows, is_printed)] if words.unit(points) == words.JOB else []
    caption += [dodge.NOTE] if is_dodged else []
    caption += [size_bars.NOTE] if page.mark else []
    return style.figure(grid, legend, [*filter(None, caption), exclusions.sentence(left_out, parameters)], page)


def _printed(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the rates that the logs print as those of a device, if they say of what: a rank has one device."""
    scope = pl.col("rate_scope")
    of_devices = pl.when(scope == "rank").then(1).when(scope == "global").then(pl.col("devices"))
    return rows.with_columns(
        (pl.col(f"printed_{work}_per_s") / of_devices).alias(f"device_{work}_per_s") for work in ("samples", "tokens")
    )


def _with_nodes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with nodes for devices, where no log states the devices of a rate and each the nodes.

    The rate must grow at least with the root of the nodes: one that does not may be of a device.
    """
    of_jobs = rows.filter(pl.col("rate_scope").is_not_null())
    if of_jobs["devices"].count() or of_jobs["nodes"].null_count() or (of_jobs["rate_scope"] == "rank").any():
        return rows
    rates = of_jobs.select("nodes", rate=pl.coalesce("printed_tokens_per_s", "printed_samples_per_s"))
    sizes = rates.sort("nodes", "rate").rows()
    if not sizes or sizes[-1][0] == sizes[0][0] or sizes[-1][1] / sizes[0][1] < (sizes[-1][0] / sizes[0][0]) ** 0.5:
        return rows
    return rows.with_columns(devices="nodes", device_unit=pl.lit(words.NODE))


def _of_jobs(rows: pl.DataFrame) -> tuple[pl.DataFrame, bool]:
    """The rows with the rates of whole jobs for those of a device, and whether these are what the logs print."""
    works = ("samples", "tokens")
    is_of_job = pl.col("rate_scope").ne_missing("rank")
    by_steps = rows.with_columns(pl.col(f"{work}_per_s").alias(f"device_{work}_per_s") for work in works)
    printed = rows.with_columns(
        pl.when(is_of_job).then(f"printed_{work}_per_s").alias(f"device_{work}_per_s") for work in works
    )
    by_steps, printed = by_steps.filter(_HAS_RATE), printed.filter(_HAS_RATE)
    found = printed if printed.height > by_steps.height else by_steps
    unsized = (pl.lit(None, pl.Int64).alias("devices"), pl.lit(words.JOB).alias("device_unit"))
    return found.with_columns(*unsized, pl.lit(None, pl.Float64).alias("batch_per_device")), found is printed


def _of_unsized(rows: pl.DataFrame, is_printed: bool) -> str:
    """A sentence on the devices that are not known, or on printed rates of which nothing says what they are of."""
    printed = rows.filter(pl.any_horizontal(pl.col("printed_tokens_per_s", "printed_samples_per_s").is_not_null()))
    if is_printed and printed["rate_scope"].null_count():
        return "Nothing says whether the rates are of the job or of a device."
    logs = "no log states" if rows["devices"].count() == 0 else "most logs do not state"
    return f"Rates of whole jobs, because {logs} the number of devices."


def _are_bars(kinds: Sequence[work_kinds.Kind], points: Sequence[Row], page: Page) -> bool:
    """Whether the names of the runs tell more than their devices, and can be drawn."""
    if len(points) > run_rates.MOST_RUNS:
        return run_rates.are_told_apart(kinds, page)
    return len(points) > 1 and run_rates.tells_more(points)


def _looks(kinds: Sequence[work_kinds.Kind], page: Page) -> Chosen:
    """The looks of the series; of more than a legend can name, those of the fastest and the median one stand out."""
    (first, *others) = kinds
    panels = {kind.name: kind.points for kind in kinds} if others else facets.parts(first.points, page)
    rate_of = {id(point): point[kind.rate] for kind in kinds for point in kind.points}
    chosen = looks_of(panels, lambda points: median(rate_of[id(point)] for point in points), page)
    for kind in kinds:
        kind.points.sort(key=lambda point: point["front"])
    return chosen


def _points(kinds: Sequence[work_kinds.Kind], page: Page, ending: str) -> tuple[Any, list[Any], bool]:
    """Panels with a point for each run, their legend, and whether points stand beside their ticks."""
    looks, lines, _ = _looks(kinds, page)
    points = [point for kind in kinds for point in kind.points]
    legend: list[style.Look | style.IntervalLook] = [look._replace(thickness=0) for look in looks if look.label]
    by, x, moved = style.encodings(looks), axes.of_devices(points), False

    def panel(part: Sequence[Row], y: Any, rate: str) -> Any:
        nonlocal moved
        names = ("devices", rate, "label", "run_id")
        places = dodge.offsets(part, rate, y, page)
        moved = moved or any(places)
        layers = []
        for place in sorted(set(places)):
            here = [point for point, other in zip(part, places, strict=True) if other == place]
            chart = alt.Chart(style.values([{name: point[name] for name in names} for point in here]))
            mark = chart.mark_point(opacity=0.85, **({"xOffset": place} if place else {}))
            tips = style.tooltips("label:N", "run_id:N", f"{rate}:Q")
            layers.append(mark.encode(x, y, by["color"], by["shape"], tooltip=tips))
        return layers[0] if len(layers) == 1 else alt.layer(*layers)

    def y_of(kind: work_kinds.Kind) -> Any:
        title = f"{kind.work}/s per {words.unit(points)}{ending}"
        return axes.from_zero_or_logarithmic(kind.rate, title, (point[kind.rate] for point in kind.points))

    if len(kinds) == 1:
        (kind,) = kinds
        grid = facets.panels(points, page, lambda part, y: panel(part, y, kind.rate), x, y_of(kind), lines)
    else:
        columns = facets.across(len(kinds), page, x["title"])
        charts = [panel(kind.points, y_of(kind), kind.rate) for kind in kinds]
        grid = work_kinds.grid(kinds, charts, columns, page, lines)
    return grid, legend, moved


def _caption(
    kinds: Sequence[work_kinds.Kind], hidden: int, mark: str | None, is_added: bool, is_printed: bool
) -> list[str]:
    """What a mark is, or what each run gave where several share one, and what is not drawn."""
    points = [point for kind in kinds for point in kind.points]
    works = " or ".join(sorted({kind.work for kind in kinds}))
    if is_printed:
        one = f"Each {mark}: 1 run;" if mark else "Each run:"
        lines = [f"{one} {works}/s as its log prints them, whatever they include."]
    else:
        steps = words.counted([point["n_steps"] for point in points], "record")
        one = f"Each {mark}: 1 run of" if mark else "Each run:"
        lines = [f"{one} {steps}; total {works} over total time, stalls included."]
    lines += [work_kinds.NOTE] if len(kinds) > 1 else []
    is_of_devices = words.unit(points) not in (words.JOB, words.NODE)
    if words.unit(points) == words.NODE or (is_of_devices and all(point["devices"] is None for point in points)):
        lines.append("No log states the number of devices.")
    lines += [device_units.ADDED] if is_added else []
    if hidden:
        lacking = works if words.unit(points) == words.JOB else f"devices or {works}"
        lines.append(f"Not drawn: {words.counted([hidden], 'run')} without {lacking}.")
    return lines
