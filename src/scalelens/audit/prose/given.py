"""Whether the numbers around a number give it, and what is found where two places give one number differently."""

from scalelens.audit.document import Document
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.expressions import expressions
from scalelens.audit.prose.operands import around, operand_of
from scalelens.audit.quantities import value
from scalelens.audit.wording import matters, with_unit


def is_given(document: Document, index: int, number: Number) -> bool:
    """Whether the numbers around give it."""
    target = operand_of(number)
    return target is None or any(
        each.low <= target.high and target.low <= each.high
        for each in expressions(target, around(document, index))
        if len(each.operands) < 3
    )


def given_twice(a: Number, b: Number, place: str, words: str) -> Finding:
    """A number that should be the one at another place, and what `words` say of the difference."""
    return Finding(
        "inconsistent",
        (a, b),
        f"{with_unit(a)} is {with_unit(b)} in {place} ({words}).",
        matters(value(a), value(b)),
        "a number that is given twice",
    )
