"""Did the runs complete?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 10
SQL = """
SELECT run_id, outcome, outcome_line AS line, nodes, devices, system, model, path
FROM runs
WHERE outcome NOT IN ('completed', 'unknown') ORDER BY outcome, run_id"""
GLANCE = ("run_id", "outcome", "line", "devices", "system", "model", "path")
_WORDS = {"oom": "out of memory", "collective_timeout": "in a collective that timed out",
         "time_limit": "at the time limit", "node_failure": "when a node failed", "error": "with an error",
         "cancelled": "by a cancellation"}  # fmt: skip
_MOST_NAMED = 4


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for outcome, count in Counter(rows["outcome"]).most_common():
        runs = [names[run] for run in rows.filter(rows["outcome"] == outcome)["run_id"]]
        more = f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
        text = f"{plural(count, 'run')} ended {_WORDS.get(outcome, outcome)} ({', '.join(runs[:_MOST_NAMED])}{more})."
        result.append(FindingSentence(text, "The table names the log line that reports it, if there is one."))
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    return "No log says that its run failed. A log that ends without a word leaves its outcome unknown."
