"""Hold the numbers of a text against each other, and against a warehouse."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scalelens.cli.options import OutputFormat, QueryFolders
from scalelens.cli.output import errors, say, show
from scalelens.errors import UserError
from scalelens.warehouse.root import root_of

if TYPE_CHECKING:
    from scalelens.audit.document import Document
    from scalelens.audit.finding import Finding

PANEL = "Ask"
_WIDEST = 100  # characters of a line of prose


def audit(
    file: Annotated[Path, typer.Argument(help="A text: .tex, .md, .txt or .csv.")],
    warehouse: Annotated[
        Path | None,
        typer.Option(
            "-w",
            "--warehouse",
            envvar="SCALELENS_WAREHOUSE",
            help="Warehouse to check the text against.",
            callback=lambda path: path and root_of(path),
        ),
    ] = None,
    claims: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Check the claims of this file: sentences bound to queries.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write claims for the numbers that the warehouse gives.")
    ] = None,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Hold the numbers of a text against each other, and against a warehouse.

    Tables, sentences and formulas are read; each number stands for all values that its digits can hide.  Said is what
    cannot be true: a rate and a time that give another work than the other rows, a power that no device takes, an
    efficiency upside down.  What changes a conclusion comes before slips.

    With a warehouse each number is reproduced (a query gives it), stale (the query that its words name gives another
    value) or untraceable.  Exit code 1 if something is inconsistent or stale, or a claim does not hold.

    Examples:

    scalelens audit paper.tex

    scalelens audit results.md --format json

    scalelens audit paper.tex -w scalelens-warehouse --write claims.toml

    scalelens audit paper.tex -w scalelens-warehouse --claims claims.toml
    """
    from scalelens.audit.finding import ACCUSING
    from scalelens.audit.inconsistencies import inconsistencies
    from scalelens.audit.printing import lines_of, rows_of, summary
    from scalelens.audit.reading import read

    document = read(file)
    findings = inconsistencies(document)
    errors.print(summary(document, findings), markup=False)
    findings += _warehouse_findings(document, warehouse, claims, write, tuple(folders or ()))
    if format is None:
        for line in lines_of(findings, min(shutil.get_terminal_size().columns, _WIDEST)):
            say(line)
    else:
        show(rows_of(findings), format)
    raise typer.Exit(1 if any(finding.kind in ACCUSING for finding in findings) else 0)


def _warehouse_findings(
    document: "Document", warehouse: Path | None, claims: Path | None, write: Path | None, folders: tuple[Path, ...]
) -> "list[Finding]":
    """What a warehouse says of the text, and of claims about it; a file of claims is written where one is asked for."""
    if warehouse is None:
        if claims or write:
            raise UserError("checking claims needs a warehouse", "name it: -w FOLDER")
        return []
    from scalelens.audit.warehouse.claims import broken_claims, read_claims, write_claims
    from scalelens.audit.warehouse.matching import Auditor
    from scalelens.audit.warehouse.text import findings_of, summary

    if claims:
        read = read_claims(claims)
        broken = broken_claims(read, document.text, warehouse, folders)
        errors.print(f"{claims}: {len(read) - len(broken)} of {len(read)} claims hold.", markup=False)
        return broken
    auditor = Auditor(warehouse, folders)
    found = findings_of(document, auditor)
    errors.print(summary(found, auditor), markup=False)
    if write:
        count = write_claims(write, auditor.selectors, document.text)
        check = f"scalelens audit {document.path} -w {warehouse} --claims {write}"
        errors.print(f"{count} new claims in {write}      check them later: {check}", markup=False)
    return found
