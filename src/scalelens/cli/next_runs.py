"""How many repeats would settle a comparison?"""

from typing import Annotated, Any

import typer

from scalelens.cli.compare import share_of
from scalelens.cli.completions import query_parameters, run_names
from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors
from scalelens.cli.written import show_answer

PANEL = "Ask"


def next_runs(
    a: Annotated[
        str,
        typer.Argument(help="A run's name or id, key=value, or a condition as in runs=...", autocompletion=run_names),
    ],
    b: Annotated[str, typer.Argument(help="The other side, written in the same way.", autocompletion=run_names)],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Parameters of the query: measure=data_s.", autocompletion=query_parameters
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="2%", help="Plan for a ratio or efficiency known to within this share; otherwise for a verdict."
        ),
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """How many repeats, at how many node-hours, would settle a comparison, and the lines that make them.

    Examples:

    scalelens next-runs commit=1a2b3c commit=4d5e6f

    scalelens next-runs "devices = 1" "devices = 64" --within 2%
    """
    from scalelens.question.question import Question
    from scalelens.question.run_names import RUN_NAMES
    from scalelens.question.session import ask

    given: dict[str, Any] = {**pairs(parameters, "measure=data_s"), "a": a, "b": b}
    if within is not None:
        given["to_within"] = share_of(within)
    answer = ask(warehouse, Question("next_runs", parameters=given), tuple(folders or ()), also=RUN_NAMES)
    rows = answer.frame
    show_answer(warehouse, answer, format, tuple(folders or ()), without=("command", "note"))
    for row in rows.iter_rows(named=True):
        if row["command"]:
            hours = "" if row["node_hours"] is None else f", {row['node_hours']:.3g} node-hours"
            errors.print(f"{row['side']}: {row['more_runs']} more runs{hours}", markup=False)
            errors.print(f"    {row['command']}", markup=False)
        elif row["repeats"] is not None:
            errors.print(f"{row['side']}: no further run", markup=False)
    for note in dict.fromkeys(rows["note"].drop_nulls()):
        errors.print(note, style="bold", markup=False)
