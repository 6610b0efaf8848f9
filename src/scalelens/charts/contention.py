"""Kernels during communication, rank by rank: how much of the computing time communication adds.

Shows: which ranks compute during communication, and how much longer their kernels take because of it.  A rank whose bar
    is longer only by the last part has no slow device: it arrives first, and its collectives wait while it computes.
Query: contention
Encodings:
    y        a rank
    x        sum of the durations of kernels that compute; from the left: without communication, during it, and the
             time that communication adds to the latter
    color    the part
    caption  kernels, factor by which they take longer, what could not be compared
Source: the breakdown of temporal_breakdown, with the factor of contention (docs/traces.md)
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "contention"
_PARTS = {"without communication": "#0072B2", "during communication": "#56B4E9", "added by communication": "#D55E00"}
_MOST_RANKS = 64


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `contention`.  Raises UserError where no kernel runs during communication."""
    computing = rows.filter(pl.col("class") == "compute")
    if computing.is_empty() or not computing["beside_ns"].sum():
        raise UserError(
            "there are no kernels that overlap communication to draw",
            "see where the time goes: scalelens query temporal_breakdown",
        )
    limits.check_one_run(computing, "contention")
    of_ranks = _ranks(computing)
    limits.check_count(len(of_ranks), _MOST_RANKS, "ranks", "see the numbers: scalelens query contention per=class")
    legend = stacked_bars.legend([dict(zip(_PARTS, row["parts"], strict=True)) for row in of_ranks], _PARTS)
    panel = stacked_bars.panel(_bars(of_ranks), len(of_ranks), page)
    return style.figure([[panel]], legend, _caption(computing, of_ranks), page)


def _ranks(computing: pl.DataFrame) -> list[Row]:
    """The parts of each rank, in ns."""
    summed = computing.group_by("file_id", "rank").agg(
        pl.sum("total_ns", "beside_ns", "calls"), added_ns=pl.col("added_ns").fill_null(0).sum(),
        compared_ns=pl.col("compared_ns").fill_null(0).sum(),
    )  # fmt: skip
    ranks = []
    for number, row in enumerate(summed.sort("rank", "file_id").iter_rows(named=True)):
        added = min(max(row["added_ns"], 0), row["beside_ns"])
        parts = (row["total_ns"] - row["beside_ns"], row["beside_ns"] - added, added)
        ranks.append(row | {"label": str(number if row["rank"] is None else row["rank"]), "parts": parts})
    return ranks


def _bars(ranks: list[Row]) -> Any:
    unit, unit_ns = stacked_bars.unit_of(max(sum(row["parts"]) for row in ranks))
    bars = {
        row["label"]: {part: ns / unit_ns for part, ns in zip(_PARTS, row["parts"], strict=True)} for row in ranks
    }  # fmt: skip
    return stacked_bars.stacked(bars, _PARTS, x=f"sum of the durations of kernels [{unit}]")


def _caption(computing: pl.DataFrame, ranks: list[Row]) -> list[str]:
    ranked, kernels = words.counted([len(ranks)], "rank"), words.counted([sum(row["calls"] for row in ranks)], "kernel")
    lines = [f"{ranked}, {kernels} that compute."]
    beside = sum(row["beside_ns"] for row in ranks)
    compared = sum(row["compared_ns"] for row in ranks)
    added = sum(row["parts"][2] for row in ranks)
    if compared > added:
        lines.append(f"During communication they take {compared / (compared - added):.2f} times as long as without it.")
    if compared < beside:
        share = 100 * (beside - compared) / beside
        lines.append(f"{share:.0f} % of the time during communication belongs to kernels that never run alone.")
    return lines
