"""Take files or runs out of the warehouse."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Read"


def forget(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or run ids.")],
    warehouse: WarehouseOption = WAREHOUSE,
) -> None:
    """Take files or runs out of the warehouse; the files themselves stay where they are.

    Examples:  scalelens forget logs/bad.out      scalelens forget 3f9a0c1d2e4b
    """
    from scalelens.database.connect import connect
    from scalelens.warehouse.log import Warehouse

    store = Warehouse(warehouse)
    known = store.live().paths
    members = (
        connect(warehouse).execute("SELECT run_id, unnest(paths) FROM members JOIN files USING (file_id)").fetchall()
    )
    gone: set[str] = set()
    for text in paths:
        path = str(Path(text).resolve())
        matched = {p for p in known if p == path or p.startswith((path + "/", path + "!"))} | {
            p for run, p in members if run == text
        }
        if not matched:
            raise UserError(
                f"nothing in the warehouse is called {text}", 'list paths with: scalelens sql "SELECT path FROM files"'
            )
        gone |= matched
    store.forget(sorted(gone))
    errors.print(f"{len(gone)} files are forgotten")
