"""How good do the models become?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 50
# How names of accuracies and losses begin, or go on after a sign: Top1_val, train/loss.
_SCORE = r"(?i)^([\w/. -]*[^a-z])?(acc|top.?1|prec.?1|map|bleu|dice|iou|loss)[\w/. -]*$"
# Runs whose launches or ranks cannot be told apart: their scores do not form one curve.
OF_UNKNOWN_WRITERS = "(SELECT run_id FROM params WHERE key = 'writers' AND value = 'ambiguous')"
# The name of the most telling metric that is a score of several steps: what shows logs without accuracies and losses.
SCORE_OF_METRICS = (
    rf"SELECT name FROM metrics WHERE step IS NOT NULL AND regexp_matches(name, '{_SCORE}') "
    f"AND run_id NOT IN {OF_UNKNOWN_WRITERS} "
    "GROUP BY name HAVING count(DISTINCT (run_id, step)) > count(DISTINCT run_id) "
    "ORDER BY name ILIKE '%loss%', name ILIKE '%train%', count(*) DESC, name LIMIT 1"
)
SQL = f"""
WITH accuracies AS MATERIALIZED (FROM accuracy_curve()),
losses AS MATERIALIZED (FROM accuracy_curve(score_name := 'loss'))
SELECT 'accuracy' AS score_name, run_id, phase, count(*) AS n_values, arg_min(score, place) AS first_score,
       arg_max(score, place) AS last_score, max(score) AS best_score, max(epoch) AS epoch, max(step) AS step
FROM (SELECT *, row_number() OVER (ORDER BY attempt, step, epoch, elapsed_s, line) AS place FROM accuracies)
GROUP BY run_id, phase
UNION ALL
SELECT 'loss', run_id, phase, count(*), arg_min(score, place), arg_max(score, place), min(score), max(epoch), max(step)
FROM (SELECT *, row_number() OVER (ORDER BY attempt, step, epoch, elapsed_s, line) AS place FROM losses)
GROUP BY run_id, phase
UNION ALL
SELECT name, run_id, NULL, count(*), arg_min(value, nth), arg_max(value, nth),
    if(name ILIKE '%loss%', min(value), max(value)), NULL, max(step)
FROM (SELECT *, row_number() OVER (ORDER BY attempt, step, line) AS nth FROM metrics
      WHERE name = ({SCORE_OF_METRICS}) AND step IS NOT NULL
      AND run_id NOT IN {OF_UNKNOWN_WRITERS} AND NOT EXISTS (FROM accuracies) AND NOT EXISTS (FROM losses))
GROUP BY name, run_id
ORDER BY score_name, phase DESC, best_score DESC, run_id"""
GLANCE = ("run_id", "score_name", "phase", "n_values", "first_score", "last_score", "best_score", "epoch", "step")
CHARTS = ("accuracy", "accuracy score_name=loss")
NUMBER_PLACE = 55
_LEAST_VALUES = 2
LEAST_ACCURACY = 0.001  # a run that has not learned yet says nothing


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    """Those of the accuracy and the loss; of logs without them, that of the metric which is a score."""
    others = [name for name in rows["score_name"].unique() if name not in ("accuracy", "loss") and " " not in name]
    return (*CHARTS, *(f"accuracy score_name={name}" for name in sorted(others)))


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """The best validation of each run, else the score over its training."""
    result, told = [], set()
    for row in _in_order(rows):
        if row["run_id"] not in told:
            told.add(row["run_id"])
            result.append(_sentence(row, names[row["run_id"]]))
    return few(result)


def _in_order(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    """Validations of the accuracy first, then those of the loss, then records of the training, by how they end."""
    known = [row for row in rows.iter_rows(named=True) if row["best_score"] is not None]
    known = [row for row in known if row["score_name"] != "accuracy" or row["best_score"] >= LEAST_ACCURACY]
    known = [row for row in known if row["phase"] == "validation" or row["n_values"] >= _LEAST_VALUES]

    def place(row: Mapping[str, Any]) -> tuple[bool, str, float]:
        sign = 1 if "loss" in row["score_name"].lower() else -1
        score = row["best_score"] if row["phase"] == "validation" else row["last_score"]
        return row["phase"] != "validation", row["score_name"], sign * score

    return sorted(known, key=place)


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
    what = f"the {row['score_name']} of training" if row["phase"] else row["score_name"]
    text = f"{name}: {what} goes from {first} to {last}."
    return FindingSentence(text, f"First and last of {plural(row['n_values'], 'record')}.")


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    best = next((row for row in _in_order(rows) if row["phase"] == "validation"), None)
    if best is None:
        return None
    value = percent(best["best_score"]) if best["score_name"] == "accuracy" else f"{best['best_score']:.4g}"
    return KeyNumber(value, f"best validation {best['score_name']}", names[best["run_id"]])


def nothing(rows: "pl.DataFrame") -> str:
    if rows["best_score"].count():
        return f"No run has a course to tell: accuracies below {percent(LEAST_ACCURACY)}, or single records."
    return "No log gives an accuracy or a loss."
