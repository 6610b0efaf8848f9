"""Write a piece of a rank's trace for a viewer."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors
from scalelens.errors import UserError


def export(
    rank: Annotated[int, typer.Option(min=0, help="Rank whose trace to cut; 0 if the trace names no rank.")] = 0,
    start: Annotated[
        float | None, typer.Option("--from", help="Seconds since the trace's first event; its beginning by default.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", help="Seconds since the trace's first event; its end by default.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File: .json or .json.gz")] = None,
    run: Annotated[str, typer.Option(help="Beginning of a run's id, if several runs have that rank.")] = "",
    warehouse: WarehouseOption = WAREHOUSE,
) -> None:
    """Write a piece of a rank's trace for Perfetto (ui.perfetto.dev), with marks.

    The marks show where the rank waits at collectives and for whom, where others wait for it, and the verdict of
    outlier_gpus.

    Example:  scalelens trace export --rank 3 --from 1.5 --to 2.0 -o rank3.json.gz
    """
    from scalelens.traces.export import export as write

    if output is None:
        raise UserError("no file to write to", f"name one: scalelens trace export --rank {rank} -o rank{rank}.json.gz")
    if not output.name.endswith((".json", ".json.gz")):
        raise UserError(f"cannot write a trace to {output.name}", "use .json or .json.gz")
    events, marks = write(warehouse, output, rank, start, end, run)
    errors.print(f"{output}: {events} events, {marks} marks; open it in ui.perfetto.dev", markup=False)
