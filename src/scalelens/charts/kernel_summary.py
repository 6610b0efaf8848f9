"""Kernels that take the time of the devices.

Shows: the ten kernels, copies or fills with the largest sum of durations over all ranks of a run, and their shares of
    all device time.
Query: kernel_summary
Encodings:
    y        a kernel, labeled by its share of the sum of all durations in percent, the largest first
    x        sum of its durations in milliseconds, from 0
    color    compute, communication, or copies and fills
    text     its name and how often it ran; template arguments are shortened first, and kernels that would look alike
             show what is their own
    caption  traces, kernels that are not drawn and their share, which part of the traces
Source: the kernel breakdown of Holistic Trace Analysis, without its bar of others
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import kernel_bars, style, words
from scalelens.charts.layout import SINGLE, Page

QUERY = "kernel_summary"

_MOST_KERNELS = 10


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `kernel_summary`.  Raises UserError if nothing ran, and for several runs."""
    kernel_bars.check_work(rows)
    sums = rows.group_by("class", "name").agg(pl.sum("total_ns"), pl.sum("calls"))
    sums = sums.sort(["total_ns", "name"], descending=[True, False]).with_columns(
        share=pl.col("total_ns") / pl.col("total_ns").sum()
    )
    shown, rest = sums.head(_MOST_KERNELS), sums.slice(_MOST_KERNELS)
    kernels = shown.to_dicts()
    named = [kernel_bars.Named(row["name"] or "without a name", row["calls"], row["class"]) for row in kernels]
    bars = [
        {
            "place": k,
            "share": f"{100 * row['share']:.1f}",
            "total_ms": row["total_ns"] / 1e6,
            "kind": row["class"],
            "text": text,
        }
        for k, (row, text) in enumerate(zip(kernels, kernel_bars.bar_texts(named, page), strict=True))
    ]
    undrawn = f"{words.counted([rest.height], 'other name')}, {100 * rest['share'].sum():.1f} % of device time"
    caption = [
        kernel_bars.what_is_summed(rows, parameters),
        f"Not drawn: {undrawn}." if rest.height else "All kernels are drawn.",
    ]
    panel = style.Panel(kernel_bars.panel(bars))
    return style.figure([[panel]], kernel_bars.legend(bars), caption, page)
