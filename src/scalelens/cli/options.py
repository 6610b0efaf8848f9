"""Options and arguments that several commands share, and the checks of their values."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.output import Format
from scalelens.errors import UserError
from scalelens.warehouse.root import DEFAULT_WAREHOUSE, root_of

# `readable=False`: typer does not check it, because its message would be a box of many lines.
WarehouseOption = Annotated[
    Path,
    typer.Option(
        "-w", "--warehouse", envvar="SCALELENS_WAREHOUSE", readable=False, callback=root_of,
        help="Folder of the warehouse, or s3://bucket/prefix.",
    ),
]  # fmt: skip
WAREHOUSE = Path(DEFAULT_WAREHOUSE)
ColumnMapping = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="ROLE=COLUMN[:UNIT]", help="Meaning of a CSV column: batch_time=iter_time:ms."),
]
ForeignSidecars = Annotated[
    bool, typer.Option("--sidecars", help="Read a scalelens.toml above that others may have written.")
]
FormatFolders = Annotated[list[Path] | None, typer.Option("--formats", help="Folder with format files of your own.")]
ShardOfWork = Annotated[
    str | None,
    typer.Option(
        "--shard", metavar="I/N", help="Read part I of N, while others read the rest; slurm: this task's part."
    ),
]
JobArray = Annotated[
    int | None,
    typer.Option("--slurm", min=1, metavar="N", help="Print a Slurm job array of N tasks for this; start nothing."),
]
DaskCluster = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Work on a Dask cluster: a scheduler's address, slurm or local."),
]
QueryFolders = Annotated[list[Path] | None, typer.Option("--queries", help="Folder with query files of your own.")]
Unsafe = Annotated[
    bool, typer.Option("--unsafe", help="Let SQL read and write other files, as DuckDB can.", show_default=False)
]
Anonymous = Annotated[
    bool, typer.Option("--anonymous", help="Pseudonyms for users, hosts, accounts, jobs, paths.", show_default=False)
]
OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="Output format; a table on a terminal, else CSV.")
]

TableWidth = Annotated[
    str | None,
    typer.Option("--width", metavar="WIDTH", help="Width of a LaTeX table: ieee-single, lncs, 86mm; as in plot."),
]

Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B", help="Columns to print, or SQL expressions of columns.")
]
Where = Annotated[str | None, typer.Option("--where", metavar="CONDITION", help="Rows to print: efficiency < 0.8")]
Sort = Annotated[str | None, typer.Option("--sort", metavar="A,-B", help="Columns to sort by, - for descending.")]
Limit = Annotated[int | None, typer.Option("--limit", min=0, metavar="N", help="Rows to print at most.")]


def checked_zone(name: str | None) -> str | None:
    """Name of a time zone.  Raises UserError where there is no such zone."""
    from scalelens.runs.sidecar_values import is_zone

    if name is not None and not is_zone(name):
        raise UserError(f"unknown time zone '{name}'", "use a name such as Europe/Berlin or UTC")
    return name


def pairs(parameters: list[str] | None, example: str = "warmup=5") -> dict[str, str]:
    """Arguments KEY=VALUE as a dict."""
    values = {}
    for text in parameters or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"'{text}' is not of the form KEY=VALUE", f"write for example {example}")
        values[key] = value
    return values


def check_table_width(width: str | None, format: Format | None) -> None:
    """Raises UserError for a width without a table of LaTeX."""
    if width is not None and format is not Format.latex:
        raise UserError("--width is for tables of LaTeX", "write --format latex with it")
