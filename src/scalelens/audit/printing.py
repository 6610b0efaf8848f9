"""Findings as lines for people, and as rows for programs."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scalelens.audit.document import Document
from scalelens.audit.finding import ACCUSING, Finding
from scalelens.report.text.sentences import plural

if TYPE_CHECKING:
    import polars as pl

_COLUMNS = ("kind", "matters", "line", "column", "number", "unit", "others", "sentence", "evidence")
_HEADINGS = {"conclusion": "Changes a conclusion", "slip": "Slips", "claim": "Claims that do not hold"}


def summary(document: Document, findings: Iterable[Finding]) -> str:
    """What was read, and how many contradictions there are."""
    accused = [finding for finding in findings if finding.kind == "inconsistent"]
    conclusions = sum(finding.matters == "conclusion" for finding in accused)
    read = ", ".join(
        (plural(len(document.numbers), "number"), plural(len(document.tables), "table"),
         plural(len(document.sentences), "sentence"))
    )  # fmt: skip
    count = (
        f"{conclusions} that change a conclusion, {plural(len(accused) - conclusions, 'slip')}" if accused else "none"
    )
    return f"{document.path}: {read}.  Inconsistencies: {count}."


def lines_of(findings: Iterable[Finding], width: int) -> list[str]:
    """The accusations, those that change a conclusion first: line of the file, sentence, formula."""
    accused = [finding for finding in findings if finding.kind in ACCUSING]
    lines: list[str] = []
    for matters, heading in _HEADINGS.items():
        chosen = [f for f in accused if (f.kind if f.kind == "claim" else f.matters) == matters]
        if chosen:
            lines += [*([""] if lines else []), heading]
        for finding in chosen:
            indent = " " * 13
            line = finding.numbers[0].line  # 0 for a claim whose sentence is not in the text
            first = (f"  line {line}" if line else "").ljust(len(indent))
            lines += textwrap.wrap(finding.sentence, width, initial_indent=first, subsequent_indent=indent)
            lines += textwrap.wrap(f"by: {finding.evidence}", width, initial_indent=indent, subsequent_indent=indent)
    return lines


def rows_of(findings: Iterable[Finding]) -> "pl.DataFrame":
    """A row for each finding: the accused number, and in `others` those that it contradicts."""
    import polars as pl

    columns = {name: pl.Int64 if name in ("line", "column") else pl.String for name in _COLUMNS}
    rows = [
        (
            finding.kind,
            finding.matters,
            finding.numbers[0].line,
            finding.numbers[0].column,
            finding.numbers[0].text,
            finding.numbers[0].unit,
            "; ".join(f"{number.text} {number.unit}".strip() for number in finding.numbers[1:]),
            finding.sentence,
            finding.evidence,
        )
        for finding in findings
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")
