"""Kernels that take the time of the devices.

Shows: the ten kernels, copies or fills with the largest sum of durations, all ranks together, and how much of all
    device time each takes.
Query: kernel_summary
Encodings:
    y        a kernel, its share of the sum of all durations in percent as label, the largest first
    x        sum of its durations in milliseconds, from 0
    colour   compute, communication, or copies and fills
    text     its name, without its middle where it is too long, and how often it ran
    caption  traces, kernels that are not drawn and their share, which part of the traces
Source: the kernel breakdown of Holistic Trace Analysis, without its lump of others
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import style, words
from scalelens.errors import UserError

QUERY = "kernel_summary"

MOST_KERNELS = 10
TINTS = {"compute": "#a6cee3", "communication": "#fdbf6f", "memory": "#d9d9d9"}  # under text, hence light
NAMES = {"compute": "compute", "communication": "communication", "memory": "copies and fills"}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    width: style.Width = "single",
) -> Any:
    """The figure of the rows of `kernel_summary`.  Raises UserError where nothing ran."""
    if rows.is_empty() or rows["total_ns"].sum() <= 0:
        raise UserError("there is no work of a device to draw", "see what the traces hold: scalelens query trace_steps")
    sums = rows.group_by("class", "name").agg(pl.sum("total_ns"), pl.sum("calls"))
    sums = sums.sort(["total_ns", "name"], descending=[True, False]).with_columns(
        share=pl.col("total_ns") / pl.col("total_ns").sum()
    )
    shown, rest = sums.head(MOST_KERNELS), sums.slice(MOST_KERNELS)
    room = style.WIDTHS[width] - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    bars = [
        {
            "place": place, "share": f"{100 * row['share']:.1f}", "total_ms": row["total_ns"] / 1e6,
            "class": row["class"],
            "text": _text(row["name"] or "without a name", row["calls"], room),
        }
        for place, row in enumerate(shown.iter_rows(named=True))
    ]  # fmt: skip
    shares = {bar["place"]: bar["share"] for bar in bars}
    named = " : ".join(f"datum.value == {place} ? '{share}'" for place, share in shares.items()) + " : ''"
    y = alt.Y("place:O", title="share of device time [%]", axis=alt.Axis(labelExpr=named, ticks=False, domain=False))
    x = alt.X(
        "total_ms:Q",
        title="sum of durations [ms]",
        scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5),
    )
    kinds = [kind for kind in TINTS if kind in set(shown["class"])]
    colour = alt.Color("class:N", scale=alt.Scale(domain=kinds, range=[TINTS[kind] for kind in kinds]), legend=None)
    chart = alt.Chart(style.values(bars))
    panel = alt.layer(
        chart.mark_bar(height={"band": 0.85}).encode(x, y, colour),
        chart.mark_text(align="left", baseline="middle", dx=2).encode(y=y, x=alt.value(0), text="text:N"),
    )
    legend = [style.Look(NAMES[kind], TINTS[kind], "square", [1, 0], 5) for kind in kinds]
    traces = rows["file_id"].n_unique()
    caption = [
        f"{words.span([traces], 'trace')}, {style.SELECTIONS[(parameters or {}).get('steps', 'all')]}: sums over all.",
        f"Not drawn: {words.span([rest.height], 'other name')}, {100 * rest['share'].sum():.1f} % of device time."
        if rest.height
        else "All kernels are drawn.",
    ]
    return style.figure([[style.Panel(panel)]], legend, caption, width)


def _text(name: str, calls: int, room: float) -> str:
    """Name and number of calls in the room there is."""
    times = f" · {words.number(calls)} ×"
    return words.shorten(name, room - words.text_width(times)) + times
