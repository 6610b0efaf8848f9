"""Numbers of a sentence that stand in a row which the sentence names, or that span several rows.

"Without the second stage (grow only) the error rises to 0.2058" gives the number of the row "grow only", whatever other
rows the sentence names.  The ends of a range ("58.2--59.1") are those of the smallest and the largest of several rows.
"""

import re

from scalelens.audit.document import Document
from scalelens.audit.printed import Number
from scalelens.audit.tokens import with_characters

OF_ANOTHER_ROW = ("(the value of ", "(the other numbers are those of this row)")
_CODE = re.compile(r"`([\w./-]+)`")
_DIGITS = re.compile(r"\d+")
_RANGE_BEFORE = re.compile(r"\d ?[%x]?\$? ?(?:--|[–—~～]|-(?=\$?$)|\.\.) ?\$?$")
_RANGE_AFTER = re.compile(r"\$? ?[%x]?\$? ?(?:--|[–—~～]|-|\.\.) ?\$?\d")
_BECAME = re.compile(r"(?<![\w.,])(\d[\d.,]*) ?[\w%/µ]{0,9} ?(?:→|->|⟶|to) ?\**$")
_LEAST_LETTERS = 4  # of the beginning of a word: "score", "scoring"


def is_of_its_own_row(document: Document, number: Number, cell: Number) -> bool:
    """Whether a number stands in another row that its sentence names, too, or is the end of a range."""
    if number.table is not None or cell.table is None:
        return False
    if _is_end_of_a_range(document, number):
        return True
    return _is_in_a_row_of_its_own(document, number, cell)


def is_of_another_name(document: Document, number: Number, cell: Number) -> bool:
    """Whether a sentence gives the number of one file or program, and the row is that of another one."""
    if number.table is not None or cell.table is None:
        return False
    table = next(each for each in document.tables if each.index == cell.table)
    label = _CODE.search(table.texts[cell.row or 0][0])
    before = number.words.partition(number.text)[0]
    named = _CODE.findall(before)
    if not label or not named:
        return False
    return label[1] not in number.words and "/" in label[1] + named[-1]


def is_of_the_row_before(document: Document, number: Number, cell: Number) -> bool:
    """Whether a number is what another one became, "2,907 ms → 2,613 ms", which stands in another row than the cell."""
    if number.table is not None or cell.table is None:
        return False
    found = _BECAME.search(document.lines[number.line - 1][: number.column - 1])
    table = next(each for each in document.tables if each.index == cell.table)
    if not found:
        return False
    rows = {row for row, cells in enumerate(table.cells) if any(each and each.text == found[1] for each in cells)}
    return bool(rows) and cell.row not in rows


def _is_in_a_row_of_its_own(document: Document, number: Number, cell: Number) -> bool:
    table = next(each for each in document.tables if each.index == cell.table)
    meant, words, digits = cell.row or 0, with_characters(number.words), {*_DIGITS.findall(number.words)}
    for row, cells in enumerate(table.cells):
        own = cells[cell.cell or 0]
        if row == meant or own is None or own.bounds.apart(number.bounds):
            continue
        label, other = table.texts[row][0], table.texts[meant][0]
        of_label = with_characters(label) - with_characters(other)
        if any(_is_said(word, words) for word in of_label):
            return True
        numbers = {*_DIGITS.findall(label)} - {*_DIGITS.findall(other)}
        if numbers and numbers <= digits:
            return True
    return False


def _is_said(word: str, words: frozenset[str]) -> bool:
    return word in words or (
        len(word) > _LEAST_LETTERS and any(each[:_LEAST_LETTERS] == word[:_LEAST_LETTERS] for each in words)
    )


def _is_end_of_a_range(document: Document, number: Number) -> bool:
    line, start = document.lines[number.line - 1], number.column - 1
    return bool(_RANGE_BEFORE.search(line[:start]) or _RANGE_AFTER.match(line, start + len(number.text)))
