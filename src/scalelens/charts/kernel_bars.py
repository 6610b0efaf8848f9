"""Bars of device work with their names inside, for kernel_summary, kernel_tree and op_summary.

A bar is a row with its `place` from the top, its `share` of all device time in percent, `total_ms`, `kind`, `text` and,
if the text is indented, `indent`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.kernel_names import short_names
from scalelens.charts.layout import Page
from scalelens.charts.style import Row
from scalelens.errors import UserError
from scalelens.units import ratio

OPERATOR = "operator"
# Colors, light because text is written on them, and their names in the legend.
_KINDS_OF_WORK = {
    OPERATOR: ("operator", "#dfe7e1"),
    "compute": ("compute", "#a6cee3"),
    "communication": ("communication", "#fdbf6f"),
    "memory": ("copies and fills", "#d9d9d9"),
}
_TEXT_START = 2  # points from the left edge of a bar
_MOST_BARS = 10
_MS = {name: ratio(name, "ms") for name in ("s", "ms")}  # an axis is in seconds if it fits ten


def check_work(
    rows: pl.DataFrame,
    column: str = "total_ns",
    nothing: str = "there is no device activity to draw",
    work: str = "device work",
) -> None:
    """Raises UserError if nothing ran, by the sum of a column, and for several runs, whose work cannot be added up."""
    if rows.is_empty() or rows[column].sum() <= 0:
        raise UserError(nothing, "see what the traces contain: scalelens query trace_steps")
    limits.check_one_run(rows, work)


def what_is_summed(rows: pl.DataFrame, parameters: Mapping[str, str] | None) -> str:
    """The first sentence of the caption: how many traces of the run, and which part of them."""
    is_whole = (parameters or {}).get("steps", "all") == "all"
    traces = words.counted([rows["file_id"].n_unique()], "whole trace" if is_whole else "trace")
    return f"Sums over {traces}{'' if is_whole else f', {words.part_of_traces(parameters)}'}."


class Named(NamedTuple):
    """What a bar is called."""

    name: str
    calls: int
    kind: str
    indent: float = 0


def bar_texts(named: Sequence[Named], page: Page) -> list[str]:
    """Names with their numbers of calls, within the width of the figure.  A kernel has one name in all of its bars."""
    times = [f" · {words.short_number(bar.calls)} ×" for bar in named]
    width = page.points - 2 * style.MARGIN - style.Y_AXIS - style.STROKES - 6
    rooms: dict[str, float] = {}
    for bar, often in zip(named, times, strict=True):
        room = width - bar.indent - words.text_width(often)
        rooms[bar.name] = min(room, rooms.get(bar.name, room))
    kernels = [name for name in rooms if any(bar.name == name and bar.kind != OPERATOR for bar in named)]
    short = {name: words.shorten(name, room) for name, room in rooms.items()}
    short |= dict(zip(kernels, short_names(kernels, [rooms[name] for name in kernels]), strict=True))
    return [f"{short[bar.name]}{often}" for bar, often in zip(named, times, strict=True)]


def largest(sums: pl.DataFrame, page: Page, names: str, time: str) -> tuple[list[Row], str]:
    """Bars of the names with the largest sums, and the sentence of the caption on those that are not drawn.

    Rows have `name`, `kind`, `calls` and `total_ns`; `names` is what they are called together, `time` what they share.
    """
    sums = sums.sort(["total_ns", "name"], descending=[True, False]).with_columns(
        share=pl.col("total_ns") / pl.col("total_ns").sum()
    )
    shown, rest = sums.head(_MOST_BARS).to_dicts(), sums.slice(_MOST_BARS)
    named = [Named(row["name"] or "without a name", row["calls"], row["kind"]) for row in shown]
    bars = [
        {
            "place": k,
            "share": f"{100 * row['share']:.1f}",
            "total_ms": row["total_ns"] / 1e6,
            "kind": row["kind"],
            "text": text,
        }
        for k, (row, text) in enumerate(zip(shown, bar_texts(named, page), strict=True))
    ]
    if not rest.height:
        return bars, f"All {names} are drawn."
    others = words.counted([rest.height], "other name")
    return bars, f"Not drawn: {others}, {100 * rest['share'].sum():.1f} % of {time}."


def panel(bars: Sequence[Row], share_of: str = "share of device time [%]", sum_of: str = "sum of durations") -> Any:
    """The bars, the shares as labels of the y axis, and the texts over the bars."""
    longest_ms = max(bar["total_ms"] for bar in bars)
    unit = "s" if longest_ms >= 10 * _MS["s"] else "ms"
    bars = [bar | {f"total_{unit}": bar["total_ms"] / _MS[unit]} for bar in bars]
    shares = " : ".join(f"datum.value == {bar['place']} ? '{bar['share']}'" for bar in bars) + " : ''"
    y = alt.Y("place:O", title=share_of, axis=alt.Axis(labelExpr=shares, ticks=False, domain=False))
    x = alt.X(
        f"total_{unit}:Q",
        title=f"{sum_of} [{unit}]",
        scale=alt.Scale(domainMin=0, nice=False),
        axis=alt.Axis(tickCount=5, **axes.even_labels(longest_ms / _MS[unit])),
    )
    kinds = _kinds(bars)
    colors = alt.Scale(domain=kinds, range=[_KINDS_OF_WORK[kind][1] for kind in kinds])
    color = alt.Color("kind:N", scale=colors, legend=None)
    texts = [
        alt.Chart(style.values([bar for bar in bars if bar.get("indent", 0) == indent]))
        .mark_text(align="left", baseline="middle", dx=_TEXT_START + indent)
        .encode(y=y, x=alt.value(0), text=alt.Text("text:N"))
        for indent in sorted({bar.get("indent", 0) for bar in bars})
    ]
    return alt.layer(alt.Chart(style.values(bars)).mark_bar(height={"band": 0.85}).encode(x, y, color), *texts)


def legend(bars: Sequence[Row]) -> list[style.Look]:
    """An entry for each kind of work that is drawn."""
    return [style.swatch(*_KINDS_OF_WORK[kind]) for kind in _kinds(bars)]


def _kinds(bars: Sequence[Row]) -> list[str]:
    return [kind for kind in _KINDS_OF_WORK if any(bar["kind"] == kind for bar in bars)]
