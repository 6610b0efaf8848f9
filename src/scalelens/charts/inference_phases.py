"""Phases of inference, rank by rank: prefill, decode and mixed iterations of a serving engine.

Shows: what a device spends its time on while it serves, and how many tokens a second it computes in each phase.
Query: inference_phases
Encodings:
    y        a rank
    x        time on the device, in s or ms, stacked over the phases
    color    the phase
    caption  iterations, requests and tokens per second of each phase
Source: annotations of vLLM, SGLang and TensorRT-LLM (docs/traces.md)
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from scalelens.charts import axes, limits, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError
from scalelens.units import ratio

QUERY = "inference_phases"
FACTS = ("name",)

_COLORS = {"prefill": "#0072B2", "mixed": "#E69F00", "decode": "#56B4E9"}
_OTHER = "#999999"
_MOST_RANKS = 64
_BAR, _LOWEST = 22, 34  # points: height of a bar, and of a panel, whose title needs room
_NS = {name: ratio(name, "ns") for name in ("s", "ms", "µs")}


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `inference_phases`.  Raises UserError without iterations on a device."""
    known = rows.filter(pl.col("device_ns") > 0)
    if known.is_empty():
        raise UserError(
            "there are no iterations of a serving engine on a device to draw",
            "see what the traces mark: scalelens query annotation_summary",
        )
    limits.check_one_run(known, "inference")
    of_ranks = (
        known.group_by("file_id", "rank", "phase").agg(pl.sum("device_ns")).sort("rank", "file_id", "phase").to_dicts()
    )
    files = {row["file_id"]: row["rank"] for row in of_ranks}
    limits.check_count(len(files), _MOST_RANKS, "ranks", "see the numbers: scalelens query inference_phases")
    labels = {file: str(number if rank is None else rank) for number, (file, rank) in enumerate(files.items())}
    phases = [
        *(phase for phase in _COLORS if phase in set(known["phase"])),
        *sorted(set(known["phase"]) - set(_COLORS)),
    ]
    legend = [style.swatch(phase.replace("_", " "), _COLORS.get(phase, _OTHER)) for phase in phases]
    highest = style.WIDE_HEIGHT if page.is_wide else style.HEIGHT
    panel = style.Panel(_bars(of_ranks, labels, phases), height=min(highest, max(_LOWEST, _BAR * len(files))))
    return style.figure([[panel]], legend, _caption(known, phases), page)


def _bars(of_ranks: list[Row], labels: Mapping[str, str], phases: list[str]) -> Any:
    sums: dict[str, int] = {}
    for row in of_ranks:
        sums[row["file_id"]] = sums.get(row["file_id"], 0) + row["device_ns"]
    longest = max(sums.values())
    unit = next((unit for unit, ns in _NS.items() if longest >= ns), "µs")
    values = [
        {"rank": labels[row["file_id"]], "phase": row["phase"], "order": phases.index(row["phase"]),
         "time": row["device_ns"] / _NS[unit]}
        for row in of_ranks
    ]  # fmt: skip
    colors = alt.Scale(domain=phases, range=[_COLORS.get(phase, _OTHER) for phase in phases])
    bars = alt.Chart(style.values(values)).mark_bar(height={"band": 0.8}, stroke="white", strokeWidth=0.3)
    return bars.encode(
        x=alt.X("time:Q", stack="zero", title=f"time on the device [{unit}]", scale=alt.Scale(nice=False),
                axis=alt.Axis(tickCount=5, **axes.even_labels(longest / _NS[unit]))),
        y=alt.Y("rank:N", title="rank", sort=list(labels.values()),
                axis=alt.Axis(ticks=False, domain=False, labelOverlap="greedy")),
        color=alt.Color("phase:N", scale=colors, legend=None),
        order="order:Q",
        tooltip=["rank:N", "phase:N", alt.Tooltip("time:Q", format=".4g")],
    )  # fmt: skip


def _caption(known: pl.DataFrame, phases: list[str]) -> list[str]:
    first = known.row(0, named=True)
    lines = [f"{first['name']}."] if first.get("name") else []
    counts, rates = [], []
    for phase in phases:
        of_phase, word = known.filter(pl.col("phase") == phase), phase.replace("_", " ")
        counts.append(f"{words.short_number(int(of_phase['iterations'].sum()))} {word}")
        known_rates: list[float] = of_phase["tokens_per_s"].drop_nulls().to_list()
        if known_rates:
            low, high = (words.short_number(value) for value in (min(known_rates), max(known_rates)))
            rates.append(f"{word} {low if low == high else f'{low} to {high}'}")
    lines.append(f"Iterations: {', '.join(counts)}.")
    if rates:
        lines.append(f"Tokens per second of the device: {', '.join(rates)}.")
    return lines
