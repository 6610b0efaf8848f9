"""Which rank do the others wait for?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.findings import TRACES_OF_HOSTS
from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 84
SQL = f"""
SELECT run_id, rank, count(DISTINCT call) AS calls, count(*) FILTER (blame_ns > 0) AS last, sum(blame_ns) AS blame_ns,
       sum(blame_ns) / sum(sum(blame_ns)) OVER (PARTITION BY run_id) AS share,
       count(*) OVER (PARTITION BY run_id) AS ranks, any_value(note) AS note
FROM collective_arrivals(runs := '{TRACES_OF_HOSTS}') WHERE blame_ns IS NOT NULL
GROUP BY run_id, rank
QUALIFY sum(sum(blame_ns)) OVER (PARTITION BY run_id) > 0
ORDER BY run_id, blame_ns DESC, rank"""
GLANCE = ("run_id", "rank", "calls", "last", "blame_ns", "share%", "note")
CHARTS = ("collective_arrivals",)
ABOUT_TRACES = True
ONLY_WITH_ROWS = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run,), group in rows.group_by("run_id", maintain_order=True):
        worst = group.row(0, named=True)
        calls, share = plural(worst["calls"], "collective"), percent(worst["share"], 0)
        text = (
            f"{names[str(run)]}: rank {worst['rank']} arrives last at {worst['last']} of {calls} and causes {share} "
            "of the waiting for late ranks."
        )
        note = f" {worst['note'][:1].upper()}{worst['note'][1:]}." if worst["note"] else ""
        result.append(FindingSentence(text, f"{plural(worst['ranks'], 'rank')} were traced, without devices.{note}"))
    return few(result)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No trace of ranks without devices contains their collectives."
