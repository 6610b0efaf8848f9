"""Checks a document with the forms that its own numbers fulfill, and with every identity."""

from collections import Counter
from collections.abc import Callable, Iterable

from scalelens.audit import identities
from scalelens.audit.document import Document
from scalelens.audit.evidence import is_enough
from scalelens.audit.finding import Finding
from scalelens.audit.forms import accusing, aligned, constants
from scalelens.audit.prose import accusing as prose
from scalelens.audit.prose import (
    bound,
    closed,
    comparisons,
    conversions,
    copied,
    echoes,
    equations,
    frames,
    groups,
    headed,
    limits,
    neighbors,
    of_cells,
    pairs,
    parts,
    physics,
    repeated,
    roles,
    totals,
    typed,
)
from scalelens.audit.prose.other_bases import CHANGE, is_of_another_base
from scalelens.audit.prose.other_kinds import are_of_two_kinds
from scalelens.audit.prose.own_rows import OF_ANOTHER_ROW, is_of_another_name, is_of_its_own_row, is_of_the_row_before
from scalelens.audit.rows import few_rows, records, typed_rows
from scalelens.folders import modules_of

_STATEMENTS = (
    equations.find,
    comparisons.find,
    totals.find,
    groups.find,
    pairs.find,
    bound.find,
    frames.find,
    parts.find,
    conversions.find,
    repeated.find,
    few_rows.find,
    typed_rows.find,
    aligned.find,
    headed.find,
    neighbors.find,
    of_cells.find,
    typed.find,
    echoes.find,
    copied.find,
    records.find,
    prose.find,
    closed.find,
)
_GIVEN_TWICE = "a number that is given twice"
_MOST_WRONG = 2  # records of a log


def inconsistencies(document: Document) -> list[Finding]:
    """The contradictions in a text: those that change a conclusion first, then in the order of the text."""
    rules = [module.find for _, module in sorted(modules_of(identities).items())]
    found = [finding for rule in rules for finding in _weighed(rule, document)]
    places = {(number.table, number.row) for finding in found for number in finding.numbers if number.table is not None}
    found += [
        finding
        for finding in _weighed(accusing.find, document)
        if all((number.table, number.row) not in places for number in finding.numbers[:1])
    ]
    for rule in (constants.find, roles.find, physics.find, limits.find):
        found += _weighed(rule, document)
    for rule in _STATEMENTS:
        lines = {finding.numbers[0].line for finding in found}
        found += [finding for finding in _weighed(rule, document) if finding.numbers[0].line not in lines]
    found = [
        finding
        for finding in found
        if not (finding.evidence == _GIVEN_TWICE and are_of_two_kinds(document, *finding.numbers[:2]))
        and not (finding.evidence == _GIVEN_TWICE and is_of_another_name(document, *finding.numbers[:2]))
        and not (finding.evidence == _GIVEN_TWICE and is_of_the_row_before(document, *finding.numbers[:2]))
        and not (
            any(words in finding.sentence for words in OF_ANOTHER_ROW)
            and is_of_its_own_row(document, *finding.numbers[:2])
        )
        and not (
            finding.evidence.startswith(CHANGE)
            and is_of_another_base(document, finding.numbers[0], finding.numbers[1:])
        )
    ]
    found = _without_logs(document, found)
    return sorted(found, key=lambda finding: (finding.matters != "conclusion", finding.numbers[0].line))


def _weighed(rule: Callable[[Document], Iterable[Finding]], document: Document) -> list[Finding]:
    """What a rule finds, as far as its evidence is enough."""
    name = rule.__module__.removeprefix(f"{__package__}.")
    return [finding for finding in rule(document) if is_enough(finding, name)]


def _without_logs(document: Document, found: list[Finding]) -> list[Finding]:
    """Without what three records of a log or more break: there the relation does not hold, as its tool counts."""
    forms = {sentence.line: sentence.form for sentence in document.sentences}
    records = Counter(sentence.form for sentence in document.sentences)
    broken = Counter((forms.get(finding.numbers[0].line), finding.evidence) for finding in found)
    return [
        finding
        for finding in found
        if records[form := forms.get(finding.numbers[0].line, "")] < prose.LOG
        or broken[form, finding.evidence] <= _MOST_WRONG
    ]
