"""Operators that take the time of the host.

Shows: the ten operators with the largest sum of their own time on the host over all ranks of a run, and their shares:
    where the time goes when the traces contain no device.
Query: op_summary
Encodings:
    y        an operator, labeled by its share of the own time of all operators in percent, the largest first
    x        sum of its own time in milliseconds, without the operators it called, from 0
    text     its name and how often it was called
    caption  traces, operators that are not drawn and their share, which part of the traces
Source: the table of torch.profiler sorted by its self CPU time, as bars
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import kernel_bars, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.errors import UserError

QUERY = "op_summary"

_MOST_OPERATORS = 10


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `op_summary`.  Raises UserError if no operator was traced, and for several runs."""
    if rows.is_empty() or rows["self_ns"].sum() <= 0:
        raise UserError("there are no operators to draw", "see what the traces contain: scalelens query trace_steps")
    limits.check_one_run(rows, "work of the host")
    sums = rows.group_by("name").agg(pl.sum("self_ns"), pl.sum("calls"))
    sums = sums.sort(["self_ns", "name"], descending=[True, False]).with_columns(
        share=pl.col("self_ns") / pl.col("self_ns").sum()
    )
    shown, rest = sums.head(_MOST_OPERATORS), sums.slice(_MOST_OPERATORS)
    named = [kernel_bars.Named(row["name"], row["calls"], kernel_bars.OPERATOR) for row in shown.to_dicts()]
    bars = [
        {
            "place": k,
            "share": f"{100 * row['share']:.1f}",
            "total_ms": row["self_ns"] / 1e6,
            "kind": kernel_bars.OPERATOR,
            "text": text,
        }
        for k, (row, text) in enumerate(zip(shown.to_dicts(), kernel_bars.bar_texts(named, page), strict=True))
    ]
    undrawn = f"{words.counted([rest.height], 'other name')}, {100 * rest['share'].sum():.1f} % of the time"
    caption = [
        kernel_bars.what_is_summed(rows, parameters),
        "Own time: without that of the operators called within.",
        f"Not drawn: {undrawn}." if rest.height else "All operators are drawn.",
    ]
    panel = kernel_bars.panel(bars, share_of="share of own time [%]", sum_of="own time on the host [ms]")
    return style.figure([[style.Panel(panel)]], [], caption, page)
