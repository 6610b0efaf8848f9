"""Hold your own answer against the warehouse before anybody reads it: each number with its unit, in whole sentences.

Each number is reproduced (a query gives it), stale (the query that its words name gives another value), impossible (it
contradicts other numbers of the text) or untraceable (no query that its words name gives it).  Give the SQL of your own
calls as `statements`: then a number that one of them gives is reproduced, and one that none gives is unsupported.
Correct what is stale, impossible or unsupported; say of the untraceable where it comes from, or leave it out.
"""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from scalelens.assistant.parameters import LONGEST_TEXT

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply
    from scalelens.audit.finding import Finding
    from scalelens.audit.printed import Number

EXAMPLE = {"text": "The median step time of bf16-r1 is 0.555 s."}
LIMIT_S = 120
_KINDS = {"inconsistent": "impossible"}
_ORDER = ("impossible", "stale", "unsupported", "untraceable", "reproduced")
_MOST_STATEMENTS, _MOST_ROWS = 20, 100
_FEW = 10  # values, among which none is what the text says by chance

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
    statements: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TEXT)]],
        msgspec.Meta(
            description="SQL that gives its numbers; a named question is a macro: FROM batch_stats(exclude := 'none').",
            examples=[["SELECT count(*) FROM runs"]], max_length=_MOST_STATEMENTS,
        ),
    ] = []  # fmt: skip


class _Value(NamedTuple):
    """A number in the answer to a statement."""

    value: float
    statement: str


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_list, short
    from scalelens.audit.inconsistencies import inconsistencies
    from scalelens.audit.reading import document_of
    from scalelens.audit.warehouse.text import findings_of

    document = document_of(given.text, "answer", ".md")
    found = (_of_named_statistic(finding) for finding in findings_of(document, desk.auditor()))
    values = [value for statement in given.statements for value in _values_of(desk, statement)]
    held = (_held_against(finding, values, given.statements) if given.statements else finding for finding in found)
    findings = [*inconsistencies(document), *held]
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


def _values_of(desk: "Desk", statement: str) -> list[_Value]:
    from scalelens.assistant.desk import Page, sql_rows

    told = desk.study.in_session(lambda session: sql_rows(session, statement, Page((), 0, _MOST_ROWS)))
    cells = (cell for row in told["rows"] for cell in row)
    return [_Value(cell, statement) for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]


def _held_against(finding: "Finding", values: list[_Value], statements: list[str]) -> "Finding":
    """What the assistant's own statements say of a number that no named question reproduces.

    A number that stands in a statement, such as the 2 of `devices = 2`, says what was asked, and is no result.
    """
    from scalelens.audit.warehouse.digits import ends_of, is_chance

    number = finding.numbers[0]
    if finding.kind == "reproduced":
        return finding
    said = f"{number.text} {number.unit}".rstrip()
    fitting = [value for value in values if _fits(value.value, number)]
    exact = [value for value in fitting if value.value == float(number.low + number.high) / 2]
    few = len({value.value for value in values}) <= _FEW
    if fitting and ((few and exact) or not is_chance(ends_of(number), (value.value for value in values))):
        statement = (exact or fitting)[0].statement
        return replace(finding, kind="reproduced", sentence=f"{said}: a statement gives it", evidence=statement)
    if any(re.search(rf"(?<![\w.]){re.escape(number.text)}(?![\w.])", statement) for statement in statements):
        return finding
    if fitting:
        sentence = (
            f"{said}: of {len(values)} values that the statements give, one has it by chance; select what is meant"
        )
        return replace(finding, kind="untraceable", sentence=sentence)
    return replace(finding, kind="unsupported", sentence=f"{said}: no statement gives it", evidence="")


def _fits(value: float, number: "Number") -> bool:
    """Whether a value is printed so, in the unit of the number or in that of columns."""
    from scalelens.audit.warehouse.digits import ends_of, within
    from scalelens.audit.warehouse.measures import measure_of_unit

    measure = measure_of_unit(number.unit)
    sizes = {1.0, measure.factor if measure else 1.0}
    return any(within(value / size, ends_of(number)) for size in sizes)


def _kind(finding: "Finding") -> str:
    return _KINDS.get(finding.kind, finding.kind)


def _verdict(kinds: list[str]) -> str:
    if {"impossible", "stale", "unsupported"} & set(kinds):
        return "wrong: correct what is impossible, stale or unsupported"
    if "untraceable" in kinds:
        return "not proven: name the query of what is untraceable, or leave it out"
    return "every number is reproduced" if kinds else "there is no number in it"
