"""Say whether a figure or table is still what the logs give."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption
from scalelens.errors import UserError
from scalelens.inert import visible

PANEL = "Draw"
_EXIT_CODES = {"same": 0, "different": 1, "cannot": 2}


def verify(
    files: Annotated[list[Path], typer.Argument(help="Figures, tables, envelopes or files of numbers.")],
    warehouse: WarehouseOption = WAREHOUSE,
    sources: Annotated[bool, typer.Option("--sources/--no-sources", help="Hash the logs again, too.")] = True,
    copies: Annotated[
        Path | None, typer.Option("--remade", metavar="DIR", help="Keep what was made again in this folder.")
    ] = None,
    folders: QueryFolders = None,
) -> None:
    """Say whether a figure or table is still what the logs give.

    It is made again from the warehouse and compared, and the logs that it rests on are hashed again.  Each file gets
    a line: same, different (what, and which file) or cannot (be checked, and why).  Exit code 0 if all are the same,
    1 if one is different, 2 if one cannot be checked and none is different.

    Examples:

    scalelens verify scaling.pdf table.tex numbers.tex

    scalelens verify scaling.pdf -w study --remade again
    """
    from scalelens.report.remaking import verified

    verdicts = set()
    for path in files:
        try:
            found = verified(path, warehouse, tuple(folders or ()), sources, copies)
            verdict, sentences = found.verdict, [*found.differences, *found.doubts, *found.remarks]
        except UserError as error:
            verdict, sentences = "cannot", [str(error)]
        verdicts.add(verdict)
        typer.echo(visible(f"{path}: {verdict}: {'; '.join(sentences) or 'made again byte for byte'}"))
    raise typer.Exit(next(_EXIT_CODES[verdict] for verdict in ("different", "cannot", "same") if verdict in verdicts))
