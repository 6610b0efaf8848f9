"""Kernels that take the time of the devices.

Shows: the ten kernels, copies or fills with the largest sum of durations over all ranks of a run, and their shares of
    all device time.
Query: kernel_summary
Encodings:
    y        a kernel, labeled by its share of the sum of all durations in percent, the largest first
    x        sum of its durations, from 0, in milliseconds, or in seconds where the longest has 10 or more
    color    compute, communication, or copies and fills
    text     its name and how often it ran; template arguments are shortened first, and kernels that would look alike
             show what is their own
    caption  traces, kernels that are not drawn and their share, which part of the traces
Source: the kernel breakdown of Holistic Trace Analysis, without its bar of others
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import kernel_bars, style
from scalelens.charts.layout import SINGLE, Page

QUERY = "kernel_summary"


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `kernel_summary`.  Raises UserError if nothing ran, and for several runs."""
    kernel_bars.check_work(rows)
    sums = rows.group_by("name", pl.col("class").alias("kind")).agg(pl.sum("total_ns"), pl.sum("calls"))
    bars, undrawn = kernel_bars.largest(sums, page, "kernels", "device time")
    panel = style.Panel(kernel_bars.panel(bars))
    return style.figure(
        [[panel]], kernel_bars.legend(bars), [kernel_bars.what_is_summed(rows, parameters), undrawn], page
    )
