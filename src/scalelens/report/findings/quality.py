"""How good do the models become?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 50
SQL = """
SELECT 'accuracy' AS score_name, run_id, phase, count(*) AS n_values, arg_min(score, place) AS first_score,
       arg_max(score, place) AS last_score, max(score) AS best_score, max(epoch) AS epoch, max(step) AS step
FROM (SELECT *, row_number() OVER (ORDER BY attempt, step, epoch, elapsed_s, line) AS place FROM accuracy_curve())
GROUP BY run_id, phase
UNION ALL
SELECT 'loss', run_id, phase, count(*), arg_min(score, place), arg_max(score, place), min(score), max(epoch), max(step)
FROM (SELECT *, row_number() OVER (ORDER BY attempt, step, epoch, elapsed_s, line) AS place
      FROM accuracy_curve(score_name := 'loss'))
GROUP BY run_id, phase
ORDER BY score_name, phase DESC, best_score DESC, run_id"""
GLANCE = ("run_id", "score_name", "phase", "n_values", "first_score", "last_score", "best_score", "epoch", "step")
CHARTS = ("accuracy", "accuracy score_name=loss")
NUMBER_PLACE = 55
_LEAST_VALUES = 2
_LEAST_ACCURACY = 0.001  # of the first screen: a run that has not learned yet says nothing


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """The best validation of each run, else the loss over its training."""
    result, told = [], set()
    for row in _in_order(rows):
        if row["run_id"] not in told:
            told.add(row["run_id"])
            result.append(_sentence(row, names[row["run_id"]]))
    return few(result)


def _in_order(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    """Validations of the accuracy first, then those of the loss, then records of the training."""
    known = [row for row in rows.iter_rows(named=True) if row["best_score"] is not None]
    known = [row for row in known if row["phase"] == "validation" or row["n_values"] >= _LEAST_VALUES]
    sign = {"accuracy": -1, "loss": 1}
    known.sort(
        key=lambda row: (row["phase"] != "validation", row["score_name"], sign[row["score_name"]] * row["best_score"])
    )
    return known


def _sentence(row: Mapping[str, Any], name: str) -> FindingSentence:
    if row["phase"] == "validation":
        best = percent(row["best_score"]) if row["score_name"] == "accuracy" else f"{row['best_score']:.4g}"
        kind = "highest" if row["score_name"] == "accuracy" else "lowest"
        text = f"{name}: {kind} {row['score_name']} in validation {best}."
        return FindingSentence(text, f"Of {plural(row['n_values'], 'validation')}.")
    first, last = (
        percent(row[side]) if row["score_name"] == "accuracy" else f"{row[side]:.4g}"
        for side in ("first_score", "last_score")
    )
    text = f"{name}: the {row['score_name']} of training goes from {first} to {last}."
    return FindingSentence(text, f"First and last of {plural(row['n_values'], 'record')}.")


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    best = next((row for row in _in_order(rows) if row["phase"] == "validation"), None)
    if best is None or (best["score_name"] == "accuracy" and best["best_score"] < _LEAST_ACCURACY):
        return None
    value = percent(best["best_score"]) if best["score_name"] == "accuracy" else f"{best['best_score']:.4g}"
    return KeyNumber(value, f"best validation {best['score_name']}", names[best["run_id"]])


def nothing(rows: "pl.DataFrame") -> str:
    return "No log gives an accuracy or a loss."
