"""Do the runs keep their pace?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, few_of, percent, plural, seconds

if TYPE_CHECKING:
    import polars as pl

PLACE = 110
SQL = """
SELECT s.*, b.step_s, b.mean_s FROM steady_state() AS s LEFT JOIN batch_stats() AS b USING (run_id)
ORDER BY verdict, run_id, attempt"""
GLANCE = ("run_id", "attempt", "verdict", "n_steps", "steady_from_step", "before_s", "steady_s", "change_steps", "note")
_ORDER = ("slowing", "unsteady", "warming")  # the worst first
_LEAST_CHANGE = 0.02  # smaller changes of pace are only in the table


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    moving = [
        row for row in rows.iter_rows(named=True) if row["verdict"] in _ORDER and _change_of(row) >= _LEAST_CHANGE
    ]
    moving.sort(key=lambda row: (-_weight_of(row), _ORDER.index(row["verdict"])))
    return few([FindingSentence(_text_of(row, names), _doubt_of(row), _weight_of(row)) for row in moving])


def _change_of(row: Mapping[str, Any]) -> float:
    """The share by which the pace changes; 1 where there is no steady pace."""
    return abs(row["steady_s"] / row["before_s"] - 1) if row["steady_s"] and row["before_s"] else 1.0


def _weight_of(row: Mapping[str, Any]) -> float:
    """By how much the median of the run differs from its steady pace; without one, from its mean."""
    other = row["steady_s"] or row["mean_s"]
    return min(abs(row["step_s"] / other - 1), 1.0) if row["step_s"] and other else 0.0


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name = names[row["run_id"]]
    if row["verdict"] == "unsteady" or row["steady_s"] is None or row["before_s"] is None:
        steps = (row["change_steps"] or "").split()
        return f"{name} has no steady pace: it changes at step{'s' if len(steps) > 1 else ''} {few_of(steps, 6)}."
    change = row["steady_s"] / row["before_s"] - 1
    slower = f"{percent(abs(change))} {'slower' if change > 0 else 'faster'}"
    return f"{name} is {slower} from step {row['steady_from_step']} on: {seconds(row['steady_s'])} a step."


def _doubt_of(row: Mapping[str, Any]) -> str:
    note = f"; {row['note']}" if row["note"] else ""
    return f"{plural(row['n_steps'], 'record')}{note}."


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No log gives a step time."
    counts = Counter(rows["verdict"])
    steady = rows.height - counts["too_short"]
    return (
        f"No run changes its pace by 2 % or more: {plural(steady, 'attempt')} judged, "
        f"{counts['too_short']} too short to tell."
    )
