"""Is one run, or group of runs, slower than another?"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalelens.cli.compare_hints import print_next, print_trace_diff
from scalelens.cli.completions import query_parameters, run_names
from scalelens.cli.noise_beside import RUNS_A_SIDE, print_noise
from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors
from scalelens.cli.published_sides import beside_published
from scalelens.cli.written import show_answer
from scalelens.errors import UserError
from scalelens.report.text.sentences import few_of

if TYPE_CHECKING:
    import polars as pl

    from scalelens.question.answer import Answer
    from scalelens.question.session import Session

PANEL = "Ask"
_BESIDE = ("differences", "two_sides", "compare_evidence")  # asked with a comparison
_KERNELS_SHOWN = 5


def compare(
    a: Annotated[
        str | None,
        typer.Argument(help="A run's name or id, key=value, or a condition as in runs=...", autocompletion=run_names),
    ] = None,
    b: Annotated[
        str | None, typer.Argument(help="The other side, written in the same way.", autocompletion=run_names)
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Parameters: measure=samples_per_s.", autocompletion=query_parameters
        ),
    ] = None,
    fail_above: Annotated[
        str | None, typer.Option(metavar="3%", help="Exit 1 if b is certainly slower than a by more than this.")
    ] = None,
    published: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare runs with published numbers: caraml/gpt-ipu.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 also if that cannot be determined.")] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Say whether b is slower than a, by how much, how sure that is, and which settings differ.

    With --published, runs are compared with published numbers; a is a condition that chooses the runs.
    With --fail-above the exit code is 1 where the slowdown's whole interval lies above the share.  A doubt only warns.

    Examples:

    scalelens compare before.out after.out

    scalelens compare commit=1a2b3c commit=4d5e6f measure=samples_per_s --fail-above 3%

    scalelens compare --published caraml/gpt-ipu "system = 'jureca'"

    scalelens compare "precision = 'fp32' AND devices = 8" "precision = 'bf16' AND devices = 8" quantile=0.95
    """
    own_queries = tuple(folders or ())
    if published is not None:
        beside_published(warehouse, published, [a, b, *(parameters or ())], format, own_queries)
        return
    limit = share_of(fail_above) if fail_above is not None else None
    sides = _sides_of(a, b)
    given = {**pairs(parameters, "measure=data_s"), **sides}
    answers = _answers_about(warehouse, given, sides, own_queries)
    _print_differences(answers["differences"].frame)
    show_answer(warehouse, answers["compare"], format, own_queries, without=("sentence", "note"))
    row = answers["compare"].frame.row(0, named=True)
    _print_answer(row)
    members = answers["two_sides"].frame
    print_noise(row["noise_of"], [row[f"least_{k}"] for k in RUNS_A_SIDE])
    print_next(row, [*sides.values(), *(parameters or ())], members, warehouse, own_queries)
    if "compared_traces" in answers and _print_traces(answers["compared_traces"].frame):
        print_trace_diff(members, warehouse)
    _print_evidence(answers["compare_evidence"].frame)
    if limit is not None:
        raise typer.Exit(exit_code(row, limit, strict))


def _answers_about(
    warehouse: Path, given: dict[str, str], sides: dict[str, str], folders: tuple[Path, ...]
) -> "dict[str, Answer]":
    """The comparison, and what is said beside it, by the name of the query."""
    from scalelens.question.question import Question
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import in_session

    questions = {name: Question(name, parameters=sides) for name in _BESIDE}
    questions["compare"] = Question("compare", parameters=given)
    if given.get("measure", "step_s") == "step_s":
        questions["compared_traces"] = Question("compared_traces", parameters=sides)
    about = "; ".join([*(question.statement for question in questions.values()), RUN_NAMES])

    def ask_all(session: "Session") -> "dict[str, Answer]":
        session.share(*questions.values())
        return {name: session.ask(question) for name, question in questions.items()}

    return in_session(warehouse, ask_all, folders, about, by_hand=False)


