"""What of the planned study is missing?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few, plural

if TYPE_CHECKING:
    import polars as pl

PLACE = 5
SQL = "FROM planned_runs() ORDER BY plan, state <> 'missing', planned_run"
GLANCE = ("state", "planned_run", "nodes", "repeat", "precision", "dataset", "outcome", "command", "note")
ONLY_WITH_ROWS = True
_DONE = ("completed", "unclear")
_MOST = 4  # commands in a sentence


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    found = []
    for (plan,), planned in rows.group_by("plan", maintain_order=True):
        wanting = planned.filter(~planned["state"].is_in(_DONE))
        if wanting.height:
            folder = str(plan).rpartition("/")[0]
            text = f"{wanting.height} of {plural(planned.height, 'planned run')} in {folder} came back incomplete."
            found.append(FindingSentence(text, _doubt_of(wanting, folder), wanting.height / planned.height))
        for row in planned.filter(planned["note"].is_not_null()).iter_rows(named=True):
            found.append(
                FindingSentence(f"{row['planned_run']} is not the run that was planned: {row['note']}.", "", 1.0)
            )
    return few(found)


def _doubt_of(wanting: "pl.DataFrame", folder: str) -> str:
    """How many of each state, and the lines that make the runs."""
    counts = wanting["state"].value_counts(sort=True).sort(["count", "state"], descending=[True, False])
    states = ", ".join(f"{count} {state}" for state, count in counts.iter_rows())
    commands = list(dict.fromkeys(wanting["command"].drop_nulls()))
    if not commands:
        return f"{states}. The plan names no commands."
    more = "" if len(commands) <= _MOST else f"; {len(commands) - _MOST} more are in the table"
    return f"{states}. In that folder: {'; '.join(commands[:_MOST])}{more}."


def nothing(rows: "pl.DataFrame") -> str:
    return f"All of {plural(rows.height, 'planned run')} came back."
