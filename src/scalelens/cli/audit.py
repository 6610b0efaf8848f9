"""Hold the numbers of a text against each other."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from scalelens.cli.options import OutputFormat
from scalelens.cli.output import errors, show
from scalelens.inert import visible

PANEL = "Ask"
WIDEST = 100  # characters of a line of prose


def audit(
    file: Annotated[Path, typer.Argument(help="A text: .tex, .md, .txt or .csv.")],
    format: OutputFormat = None,
) -> None:
    """Hold the numbers of a text against each other.

    Tables, sentences and formulas are read; each number stands for all values that its digits can hide.  Said is what
    cannot be true: a rate and a time that give another work than the other rows, a power that no device takes, an
    efficiency upside down.  What changes a conclusion comes before slips.  Exit code 1 if something is inconsistent.

    Examples:

    scalelens audit paper.tex

    scalelens audit results.md --format json
    """
    from scalelens.report.audit.audit import inconsistencies
    from scalelens.report.audit.printing import lines_of, rows_of, summary
    from scalelens.report.audit.reading import read

    document = read(file)
    findings = inconsistencies(document)
    errors.print(summary(document, findings))
    if format is None:
        for line in lines_of(findings, min(shutil.get_terminal_size().columns, WIDEST)):
            typer.echo(visible(line))
    else:
        show(rows_of(findings), format)
    raise typer.Exit(1 if any(finding.kind == "inconsistent" for finding in findings) else 0)
