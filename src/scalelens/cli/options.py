"""Options and arguments that several commands share, and what they are checked by."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.output import Format
from scalelens.errors import UserError

# `readable=False`: not looked at by typer, whose message would be a box of many lines.
WarehouseOption = Annotated[
    Path,
    typer.Option("-w", "--warehouse", envvar="SCALELENS_WAREHOUSE", help="Folder of the warehouse.", readable=False),
]
WAREHOUSE = Path("scalelens-warehouse")
ColumnMapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="ROLE=COLUMN[:UNIT]", help="What a column of a CSV is: batch_time=iter_time:ms."),
]
FormatFolders = Annotated[list[Path] | None, typer.Option("--formats", help="Folder with format files of your own.")]
QueryFolders = Annotated[list[Path] | None, typer.Option("--queries", help="Folder with query files of your own.")]
OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="Output format; a table on a terminal, else CSV.")
]


def zone(name: str | None) -> str | None:
    """A time zone's name, checked."""
    from scalelens.runs.sidecar import is_zone

    if name is not None and not is_zone(name):
        raise UserError(f"there is no time zone '{name}'", "name one such as Europe/Berlin or UTC")
    return name


def pairs(parameters: list[str] | None, example: str = "warmup=5") -> dict[str, str]:
    """KEY=VALUE arguments."""
    values = {}
    for text in parameters or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"'{text}' is not of the form KEY=VALUE", f"write for example {example}")
        values[key] = value
    return values
