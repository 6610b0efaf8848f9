"""Write the tables for other programs, as Parquet or Delta."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.anonymous import leaving
from scalelens.cli.options import WAREHOUSE, Anonymous, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Ask"


def export(
    folder: Annotated[Path | None, typer.Argument(help="A new folder for Parquet files.", readable=False)] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="URI", help="Write Delta tables there: a folder or s3://...")
    ] = None,
    anonymous: Anonymous = False,
) -> None:
    """Write the tables for other programs, as Parquet or Delta.

    A folder takes a subfolder of Parquet files for each table, the run of each row included.  Delta tables get a new
    version each time; they need the extra 'delta'.

    Examples:  scalelens export tables/      scalelens export --delta s3://bucket/study
    then, in Python:  polars.read_parquet("tables/steps/*.parquet")
    """
    from scalelens.database.export import export_delta, export_parquet

    if (folder is None) == (delta is None):
        raise UserError("export needs exactly one destination", "name a new folder, or --delta URI")
    with leaving(warehouse, anonymous) as (root, _):
        rows = export_parquet(root, folder) if folder else export_delta(root, str(delta))
    errors.print(f"{len(rows)} tables with {sum(rows.values()):,} rows are written", markup=False)
