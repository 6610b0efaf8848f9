"""Do the sources agree with each other?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few

if TYPE_CHECKING:
    import polars as pl

PLACE = 20
SQL = "FROM contradictions() ORDER BY run_id, key, chosen DESC, origin, value"
GLANCE = ("run_id", "key", "value", "unit", "origin", "line", "chosen")


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run, key), group in rows.group_by("run_id", "key", maintain_order=True):
        values = dict.fromkeys(f"{row['value']} ({row['origin']})" for row in group.iter_rows(named=True))
        chosen = group.filter(group["chosen"])["value"]
        text = f"{names[str(run)]}: its sources name different {str(key).replace('_', ' ')}: {', '.join(values)}."
        result.append(
            FindingSentence(text, f"This page uses {chosen[0]}." if len(chosen) else "This page uses none of them.")
        )
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    return "No two sources of a run contradict each other."
