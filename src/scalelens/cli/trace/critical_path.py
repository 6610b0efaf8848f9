"""Print the critical path of a step, by Holistic Trace Analysis."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, WarehouseOption
from scalelens.cli.output import show


def critical_path(
    rank: Annotated[int, typer.Option(min=0, help="Rank whose trace is analysed.")] = 0,
    run: Annotated[str, typer.Option(help="Beginning of a run's id, if several runs have that rank.")] = "",
    annotation: Annotated[
        str, typer.Option(help="Beginning of the name of the spans that are analysed.")
    ] = "ProfilerStep",
    instance: Annotated[int, typer.Option(min=0, help="Which of those spans, from 0.")] = 0,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
) -> None:
    """Show the chain of work, on the host and the device, that decides how long a step takes.

    Holistic Trace Analysis finds it (pip install 'scalelens[hta]') in the trace file, which must lie where it was read.
    One row by what bounds the path (cpu_bound, gpu_compute_bound, ...) and operator or kernel, the longest first.

    Example:  scalelens trace critical-path --rank 3 --instance 1
    """
    from scalelens.traces.critical_path import critical_path as find

    show(find(warehouse, rank, run, annotation, instance), format)
