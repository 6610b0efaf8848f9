"""Check that no byte of the warehouse is altered or missing."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors, say

PANEL = "Read"


def check(
    warehouse: WarehouseOption = WAREHOUSE,
    quick: Annotated[bool, typer.Option("--quick", help="Compare only the sizes of segments.")] = False,
    accept: Annotated[bool, typer.Option("--accept", help="Continue without the damaged or missing records.")] = False,
) -> None:
    """Check that no byte of the warehouse is altered or missing.

    Each fault is a line that ends in the command that repairs it.  Exit code 1 if there is any.

    Examples:  scalelens check      scalelens check --quick -w study
    """
    from scalelens.warehouse import check as checking
    from scalelens.warehouse.log import Warehouse

    if accept:
        Warehouse(warehouse).fold(0, accept_damage=True)
    report = checking.check(warehouse, quick)
    for damage in report.damages:
        say(damage)
    for note in report.notes:
        errors.print(note, markup=False)
    found = f"{len(report.damages)} damaged or missing" if report.damages else "no damage"
    errors.print(f"{report.records} records and {report.segments} segments: {found}")
    if report.damages:
        raise typer.Exit(1)
