"""What a warehouse holds where no figure can be drawn from it, and what would give one."""

from collections.abc import Iterable
from pathlib import Path

from scalelens.errors import UserError
from scalelens.question.empty import not_understood, reasons_without_runs
from scalelens.question.session import Session

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
_STATEMENT = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in ("runs", *_ROWS))


def nothing_to_draw(root: Path, folders: Iterable[Path] = ()) -> UserError:
    """The refusal of a figure that was to be of any kind."""
    with Session(root, folders, f"{_STATEMENT} FROM selected_runs(), files") as session:
        if without_runs := reasons_without_runs(session):
            return UserError(f"there is nothing to draw: {without_runs.what}", without_runs.what_to_do)
        runs, *counts = session.connection.execute(_STATEMENT).fetchall()[0]
        further = not_understood(session)
    rows = [_counted(n, *words) for n, words in zip(counts, _ROWS.values(), strict=True) if n]
    held = " and ".join([", ".join(rows[:-1]), rows[-1]] if rows[1:] else rows or ["nothing that was measured"])
    of_runs = "one run" if runs == 1 else f"{runs} runs"
    what = f"there is nothing to draw: {root} has {of_runs}, with {held}; {_NEEDED}"
    return UserError(what, further or "see what was read: scalelens query runs_overview")


def _counted(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"
