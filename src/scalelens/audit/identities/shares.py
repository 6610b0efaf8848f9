"""A column of per cent is the share of another column in its total, or in its largest value.

A row is accused if most rows follow, with the same base, and it does not.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.columns import first_value, holds, rows_against
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.wording import middle

_HUNDRED = Decimal(100)
_ADDITIVE = ("time", "energy", "bytes", "work", "steps", "devices", "nodes", "")
_NAMED_SHARE = re.compile(r"share|%|percent|per cent|fraction|of total", re.IGNORECASE)


def find(document: Document) -> Iterator[Finding]:
    """Rows whose share does not follow from their value."""
    for table in document.tables:
        for share in table.columns("share"):
            if not _NAMED_SHARE.search(table.headings[share]) or not _is_of_a_whole(table, share):
                continue
            for column in range(len(table.headings)):
                known = table.meanings[column].kind in _ADDITIVE and column != share
                if known and holds(table, [share, column], first_value):
                    yield from rows_against(table, [share, column], first_value, "share = value / total")


def _is_of_a_whole(table: TextTable, share: int) -> bool:
    """Whether the shares include a total of 100 %, or add up to it but for one, which may be wrong."""
    percent = [middle(numbers[0].bounds) for _, numbers in table.rows_with(share)]
    rest = [_HUNDRED - sum(percent) + each for each in percent]
    return _HUNDRED in percent or any(0 < each < _HUNDRED / 2 for each in rest)
