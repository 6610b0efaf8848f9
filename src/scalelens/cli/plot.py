"""Draw a chart for a paper."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Draw"


class ColumnWidth(StrEnum):
    single = "single"
    double = "double"


def plot(
    name: Annotated[str, typer.Argument(help="Name of a chart; list them with: scalelens charts")],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of its query.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File: .pdf .svg .png .html or .json")] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    width: Annotated[ColumnWidth, typer.Option(help="Column width of the paper.")] = ColumnWidth.single,
    folders: QueryFolders = None,
) -> None:
    """Draw a chart for a paper.

    Examples:

    scalelens plot scaling -o scaling.pdf

    scalelens plot batch_cdf runs="devices = 8" -o cdf.svg --width double
    """
    from scalelens.report import plotting

    if output is None:
        raise UserError("no file to draw to", f"name one: scalelens plot {name} -o {name}.pdf")
    plotting.plot(warehouse, name, output, pairs(parameters), width.value, tuple(folders or ()))
    errors.print(f"{output}", markup=False)