def _sides_of(a: str | None, b: str | None) -> dict[str, str]:
    """The two sides.  Raises UserError where one is missing."""
    if a is None or b is None:
        raise UserError("compare needs two sides", "name two runs or groups, or a published table with --published")
    return {"a": a, "b": b}


def share_of(text: str) -> float:
    """`3%` or `0.03` as a share.  Raises UserError for anything else."""
    number = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    if not number:
        raise UserError(f"{text} is not a share", "write 3% or 0.03")
    return float(number[1]) / (100 if number[2] else 1)


def _print_differences(rows: "pl.DataFrame") -> None:
    """What differs between the settings of both sides; settings that cannot change speed are only counted."""
    import polars as pl

    matter = rows.filter(pl.col("class") == "performance")
    for row in matter.iter_rows(named=True):
        values = (row["a_value"] or "not said", row["b_value"] or "not said")
        varies = f"  ({row['verdict']})" if row["verdict"].startswith("varies") else ""
        errors.print(f"{row['setting']}: {values[0]} -> {values[1]}{varies}", markup=False)
    if matter.is_empty():
        errors.print("no recorded setting that can change speed differs")
    others = [row["setting"] for row in rows.iter_rows(named=True) if row["class"] != "performance"]
    if others:
        errors.print(f"also different: {few_of(others)}", style="dim", markup=False)


def _print_answer(row: dict[str, Any]) -> None:
    """The verdict in words, what it rests on, and why there is none."""
    errors.print(f"{row['verdict']}: {row['sentence']}", style="bold", markup=False)
    if row["note"]:
        errors.print(row["note"], markup=False)


def _print_traces(rows: "pl.DataFrame") -> bool:
    """Where the traces of both sides differ most: classes of time, then collectives, kernels, operators.

    Returns whether both sides have traces.
    """
    if rows.is_empty() or rows["diff_ns"].null_count():
        return False
    shown = {"class": 5, "collective": _KERNELS_SHOWN, "kernel": _KERNELS_SHOWN, "operator": _KERNELS_SHOWN}
    for part, group in rows.group_by("part", maintain_order=True):
        for row in group.head(shown[str(part[0])]).iter_rows(named=True):
            times = f"{row['a_step_ns'] / 1e6:.3f} -> {row['b_step_ns'] / 1e6:.3f} ms ({row['diff_ns'] / 1e6:+.3f})"
            errors.print(f"{row['part']} {row['name'][:60]}: {times} per step", markup=False)
    for note in rows["note"].drop_nulls().unique():
        errors.print(note, markup=False)
    return True


def _print_evidence(rows: "pl.DataFrame") -> None:
    """Signs of a cause that b shows and a does not."""
    for row in rows.iter_rows(named=True):
        if row["is_there"]:
            errors.print(f"sign of {row['cause']} in b: {row['evidence']}", markup=False)


def exit_code(row: dict[str, Any], limit: float, strict: bool) -> int:
    """0 no regression above the limit, 1 one; what cannot be told is 0 with a warning, and 1 if strict."""
    said = f"{100 * limit:g} %"
    low, high = row["slowdown_low"], row["slowdown_high"]
    if row.get("verdict_by") == "precedent":
        if row["slowdown"] > 0 and (1 + row["slowdown"]) / row["precedent"] - 1 > limit:
            errors.print(f"a regression of more than {said}, by precedent", style="bold red", markup=False)
            return 1
        if row["slowdown"] < 0:
            return 0
    if row["interval_of"] == "runs" and row["comparable"] and low > limit:
        errors.print(f"a regression of more than {said}", style="bold red", markup=False)
        return 1
    if row["interval_of"] == "runs" and row["comparable"] and high <= limit:
        return 0
    errors.print(f"warning: cannot tell whether b is slower by more than {said}", style="yellow", markup=False)
    return int(strict)
