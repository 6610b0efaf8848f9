"""Numbers that look like another one with a slip, but are of another kind: a change, or a term of a formula with names.

"+0.100" is a change, so it is no "1.000" of a table; "phi + 1 = 2.618" computes something, whatever the row "phi" says.
"""

import re

from scalelens.audit.document import Document
from scalelens.audit.printed import Number

_RESULT = re.compile(r"[\w)\]] (?:[-+*/×·÷] [\w(.]+|[×^·] ?[\w(.]+)\)? ?(?:=|≈) ?[~≈]?$|[\w)\]]\s?[×^][\w(.]+ ?= ?$")
_OPERAND = re.compile(r"[A-Za-z)\]] [+/×·÷] $|= ?[\d.]+ [-+*/×] $")
_BEFORE_A_NAME = re.compile(r"\S{0,8} [+×·÷] [A-Za-z(]|\S{0,8} ?\^")
_IDENTIFIER = re.compile(r"0\d+")  # the number of an article or a ticket
_NAME_BEFORE = re.compile(r"([A-Z][\w-]+)\)?,? ?\((?:[a-z]+ )?$")  # "on ADE20K (48.5 PQ)"
_MARKUP = re.compile(r"[*_`$~\\]")


def are_of_two_kinds(document: Document, a: Number, b: Number) -> bool:
    """Whether only one of two numbers has a plus sign, or one is a term of a formula, or both name different things.

    A number that begins with zeros identifies something: it measures nothing.  One that is the label of a row of the
    other's table is that row's.
    """
    if (a.text[0] == "+") != (b.text[0] == "+") or any(_is_a_term(document, each) for each in (a, b)):
        return True
    if any(_IDENTIFIER.fullmatch(each.text) for each in (a, b)):
        return True
    return _are_of_two_names(document, a, b) or any(_is_a_label(document, x, y) for x, y in ((a, b), (b, a)))


def _are_of_two_names(document: Document, a: Number, b: Number) -> bool:
    """Whether each of two numbers stands in brackets after a name of its own in one paragraph."""
    if a.table is not None or b.table is not None or a.line != b.line:
        return False
    names = [_NAME_BEFORE.search(document.lines[each.line - 1][: each.column - 1]) for each in (a, b)]
    return all(names) and len({name[1] for name in names if name}) > 1


def _is_a_label(document: Document, number: Number, cell: Number) -> bool:
    """Whether a number of a sentence is the label of another row of the table: "at n = 126"."""
    if number.table is not None or cell.table is None or number.unit:
        return False
    table = next(each for each in document.tables if each.index == cell.table)
    return bool(cell.cell) and any(
        texts[0].strip(" *`") == number.text for row, texts in enumerate(table.texts) if row != cell.row
    )


def _is_a_term(document: Document, number: Number) -> bool:
    if number.table is not None or number.column < 2:
        return False
    line = document.lines[number.line - 1]
    before = _MARKUP.sub("", line[: number.column - 1])
    after = _MARKUP.sub("", line[number.column - 1 + len(number.text) :])
    return bool(_RESULT.search(before) or _OPERAND.search(before) or _BEFORE_A_NAME.match(after))
