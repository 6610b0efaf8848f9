"""Ask one of the questions that come with ScaleLens, or one of the user's own."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import show

PANEL = "Ask"


def query(
    name: Annotated[str, typer.Argument(help="Name of a query; list them with: scalelens queries")],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of the query.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Ask one of the questions that come with ScaleLens, or one of yours.

    Examples:

    scalelens query scaling

    scalelens query batch_stats warmup=5 runs="precision = 'bf16'"
    """
    from scalelens.database.ask import ask

    show(ask(warehouse, name, pairs(parameters), tuple(folders or ())), format)
