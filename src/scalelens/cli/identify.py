"""Show which format takes which lines of a file."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import ColumnMapping, FormatFolders, OutputFormat
from scalelens.cli.output import errors, show
from scalelens.errors import UserError

PANEL = "Read"


def identify(
    file: Annotated[Path, typer.Argument(help="A file.", readable=False)],
    mapping: ColumnMapping = None,
    preset: Annotated[
        Path | None, typer.Option(help="Write a format file for tables like this one, to edit.", readable=False)
    ] = None,
    formats: FormatFolders = None,
    format: OutputFormat = None,
) -> None:
    """Show which format takes which lines of a file, what its columns are read as, and what is not understood.

    Examples:  scalelens identify slurm-123456.out      scalelens identify metrics.csv --map batch_time=iter_time:ms
    scalelens identify metrics.csv --preset my_formats/my_metrics.py
    """
    from scalelens.ingestion.identify import identify as identify_file

    if not file.is_file():
        raise UserError(f"there is no file {file}", "give the path of one file")
    sentence, rows = identify_file(file, tuple(formats or ()), tuple(mapping or ()), preset)
    errors.print(sentence, markup=False)
    if preset:
        errors.print(f"wrote {preset}; test it with: scalelens formats --check {preset.parent}", markup=False)
    show(rows, format)
