"""How long do prefill and decode take in a serving engine?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, amount, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 82
SQL = """
SELECT *, device_ns / nullif(sum(device_ns) OVER (PARTITION BY run_id, file_id), 0) AS share
FROM inference_phases() ORDER BY run_id, rank, file_id, device_ns DESC NULLS LAST, phase"""
GLANCE = ("run_id", "rank", "phase", "iterations", "requests", "tokens", "tokens_per_s", "device_ns", "share%")
CHARTS = ("inference_phases",)
ABOUT_TRACES = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run, rank, _), group in rows.group_by("run_id", "rank", "file_id", maintain_order=True):
        parts = []
        for row in group.filter(group["share"].is_not_null()).iter_rows(named=True):
            rate = "" if row["tokens_per_s"] is None else f" ({amount(row['tokens_per_s'])} tokens/s)"
            parts.append(f"{percent(row['share'])} in {row['phase'].replace('_', ' ')}{rate}")
        if parts:
            of_rank = "" if rank is None else f", rank {rank}"
            text = f"{names[str(run)]}{of_rank}: the iterations of the engine spend {', '.join(parts)}."
            count = plural(int(group["iterations"].sum()), "iteration")
            result.append(FindingSentence(text, f"Time on the device, of {count}; the host schedules in between."))
    return few(result)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No trace contains annotations from a serving engine."
