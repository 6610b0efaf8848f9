"""Compute of each rank in each step.

Shows: the time that every rank computes in every step, as a map, so that a slow rank is a row, a slow step a column,
    and a hiccup a spot.
Query: temporal_breakdown
Encodings:
    x        a step
    y        a rank, from the top
    colour   time in which the device computed, against the median over all ranks and steps, darker for longer; the
             classes are fixed, so that noise does not fill the map
    caption  ranks, steps, the median, the shortest and the longest, which part of the traces
Source: the heat map of ranks and steps in MegaScale (Jiang et al., NSDI'24, section 5), for compute alone
"""

import math
import statistics
from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "temporal_breakdown"
PARAMETERS = {"per": "step"}

# Longest time of each class over the median, and its colour.
CLASSES = {
    "10 % shorter or more": (0.90, "#dbe9f6"),
    "2 to 10 % shorter": (0.98, "#b5d1e8"),
    "within 2 %": (1.02, "#7fb3d8"),
    "2 to 10 % longer": (1.10, "#3d85bd"),
    "10 % longer or more": (math.inf, "#08468b"),
}
MOST_CELLS = 40_000

Row = dict[str, Any]


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `temporal_breakdown` per step.  Raises UserError without steps, or for several runs."""
    known = rows.filter(pl.col("train_step").is_not_null()).sort("rank", "file_id", "train_step")
    if known.is_empty():
        raise UserError(
            "there are no steps of a rank to draw", "a trace needs annotated steps; see: scalelens query trace_steps"
        )
    if known["run_id"].n_unique() > 1:
        raise UserError(
            f"a map of ranks and steps is of one run, not of {known['run_id'].n_unique()}",
            "choose one, for example runs=\"name = 'baseline'\"; see scalelens query runs_overview",
        )
    if known.height > MOST_CELLS:
        raise UserError(
            f"{known.height} ranks and steps are more than one chart can show ({MOST_CELLS})",
            "ask with SQL: scalelens sql \"FROM temporal_breakdown(per := 'step')\"",
        )
    times = [row["compute_ns"] / 1e6 for row in known.iter_rows(named=True)]
    median = statistics.median(times) or math.inf
    cells = [
        {
            "rank": _rank(row), "step": row["train_step"], "compute_ms": time,
            "class": next(label for label, (most, _) in CLASSES.items() if time / median < most),
        }
        for row, time in zip(known.iter_rows(named=True), times, strict=True)
    ]  # fmt: skip
    ranks, steps = (list(dict.fromkeys(cell[key] for cell in cells)) for key in ("rank", "step"))
    colours = [colour for _, colour in CLASSES.values()]
    chart = (
        alt.Chart(style.values(cells))
        .mark_rect(stroke="white", strokeWidth=0.3 if known.height < 2000 else 0)
        .encode(
            x=alt.X("step:O", title="step", sort=sorted(steps),
                    axis=alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=3, ticks=False, domain=False)),
            y=alt.Y("rank:O", title="rank", sort=ranks,
                    axis=alt.Axis(labelOverlap="greedy", ticks=False, domain=False)),
            color=alt.Color("class:N", scale=alt.Scale(domain=list(CLASSES), range=colours), legend=None),
        )
    )  # fmt: skip
    legend = [style.Look(label, colour, "square", [1, 0], 5) for label, (_, colour) in CLASSES.items()]
    low, middle, high = (words.number(pick(times)) for pick in (min, statistics.median, max))
    caption = [
        f"{words.span([len(ranks)], 'rank')}, {words.span([len(steps)], 'step')}, "
        f"{style.SELECTIONS[(parameters or {}).get('steps', 'all')]}.",
        f"Compute per step: median {middle} ms, from {low} to {high} ms. White: the trace has no work of that step.",
    ]
    return style.figure([[style.Panel(chart)]], legend, caption, width)


def _rank(row: Row) -> str:
    """A rank by its number, a trace without one by its content."""
    return row["file_id"][:6] if row["rank"] is None else str(row["rank"])
