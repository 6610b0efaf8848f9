"""Print the critical path of a step."""

from enum import StrEnum
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, OutputFormat, WarehouseOption
from scalelens.cli.output import show


class _Finder(StrEnum):
    """Who finds the path."""

    warehouse = "warehouse"
    hta = "hta"


def critical_path(
    rank: Annotated[int | None, typer.Option(min=0, help="Only the pieces of this rank.")] = None,
    run: Annotated[str, typer.Option(help="Beginning of a run's id.")] = "",
    step: Annotated[int | None, typer.Option(help="This step alone.")] = None,
    by: Annotated[
        _Finder, typer.Option(help="The warehouse, across ranks, or Holistic Trace Analysis, for one rank.")
    ] = _Finder.warehouse,
    annotation: Annotated[
        str, typer.Option(help="With --by hta: the beginning of the names of the spans that count as steps.")
    ] = "ProfilerStep",
    instance: Annotated[int, typer.Option(min=0, help="With --by hta: number of the span, counted from 0.")] = 0,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
) -> None:
    """Show the chain of work and waiting, on hosts and devices of all ranks, that decides how long a step takes.

    Each row is one kind of work or waiting, one rank and one name, the longest first. Those of a step add up to its
    time.

    With --by hta, Holistic Trace Analysis, which the extra hta installs, finds the path of one rank in the trace file,
    which must still be in the place where it was read.

    Example:  scalelens trace critical-path --step 3
    """
    from scalelens.study import Study

    study = Study(warehouse)
    show(study.critical_path(rank, run=run, step=step, by=by.value, annotation=annotation, instance=instance), format)
