"""What do the traced devices spend their time on?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, KeyNumber, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 70
SQL = """
FROM temporal_breakdown() ORDER BY max(span_ns) OVER (PARTITION BY run_id) DESC, run_id, rank, file_id"""
GLANCE = ("run_id", "rank", "span_ns", "compute_share%", "exposed_comm_share%", "exposed_memory_share%", "idle_share%")
CHARTS = ("temporal_breakdown", "step_heatmap")
NUMBER_PLACE = 60
ABOUT_TRACES = True
_SPENT = {"compute_ns": "compute", "exposed_comm_ns": "communicate without computing",
         "exposed_memory_ns": "only copy", "idle_ns": "are idle"}  # fmt: skip
_LEAST_SHARE = 0.0005  # a smaller share would be printed as 0.0 %


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """One sentence per run: total time over total time."""
    result = []
    for (run,), group in rows.group_by("run_id", maintain_order=True):
        span_ns = sum(group["span_ns"].to_list())
        if not span_ns:
            continue
        shares = {words: sum(group[column].to_list()) / span_ns for column, words in _SPENT.items()}
        spent = ", ".join(f"{words} {percent(share)}" for words, share in shares.items() if share >= _LEAST_SHARE)
        idle = group["idle_share"].drop_nulls().to_list()
        by_rank = f"; idle {percent(min(idle))} to {percent(max(idle))} by rank" if len(idle) > 1 else ""
        doubt = f"{plural(group.height, 'traced rank')}{by_rank}."
        result.append(FindingSentence(f"{names[str(run)]}: of the traced time, the devices {spent}.", doubt))
    return few(result)


def number(rows: "pl.DataFrame", names: Mapping[str, str]) -> KeyNumber | None:
    span_ns = sum(rows["span_ns"].to_list())
    if not span_ns:
        return None
    share = sum(rows["compute_ns"].to_list()) / span_ns
    traces = f"of {plural(rows.height, 'trace')} of {plural(rows['run_id'].n_unique(), 'run')}"
    return KeyNumber(percent(share), "of the traced time spent computing", traces)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No device trace was read."
