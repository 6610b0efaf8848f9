"""Write single values as macros for a paper."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from scalelens.cli.options import WAREHOUSE, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors
from scalelens.errors import UserError

PANEL = "Draw"
_SIDECAR = Path("scalelens.toml")


def numbers(
    selectors: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=SELECTOR]...", help="A value: QUERY.COLUMN[KEY=VALUE] or SQL.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="File of LaTeX macros.")] = Path("numbers.tex"),
    settings: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="File with [numbers]; else ./scalelens.toml.")
    ] = None,
    warehouse: WarehouseOption = WAREHOUSE,
    folders: QueryFolders = None,
) -> None:
    """Write single values as macros for a paper, so that its text cannot go stale.

    A macro's name stands in [numbers] of scalelens.toml or on the command line, with the value that it stands for: a
    query, a column, what tells the row from others, and perhaps a unit; or SQL.  scalelens verify checks the file.

    Examples:

    scalelens numbers effFull="scaling.efficiency[devices=256] in %" -o numbers.tex

    scalelens numbers stepFull="batch_stats(warmup=5).step_s[run='n32']"
    """
    from scalelens.report.number_macros import numbers_text
    from scalelens.whole_files import write_file

    named = _numbers_of(settings or _SIDECAR, required=settings is not None)
    chosen = named | pairs(selectors, "effFull=scaling.efficiency[devices=256]")
    if not chosen:
        raise UserError(
            f"no numbers are given, neither as arguments nor in [numbers] of {settings or _SIDECAR}", "name one"
        )
    text, *_ = numbers_text(warehouse, chosen, tuple(folders or ()))
    write_file(output, text.encode())
    errors.print(f"{len(chosen)} numbers in {output}      check them later: scalelens verify {output}", markup=False)


def _numbers_of(path: Path, required: bool) -> dict[str, str]:
    """The selectors in a file, by name.  Raises UserError where they are not texts."""
    if not path.exists() and not required:
        return {}
    try:
        found: Any = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("numbers", {})
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error})", "write [numbers] and below it name = 'selector'") from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UserError(f"[numbers] of {path} is not a table of texts", "write name = 'query.column[key=value]'")
    return found
