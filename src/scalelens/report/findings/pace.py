"""Do the runs keep their pace?"""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scalelens.report.text.sentences import FindingSentence, few, percent, plural, seconds

if TYPE_CHECKING:
    import polars as pl

PLACE = 50
SQL = "FROM steady_state() ORDER BY verdict, run_id, attempt"
GLANCE = ("run_id", "attempt", "verdict", "n_steps", "steady_from_step", "before_s", "steady_s", "change_steps", "note")
_ORDER = ("slowing", "unsteady", "warming")  # the worst first


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    moving = [row for row in rows.iter_rows(named=True) if row["verdict"] in _ORDER]
    moving.sort(key=lambda row: _ORDER.index(row["verdict"]))
    return few([FindingSentence(_text_of(row, names), _doubt_of(row)) for row in moving])


def _text_of(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    name = names[row["run_id"]]
    if row["verdict"] == "unsteady" or row["steady_s"] is None or row["before_s"] is None:
        steps = (row["change_steps"] or "").split()
        begin = "other levels begin at steps" if len(steps) > 1 else "another level begins at step"
        return f"{name} has no steady pace: {begin} {', '.join(steps)}."
    change = row["steady_s"] / row["before_s"] - 1
    slower = f"{percent(abs(change))} {'slower' if change > 0 else 'faster'}"
    return f"{name} is {slower} from step {row['steady_from_step']} on: {seconds(row['steady_s'])} a step."


def _doubt_of(row: Mapping[str, Any]) -> str:
    note = f"; {row['note']}" if row["note"] else ""
    return f"{plural(row['n_steps'], 'record')}{note}."


def nothing(rows: "pl.DataFrame") -> str:
    if rows.is_empty():
        return "No log has the time of a step."
    counts = Counter(rows["verdict"])
    return (
        f"No change of pace is found: {plural(counts['steady'], 'attempt')} steady, "
        f"{counts['too_short']} too short to tell."
    )
