"""Say whether a figure or table is still what the logs give."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption
from scalelens.cli.output import say
from scalelens.errors import UserError

PANEL = "Draw"
_EXIT_CODES = {"different": 1, "cannot": 2, "values": 3, "same": 0}  # the worst first
_WORDS = {"values": "values same, picture not compared"}


def verify(
    files: Annotated[list[Path], typer.Argument(help="Figures, tables, envelopes or files of numbers.")],
    warehouse: WarehouseOption = WAREHOUSE,
    sources: Annotated[bool, typer.Option("--sources/--no-sources", help="Also hash the logs again.")] = True,
    copies: Annotated[
        Path | None, typer.Option("--remade", metavar="DIR", help="Keep the regenerated files in this folder.")
    ] = None,
    folders: QueryFolders = None,
) -> None:
    """Say whether a figure or table is still what the logs give.

    It is made again from the warehouse and compared, the parts of the warehouse that it uses are checked against
    their digests, and its logs are hashed again.  Each file gets a line: same, different (naming the value and the
    file), cannot (be checked, and why), or values same, picture not compared, where another version of ScaleLens, of
    the renderer or of a query made it.  Exit code 1 if a file is different, else 2 if one cannot be checked, else 3 if
    only the values of one were compared, else 0.

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
        say(f"{path}: {_WORDS.get(verdict, verdict)}: {'; '.join(sentences) or 'made again byte for byte'}")
    raise typer.Exit(next(code for verdict, code in _EXIT_CODES.items() if verdict in verdicts))
