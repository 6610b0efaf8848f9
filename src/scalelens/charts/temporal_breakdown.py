"""Where the time of each device goes, rank by rank.

Shows: compute, exposed communication, exposed copies and idle time of each rank, stacked to its whole span.  A rank
    that computes longer, and those that wait for it, stand out.
Query: temporal_breakdown
Encodings:
    y        a rank; traces of several runs, or without a rank, have numbers that the caption explains, with the id of
             the run, the rank or the file if names of runs are equal
    x        share of the span in percent; the parts of a rank add up to 100
    color    compute, communication that nothing hides, copies that nothing hides, idle; from the left
    caption  traces, the spans, which part of the traces, what the parts mean
Source: the breakdown of Holistic Trace Analysis (temporal_breakdown), with communication and copies separate
"""

from collections.abc import Collection, Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "temporal_breakdown"
FACTS = ("name",)

PARTS = {
    "compute": ("compute_ns", "#0072B2"),
    "exposed communication": ("exposed_comm_ns", "#D55E00"),
    "exposed copies": ("exposed_memory_ns", "#E69F00"),
    "idle": ("idle_ns", "#d9d9d9"),
}  # from the left; the colors also differ in black and white
_MEANINGS = {
    "exposed communication": "Exposed communication: the device does not compute.",
    "exposed copies": "Exposed copies: the device neither computes nor communicates.",
}
MOST_RANKS = 64


_BAR, _LOWEST = 22, 34  # points: height of a bar, and of a panel, whose title needs room


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `temporal_breakdown`.  Raises UserError if no rank did anything."""
    known = rows.filter(pl.col("span_ns") > 0)
    if known.is_empty():
        raise UserError(
            "there is no device activity to draw", "see what the traces contain: scalelens query trace_steps"
        )
    traces = _traces(known)
    one_run = len({row["run_id"] for row in traces}) == 1
    ranked = one_run and all(row["rank"] is not None for row in traces)
    hint = limits.CHOOSE_RUNS + (", or draw the chart step_heatmap" if one_run else "")
    most, kind = (MOST_RANKS, "rank") if ranked else (style.MOST_SERIES, "trace")
    limits.check_count(len(traces), most, f"{kind}s", hint)
    _name_traces(traces)
    for number, row in enumerate(traces, 1):
        row["label"] = str(row["rank"] if ranked else number)
    shares = [{part: row[column] / row["span_ns"] for part, (column, _) in PARTS.items()} for row in traces]
    legend = stacked_bars.legend(shares, {part: color for part, (_, color) in PARTS.items()})
    height = min(style.WIDE_HEIGHT if page.is_wide else style.HEIGHT, max(_LOWEST, _BAR * len(traces)))
    panel = style.Panel(_bars(traces, kind), height=height)
    return style.figure([[panel]], legend, _caption(traces, kind, parameters, {look.label for look in legend}), page)


def _bars(traces: list[Row], kind: str) -> Any:
    parts = [
        {"rank": row["label"], "trace": row["trace"], "part": part, "order": order,
         "percent": 100 * row[column] / row["span_ns"]}
        for row in traces
        for order, (part, (column, _)) in enumerate(PARTS.items())
    ]  # fmt: skip
    colors = alt.Scale(domain=list(PARTS), range=[color for _, color in PARTS.values()])
    chart = alt.Chart(style.values(parts)).mark_bar(height={"band": 0.8}, stroke="white", strokeWidth=0.3)
    return chart.encode(
        x=alt.X("percent:Q", stack="zero", title="share of the span [%]",
                scale=alt.Scale(domain=[0, 100], nice=False), axis=alt.Axis(values=[0, 25, 50, 75, 100])),
        y=alt.Y("rank:N", title=kind, sort=[row["label"] for row in traces],
                axis=alt.Axis(ticks=False, domain=False, labelOverlap="greedy")),
        color=alt.Color("part:N", scale=colors, legend=None),
        order="order:Q",
        tooltip=[alt.Tooltip("trace:N", title="of"), alt.Tooltip("rank:N", title=kind), "part:N",
                 alt.Tooltip("percent:Q", format=".1f")],
    )  # fmt: skip


def _traces(rows: pl.DataFrame) -> list[Row]:
    """One row per trace, with its steps added up if the query gave a row for each."""
    of_trace = ["run_id", "rank", "file_id", *(["name"] if "name" in rows.columns else [])]
    columns = ["span_ns", *(column for column, _ in PARTS.values())]
    return rows.group_by(of_trace).agg(pl.sum(*columns)).sort("run_id", "rank", "file_id").to_dicts()


def _name_traces(traces: list[Row]) -> None:
    """Gives each row the name of its run as `trace`, with the run's id, the rank or the file if names are equal."""
    for row in traces:
        row["trace"] = row.get("name") or f"run\u00a0{row['run_id'][:8]}"
    for fact in ("run_id", "rank", "file_id"):
        for name in {row["trace"] for row in traces}:
            alike = [row for row in traces if row["trace"] == name]
            if len({row[fact] for row in alike}) > 1:
                for row in alike:
                    row["trace"] += f"\u00a0{fact.removesuffix('_id')}\u00a0{str(row[fact])[:12]}"


def _caption(traces: list[Row], kind: str, parameters: Mapping[str, str] | None, shown: Collection[str]) -> list[str]:
    """Counts, spans, which part of the traces, and what the parts that are `shown` mean."""
    low, high = (words.short_number(pick(row["span_ns"] for row in traces) / 1e6) for pick in (min, max))
    span = f"{low} ms" if low == high else f"{low} to {high} ms"
    names = [f"{row['label']}\u00a0{row['trace']}" for row in traces]
    return [
        *([] if kind == "rank" else [f"{', '.join(names)}."]),
        f"{words.counted([len(traces)], kind)} of {span}, {words.part_of_traces(parameters)}.",
        *(meaning for part, meaning in _MEANINGS.items() if part in shown),
    ]
