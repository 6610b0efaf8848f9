"""Ask in SQL."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption
from scalelens.cli.output import show

PANEL = "Ask"


def sql(
    statement: Annotated[str, typer.Argument(metavar="SQL", help="A DuckDB statement.")],
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Ask in SQL.  Tables: scalelens tables; every query is a macro of the same name.

    Examples:

    scalelens sql "FROM runs"

    scalelens sql "SELECT run_id, median(step_s) FROM step_times GROUP BY run_id" --format csv
    """
    from scalelens.database.ask import answer
    from scalelens.database.connect import connect

    show(answer(connect(warehouse, tuple(folders or ())), statement), format)
