"""Checks all numbers of a text against a warehouse."""

import re
from collections import Counter
from dataclasses import replace

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.warehouse.matching import Auditor
from scalelens.audit.warehouse.stated import COUNTS

_SETTING = re.compile(rf"\b(?:{'|'.join(COUNTS.values())})\b", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]{3,}")


def findings_of(document: Document, auditor: Auditor) -> list[Finding]:
    """What a warehouse says about each number of a text."""
    return [auditor.finding(replace(number, words=_words_of(number, document))) for number in document.numbers]


def summary(findings: list[Finding], auditor: Auditor) -> str:
    """How many numbers the warehouse reproduces, and what was not compared."""
    counts = Counter(finding.kind for finding in findings)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ("reproduced", "stale", "untraceable"))
    return ".  ".join([f"Against the warehouse: {kinds}", *auditor.known.remarks]) + "."


def _words_of(number: Number, document: Document) -> str:
    """The words that say what a number is: its sentence, or its row and its heading in a table.

    The text before a table does not count, because it may be about other runs.
    """
    if number.table is None or number.row is None or number.cell is None:
        return number.words
    table = next(table for table in document.tables if table.index == number.table)
    row = zip(table.headings, table.texts[number.row], table.cells[number.row], strict=True)
    about = [
        f"{heading}: {text}"
        for k, (heading, text, value) in enumerate(row)
        if _SETTING.search(heading) or (k != number.cell and (value is None or len(_WORD.findall(text)) > 1))
    ]
    return "; ".join([*about, table.headings[number.cell], number.unit])
