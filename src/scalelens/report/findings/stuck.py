"""Did any rank fail to reach a collective?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 130
SQL = "FROM stuck_collectives() ORDER BY run_id, process_group, rank"
GLANCE = ("run_id", "process_group", "rank", "verdict", "waits_in", "called", "last_common", "n_ranks", "missing_ranks",
          "state")  # fmt: skip
ABOUT_TRACES = True
_WORDS = {"behind": "did not call", "mismatch": "calls another kind or size of", "not begun": "did not begin"}


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    odd = rows.filter(rows["verdict"].is_in(list(_WORDS))).iter_rows(named=True)
    return few([FindingSentence(_text_of(row, names), _doubt_of(row), 1.0) for row in odd])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    what = row["waits_in"] or "the last collective"
    return (
        f"Rank {row['rank']} of {names[row['run_id']]} {_WORDS[row['verdict']]} {what} of group {row['process_group']}."
    )


def _doubt_of(row: Mapping[str, Any]) -> str:
    missing = f"; {row['missing_ranks']} without a dump are not judged" if row["missing_ranks"] else ""
    return f"Dumps of {plural(row['n_ranks'], 'rank')}{missing}."


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No flight recorder dump was read."
    return f"All {plural(rows.height, 'position')} of ranks in their groups agree: none is behind the others."
