"""What one figure can show.  Each check raises a UserError that says how to ask for less."""

import polars as pl

from scalelens.errors import UserError

CHOOSE_RUNS = "choose runs, for example runs=\"devices = 16 AND precision = 'bf16'\""  # what a hint says
_MOST_MARKS = 20_000  # separate ones: 5 MB, and a few seconds to draw


def check_one_run(rows: pl.DataFrame, what: str) -> None:
    """A figure shows `what` of one run only."""
    runs = sorted(set(rows["run_id"]))
    if len(runs) > 1:
        names = f"{', '.join(runs[:4])}{' and others' if len(runs) > 4 else ''}"
        raise UserError(
            f"a figure shows {what} of one run, not of {len(runs)}",
            f"choose one, for example runs=\"run_id = '{runs[0]}'\"; there are {names}",
        )


def check_count(count: int, most: int, what: str, hint: str) -> None:
    """A figure shows at most so many things of a kind."""
    if count > most:
        raise UserError(f"{count} {what} are more than one chart can show ({most})", hint)


def check_marks(count: int, what: str, hint: str = "choose runs, for example runs=\"system = 'lumi'\"") -> None:
    """A figure shows at most so many marks that cannot be joined, such as runs and ranks."""
    check_count(count, _MOST_MARKS, what, hint)
