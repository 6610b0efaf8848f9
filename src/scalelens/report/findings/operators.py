"""Which operators take the time of the host?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.findings import TRACES_OF_HOSTS
from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 85
SQL = f"""
SELECT run_id, name, sum(calls) AS calls, sum(self_ns) AS self_ns,
       sum(self_ns) / sum(sum(self_ns)) OVER (PARTITION BY run_id) AS share, sum(total_ns) AS total_ns
FROM op_summary(runs := '{TRACES_OF_HOSTS}')
GROUP BY run_id, name HAVING sum(self_ns) > 0
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY sum(self_ns) DESC, name) <= 20
ORDER BY sum(sum(self_ns)) OVER (PARTITION BY run_id) DESC, run_id, self_ns DESC, name"""
GLANCE = ("run_id", "name", "calls", "self_ns", "share%", "total_ns")
CHARTS = ("op_summary",)
ABOUT_TRACES = True
ONLY_WITH_ROWS = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run,), group in rows.group_by("run_id", maintain_order=True):
        top = group.row(0, named=True)
        calls = plural(int(top["calls"]), "call")
        text = f"{names[str(run)]}: {top['name']} takes {percent(top['share'])} of the operators' time, in {calls}."
        doubt = "Own time on the host, without that of the operators called within; the traces contain no device."
        result.append(FindingSentence(text, doubt))
    return few(result)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No trace contains operators of the host alone."
