"""The energy of a trace, rank by rank: joules while a device computes, only communicates, only copies or idles.

Shows: what the energy of a training or of a serving engine goes into.
Query: energy_of_trace
Encodings:
    y        a rank
    x        energy of one device in J, stacked over the parts
    color    computing, communication and copies that nothing hides, idle; with what=phase the phases of inference
    caption  mean power of each part, joules per token, sensors whose rank is not known, time without power
Source: power readings in the time of a trace (docs/traces.md)
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from scalelens.charts import limits, stacked_bars, style, words
from scalelens.charts.layout import SINGLE, Page
from scalelens.errors import UserError

QUERY = "energy_of_trace"

_COLORS = {
    "compute": "#0072B2", "exposed communication": "#E69F00", "exposed memory": "#009E73", "idle": "#BBBBBB",
    "prefill": "#0072B2", "mixed": "#E69F00", "decode": "#56B4E9",
}  # fmt: skip
_OTHER = "#999999"
_MOST_RANKS = 64
_COMPLETE = 0.995  # share of the time in which power was measured, from which the caption says nothing


def draw(
    rows: pl.DataFrame,
    left_out: Mapping[str, int],
    parameters: Mapping[str, str] | None = None,
    page: Page = SINGLE,
) -> Any:
    """The figure of the rows of `energy_of_trace`.  Raises UserError where no energy is known, and for annotations."""
    known = rows.filter(pl.col("energy_j").is_not_null() & (pl.col("time_ns") > 0))
    if known.is_empty():
        notes = rows["note"].drop_nulls().to_list()
        why = f": {notes[0]}" if notes else ""
        raise UserError(f"there is no energy to draw{why}", "see the power: scalelens query power_readings")
    if (parameters or {}).get("what") == "annotation":
        raise UserError(
            "the energies of annotations cannot be added: annotations are nested",
            "see the numbers: scalelens query energy_of_trace what=annotation",
        )
    limits.check_one_run(known, "energy of traces")
    files = dict(known.select("file_id", "rank").unique().sort("rank", "file_id").iter_rows())
    limits.check_count(len(files), _MOST_RANKS, "ranks", "see the numbers: scalelens query energy_of_trace")
    labels = {file: str(number if rank is None else rank) for number, (file, rank) in enumerate(files.items())}
    named = set(known["part"])
    parts = [part for part in _COLORS if part in named] + sorted(named - set(_COLORS))
    colors = {part: _COLORS.get(part, _OTHER) for part in parts}
    of_part = {(row["file_id"], row["part"]): row["energy_j"] for row in known.iter_rows(named=True)}
    bars = {
        label: {part: of_part[file, part] for part in parts if (file, part) in of_part}
        for file, label in labels.items()
    }
    stacked = stacked_bars.stacked(bars, colors, x="energy of the device [J]", value="energy")
    legend = stacked_bars.legend(bars.values(), colors)
    return style.figure([[stacked_bars.panel(stacked, len(bars), page)]], legend, _caption(known, parts), page)


def _caption(known: pl.DataFrame, parts: list[str]) -> list[str]:
    sensors = int(known["sensors"].max())  # type: ignore[arg-type]
    lines = [] if sensors == 1 else [f"Each rank has the mean of {sensors} sensors: which is its own is not known."]
    watts, per_token = [], []
    for part in parts:
        of_part, word = known.filter(pl.col("part") == part), part.replace("_", " ")
        joules: list[float] = of_part["energy_j"].to_list()
        measured_s = _measured_s(of_part)
        if measured_s > 0:
            watts.append(f"{word} {words.short_number(sum(joules) / measured_s)}")
        counted = of_part.filter(pl.col("tokens") > 0)
        if not counted.is_empty():
            tokens: list[float] = counted["tokens"].to_list()
            spent: list[float] = (counted["token_j"] * counted["tokens"]).to_list()
            per_token.append(f"{word} {words.short_number(sum(spent) / sum(tokens))}")
    if watts:
        lines.append(f"Mean power in W: {', '.join(watts)}.")
    if per_token:
        lines.append(f"Joules per token: {', '.join(per_token)}.")
    covered = 1e9 * _measured_s(known) / sum(known["time_ns"].to_list())
    if covered < _COMPLETE:
        lines.append(f"Power was measured in {100 * covered:.0f} % of the time; the rest has no energy here.")
    return lines


def _measured_s(rows: pl.DataFrame) -> float:
    """Seconds in which power was measured."""
    return float(sum((rows["time_ns"] * rows["coverage"]).to_list())) / 1e9
