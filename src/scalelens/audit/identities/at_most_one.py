"""A scaling efficiency is at most 1, unless the text says otherwise or its own numbers give more.

Super-linear scaling is real: work that fits into the cache, or a base case short of memory, can give 1.56.  So an
efficiency above 1 in a table is accused only if two other rows follow from their speedup, rate or time with one base
case, and this row follows from none of them.  If a majority of rows follows, `efficiency` judges the row.  A sentence
is accused if the text does not mention super-linear scaling and no table has the number.  Up to 2 % above 1 may be the
scatter of two measurements.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.agreement import MEASURED_TWICE, gap, shared_values
from scalelens.audit.columns import factors, finding, holds
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.groups import own_group
from scalelens.audit.identities.efficiency import relations
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import with_unit

_EXPLAINED = re.compile(
    r"super-?\s?linear|(?:efficien|speed.?up|scal)[^.]{0,80}(?:above|over|beyond|exceed\w*|more than|>)\s*"
    r"(?:100\s?\\?%|1\b|one\b|unity)",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(
    r"(?:scaling|parallel) efficiency (?:of|is|reaches|=) <(\d+)>|<(\d+)> (?:scaling|parallel) efficiency"
)
_MOST = Decimal("1.02")
_LEAST_OTHERS = 2


def find(document: Document) -> list[Finding]:
    """Efficiencies above 1 that a table contradicts, or that the text does not explain."""
    found = list(_above_one(document))
    return found if found and not _EXPLAINED.search(document.text) else []


def _above_one(document: Document) -> Iterator[Finding]:
    for table in document.tables:
        for efficiency in table.columns("efficiency"):
            for row, (number,) in table.rows_with(efficiency):
                if _is_above_one(number):
                    yield from _contradicted(table, efficiency, row)
    printed = [value(number) for number in _in_tables(document)]
    for sentence in document.sentences:
        for match in _IN_WORDS.finditer(sentence.marked):
            number = sentence.numbers[int(match[1] or match[2])]
            if _is_above_one(number) and not number.hedge and value(number) not in printed:
                yield _unexplained(number)


def _is_above_one(number: Number) -> bool:
    """Whether an efficiency is above 1.  A number above 2 without a unit is read as per cent."""
    in_percent = number.unit == "" and number.low > 2
    return value(number).low > (_MOST * 100 if in_percent else _MOST)


def _contradicted(table: TextTable, efficiency: int, row: int) -> Iterator[Finding]:
    """A finding if other rows follow a formula that this row does not follow, and it follows no other formula."""
    accused = None
    for columns, formula, identity, _ in relations(table, efficiency):
        rows = factors(table, columns, formula)
        mine = next((each for each in rows if each[0] == row), None)
        others = [each for each in rows if each[0] != row]
        if mine is None or len(others) < _LEAST_OTHERS:
            continue
        factor = shared_values([each for _, _, each in others])
        if any(gap(factor, each) for _, _, each in others):
            continue
        if holds(table, columns, formula) or gap(factor, mine[2]) <= MEASURED_TWICE:
            return
        if accused is None and not own_group(table, [row], [other for other, _, _ in others], columns):
            accused = finding(table, mine[1], formula, factor, identity)
    if accused:
        yield accused


def _in_tables(document: Document) -> Iterator[Number]:
    """Efficiencies of the tables; a sentence that repeats one is judged with its table."""
    for table in document.tables:
        for efficiency in table.columns("efficiency"):
            yield from (number for _, (number,) in table.rows_with(efficiency))


def _unexplained(number: Number) -> Finding:
    return Finding(
        "inconsistent",
        (number,),
        f"An efficiency of {with_unit(number)} in the sentence is above 1, and the text does not say why: super-linear "
        "scaling needs a reason, such as a base case that is slow.",
        "conclusion",
        "efficiency ≤ 1",
    )
