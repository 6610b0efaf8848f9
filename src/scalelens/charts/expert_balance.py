"""Load of each rank in an exchange of experts' tokens: what it receives, over the mean of its group.

Shows: whether some ranks get more tokens than others, so that the others wait for them.
Query: expert_balance
Encodings:
    y        a rank of the group
    x        bytes received over the mean of the group; the line at 1 is even
    mark     bar: over all exchanges; tick: the largest in one exchange
    caption  exchanges, imbalance of the group, where the sizes come from
Source: split sizes and outputs that PyTorch records (docs/traces.md)
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.errors import UserError

QUERY = "expert_balance"
_COLOR, _WORST, _EVEN = "#56B4E9", "#D55E00", "#555555"
_MOST_RANKS = 64
_ORIGINS = {"received": "what each rank received", "sent": "what the traced ranks sent"}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `expert_balance`, of its most uneven exchange.  Raises UserError without sizes."""
    known = rows.filter(pl.col("load").is_not_null())
    if known.is_empty():
        raise UserError(
            "there are no all-to-alls of known sizes to draw", "see the collectives: scalelens query collectives"
        )
    limits.check_one_run(known, "exchanges")
    exchanges = known.group_by("process_group", "kind").agg(pl.max("imbalance"))
    first = exchanges.sort("imbalance", "process_group", "kind", descending=[True, False, False]).row(0, named=True)
    drawn = known.filter(
        pl.col("process_group").eq_missing(first["process_group"]) & (pl.col("kind") == first["kind"])
    ).sort("rank", "group_rank")
    limits.check_count(drawn.height, _MOST_RANKS, "ranks", "see the numbers: scalelens query expert_balance")
    legend = [style.swatch("all exchanges", _COLOR), style.swatch("largest in one exchange", _WORST)]
    panel = stacked_bars.panel(_bars(drawn), drawn.height, page)
    return style.figure([[panel]], legend, _caption(drawn, first, exchanges.height), page)


def _bars(drawn: pl.DataFrame) -> Any:
    has_ranks = not drawn["rank"].null_count()
    column = "rank" if has_ranks else "group_rank"
    values = [
        {"rank": str(row[column]), "load": row["load"], "worst": row["worst_load"], "even": 1}
        for row in drawn.iter_rows(named=True)
    ]
    longest = max(max(value["load"], value["worst"] or 0) for value in values)
    base = alt.Chart(style.values(values)).encode(
        y=alt.Y("rank:N", title="rank" if has_ranks else "rank in the group", sort=[v["rank"] for v in values],
                axis=alt.Axis(ticks=False, domain=False, labelOverlap="greedy")),
        tooltip=["rank:N", alt.Tooltip("load:Q", format=".3g"), alt.Tooltip("worst:Q", format=".3g")],
    )  # fmt: skip
    x = alt.X("load:Q", title="received over the mean of the group", scale=alt.Scale(nice=False, domain=[0, longest]),
              axis=alt.Axis(tickCount=5, **axes.even_labels(longest)))  # fmt: skip
    bars = base.mark_bar(height={"band": 0.8}, color=_COLOR).encode(x=x)
    worst = base.mark_tick(color=_WORST, thickness=2, bandSize=12, opacity=1).encode(x=alt.X("worst:Q"))
    even = base.mark_rule(color=_EVEN, strokeDash=[3, 2]).encode(x=alt.X("even:Q"), y=alt.Y())
    return alt.layer(bars, even, worst)


def _caption(drawn: pl.DataFrame, exchange: Mapping[str, Any], exchanges: int) -> list[str]:
    group = exchange["process_group"]
    where = f" of group {group}" if group else ""
    lines = [
        f"{str(exchange['kind']).replace('_', '-')}{where}: {words.counted([int(drawn['calls'].max())], 'exchange')}."  # type: ignore[arg-type]
    ]
    if exchange["imbalance"] is not None:
        lines.append(
            f"If time follows the rank with most, they take {exchange['imbalance']:.2f} times as long as even ones."
        )
    if origin := _ORIGINS.get(drawn["origin"][0]):
        lines.append(f"Sizes: {origin}.")
    if exchanges > 1:
        lines.append(f"Of {exchanges} kinds of exchange the most uneven is drawn.")
    return lines
