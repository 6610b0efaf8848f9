"""List tables and columns with their meaning."""

from typing import Annotated

import typer

from scalelens.cli.options import OutputFormat
from scalelens.cli.output import Format, errors, show
from scalelens.cli.pieces import is_for_people
from scalelens.errors import UserError, did_you_mean

PANEL = "Ask"


def tables(
    name: Annotated[str | None, typer.Argument(help="A table: list only its columns.")] = None,
    format: OutputFormat = None,
) -> None:
    """List the tables, or the columns of one, with their meaning.  A file or a pipe gets the columns of all.

    Examples:  scalelens tables      scalelens tables steps
    """
    import polars as pl

    from scalelens.tables import MEANINGS, documented

    columns_by_table = documented()
    if name is not None and name not in columns_by_table:
        near = did_you_mean(name, columns_by_table)
        raise UserError(f"there is no table '{name}'", near or f"there are: {', '.join(columns_by_table)}")
    if name is None and is_for_people(format):
        show(pl.DataFrame({"table": [*MEANINGS], "a row is": [*MEANINGS.values()]}), Format.table)
        errors.print("the columns of one: scalelens tables steps", style="dim", markup=False)
        return
    show(
        pl.DataFrame(
            [
                {"table": table, "column": column.name, "type": str(column.type), "meaning": column.meaning}
                for table, columns in columns_by_table.items()
                if name in (None, table)
                for column in columns
            ]
        ),
        format,
    )
