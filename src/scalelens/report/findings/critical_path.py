"""What decides how long a traced step takes?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, percent, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 76
SQL = """
SELECT run_id, kind, rank, name, count(DISTINCT train_step) AS steps, sum(pieces)::BIGINT AS pieces,
    sum(duration_ns)::BIGINT AS duration_ns,
    sum(duration_ns) / sum(sum(duration_ns)) OVER (PARTITION BY run_id) AS share,
    (sum(sum(duration_ns)) OVER (PARTITION BY run_id))::BIGINT AS path_ns
FROM critical_path() WHERE kind IS NOT NULL GROUP BY run_id, kind, rank, name
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY sum(duration_ns) DESC, kind, rank, name) <= 20
ORDER BY path_ns DESC, run_id, duration_ns DESC, kind, rank, name"""
GLANCE = ("run_id", "kind", "rank", "name", "pieces", "duration_ns", "share%")
CHARTS = ("critical_path",)
ABOUT_TRACES = True
_LONGEST_NAME = 70
_ENDS = ("start of the step", "end of the step")
_WHAT = {
    "compute": "the kernel {name}", "communication": "communication by {name}", "memory": "{name}",
    "host": "host work up to {name}", "launch": "the launch of {name}", "gap": "gaps before {name}",
}  # fmt: skip


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    result = []
    for (run,), parts in rows.group_by("run_id", maintain_order=True):
        first = parts.row(0, named=True)
        name = first["name"] or "an unnamed event"
        name = f"the {name}" if name in _ENDS else name
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        where = "" if first["rank"] is None else f" on rank {first['rank']}"
        what = _WHAT[first["kind"]].format(name=name)
        text = f"{names[str(run)]}: {percent(first['share'])} of the critical path is {what}{where}."
        result.append(FindingSentence(text, f"In {plural(int(first['pieces']), 'piece')} of the path, over all ranks."))
    return few(result)


def run_to_draw(rows: "pl.DataFrame") -> str:
    return str(rows["run_id"][0])


def nothing(rows: "pl.DataFrame") -> str:
    return "No device trace shows what launched its work."
