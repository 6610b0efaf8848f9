"""Operators that take the time of the host.

Shows: the ten operators with the largest sum of their own time on the host over all ranks of a run, and their shares:
    where the time goes when the traces contain no device.
Query: op_summary
Encodings:
    y        an operator, labeled by its share of the own time of all operators in percent, the largest first
    x        sum of its own time, without the operators it called, from 0, in milliseconds or seconds
    text     its name and how often it was called
    caption  traces, operators that are not drawn and their share, which part of the traces
Source: the table of torch.profiler sorted by its self CPU time, as bars
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import kernel_bars, style
from scalelens.charts.layout import SINGLE, Page

QUERY = "op_summary"


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `op_summary`.  Raises UserError if no operator was traced, and for several runs."""
    kernel_bars.check_work(rows, "self_ns", "there are no operators to draw", "work of the host")
    kind = pl.lit(kernel_bars.OPERATOR).alias("kind")
    sums = rows.group_by("name").agg(kind, pl.sum("calls"), pl.sum("self_ns").alias("total_ns"))
    bars, undrawn = kernel_bars.largest(sums, page, "operators", "the time")
    own = "Own time: without that of the operators called within."
    panel = kernel_bars.panel(bars, share_of="share of own time [%]", sum_of="own time on the host")
    return style.figure([[style.Panel(panel)]], [], [kernel_bars.what_is_summed(rows, parameters), own, undrawn], page)
