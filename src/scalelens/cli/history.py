"""A measure over the runs of one configuration in time."""

from pathlib import Path
from typing import Annotated, Any

import typer

from scalelens.cli.completions import query_parameters
from scalelens.cli.noise_beside import print_noise_of_history
from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors
from scalelens.cli.written import show_answer

PANEL = "Ask"


def history(
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Parameters: measure=samples_per_s.", autocompletion=query_parameters
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="2026-11-01", help="Show and judge runs from this time on.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for a weak change for the worse, too.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Draw it too: .pdf .svg .png .html")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Since when is it slower, by how much, and what changed there?  Exit 1 where it became slower.

    Examples:

    scalelens history runs="system = 'lumi' AND devices = 8"

    scalelens history measure=tokens_per_s --since 2026-11-01 -o history.pdf
    """
    from scalelens.question.question import Question
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import ask
    from scalelens.report import plotting

    given: dict[str, Any] = {**pairs(parameters), **({"since": since} if since else {})}
    answer = ask(warehouse, Question("history", parameters=given), tuple(folders or ()), also=RUN_NAMES)
    show_answer(warehouse, answer, format, tuple(folders or ()))
    print_noise_of_history(answer.frame)
    worse = False
    for row in answer.frame.iter_rows(named=True):
        if row["change"]:
            errors.print(told(row), markup=False)
            worse |= row["slowdown"] > 0 and (strict or row["change"] == "strong")
    if output:
        plotting.plot(warehouse, "history", output, given, query_folders=tuple(folders or ()))
        errors.print(f"{output}", markup=False)
    if worse:
        raise typer.Exit(1)


def told(row: dict[str, Any]) -> str:
    """A change in words: when, by how much, how sure, and which settings changed with it."""
    name = f"{row['started_at']:%Y-%m-%d %H:%M} {row['name']}"
    how = f"{abs(row['slowdown']):.1%} {'more' if row['slowdown'] > 0 else 'less'}"
    if row["measure"] in ("step_s", "samples_per_s", "tokens_per_s"):
        share = row["slowdown"] if row["slowdown"] > 0 else 1 / (1 + row["slowdown"]) - 1
        how = f"{share:.1%} {'slower' if row['slowdown'] > 0 else 'faster'}"
        if share >= 1:
            how = f"{1 + share:.3g} times as {'long' if row['slowdown'] > 0 else 'fast'}"
    changed = row["changed"] or "no setting that is known"
    return f"{row['series']}: {row['change']} change at {name}: {how} (p {row['p_value']:.2g}); changed: {changed}"
