"""Ask one of the questions that come with ScaleLens, or one of the user's own."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, Unsafe, WarehouseOption, pairs
from scalelens.cli.output import errors, show

PANEL = "Ask"


def query(
    name: Annotated[str, typer.Argument(help="Name of a query; list them with: scalelens queries")],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the query.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
    unsafe: Unsafe = False,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    from scalelens.database.ask import ask

    rows = ask(warehouse, name, pairs(parameters), tuple(folders or ()), unsafe)
    show(rows, format)
    if rows.is_empty():
        print_reasons(name, warehouse, pairs(parameters), tuple(folders or ()))


def print_reasons(name: str, warehouse: Path, parameters: dict[str, str], folders: tuple[Path, ...]) -> None:
    """One line for each reason why a query has no rows, where it names a query that knows."""
    from scalelens.database.ask import ask
    from scalelens.queries.load import load

    otherwise = load(folders, name)[name].otherwise
    if not otherwise:
        return
    reasons: dict[str, list[str]] = {}
    for row in ask(warehouse, otherwise, parameters, folders).iter_rows(named=True):
        reasons.setdefault(row["reason"], []).append(row["remedy"])
    for reason, remedies in reasons.items():
        runs = f"{len(remedies)} run{'s' if len(remedies) > 1 else ''}"
        errors.print(f"{runs}: {reason}; {remedies[0]}", markup=False)
    if reasons:
        errors.print(f"run by run: scalelens query {otherwise}", markup=False)
