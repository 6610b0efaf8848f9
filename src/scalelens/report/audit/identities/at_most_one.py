"""A scaling efficiency is at most 1, and a speedup at most the number of devices, unless the text says otherwise.

A text that speaks of super-linear scaling, or of a cache that explains it, has said so.  Two per cent above 1 are
allowed: two measurements scatter.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.report.audit.document import Document
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Number
from scalelens.report.audit.quantities import value
from scalelens.report.audit.wording import place_of, shown

SAID_OTHERWISE = re.compile(
    r"super-?\s?linear|(?:efficien|speed.?up|scal)[^.]{0,80}(?:above|over|beyond|exceed\w*|more than|>)\s*"
    r"(?:100\s?\\?%|1\b|one\b|unity)",
    re.IGNORECASE,
)
IN_WORDS = re.compile(
    r"(?:scaling|parallel) efficiency (?:of|is|reaches|=) <(\d+)>|<(\d+)> (?:scaling|parallel) efficiency"
)
MOST = Decimal("1.02")


def find(document: Document) -> Iterator[Finding]:
    """Efficiencies above 1 in a text that does not speak of them."""
    if SAID_OTHERWISE.search(document.text):
        return
    for table in document.tables:
        if table.columns("devices") or table.columns("nodes"):
            for efficiency in table.columns("efficiency"):
                for _, (number,) in table.rows_with(efficiency):
                    yield from judged(number, place_of(table))
    for sentence in document.sentences:
        for match in IN_WORDS.finditer(sentence.marked):
            yield from judged(sentence.numbers[int(match[1] or match[2])], "the sentence")


def judged(number: Number, where: str) -> Iterator[Finding]:
    """A number above 1.  One above 2 without a unit is taken for per cent."""
    share = value(number)
    in_percent = number.unit == "" and number.low > 2
    if share.low > (MOST * 100 if in_percent else MOST) and not number.hedge:
        yield Finding(
            "inconsistent",
            (number,),
            f"An efficiency of {shown(number)} in {where} is above 1, and the text does not say why: super-linear "
            "scaling needs a reason, such as a base case that is slow.",
            "conclusion",
            "efficiency ≤ 1",
        )
