"""What one figure can show.  Each check raises a UserError that says how to ask for less."""

import polars as pl

from scalelens.errors import UserError

# What a hint says: report/plotting.py knows the names of the runs, and says the command that draws one instead.
CHOOSE_RUNS = 'choose runs, for example runs="{run}"'
_MOST_MARKS = 20_000  # separate ones: 5 MB, and a few seconds to draw


def check_one_run(rows: pl.DataFrame, what: str) -> None:
    """A figure shows `what` of one run only."""
    runs = sorted(set(rows["run_id"]))
    if len(runs) > 1:
        raise UserError(f"a figure shows {what} of one run, not of {len(runs)}", CHOOSE_RUNS)


def check_count(count: int, most: int, what: str, hint: str) -> None:
    """A figure shows at most so many things of a kind."""
    if count > most:
        raise UserError(f"{count} {what} are more than one chart can show ({most})", hint)


def check_marks(count: int, what: str, hint: str = CHOOSE_RUNS) -> None:
    """A figure shows at most so many marks that cannot be joined, such as runs and ranks."""
    check_count(count, _MOST_MARKS, what, hint)
