"""Compute of each rank in each step.

Shows: the time that every rank computes in every step, as a map, so that a slow rank is a row, a slow step a column,
    and a hiccup a spot.
Query: temporal_breakdown
Encodings:
    x        a step
    y        a rank, from the top
    colour   time in which the device computed, against the median over all ranks and steps: blue for shorter, orange
             and darker for longer; the classes are fixed, so that noise does not fill the map
    caption  ranks, steps, the median, the shortest and the longest, which part of the traces
Source: the heat map of ranks and steps in MegaScale (Jiang et al., NSDI'24, section 5), for compute alone
"""

import math
import statistics
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import limits, style, words
from scalelens.charts.page import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "temporal_breakdown"
PARAMETERS = {"per": "step"}

# Longest time of each class over the median, and its colour: blue for shorter, orange for longer, grey between them;
# and darker for longer, so that the order is seen in grey too.
CLASSES = {
    "10 % shorter or more": (0.90, "#dff1ff"),
    "2 to 10 % shorter": (0.98, "#a9d8f5"),
    "within 2 %": (1.02, "#c0c0c0"),
    "2 to 10 % longer": (1.10, "#e08214"),
    "10 % longer or more": (math.inf, "#8c2d04"),
}
MOST_CELLS = 40_000
FEW_CELLS = 2000  # so few are set apart by white lines, which would be all that is seen of more


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
    limits.check_one_run(known, "ranks and steps")
    hint = "ask with SQL: scalelens sql \"FROM temporal_breakdown(per := 'step')\""
    limits.check_count(known.height, MOST_CELLS, "ranks and steps", hint)
    cells = _cells(known)
    legend = [style.swatch(label, colour) for label, (_, colour) in CLASSES.items()]
    return style.figure([[style.Panel(_map(cells))]], legend, _caption(cells, parameters), page)


def _cells(known: pl.DataFrame) -> list[Row]:
    """A cell for each rank and step, with its class."""
    rows = known.to_dicts()
    median = statistics.median(row["compute_ns"] / 1e6 for row in rows) or math.inf
    cells = []
    for row in rows:
        time = row["compute_ns"] / 1e6
        label = next(label for label, (most, _) in CLASSES.items() if time / median < most)
        cells.append({"rank": _rank(row), "step": row["train_step"], "compute_ms": time, "class": label})
    return cells


def _map(cells: list[Row]) -> Any:
    ranks, steps = _different(cells, "rank"), sorted(_different(cells, "step"))
    bare = {"labelOverlap": "greedy", "ticks": False, "domain": False}
    classes = alt.Scale(domain=list(CLASSES), range=[colour for _, colour in CLASSES.values()])
    gap = 0.3 if len(cells) < FEW_CELLS else 0
    chart = alt.Chart(style.values(cells)).mark_rect(stroke="white", strokeWidth=gap)
    return chart.encode(
        x=alt.X("step:O", title="step", sort=steps, axis=alt.Axis(labelAngle=0, labelSeparation=3, **bare)),
        y=alt.Y("rank:O", title="rank", sort=ranks, axis=alt.Axis(**bare)),
        color=alt.Color("class:N", scale=classes, legend=None),
    )


def _different(cells: list[Row], field: str) -> list[Any]:
    """The values of a field, each once, in the order of the cells."""
    return list(dict.fromkeys(cell[field] for cell in cells))


def _caption(cells: list[Row], parameters: Mapping[str, str] | None) -> list[str]:
    ranks, steps = len(_different(cells, "rank")), len(_different(cells, "step"))
    times = [cell["compute_ms"] for cell in cells]
    low, middle, high = (words.short_number(pick(times)) for pick in (min, statistics.median, max))
    return [
        f"{words.counted([ranks], 'rank')}, {words.counted([steps], 'step')}, {words.part_of_traces(parameters)}.",
        f"Compute per step: median {middle} ms, from {low} to {high} ms. White: the trace has no work of that step.",
    ]


def _rank(row: Row) -> str:
    """A rank by its number, a trace without one by its content."""
    return row["file_id"][:6] if row["rank"] is None else str(row["rank"])
