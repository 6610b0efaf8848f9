"""Is a node to blame for slow jobs?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 115
SQL = "SELECT * EXCLUDE (run_ids) FROM blame()"
GLANCE = (
    "suspect",
    "verdict",
    "slowdown%",
    "n_slower",
    "n_jobs",
    "n_others",
    "p_value",
    "more_jobs",
    "rivals",
    "evidence",
    "note",
)
CHARTS = ("blame", "blame_jobs")
_ACCUSED = ("slow", "confounded")
_EFFECT = 0.05  # the default of the query


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    accused = [row for row in rows.iter_rows(named=True) if row["verdict"] in _ACCUSED]
    return few([FindingSentence(_text_of(row), _doubt_of(row), row["slowdown"] or 0.0) for row in accused])


def _text_of(row: Mapping[str, Any]) -> str:
    if row["verdict"] == "confounded":
        return f"{row['suspect']} is slow, or {row['rivals']} is: no jobs tell which."
    nodes = "are nodes that always came together, and jobs with them" if "+" in row["suspect"] else "slows jobs: they"
    return f"{row['suspect']} {nodes} are {percent(row['slowdown'])} slower than comparable jobs without."


def _doubt_of(row: Mapping[str, Any]) -> str:
    if row["slowdown"] is None:
        return ""
    kind = "95 % interval" if row["interval_kind"] == "ci95" else "range"
    evidence = f" Evidence: {row['evidence']}." if row["evidence"] else ""
    return (
        f"{row['n_slower']} of {plural(row['n_jobs'], 'job')} with it slower, against {row['n_others']} without it; "
        f"{kind} {percent(row['slowdown_low'])} to {percent(row['slowdown_high'])}; "
        f"p {row['p_value']:.2g} for all nodes together.{evidence}"
    )


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No run with the time of a step says which nodes it used."
    compared = rows.filter(rows["p_value"].is_not_null())
    if compared.is_empty():
        return "No node can be tested: no configuration has two jobs with a node and two without it."
    ordinary = int((rows["verdict"] == "ordinary").sum())
    return (
        f"No node stands out among {plural(compared.height, 'node')} that can be tested. "
        f"{plural(ordinary, 'node')} certainly slow jobs by less than {percent(_EFFECT, 0)}; "
        "of the others too few jobs are known."
    )
