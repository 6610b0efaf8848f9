"""List tables and columns with their meaning."""

from typing import Annotated

import typer

from scalelens.cli.options import OutputFormat
from scalelens.cli.output import show
from scalelens.errors import UserError

PANEL = "Ask"


def tables(
    name: Annotated[str | None, typer.Argument(help="A table, for its columns alone.")] = None,
    format: OutputFormat = None,
) -> None:
    """List tables and columns with their meaning.

    Examples:  scalelens tables      scalelens tables steps
    """
    import polars as pl

    from scalelens.tables import documented

    columns_by_table = documented()
    if name is not None and name not in columns_by_table:
        raise UserError(f"there is no table '{name}'", f"there are: {', '.join(columns_by_table)}")
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
