"""Print the critical path of a step, by Holistic Trace Analysis."""

from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, WarehouseOption
from scalelens.cli.output import show


def critical_path(
    rank: Annotated[int, typer.Option(min=0, help="Rank whose trace is read.")] = 0,
    run: Annotated[str, typer.Option(help="Beginning of a run's id, where several runs have that rank.")] = "",
    annotation: Annotated[
        str, typer.Option(help="Which spans count as steps: the beginning of their names.")
    ] = "ProfilerStep",
    instance: Annotated[int, typer.Option(min=0, help="Number of the span, counted from 0.")] = 0,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
) -> None:
    """Show the chain of work, on the host and the device, that decides how long a step takes.

    Holistic Trace Analysis, which the extra hta installs, finds it in the trace file. The file must still be in the
    place where it was read. Each row is one thing that bounds the path (cpu_bound, gpu_compute_bound, ...) and one
    operator or kernel, the longest first.

    Example:  scalelens trace critical-path --rank 3 --instance 1
    """
    from scalelens.traces import critical_path

    show(critical_path.critical_path(warehouse, rank, run, annotation, instance), format)
