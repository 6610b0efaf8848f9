"""What a warehouse holds where no figure can be drawn from it, and what would give one."""

from collections.abc import Iterable
from pathlib import Path

from scalelens.errors import UserError
from scalelens.question.empty import not_understood, reasons_without_runs
from scalelens.question.session import Session
from scalelens.report.findings.quality import OF_UNKNOWN_WRITERS

_ROWS = {  # what a row of each table is, in the order in which they are named
    "steps": ("record of a step or an epoch", "records of steps or epochs"),
    "phases": ("time of a phase", "times of phases"),
    "metrics": ("metric", "metrics"),
    "events": ("event of a trace", "events of traces"),
    "power": ("power reading", "power readings"),
    "energy": ("energy", "energies"),
    "collective_benchmarks": ("measurement of a collective", "measurements of collectives"),
    "jobs": ("job of a scheduler", "jobs of a scheduler"),
}
_NEEDED = (
    "a figure needs a log that prints a step time, a rate or a loss more than once, a profiler trace, power readings "
    "over time, or an energy"
)
_UNTOLD = (
    "nothing tells whether several launches or several ranks wrote the records of {}: "
    "give each launch a file of its own"
)
_STATEMENT = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in ("runs", OF_UNKNOWN_WRITERS, *_ROWS))


def nothing_to_draw(root: Path, folders: Iterable[Path] = ()) -> UserError:
    """The refusal of a figure that was to be of any kind."""
    with Session(root, folders, f"{_STATEMENT} FROM selected_runs(), files") as session:
        if without_runs := reasons_without_runs(session):
            return UserError(f"there is nothing to draw: {without_runs.what}", without_runs.what_to_do)
        runs, untold, *counts = session.connection.execute(_STATEMENT).fetchall()[0]
        further = not_understood(session)
    rows = [_counted(n, *words) for n, words in zip(counts, _ROWS.values(), strict=True) if n]
    held = " and ".join([", ".join(rows[:-1]), rows[-1]] if rows[1:] else rows or ["nothing that was measured"])
    of_runs = "one run" if runs == 1 else f"{runs} runs"
    needed = _UNTOLD.format("one run" if untold == 1 else f"{untold:,} runs") if untold else _NEEDED
    to_do = 'see where: scalelens sql "FROM problems"' if untold else further
    what = f"there is nothing to draw: {root} has {of_runs}, with {held}; {needed}"
    return UserError(what, to_do or "see what was read: scalelens query runs_overview")


def _counted(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"
