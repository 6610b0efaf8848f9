"""Hold your own answer against the warehouse before anybody reads it: each number with its unit, in whole sentences.

Each number is reproduced (a query gives it), stale (the query that its words name gives another value), impossible (it
contradicts other numbers of the text) or untraceable (no query that its words name gives it).  Correct what is stale
or impossible; say of the untraceable where it comes from, or leave it out.
"""

import re
from dataclasses import replace
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


_COLUMN = re.compile(r"SELECT (\w+) FROM ")
# What words name a statistic, and which columns hold it.
_STATISTICS = {
    "median": re.compile(r"\bmedian\b", re.IGNORECASE),
    "mean": re.compile(r"\b(?:mean|average)\b", re.IGNORECASE),
    "percentile": re.compile(r"\bpercentiles?\b|\bp\d\d\b|\bquantiles?\b", re.IGNORECASE),
}
_COLUMNS_OF = {
    "median": re.compile(r"step_s|median_\w+"), "mean": re.compile(r"mean_\w+"), "percentile": re.compile(r"p\d+_\w+"),
}  # fmt: skip


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
    found = (_of_named_statistic(finding) for finding in findings_of(document, desk.auditor()))
    findings = [*inconsistencies(document), *found]
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


def _of_named_statistic(finding: "Finding") -> "Finding":
    """A median that only a mean or a percentile reproduces is not reproduced."""
    number, column = finding.numbers[0], _COLUMN.match(finding.evidence)
    if finding.kind != "reproduced" or not column or number.table is not None:
        return finding
    named = {name for name, words in _STATISTICS.items() if words.search(number.words)}
    has = next((name for name, columns in _COLUMNS_OF.items() if columns.fullmatch(column[1])), None)
    if not named or has is None or has in named:
        return finding
    sentence = f"{number.text} {number.unit}: only {column[1]} has it, and the sentence names another statistic"
    return replace(finding, kind="untraceable", sentence=sentence)


def _kind(finding: "Finding") -> str:
    return _KINDS.get(finding.kind, finding.kind)


def _verdict(kinds: list[str]) -> str:
    if "impossible" in kinds or "stale" in kinds:
        return "wrong: correct what is impossible or stale"
    if "untraceable" in kinds:
        return "not proven: name the query of what is untraceable, or leave it out"
    return "every number is reproduced" if kinds else "there is no number in it"
