"""Remove what killed processes left in the warehouse."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors, say

PANEL = "Read"


def gc(
    warehouse: WarehouseOption = WAREHOUSE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; remove nothing.")] = False,
) -> None:
    """Remove what killed processes left in the warehouse: files older than a day that no record names.

    No answer changes, and others may read and write meanwhile.  Rows that no longer count are erased by compact.

    Example:  scalelens gc --dry-run
    """
    from scalelens.warehouse import gc as collecting

    garbage = collecting.gc(warehouse, dry_run)
    for file in garbage:
        say(f"{file.path.parent.name}/{file.path.name}: {file.why}")
    size = sum(file.size_bytes for file in garbage) / 1e6
    errors.print(f"{len(garbage)} files of {size:,.1f} MB {'would be' if dry_run else 'are'} removed")
