"""From logs to a table and a figure, on the logs that come with ScaleLens."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.ingest import ingest
from scalelens.cli.output import Format, errors
from scalelens.cli.plot import plot
from scalelens.cli.query import query

PANEL = "Draw"


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the warehouse and the figures.")] = Path(
        "demo-output"
    ),
) -> None:
    """Read the logs that come with ScaleLens, ask, and draw: from logs to a table and a figure.

    They were written by the project's own runners: ResNet-50 and a small GPT on one and two CPU ranks.

    Example:  scalelens demo -o demo-output
    """
    from importlib.resources import as_file, files

    def step(command: str) -> None:
        errors.print(f"\n$ scalelens {command}", style="bold", markup=False)

    warehouse = output / "warehouse"
    output.mkdir(parents=True, exist_ok=True)
    with as_file(files("scalelens") / "demo" / "logs") as logs:
        step(f"ingest demo/logs -w {warehouse}")
        ingest([logs], warehouse)
        step(f"query scaling -w {warehouse}")
        query("scaling", warehouse=warehouse, format=Format.table)
        for figure in ("scaling.pdf", "scaling.png"):
            step(f"plot scaling -o {output / figure} --width double -w {warehouse}")
            plot("scaling", output=output / figure, warehouse=warehouse, width="double")
    errors.print(f"\nmore: scalelens query runs_overview -w {warehouse}", markup=False)
    errors.print(f"      scalelens report -o {output / 'report.html'} -w {warehouse}", markup=False)
