"""Is a GPU, a node or a rank slower than its peers?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 120
SQL = "FROM outlier_gpus() ORDER BY run_id, rank NULLS LAST"
GLANCE = ("run_id", "rank", "node", "device", "verdict", "cause", "peers", "n_steps", "compute_s", "ratio",
          "flagged_share%", "evidence", "reason")  # fmt: skip
ABOUT_TRACES = True
CHARTS = ("outlier_evidence",)
_CAUSES = {"gpu": "its GPU", "host": "its host", "input": "its input of data", "network": "the network",
           "contention": "communication during its kernels"}  # fmt: skip
_SMALLEST = 0.001  # share of jobs; smaller ones are `less than 0.1 %`
_FEW_STEPS = 5  # with fewer, jitter passes for slowness
_FAR_RATIO = 1.25  # jitter of single steps seldom makes a rank so slow
_FAR_LATE = 0.1  # of its time in steps: over few steps it may have been late by chance, but the others did wait
_LATE_BY_CHANCE = 0.02  # weight of those that are late by less than a slow rank of as few steps is slow
_UNMEASURED = 0.03  # weight of ranks that are slow at times, or late
_TAIL = "long tail"  # in the reason of ranks that compute longer, and may be the end of one
_UNDECIDED = 0.02  # of those
_NO_FAULT = 0.01  # of ranks that only overlap more: no device is slow


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    return few([FindingSentence(_text_of(row, names), _doubt_of(row), _weight_of(row)) for row in _ordered(rows)])


def _ordered(rows: "pl.DataFrame") -> list[dict[str, Any]]:
    odd = _odd(rows).iter_rows(named=True)
    return sorted(odd, key=lambda row: (-_weight_of(row), -(row["ratio"] or 0), row["run_id"]))


def _odd(rows: "pl.DataFrame") -> "pl.DataFrame":
    """Ranks that stand out: over a few steps only those that do so far beyond the jitter of single steps."""
    undecided = (rows["verdict"] == "unknown") & rows["reason"].cast(str).str.contains(_TAIL)
    odd = rows.filter(
        rows["verdict"].is_in(["slow", "intermittent", "late", "contention"]) | undecided.fill_null(False)
    )
    far = (odd["verdict"].is_in(["slow", "unknown"]) & (odd["ratio"] >= _FAR_RATIO)).fill_null(False)
    waited_for = ((odd["verdict"] == "late") & (odd["late_share"].cast(float) >= _FAR_LATE)).fill_null(False)
    return odd.filter((odd["n_steps"] >= _FEW_STEPS).fill_null(False) | far | waited_for)


def _weight_of(row: Mapping[str, Any]) -> float:
    """The share of the time by which a slow rank holds up all others."""
    if row["verdict"] == "contention":
        return _NO_FAULT
    if row["verdict"] == "unknown":
        return _UNDECIDED
    if row["verdict"] == "late" and row["late_share"] is not None:
        if (row["n_steps"] or 0) < _FEW_STEPS and row["late_share"] < _FAR_RATIO - 1:
            return _LATE_BY_CHANCE
        return min(max(float(row["late_share"]), _UNMEASURED), 1.0)
    return min(row["ratio"] - 1, 1.0) if row["verdict"] == "slow" else _UNMEASURED


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    rank = "A rank" if row["rank"] is None else f"Rank {row['rank']}"
    where = f" on {row['node']}" if row["node"] else ""
    cause = f" Cause: {_CAUSES.get(row['cause'], row['cause'])}." if row["cause"] else ""
    if row["verdict"] in ("slow", "unknown"):
        longer, share = percent(row["ratio"] - 1, 0), percent(row["flagged_share"], 0)
        what = f"computes {longer} longer than its peers, in {share} of its steps"
        what += ", and whether it is slow cannot be told" if row["verdict"] == "unknown" else ""
    elif row["verdict"] == "intermittent":
        what = "is slow at times"
    elif row["verdict"] == "contention":
        longer, factor = percent(row["with_contention"] - 1, 0), row["contention"]
        what = f"computes {longer} longer than its peers only because of communication, which runs during "
        what += f"{percent(row['beside_share'], 0)} of its kernels' time and makes them take {factor:.2f} times as long"
    else:
        what = "keeps the others waiting" + (f", for {_of_steps(row['late_share'])}" if row["late_share"] else "")
    return f"{rank}{where} of {names[row['run_id']]} {what}.{cause}"


def _of_steps(share: float) -> str:
    return f"{percent(share, 0)} of its steps" if share <= 1 else "longer than its steps take"


def _doubt_of(row: Mapping[str, Any]) -> str:
    share = (
        "" if row["q"] is None else percent(row["q"]) if row["q"] >= _SMALLEST else f"less than {percent(_SMALLEST)}"
    )
    chance = f"; by chance in {share} of such jobs" if share and row["verdict"] == "slow" else ""
    others = max((row["peers"] or 1) - 1, 0)  # the rank is one of its peers
    steps = row["n_steps"] or 0
    short = ", too few to be sure" if steps < _FEW_STEPS else ""
    evidence = f" Evidence: {row['evidence']}." if row["verdict"] != "slow" and row["evidence"] else ""
    if row["verdict"] == "unknown":
        evidence = f" {row['reason'][:1].upper()}{row['reason'][1:]}."
    return f"{plural(steps, 'step')}{short}, compared with {plural(others, 'other rank')}{chance}.{evidence}"


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(_ordered(rows)[0]["run_id"])


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No rank can be compared: there are no runs."
    compared = rows.filter((rows["verdict"] == "ordinary").fill_null(False))
    reasons = Counter(reason for reason in rows["reason"] if reason)
    why = "; ".join(f"{reason} ({plural(count, 'row')})" for reason, count in reasons.most_common(2))
    looked = f"{plural(compared.height, 'rank')} compared, none stands out." if compared.height else "It is not known."
    brief = int(rows["verdict"].is_in(["slow", "intermittent", "late"]).sum())
    if brief:
        looked = f"{plural(brief, 'rank')} stood out in fewer than {_FEW_STEPS} steps, which is too few to tell."
    return f"{looked} {why[:1].upper()}{why[1:]}." if why else looked
