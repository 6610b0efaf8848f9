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

import polars as pl

from scalelens.charts import limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.charts.style import Row
from scalelens.errors import UserError

QUERY = "inference_phases"
FACTS = ("name",)

_COLORS = {"prefill": "#0072B2", "mixed": "#E69F00", "decode": "#56B4E9"}
_OTHER = "#999999"
_MOST_RANKS = 64


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
    panel = stacked_bars.panel(_bars(of_ranks, labels, phases), len(files), page)
    return style.figure([[panel]], legend, _caption(known, phases), page)


def _bars(of_ranks: list[Row], labels: Mapping[str, str], phases: list[str]) -> Any:
    sums: dict[str, int] = {}
    for row in of_ranks:
        sums[row["file_id"]] = sums.get(row["file_id"], 0) + row["device_ns"]
    unit, unit_ns = stacked_bars.unit_of(max(sums.values()))
    bars: dict[str, dict[str, float]] = {label: {} for label in labels.values()}
    for row in of_ranks:
        bars[labels[row["file_id"]]][row["phase"]] = row["device_ns"] / unit_ns
    colors = {phase: _COLORS.get(phase, _OTHER) for phase in phases}
    return stacked_bars.stacked(bars, colors, x=f"time on the device [{unit}]", part="phase")


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
