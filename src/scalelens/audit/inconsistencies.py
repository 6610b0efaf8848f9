"""Checks a document with every identity."""

from scalelens.audit import identities
from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.folders import modules_of


def inconsistencies(document: Document) -> list[Finding]:
    """The contradictions in a text: those that change a conclusion first, then in the order of the text."""
    found = [finding for _, module in sorted(modules_of(identities).items()) for finding in module.find(document)]
    return sorted(found, key=lambda finding: (finding.matters != "conclusion", finding.numbers[0].line))
