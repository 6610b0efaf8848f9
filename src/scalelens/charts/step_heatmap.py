"""Compute of each rank in each step.

Shows: the time that every rank computes in every step, as a map: a slow rank is a row, a slow step a column, a hiccup a
    spot.
Query: temporal_breakdown
Encodings:
    x        a step
    y        a rank, from the top
    color    time in which the device computed, against the median over all ranks and steps: blue for shorter, orange
             and darker for longer; the classes begin at 2 and 10 %, so that noise does not fill the map, and further
             out where a quarter of the cells is more than that from the median
    panel    one; if there are too many ranks or steps, they are grouped, and one panel shows the median of each group,
             another one its longest time, so that no hiccup is lost; of one rank alone bars, from 0
    caption  ranks, steps, the median, the shortest and the longest, which part of the traces, what was grouped
Source: the heat map of ranks and steps in MegaScale (Jiang et al., NSDI'24, section 5), for compute only
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "temporal_breakdown"
PARAMETERS = {"per": "step"}

# Of the classes, from the shortest time to the longest: blue for shorter, orange for longer, gray between them; and
# darker for longer, so that the order is seen in gray too.
COLORS = ("#dff1ff", "#a9d8f5", "#c0c0c0", "#e08214", "#8c2d04")
_LIMITS = ((2, 10), (5, 25), (10, 50))  # percent from the median at which the classes begin, for more and more spread
_FAR_SHARE = 0.25  # of the cells that may lie in the outer classes before the next limits are taken
MOST_RANKS, MOST_STEPS = 64, 256  # rows and columns of the map: more would be thinner than two points
_FEW_CELLS = 2000  # so few are separated by white lines, which would cover more cells


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `temporal_breakdown` per step.  Raises UserError without steps, or for several runs."""
    known = rows.filter(pl.col("train_step").is_not_null()).sort("rank", "file_id", "train_step")
    if known.is_empty():
        raise UserError(
            "there are no steps of a rank to draw", "a trace needs annotated steps; see: scalelens query trace_steps"
        )
    several = known.filter(pl.len().over("run_id") > 1)  # a row is a rank in a step
    if several.is_empty():
        raise UserError(
            "a trace of one rank and one step has nothing to compare them with",
            "its times are in: scalelens query temporal_breakdown",
        )
    limits.check_one_run(several, "ranks and steps")
    undrawn = known["run_id"].n_unique() - 1
    cells = _cells(several)
    n_ranks, n_steps = cells["rank"].n_unique(), cells["step"].n_unique()
    is_grouped = n_ranks > MOST_RANKS or n_steps > MOST_STEPS
    grouped = _grouped(cells, n_ranks, n_steps) if is_grouped else {"": cells}
    middle = float(cells["compute_ms"].median() or 0) or math.inf  # type: ignore[arg-type]
    classes = _classes(cells["compute_ms"] / middle)
    draw_cells = _bars if n_ranks == 1 else _map
    panels = [
        style.Panel(draw_cells(_classified(part, middle, classes), title, classes)) for title, part in grouped.items()
    ]
    legend = [style.swatch(label, color) for label, (_, color) in classes.items()]
    caption = _caption(cells, parameters)
    if undrawn:
        caption.append(f"Not drawn: {words.counted([undrawn], 'run')} of one rank and one step.")
    if is_grouped:
        caption += [_about_groups(n_ranks, n_steps)]
    return style.figure([panels] if page.is_wide else [[panel] for panel in panels], legend, caption, page)


def _cells(known: pl.DataFrame) -> pl.DataFrame:
    """A cell for each rank and step; a trace without a rank is named by its content."""
    rank = pl.coalesce(pl.col("rank").cast(pl.String), pl.col("file_id").str.head(6))
    return known.select(rank=rank, step="train_step", compute_ms=pl.col("compute_ns") / 1e6)


def _grouped(cells: pl.DataFrame, n_ranks: int, n_steps: int) -> dict[str, pl.DataFrame]:
    """Groups of neighboring ranks and steps, named by their first, for each panel by its title."""
    groups = cells.with_columns(
        row=pl.col("rank").replace_strict(_places(cells["rank"].unique(maintain_order=True)))
        // _across(n_ranks, MOST_RANKS),
        column=pl.col("step").replace_strict(_places(cells["step"].unique().sort())) // _across(n_steps, MOST_STEPS),
    )
    groups = groups.with_columns(rank=pl.first("rank").over("row"), step=pl.min("step").over("column"))
    by_group = groups.group_by("rank", "step", maintain_order=True)
    return {
        "median of each group": by_group.agg(pl.median("compute_ms")),
        "longest of each group": by_group.agg(pl.max("compute_ms")),
    }


