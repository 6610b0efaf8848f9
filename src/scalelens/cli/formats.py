"""List the formats, or test those of a folder."""

from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import FormatFolders, OutputFormat
from scalelens.cli.output import errors, show

PANEL = "Read"


def formats(
    check: Annotated[Path | None, typer.Option("--check", help="Test the format files of a folder of yours.")] = None,
    folders: FormatFolders = None,
    format: OutputFormat = None,
) -> None:
    """List the formats: name, tool, versions, what each yields.  With --check, test those of a folder.

    Examples:  scalelens formats      scalelens formats --check my_formats/
    """
    import polars as pl

    from scalelens.ingestion.formats import load
    from scalelens.parsing.format_file import heading, name_of, title

    if check is not None:
        from scalelens.ingestion.format_check import check_formats

        complaints = check_formats(check)
        for complaint in complaints:
            errors.print(complaint, markup=False)
        if complaints:
            raise typer.Exit(1)
        errors.print(f"the formats of {check} pass the test")
        return
    loaded = load(tuple(folders or ()))
    modules = sorted((*loaded.of_lines, *loaded.of_files), key=name_of)
    show(
        pl.DataFrame(
            [
                {
                    "name": name_of(module), "what": title(module), "tool": heading(module, "Tool"),
                    "versions": heading(module, "Versions"), "yields": heading(module, "Yields"),
                    "kind": "lines" if hasattr(module, "ANCHORS") else "file",
                }
                for module in modules
            ]
        ),
        format,
    )  # fmt: skip
