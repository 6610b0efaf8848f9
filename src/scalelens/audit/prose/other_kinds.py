"""Numbers that look like another one with a slip, but are of another kind: a change, or a term of a formula with names.

"+0.100" is a change, so it is no "1.000" of a table; "phi + 1 = 2.618" computes something, whatever the row "phi" says.
"""

import re

from scalelens.audit.document import Document
from scalelens.audit.printed import Number

_RESULT = re.compile(r"[\w)\]] (?:[-+*/×·÷] [\w(.]+|[×^·] ?[\w(.]+)\)? ?(?:=|≈) ?[~≈]?$|[\w)\]]\s?[×^][\w(.]+ ?= ?$")
_OPERAND = re.compile(r"[A-Za-z)\]] [+/×·÷] $|= ?[\d.]+ [-+*/×] $")
_BEFORE_A_NAME = re.compile(r"\S{0,8} [+×·÷] [A-Za-z(]|\S{0,8} ?\^")
_MARKUP = re.compile(r"[*_`$~\\]")


def are_of_two_kinds(document: Document, a: Number, b: Number) -> bool:
    """Whether only one of two numbers has a plus sign, or one is a term of a formula."""
    return (a.text[0] == "+") != (b.text[0] == "+") or any(_is_a_term(document, each) for each in (a, b))


def _is_a_term(document: Document, number: Number) -> bool:
    if number.table is not None or number.column < 2:
        return False
    line = document.lines[number.line - 1]
    before = _MARKUP.sub("", line[: number.column - 1])
    after = _MARKUP.sub("", line[number.column - 1 + len(number.text) :])
    return bool(_RESULT.search(before) or _OPERAND.search(before) or _BEFORE_A_NAME.match(after))
