"""Work per watt-hour"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent

if TYPE_CHECKING:
    import polars as pl

PLACE = 90
SQL = "FROM energy_efficiency() ORDER BY run_id"
GLANCE = ("run_id", "devices", "global_batch_size", "energy_j", "unit", "units", "unit_w", "tdp_share%", "coverage%",
          "samples_per_wh", "tokens_per_wh", "energy_kind", "note")  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    measured = rows.filter(rows["energy_j"].is_not_null()).sort("energy_j", "run_id", descending=[True, False])
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in measured.iter_rows(named=True)])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    text = f"{names[row['run_id']]}: {row['energy_j'] / 3600:.4g} Wh on {row['units'] or 0:g} {row['unit']}s"
    for column, what in (("tokens_per_wh", "tokens"), ("samples_per_wh", "samples")):
        if row[column] is not None:
            return f"{text}, {row[column]:,.4g} {what} per Wh."
    return f"{text}."


def _doubt_of(row: Mapping[str, Any]) -> str:
    covered = f"; sensors cover {percent(row['coverage'], 0)} of the run" if row["coverage"] is not None else ""
    note = f"; {row['note']}" if row["note"] else ""
    return f"Energy {row['energy_kind']}{covered}{note}."


def nothing(rows: "pl.DataFrame") -> str:
    return "No run has a measured energy."