def _places(values: pl.Series) -> dict[Any, int]:
    return {value: k for k, value in enumerate(values)}


def _across(count: int, most: int) -> int:
    """The size of groups of which there are at most `most`."""
    return math.ceil(count / most)


def _about_groups(n_ranks: int, n_steps: int) -> str:
    ranks = words.counted([_across(n_ranks, MOST_RANKS)], "rank")
    steps = words.counted([_across(n_steps, MOST_STEPS)], "step")
    return f"A cell: {ranks} and {steps} put together, named by the first."


def _classes(ratios: pl.Series) -> dict[str, tuple[float, str]]:
    """The classes by their names, each with its longest time over the median and its color."""
    spread = 100 * (ratios - 1).abs()
    most = _FAR_SHARE * len(ratios)
    near, far = next((ends for ends in _LIMITS if (spread >= ends[1]).sum() <= most), _LIMITS[-1])
    longest = {
        f"{far} % shorter or more": 1 - far / 100,
        f"{near} to {far} % shorter": 1 - near / 100,
        f"within {near} %": 1 + near / 100,
        f"{near} to {far} % longer": 1 + far / 100,
        f"{far} % longer or more": math.inf,
    }
    return {label: (most, color) for (label, most), color in zip(longest.items(), COLORS, strict=True)}


def _classified(cells: pl.DataFrame, middle: float, classes: Mapping[str, tuple[float, str]]) -> list[Row]:
    """The cells with their class: their time against the median of all cells."""
    rows = cells.to_dicts()
    for row in rows:
        row["class"] = next(label for label, (most, _) in classes.items() if row["compute_ms"] / middle < most)
    return rows


def _color(classes: Mapping[str, tuple[float, str]]) -> Any:
    scale = alt.Scale(domain=list(classes), range=[color for _, color in classes.values()])
    return alt.Color("class:N", scale=scale, legend=None)


def _bars(cells: Sequence[Row], title: str, classes: Mapping[str, tuple[float, str]]) -> Any:
    """The steps of one rank, which would make a map of one row."""
    steps = sorted(_different(cells, "step"))
    x = alt.X("step:O", title="step", sort=steps, axis=alt.Axis(labelAngle=0, labelSeparation=3, labelOverlap="greedy"))
    y = axes.from_zero("compute_ms", "compute per step [ms]", max(cell["compute_ms"] for cell in cells))
    chart = alt.Chart(style.values(cells)).mark_bar().encode(x, y, _color(classes))
    return chart.properties(title=title) if title else chart


def _map(cells: Sequence[Row], title: str, classes: Mapping[str, tuple[float, str]]) -> Any:
    ranks, steps = _different(cells, "rank"), sorted(_different(cells, "step"))
    bare = {"labelOverlap": "greedy", "ticks": False, "domain": False}
    gap = 0.3 if len(cells) < _FEW_CELLS else 0
    labels = {} if gap else {"aria": False}  # labels of cells for screen readers would be half of a large file
    chart = alt.Chart(style.values(cells)).mark_rect(stroke="white", strokeWidth=gap, **labels)
    chart = chart.encode(
        x=alt.X("step:O", title="step", sort=steps, axis=alt.Axis(labelAngle=0, labelSeparation=3, **bare)),
        y=alt.Y("rank:O", title="rank", sort=ranks, axis=alt.Axis(**bare)),
        color=_color(classes),
    )
    return chart.properties(title=title) if title else chart


def _different(cells: Sequence[Row], field: str) -> list[Any]:
    """The distinct values of a field, in the order of the cells."""
    return list(dict.fromkeys(cell[field] for cell in cells))


def _caption(cells: pl.DataFrame, parameters: Mapping[str, str] | None) -> list[str]:
    ranks, steps = cells["rank"].n_unique(), cells["step"].n_unique()
    times = cells["compute_ms"]
    low, middle, high = (words.short_number(value) for value in (times.min(), times.median(), times.max()))  # type: ignore[arg-type]
    return [
        f"{words.counted([ranks], 'rank')}, {words.counted([steps], 'step')}, {words.part_of_traces(parameters)}.",
        f"Compute per step: median {middle} ms, from {low} to {high} ms."
        + (" Blank: the trace has no work of that step." if ranks > 1 else ""),
    ]
