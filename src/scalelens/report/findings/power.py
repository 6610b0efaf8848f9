"""How much power do the devices draw?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, amount, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 45
SQL = """
SELECT run_id, scope, count(DISTINCT (node, device)) AS sensors, sum(energy_j) AS energy_j,
       sum(energy_j) / sum(energy_j / nullif(mean_w, 0)) AS mean_w,
       max(span_s) AS span_s, min(coverage) AS coverage, sum(readings) AS readings
FROM energy_integrated() GROUP BY run_id, scope
ORDER BY max(sum(energy_j)) OVER (PARTITION BY run_id) DESC, run_id, energy_j DESC, scope"""
GLANCE = ("run_id", "scope", "sensors", "mean_w", "energy_j", "span_s", "coverage%", "readings")
CHARTS = ("power_over_time",)
NUMBER_PLACE = 65


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for row in rows.filter(rows["mean_w"].is_not_null()).iter_rows(named=True):
        sensors = plural(row["sensors"], f"{_scope_of(row)} sensor".strip())
        text = f"{names[row['run_id']]}: {amount(row['mean_w'])} W on average ({sensors})."
        result.append(FindingSentence(text, f"Energy over time, of {plural(int(row['readings']), 'reading')}."))
    return few(result)


def _scope_of(row: Mapping[str, Any]) -> str:
    """What a sensor covers, in words; empty where no file says."""
    scope = row["scope"] or ""
    return (
        scope.upper()
        if scope in ("gpu", "gcd", "oam", "cpu", "ipu")
        else scope.replace("_ac", " AC").replace("_dc", " DC").replace("_", " ")
    )


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    known = rows.filter(rows["mean_w"].is_not_null()).sort("mean_w", descending=True)
    if known.is_empty():
        return None
    # A column of which no file says what it covers may be a sum.
    stated = known.filter(known["scope"].is_not_null()) if known["scope"].count() else known
    most = stated.row(0, named=True)
    of_which = "a sensor" if most["mean_w"] == known["mean_w"][0] else "the sensors that say what they measure"
    whose = ", ".join(filter(None, [_scope_of(most), names[most["run_id"]]]))
    return KeyNumber(f"{amount(most['mean_w'])} W", f"largest mean power of {of_which}", whose)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No file contains power readings."
