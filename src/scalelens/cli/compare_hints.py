"""What to ask after a comparison, as commands that can be pasted; and why a side has no value."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scalelens.cli.options import pairs
from scalelens.cli.output import errors
from scalelens.cli.pasting import pasted

if TYPE_CHECKING:
    import polars as pl

_Folders = tuple[Path, ...]

_RULES = ("epochs", "warmup", "exclude")
_COUNTS = "count(*) AS n_records, count(excluded_by) AS n_without FROM {}"
_COUNTS_OF_RULES = "rule, count(*) AS n FROM {} GROUP BY rule ORDER BY n DESC, rule"


def print_next(
    answer: Mapping[str, Any], words: Sequence[str], members: "pl.DataFrame", warehouse: Path, folders: _Folders
) -> None:
    """Prints the command that goes on where there is no verdict.  `words` are those that `compare` was given."""
    if answer["ratio"] is None:
        _print_without_value(answer, words, members, warehouse, folders)
    elif other := answer["other_measure"]:
        kept = [word for word in words if not word.startswith("measure=")]
        _print_command(f"the same of work done: {pasted(['compare', *kept, f'measure={other}'], warehouse)}")
    elif answer["verdict"] == "inconclusive" and answer["comparable"]:
        if answer["runs_needed"]:
            errors.print(f"about {answer['runs_needed']} runs on each side would settle it", markup=False)
        _print_command(f"how many repeats would tell: {pasted(['next-runs', *words], warehouse)}")


def _print_without_value(
    answer: Mapping[str, Any], words: Sequence[str], members: "pl.DataFrame", warehouse: Path, folders: _Folders
) -> None:
    """Prints of each side without a value why that is, and how to compare where rules leave out all records."""
    from scalelens.question.question import Question
    from scalelens.question.session import ask

    _, _, *parameters = words
    rules = {key: value for key, value in pairs(parameters).items() if key in _RULES}
    are_left_out = False
    for side in (side for side in "ab" if not answer[f"{side}_runs"]):
        chosen = {"runs": _condition_of(members, side), **rules}
        counted = ask(warehouse, Question("selected_steps", parameters=chosen, select=_COUNTS), folders)
        n_records, n_without = counted.frame.row(0)
        reason = f"none of its {n_records} records has {answer['measure']}"
        if not n_records:
            are_of_others = rules.get("epochs", "").strip()
            reason = f"no record belongs to the epochs {are_of_others}" if are_of_others else "no step time was logged"
        elif n_records == n_without:
            question = Question("exclusions", parameters=chosen, select=_COUNTS_OF_RULES)
            counts = ask(warehouse, question, folders).frame.rows()
            reason = f"all {n_records} records are left out: " + ", ".join(f"{rule} {n}" for rule, n in counts)
            are_left_out = True
        errors.print(f"{side}: {reason}", markup=False)
    if are_left_out:
        kept = [word for word in words if not word.startswith("exclude=")]
        _print_command(f"compare them anyway: {pasted(['compare', *kept, 'exclude=none'], warehouse)}")


def print_trace_diff(members: "pl.DataFrame", warehouse: Path) -> None:
    """Prints the command that holds the traces of both sides against each other, name by name."""
    sides = [f"{side}={_condition_of(members, side)}" for side in "ab"]
    _print_command(f"name by name: {pasted(['query', 'trace_diff', *sides], warehouse)}")


def _condition_of(members: "pl.DataFrame", side: str) -> str:
    """SQL that chooses the runs of a side."""
    runs = ", ".join(f"'{run}'" for run in members.filter(side=side)["run_id"])
    return f"run_id IN ({runs})"


def _print_command(text: str) -> None:
    """Prints a line that no width breaks, so that its command can be pasted."""
    errors.print(text, style="dim", markup=False, soft_wrap=True)
