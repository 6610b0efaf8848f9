"""How much energy was measured?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, plural, watt_hours

if TYPE_CHECKING:
    import polars as pl

PLACE = 19
# Runs whose devices have no energy by themselves: of tables, whole machines, jobs.
SQL = (
    "FROM energy_reconciled() WHERE part_of IS NULL AND coalesce(energy_j, high_j) > 0 "
    "AND run_id NOT IN (SELECT run_id FROM energy_efficiency() WHERE energy_j IS NOT NULL) "
    "AND run_id NOT IN (SELECT run_id FROM energy_efficiency(per := 'node') WHERE energy_j IS NOT NULL) "
    "ORDER BY run_id, source, scope"
)
GLANCE = ("run_id", "source", "scope", "energy_j", "low_j", "high_j", "windows", "span_s", "mean_w", "addition")
CHARTS = ("energy",)
ONLY_WITH_ROWS = True
NUMBER_PLACE = 31


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in _most_first(rows)])


def _most_first(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    return sorted(rows.to_dicts(), key=lambda row: (-(row["energy_j"] or row["high_j"]), row["run_id"]))


def _amount(row: Mapping[str, Any]) -> str:
    if row["energy_j"] is not None:
        return watt_hours(row["energy_j"])
    return f"{watt_hours(row['low_j'] or 0.0)} to {watt_hours(row['high_j'])}"


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    counted = f" in {plural(row['windows'], 'measurement')}" if row["windows"] else ""
    scope = f" of the {row['scope'].replace('_', ' ')}" if row["scope"] not in (None, "total") else ""
    return f"{names[row['run_id']]}: {_amount(row)}{scope}{counted}."


def _doubt_of(row: Mapping[str, Any]) -> str:
    if row["energy_j"] is None and row["windows"]:
        return "The largest measurement, and the sum of all: it is unknown when they took place."
    return f"{row['addition'][:1].upper()}{row['addition'][1:]}." if row["addition"] else ""


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    counted = [row["windows"] for row in rows.iter_rows(named=True) if row["windows"]]
    if not counted:
        return None
    return KeyNumber(f"{sum(counted):,}", "measured energies", f"in {plural(len(counted), 'run')}")


def nothing(rows: "pl.DataFrame") -> str:
    return "No run has an energy measurement."
