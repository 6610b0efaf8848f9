"""Which part of a trace takes the energy?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, amount, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 47
SQL = "FROM energy_of_trace() ORDER BY run_id, rank, file_id, energy_j DESC NULLS LAST, part"
GLANCE = ("run_id", "rank", "part", "time_ns", "energy_j", "share%", "mean_w", "coverage%", "sensors", "note")
CHARTS = ("energy_of_trace",)
ABOUT_TRACES = True


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    known = rows.filter(rows["energy_j"].is_not_null())
    for (run, rank, _), parts in known.group_by("run_id", "rank", "file_id", maintain_order=True):
        told = [
            f"{percent(row['share'])} while {_DOING.get(row['part'], row['part'])}"
            for row in parts.iter_rows(named=True) if (row["share"] or 0) >= _LEAST
        ]  # fmt: skip
        if told:
            of_rank = "" if rank is None else f", rank {rank}"
            joules = amount(float(parts["energy_j"].sum()))
            text = f"{names[str(run)]}{of_rank}: of {joules} J in the trace, {', '.join(told)}."
            sensors = plural(int(parts["sensors"][0]), "sensor")
            result.append(FindingSentence(text, f"Power of {sensors}, integrated over the parts of the trace."))
    return few(result)


_LEAST = 0.01
_DOING = {
    "compute": "it computes", "exposed communication": "it only communicates", "exposed memory": "it only copies",
    "idle": "the device is idle",
}  # fmt: skip


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No power readings overlap a device trace."
    reason: str = rows["note"].drop_nulls()[0]
    return f"Power and traces cannot be joined: {reason}."
