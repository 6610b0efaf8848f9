"""From a warehouse to a page to look around in."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption
from scalelens.cli.output import errors
from scalelens.cli.pasting import pasted
from scalelens.errors import UserError

PANEL = "Draw"


def explore(
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write, one HTML file.")] = Path(
        "explore.html"
    ),
    warehouse: WarehouseOption = WAREHOUSE,
    title: Annotated[str, typer.Option(help="Title of the page; without one, what the logs are about.")] = "",
    folders: QueryFolders = None,
) -> None:
    """Write one offline page to look around in: runs, sizes, epochs, slow steps and kernels.

    Choose what x, y and color show; filter by clicking values; the table follows.  What is shown leaves as
    SVG, as CSV, and as the command that draws it for a paper.

    Example:  scalelens explore -o explore.html
    """
    from scalelens.report.explore.page import write_explore
    from scalelens.warehouse.log import Warehouse

    if not Warehouse(warehouse).exists():
        raise UserError(f"there is no warehouse at {warehouse}", "read your logs first: scalelens ingest logs/")
    given = tuple(folders or ())
    begins = pasted(["plot"], WAREHOUSE)
    write_explore(warehouse, output, title, given, (begins, pasted(["plot"], warehouse, given).removeprefix(begins)))
    errors.print(f"{output}  {output.stat().st_size / 1e6:.1f} MB", markup=False)
