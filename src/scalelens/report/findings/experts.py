"""Do all ranks get equally many tokens in all-to-alls?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, amount, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 84
SQL = """
SELECT * FROM expert_balance()
ORDER BY imbalance DESC NULLS LAST, run_id, process_group, kind, load DESC NULLS LAST, group_rank, rank"""
GLANCE = ("run_id", "process_group", "kind", "rank", "load", "worst_load", "imbalance", "received_bytes", "calls",
          "duration_ns", "wait_ns", "note")  # fmt: skip
CHARTS = ("expert_balance",)
ABOUT_TRACES = True
IS_REMARK = True
_LEAST = 1.1  # imbalance that is worth a sentence


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    uneven = rows.filter(rows["imbalance"].fill_null(0) >= _LEAST)
    for (run, group, kind), ranks in uneven.group_by("run_id", "process_group", "kind", maintain_order=True):
        first = ranks.row(0, named=True)
        whose = f"rank {first['rank']}" if first["rank"] is not None else f"rank {first['group_rank']} of the group"
        text = (
            f"{names[str(run)]}: in the {str(kind).replace('_', '-')} of group {group}, {whose} gets "
            f"{amount(first['load'])} times the mean; loads that differ from exchange to exchange cost up to "
            f"{amount(first['imbalance'])} times the even time."
        )
        doubt = f"{plural(int(first['calls']), 'exchange')}" + (f"; {first['note']}" if first["note"] else "") + "."
        result.append(FindingSentence(text, doubt, first["imbalance"] - 1))
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No trace contains an all-to-all."
    return f"No all-to-all of a known size is uneven by 10 % or more ({plural(rows.height, 'rank')} of groups)."
