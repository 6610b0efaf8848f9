"""Shares that cannot be above 100 %: an accuracy, a precision, a recall, a rate of successes.

A number in per cent is accused where a sentence or a column binds it to such a word and to nothing else: "112 % of the
accuracy of the base" and "a recall 120 % higher" compare two of them.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.wording import with_unit

_SHARE = (
    r"(?:accuracy|precision|recall(?: ?@ ?\d+)?|f1(?:[- ]score)?|macro[- ]f1|micro[- ]f1|auroc|auprc|auc|exact match|"
    r"success rate|pass rate|hit rate|acceptance rate|error rate)"
)
_IS = r"(?: ?[:=(] ?| (?:of|is|was|at|reaches|reached) )"
_ELSE = r"(?:of|relative|higher|lower|more|better|worse|x\b|×|to\b|improve\w*|gain|increase|retention|recovery)"
_BOUND = (
    re.compile(rf"\b(?P<what>{_SHARE}){_IS}<(?P<n>\d+)>(?! ?{_ELSE})"),
    re.compile(rf"(?:^|[:,(] ?|\b(?:has|have|with|at|reaches|vs\.?) )<(?P<n>\d+)> (?P<what>{_SHARE})\b(?! {_ELSE})"),
)
_OF_A_WHOLE = re.compile(
    r"\b(?P<what>caused?|accounts? for|accounted for|mak(?:es?|ing) up|made up|constitut\w+|comprises?) <(?P<n>\d+)> "
    r"of (?:the|all|these|those|them|its|their)\b"
)
_COMPARED = re.compile(
    r"relative|normali[sz]ed|\bvs\b|versus|gain|improv|chang|increas|compared|base|retention|retain|recover|kept|"
    r"preserv|ratio|delta|Δ|over\b|up\b|rise|rose|than|error",
    re.IGNORECASE,
)
_NAME = re.compile(rf"(?:[a-z0-9-]+ ){{0,2}}{_SHARE}")
_LEAST_ROWS = 3
_ALL = Decimal(100)


def find(document: Document) -> Iterator[Finding]:
    """Shares above 100 % that are bound to a word which allows no more."""
    for sentence in document.sentences:
        if not sentence.numbers or _COMPARED.search(sentence.marked.replace(" vs ", " ")):
            continue
        for pattern in (*_BOUND, _OF_A_WHOLE):
            for found in pattern.finditer(sentence.marked):
                number = sentence.numbers[int(found["n"])]
                if number.unit == "%" and number.low > _ALL and not number.hedge:
                    yield _finding(number, "a part of a whole" if pattern is _OF_A_WHOLE else found["what"])
    for table in document.tables:
        yield from _of_table(table)


def _of_table(table: TextTable) -> Iterator[Finding]:
    """One cell of a column, or of a row, that a heading or label says to be such a share."""
    lines = [(table.headings[k], [row[k] for row in table.cells]) for k in range(len(table.headings))]
    lines += [(texts[0], list(cells)) for texts, cells in zip(table.texts, table.cells, strict=True)]
    for name, cells in lines:
        plain = re.sub(r"[^a-z0-9@ -]", " ", name.lower()).strip()
        if not _NAME.fullmatch(plain) or _COMPARED.search(f"{name} {table.caption}"):
            continue
        shares = [cell for cell in cells if cell and cell.unit == "%" and not cell.hedge]
        above = [cell for cell in shares if cell.low > _ALL]
        if len(above) == 1 and (len(shares) >= _LEAST_ROWS or above[0].row is None):
            yield _finding(above[0], plain)


def _finding(number: Number, what: str) -> Finding:
    return Finding(
        "inconsistent",
        (number,),
        f"{with_unit(number)} is not possible: {what} cannot be above 100 %.",
        "conclusion",
        "share ≤ 100 %",
    )
