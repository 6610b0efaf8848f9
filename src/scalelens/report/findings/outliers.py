"""Is a GPU, a node or a rank slower than its peers?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 30
SQL = "FROM outlier_gpus() ORDER BY run_id, rank NULLS LAST"
GLANCE = ("run_id", "rank", "node", "device", "verdict", "cause", "peers", "n_steps", "compute_s", "ratio",
          "flagged_share%", "evidence", "reason")  # fmt: skip
ABOUT_TRACES = True
_CAUSES = {"gpu": "its GPU", "host": "its host", "input": "its input of data", "network": "the network",
           "contention": "communication beside its kernels"}  # fmt: skip
_SMALLEST = 0.001  # share of jobs; smaller ones are `less than 0.1 %`


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    odd = rows.filter(rows["verdict"].is_in(["slow", "intermittent", "late", "contention"]))
    ordered = odd.sort("ratio", descending=True, nulls_last=True).iter_rows(named=True)
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in ordered])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    rank = "A rank" if row["rank"] is None else f"Rank {row['rank']}"
    where = f" on {row['node']}" if row["node"] else ""
    cause = f" Cause: {_CAUSES.get(row['cause'], row['cause'])}." if row["cause"] else ""
    if row["verdict"] == "slow":
        longer, share = percent(row["ratio"] - 1, 0), percent(row["flagged_share"], 0)
        what = f"computes {longer} longer than its peers, in {share} of its steps"
    elif row["verdict"] == "intermittent":
        what = f"is slow at times ({row['evidence']})"
    elif row["verdict"] == "contention":
        longer, factor = percent(row["with_contention"] - 1, 0), row["contention"]
        what = f"computes {longer} longer than its peers only because of communication, which runs during "
        what += f"{percent(row['beside_share'], 0)} of its kernels' time and makes them take {factor:.2f} times as long"
    else:
        what = f"keeps the others waiting ({row['evidence']})"
    return f"{rank}{where} of {names[row['run_id']]} {what}.{cause}"


def _doubt_of(row: Mapping[str, Any]) -> str:
    share = (
        "" if row["q"] is None else percent(row["q"]) if row["q"] >= _SMALLEST else f"less than {percent(_SMALLEST)}"
    )
    chance = f"; by accident in {share} of such jobs" if share else ""
    others = max((row["peers"] or 1) - 1, 0)  # the rank is one of its peers
    return f"{plural(row['n_steps'] or 0, 'step')}, among {plural(others, 'other')}{chance}."


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No rank can be compared: there are no runs."
    compared = rows.filter((rows["verdict"] == "ordinary").fill_null(False))
    reasons = Counter(reason for reason in rows["reason"] if reason)
    why = "; ".join(f"{reason} ({plural(count, 'row')})" for reason, count in reasons.most_common(2))
    looked = f"{plural(compared.height, 'rank')} compared, none stands out." if compared.height else "It is not known."
    return f"{looked} {why[:1].upper()}{why[1:]}." if why else looked
