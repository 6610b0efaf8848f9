"""Which kernels take the time?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 80
SQL = """
SELECT run_id, class, name, sum(calls) AS calls, sum(total_ns) AS total_ns,
       sum(total_ns) / sum(sum(total_ns)) OVER (PARTITION BY run_id) AS share,
       min(min_ns) AS min_ns, max(max_ns) AS max_ns
FROM kernel_summary() GROUP BY run_id, class, name
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY sum(total_ns) DESC, name) <= 20
ORDER BY sum(sum(total_ns)) OVER (PARTITION BY run_id) DESC, run_id, total_ns DESC, name"""
GLANCE = ("run_id", "class", "name", "calls", "total_ns", "share%", "min_ns", "max_ns")
CHARTS = ("kernel_summary",)
ABOUT_TRACES = True
_LONGEST_NAME = 70


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run,), group in rows.group_by("run_id", maintain_order=True):
        top = group.row(0, named=True)
        name = top["name"] or "work without a name"  # of a trace that was damaged
        kernel = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        calls = plural(int(top["calls"]), "call")
        text = f"{names[str(run)]}: {kernel} takes {percent(top['share'])} of the device's work, in {calls}."
        result.append(
            FindingSentence(text, "Share of the sum of all kernels and copies; overlapping ones each count in full.")
        )
    return few(result)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No trace contains a device kernel."
