"""A column of per cent is the share of another column in its total, or of its largest value.

Said of a table where most rows follow (with one base for all) and a row does not.
"""

import re
from collections.abc import Iterator

from scalelens.report.audit.columns import holds, rows_against
from scalelens.report.audit.document import Document
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Interval

ADDITIVE = ("time", "energy", "bytes", "work", "steps", "devices", "nodes", "")
NAMED_SHARE = re.compile(r"share|%|percent|per cent|fraction|of total", re.IGNORECASE)


def find(document: Document) -> Iterator[Finding]:
    """Rows whose share is not that of their value."""
    for table in document.tables:
        for share in table.columns("share"):
            if not NAMED_SHARE.search(table.headings[share]):
                continue
            for column in range(len(table.headings)):
                known = table.measures[column].kind in ADDITIVE and column != share
                if known and holds(table, [share, column], same):
                    yield from rows_against(table, [share, column], same, "share = value / total")


def same(given: list[Interval]) -> Interval:
    return given[0]
