"""How long does it take to train to the target (MLPerf)?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 15
SQL = "FROM mlperf_scores()"
GLANCE = ("submitter", "system", "benchmark", "minutes", "n_results", "n_converged", "nodes", "devices", "division",
          "note")  # fmt: skip
CHARTS = ("time_to_train", "accuracy")
NUMBER_PLACE = 20


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for row in rows.filter(rows["minutes"].is_not_null()).sort("benchmark", "minutes").iter_rows(named=True):
        size = f", {plural(row['devices'], 'device')}" if row["devices"] else ""
        nodes = f"{plural(row['nodes'], 'node')}" if row["nodes"] else "nodes unknown"
        text = f"{row['benchmark']}: {row['minutes']:.4g} min on {row['system']} ({nodes}{size})."
        note = f" {row['note'][:1].upper()}{row['note'][1:]}." if row["note"] else ""
        doubt = f"Mean of {plural(row['n_results'], 'result')} without the fastest and the slowest; "
        result.append(FindingSentence(text, f"{doubt}{row['n_converged']} reached the target.{note}"))
    return few(result)


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    scored = rows.filter(rows["minutes"].is_not_null()).sort("minutes")
    if scored.is_empty():
        return None
    best = scored.row(0, named=True)
    return KeyNumber(f"{best['minutes']:.4g} min", "shortest time to train", f"{best['benchmark']} on {best['system']}")


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "The folder does not have the layout of an MLPerf submission."
    return "No benchmark has enough results for MLPerf's score: scalelens query mlperf_scores"
