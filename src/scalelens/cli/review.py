"""What a reviewer would ask of a study, and what the logs answer."""

import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from scalelens.cli.completions import query_parameters
from scalelens.cli.options import WAREHOUSE, OutputFormat, QueryFolders, WarehouseOption, pairs
from scalelens.cli.output import errors, say
from scalelens.cli.pieces import is_for_people
from scalelens.cli.written import show_answer

PANEL = "Ask"
_INDENT = 13  # characters of a verdict
_WIDEST = 100  # characters of a line


def review(
    parameters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]...", help="Parameters: runs=system='lumi'.", autocompletion=query_parameters
        ),
    ] = None,
    figures: Annotated[
        list[Path] | None, typer.Option("--figure", metavar="FILE", help="A figure or table to verify; repeatable.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option("--text", metavar="FILE", help="A text with numbers that come from the logs.")
    ] = None,
    claims: Annotated[
        Path | None, typer.Option("--claims", metavar="FILE", help="Check the claims of this file, not all numbers.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if a rule is not met.")] = False,
    warehouse: WarehouseOption = WAREHOUSE,
    format: OutputFormat = None,
    folders: QueryFolders = None,
) -> None:
    """Would a reviewer accept this study?  Each rule is met, not met, or cannot be told, with source and remedy.

    The rules are those of Hoefler and Belli, of artifact descriptions and of MLPerf: a base case on one node, repeats,
    intervals between runs, settings that agree, clocks, the extent of the energy, versions, the noise of the system.
    A rule is met only where the logs show it.

    Examples:

    scalelens review

    scalelens review "runs=system = 'lumi'" --figure scaling.pdf --text paper.tex --strict

    scalelens review --format latex > appendix.tex
    """
    from scalelens.errors import UserError
    from scalelens.question.question import Question
    from scalelens.question.session import ask

    if claims and not text:
        raise UserError("checking claims needs their text", "name it: --text FILE")
    query_folders, given = tuple(folders or ()), pairs(parameters)
    if figures:
        given["figures"] = _counts_of_figures(figures, warehouse, query_folders)
    if text:
        given["claims"] = _counts_of_text(text, claims, warehouse, query_folders)
    answer = ask(warehouse, Question("review", parameters=given), query_folders)
    if is_for_people(format):
        for row in answer.frame.iter_rows(named=True):
            _print_rule(row)
    else:
        show_answer(warehouse, answer, format, query_folders)
    verdicts = answer.frame["verdict"].to_list()
    errors.print(
        f"{verdicts.count('met')} rules met, {verdicts.count('not met')} not met, "
        f"{verdicts.count('cannot tell')} cannot be told from the logs",
        markup=False,
    )
    if strict and "not met" in verdicts:
        raise typer.Exit(1)


def _print_rule(row: Mapping[str, Any]) -> None:
    """A rule with its verdict, what the logs show, and what would help."""
    say(f"{row['verdict']:<{_INDENT}}{row['rule']} ({row['source']})")
    for text in (row["evidence"], row["remedy"]):
        if text:
            width = min(shutil.get_terminal_size().columns, _WIDEST)
            margin = " " * _INDENT
            say(textwrap.fill(text, width, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False))


def _counts_of_figures(figures: list[Path], warehouse: Path, folders: tuple[Path, ...]) -> str:
    """How many figures there are, how many differ from the logs, and how many cannot be checked."""
    from scalelens.errors import UserError
    from scalelens.report.remaking import verified

    verdicts = []
    for path in figures:
        try:
            verdicts.append(verified(path, warehouse, folders, True, None).verdict)
        except UserError as error:
            errors.print(f"{path}: {error}", markup=False)
            verdicts.append("cannot")
    return f"{len(verdicts)} {verdicts.count('different')} {verdicts.count('cannot')}"


def _counts_of_text(text: Path, claims: Path | None, warehouse: Path, folders: tuple[Path, ...]) -> str:
    """How many numbers or claims a text has, how many are wrong, and how many follow from nothing in the warehouse."""
    from scalelens.audit.finding import ACCUSING
    from scalelens.audit.inconsistencies import inconsistencies
    from scalelens.audit.reading import read
    from scalelens.audit.warehouse.claims import broken_claims, read_claims
    from scalelens.audit.warehouse.matching import Auditor
    from scalelens.audit.warehouse.text import findings_of

    document = read(text)
    if claims:
        bound = read_claims(claims)
        return f"{len(bound)} {len(broken_claims(bound, document.text, warehouse, folders))} 0"
    found = findings_of(document, Auditor(warehouse, folders))
    wrong = [finding for finding in [*found, *inconsistencies(document)] if finding.kind in ACCUSING]
    return f"{len(found)} {len(wrong)} {sum(finding.kind == 'untraceable' for finding in found)}"
