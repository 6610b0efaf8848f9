"""Do the measurements of energy agree?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, watt_hours

if TYPE_CHECKING:
    import polars as pl

PLACE = 150
SQL = "FROM energy_reconciled() ORDER BY run_id, source, scope"
GLANCE = ("run_id", "source", "scope", "energy_j", "mean_w", "how", "covers", "span_s", "coverage%", "note")
_MAY_BE_SMALL = "draws so little"  # of a device: a GPU within a processor draws less than 1 W
_WEIGHT = 0.1  # figures contradict each other from a difference of 10 % on


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    doubted = rows.filter(rows["note"].is_not_null() & rows["energy_j"].is_not_null())
    for row in doubted.filter(~doubted["note"].str.contains(_MAY_BE_SMALL, literal=True)).iter_rows(named=True):
        scope = f" of the {row['scope'].replace('_', ' ')}" if row["scope"] else ""
        figure = f"{watt_hours(row['energy_j'])}{scope} by {row['source']}"
        result.append(FindingSentence(f"{names[row['run_id']]}: {figure} is doubtful.",
                                      f"{row['note'][:1].upper()}{row['note'][1:]}.", _WEIGHT))  # fmt: skip
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No run has an energy measurement."
    return "No two figures for the energy of a run contradict each other."
