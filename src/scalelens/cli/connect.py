"""Write the tables of a warehouse into a DuckDB file, for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, WarehouseOption
from scalelens.cli.output import errors

PANEL = "Ask"


def connect(
    output: Annotated[Path, typer.Option("-o", "--output", help="The file; it must not exist yet.")] = Path(
        "study.duckdb"
    ),
    copy: Annotated[bool, typer.Option("--copy", help="Copy the rows into the file, so it can be shared.")] = False,
    warehouse: WarehouseOption = WAREHOUSE,
) -> None:
    """Write a DuckDB file with the tables of today, for DuckDB's own shell, harlequin, Polars or marimo.

    Without --copy it holds views over the warehouse: it is small, and holds until compact or a new ingest replaces
    what it reads.  The table about says of which warehouse and when.  Queries are not in it: they call functions of
    ScaleLens, so ask them by scalelens query or scalelens shell.

    Examples:

    scalelens connect -o study.duckdb

    scalelens connect -o study.duckdb --copy -w study
    """
    from scalelens.database.dated_file import write_dated_file

    write_dated_file(warehouse, output, copy)
    errors.print(f'{output}      next: duckdb -readonly {output} "FROM runs"', markup=False)
