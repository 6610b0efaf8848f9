"""Time to train of single runs against the number of devices.

Shows: what more devices buy where the question is when the model is good enough: the time to the target varies from run
    to run with the seed, and a larger batch may need more epochs.
Query: time_to_train
Encodings:
    x        devices, logarithmic, a tick at each size that was run; below them the nodes, where they are known
    y        minutes from the start of a run to its end, from 0, or logarithmic where they differ by a factor of 40
    ring     a run; a cross if it did not reach its target
    line     a benchmark of a submitter, through the median of the runs of each size that reached their target; of more
             than twelve, the fastest and the median one named and the others pale
    panel    a model, where there are several and more than six series
    caption  what the runs share, how many there are at a size, and how many did not reach their target
Source: figure 4 in P. Mattson et al., MLPerf Training Benchmark, MLSys 2020
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, facets, naming, style, words
from scalelens.charts.highlights import in_front_last, looks_of
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "time_to_train"
FACETS = True
FACTS = ("device_unit",)

_TOGETHER = 6  # series of several models in one panel
_SERIES_FACTS = ("model", "submitter", "device_model")
_FURTHER = ("system",)  # only where two of one size differ in it: a name of a system often holds its size
_SHOWN = ("devices", "minutes", "label", "own", "seed", "run_id")
_TIPS = style.tooltips("own:N", "devices:Q", "minutes:Q", "seed:N", "run_id:N")
_MISSED = style.Look("did not reach its target", style.GRAY, "cross", [1, 0], 0)


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `time_to_train`.  Raises UserError if they are of fewer than two sizes."""
    known = rows.filter(pl.col("minutes").is_not_null() & pl.col("devices").is_not_null())
    if known["devices"].n_unique() < 2:
        is_of_one_size = known["devices"].n_unique() == 1
        why = "all runs have the same number of devices" if is_of_one_size else "no run has a time and its devices"
        has_course = (rows["n_evaluations"] > 1).any()
        course = "plot accuracy score_name=eval_accuracy -o accuracy.pdf" if has_course else "query time_to_train"
        raise UserError(f"the time to train cannot be drawn against devices: {why}", f"see: scalelens {course}")
    points: list[Row] = known.sort("devices", "minutes", "run_id").to_dicts()
    models = naming.without_vendors(point["device_model"] for point in points)
    for point in points:
        point["device_model"] = models[point["device_model"]]
        point["series"] = " · ".join(f"{point[fact]}" for fact in _SERIES_FACTS)
    shared = naming.name_by_facts(points, _SERIES_FACTS, _FURTHER, style.legend_room(page))
    caption = [shared, *_caption(points, rows.height - known.height)]
    page = _with_panels(points, page)
    facets.take_from_labels(points, page.facet)
    chosen = looks_of(facets.parts(points, page), _least_minutes, page, is_lower_better=True)
    looks, points = chosen.looks, in_front_last(points)
    if chosen.is_part:
        where = " in each panel" if page.facet else ""
        caption.insert(1, f"Named{where}: the fastest series, and the one in the middle.")
    sizes = Counter(row["label"] for row in _medians(points))
    joined = {label for label, count in sizes.items() if count > 1}
    legend: list[style.Look | style.IntervalLook] = [
        *style.without_lines((look for look in looks if look.label), joined)
    ]
    legend += [_MISSED] if any(point["is_converged"] is False for point in points) else []
    x = axes.of_devices(points)
    y = axes.from_zero_or_logarithmic("minutes", "time to train [min]", [point["minutes"] for point in points])
    grid = facets.panels(points, page, lambda part, y: _panel(part, looks, x, y), x, y, chosen.lines)
    return style.figure(grid, legend, [sentence for sentence in caption if sentence], page)


def _with_panels(points: Sequence[Row], page: Page) -> Page:
    """The page with a panel for each model, where the legend of one panel would be as high as the panel."""
    models, series = ({point[name] for point in points} for name in ("model", "label"))
    is_split = not page.facet and len(series) > _TOGETHER and 1 < len(models) <= facets.MOST_PANELS
    return page._replace(facet="model") if is_split else page


def _least_minutes(points: Sequence[Row]) -> float | None:
    """The shortest median time of a size of a series; None where no run reached its target."""
    return min((row["minutes"] for row in _medians(points)), default=None)


def _panel(points: Sequence[Row], looks: Sequence[style.Look], x: Any, y: Any) -> Any:
    """The runs as points, and a line through the medians of each size."""
    by = style.encodings(looks)
    line = alt.Chart(style.values(_medians(points))).mark_line()
    layers = [line.encode(x, y, by["color"], by["strokeDash"], by["strokeWidth"], detail=alt.Detail("own:N"))]
    if reached := _marks(points, is_missed=False):
        ring = reached.mark_point(filled=False, fill="white", strokeWidth=0.8)
        layers.append(ring.encode(x, y, by["color"], by["shape"], tooltip=_TIPS))
    if missed := _marks(points, is_missed=True):
        cross = missed.mark_point(shape="cross", color=_MISSED.color)
        layers.append(cross.encode(x, y, tooltip=_TIPS))
    return alt.layer(*layers)


def _marks(points: Sequence[Row], is_missed: bool) -> Any:
    """A chart of the runs that missed their target, or of the others; None if there are none."""
    chosen = [point for point in points if (point["is_converged"] is False) == is_missed]
    return alt.Chart(style.values([{name: row[name] for name in _SHOWN} for row in chosen])) if chosen else None


def _medians(points: Sequence[Row]) -> list[Row]:
    """The median of the runs of each series and size that did not miss their target."""
    times: dict[tuple[str, str, int], list[float]] = {}
    for point in points:
        if point["is_converged"] is not False:
            times.setdefault((point["own"], point["label"], point["devices"]), []).append(point["minutes"])
    return [
        {"own": own, "label": label, "devices": devices, "minutes": median(found)}
        for (own, label, devices), found in times.items()
    ]


def _caption(points: Sequence[Row], undrawn: int) -> list[str]:
    sizes = list(Counter((point["label"], point["devices"]) for point in points).values())
    lines = [f"Each mark: 1 run, from its start to its end; {words.counted(sizes, 'run')} at each size."]
    if max(sizes) > 1:
        lines.append("Line: the median of the runs of a size.")
    missed = sum(point["is_converged"] is False for point in points)
    if missed:
        lines.append(f"Not part of a line: {words.counted([missed], 'run')} that did not reach the target.")
    if undrawn:
        lines.append(f"Not drawn: {words.counted([undrawn], 'run')} without a time or a number of devices.")
    return lines
