"""Hold your own answer against the warehouse before anybody reads it: each number with its unit, in whole sentences.

Each number is reproduced (a query gives it), stale (the query that its words name gives another value), impossible (it
contradicts other numbers of the text) or untraceable (no query that its words name gives it).  Correct what is stale
or impossible; say of the untraceable where it comes from, or leave it out.
"""

from typing import TYPE_CHECKING, Annotated

import msgspec

from scalelens.assistant.parameters import LONGEST_TEXT

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.audit.finding import Finding

EXAMPLE = {"text": "The median step time of bf16-r1 is 0.555 s."}
LIMIT_S = 120
_KINDS = {"inconsistent": "impossible"}
_ORDER = ("impossible", "stale", "untraceable", "reproduced")


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[
        str, msgspec.Meta(description="The answer, as text or Markdown.", min_length=1, max_length=LONGEST_TEXT)
    ]


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list, short
    from scalelens.audit.inconsistencies import inconsistencies
    from scalelens.audit.reading import document_of
    from scalelens.audit.warehouse.text import findings_of

    document = document_of(given.text, "answer", ".md")
    findings = [*inconsistencies(document), *findings_of(document, desk.auditor())]
    findings.sort(key=lambda finding: _ORDER.index(_kind(finding)))
    kinds = [_kind(finding) for finding in findings]
    content = {
        "counts": {kind: kinds.count(kind) for kind in _ORDER},
        "verdict": _verdict(kinds),
        "columns": ["kind", "number", "unit", "line", "untrusted_sentence", "untrusted_query"],
        "findings": [
            [_kind(finding), finding.numbers[0].text, finding.numbers[0].unit, finding.numbers[0].line,
             short(finding.sentence), short(finding.evidence)]
            for finding in findings
        ],
    }  # fmt: skip
    return Reply(fitted_list(content, "findings", "check a shorter text"))


def _kind(finding: "Finding") -> str:
    return _KINDS.get(finding.kind, finding.kind)


def _verdict(kinds: list[str]) -> str:
    if "impossible" in kinds or "stale" in kinds:
        return "wrong: correct what is impossible or stale"
    if "untraceable" in kinds:
        return "not proven: name the query of what is untraceable, or leave it out"
    return "every number is reproduced" if kinds else "there is no number in it"
