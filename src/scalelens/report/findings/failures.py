"""Did the runs complete?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, few_of, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 210
IS_REMARK = True
CHARTS = ("failures",)
SQL = """
SELECT run_id, outcome, outcome_line AS line, nodes, devices, system, model, path, text
FROM runs LEFT JOIN (
    SELECT run_id, line AS outcome_line, any_value(value) AS text FROM params
    WHERE key = 'outcome_text' GROUP BY run_id, line) USING (run_id, outcome_line)
WHERE outcome NOT IN ('completed', 'unknown') ORDER BY outcome, run_id"""
GLANCE = ("run_id", "outcome", "line", "text", "devices", "system", "model", "path")
_WORDS = {"oom": "ran out of memory", "collective_timeout": "ended in a collective that timed out",
          "time_limit": "reached the time limit", "node_failure": "ended when a node failed",
          "error": "ended with an error", "cancelled": "ended by a cancellation"}  # fmt: skip
_FEWEST_DRAWN = 3  # failures; a single bar is worth a figure only where the report has no other


def charts(rows: "pl.DataFrame") -> tuple[str, ...]:
    return CHARTS if rows.height >= _FEWEST_DRAWN else ()


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for outcome, count in Counter(rows["outcome"]).most_common():
        runs = [names[run] for run in rows.filter(rows["outcome"] == outcome)["run_id"]]
        what = _WORDS.get(outcome, f"ended as {outcome.replace('_', ' ')}")
        text = f"{plural(count, 'run')} {what}: {few_of(runs)}."
        said = {text for text in rows.filter(rows["outcome"] == outcome)["text"] if text}
        if len(said) == 1:
            text += f" The log says: {said.pop()}"
        result.append(FindingSentence(text, "The table names the log line that reports it, if there is one."))
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    return "No log reports a failure. Where a log just stops, the outcome is unknown."
