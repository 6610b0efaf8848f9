"""Commands that draw: plot, and the demo that shows the whole way."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.data import HOME, Home
from scalelens.cli.output import Format, errors
from scalelens.cli.questions import QueryFolders, pairs
from scalelens.errors import UserError


class ColumnWidth(StrEnum):
    single = "single"
    double = "double"


def add_to(app: typer.Typer) -> None:
    for command in (plot, demo):
        app.command()(command)


def plot(
    name: Annotated[str, typer.Argument(help="Name of a chart; list them with: scalelens charts")],
    parameters: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Parameters of its query.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File: .pdf .svg .png .html or .json")] = None,
    warehouse: Home = HOME,
    width: Annotated[ColumnWidth, typer.Option(help="Column width of the paper.")] = ColumnWidth.single,
    folders: QueryFolders = None,
) -> None:
    """Draw a chart for a paper.

    Examples:

    scalelens plot scaling -o scaling.pdf

    scalelens plot batch_cdf runs="devices = 8" -o cdf.svg --width double
    """
    from scalelens.plotting import plot as draw

    if output is None:
        raise UserError("no file to draw to", f"name one: scalelens plot {name} -o {name}.pdf")
    draw(warehouse, name, output, pairs(parameters), width.value, tuple(folders or ()))
    errors.print(f"{output}", markup=False)


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the warehouse and the figures.")] = Path(
        "demo-output"
    ),
) -> None:
    """Read the logs that come with ScaleLens, ask, and draw: the whole way in half a minute.

    They were written by the project's own runners: ResNet-50 and a small GPT on one and two ranks of small machines.

    Example:  scalelens demo -o demo-output
    """
    from importlib.resources import as_file, files

    from scalelens.cli.data import ingest
    from scalelens.cli.questions import query

    def step(command: str) -> None:
        errors.print(f"\n$ scalelens {command}", style="bold", markup=False)

    warehouse = output / "warehouse"
    output.mkdir(parents=True, exist_ok=True)
    with as_file(files("scalelens") / "demo" / "logs") as logs:
        step(f"ingest demo/logs -w {warehouse}")
        ingest([logs], warehouse)
        for name in ("runs_overview", "batch_stats", "scaling"):
            step(f"query {name} -w {warehouse}")
            query(name, warehouse=warehouse, format=Format.table)
        for name, figure in (("scaling", "scaling.pdf"), ("scaling", "scaling.png"), ("batch_cdf", "batch_cdf.pdf")):
            step(f"plot {name} -o {output / figure} -w {warehouse}")
            plot(name, output=output / figure, warehouse=warehouse, width=ColumnWidth.double)
