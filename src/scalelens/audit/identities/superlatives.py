"""A number that is called the highest or the lowest is the highest or the lowest of its column.

A sentence such as "the highest throughput of 8,642 images/s" is accused if a column of that unit has its number and a
larger one.  If the sentence names rows ("on the A100"), only these are compared; a sentence that narrows the comparison
in another way is left alone.
"""

import re
from collections.abc import Iterator

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import matters, table_name, with_unit
from scalelens.units import base

_HIGHEST = r"highest|largest|maximum|max|peak|fastest"
_LOWEST = r"lowest|smallest|minimum|min|shortest|least"
_CLAIM = re.compile(
    rf"\b(?P<word>{_HIGHEST}|{_LOWEST}) [a-z/ -]{{2,40}}?(?: \([^<>]*\))?(?: of| is| was|:| =| with) <(?P<number>\d+)>"
)
_NARROWED = re.compile(
    r"\b(?:for|with|at|among|when|using|under|of (?:all|the|these|those)|in (?:the )?(?:case|class))\b"
)


def find(document: Document) -> Iterator[Finding]:
    """Superlatives that do not hold in their column."""
    for sentence in document.sentences:
        for match in _CLAIM.finditer(sentence.marked):
            yield from _of_sentence(document, sentence, match)


def _of_sentence(document: Document, sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    number = sentence.numbers[int(match["number"])]
    rest = sentence.marked[: match.start()] + sentence.marked[match.end() :]
    if number.hedge or not number.unit or _NARROWED.search(rest):
        return
    largest = bool(re.fullmatch(_HIGHEST, match["word"]))
    columns = [(table, column) for table in document.tables for column in range(len(table.headings))]
    matches = [(table, column) for table, column in columns if _has_number(table, column, number)]
    if len(matches) != 1:
        return
    table, column = matches[0]
    if any((row, column) in table.bold for row in _rows_with(table, column, number)):
        return  # the table marks it as the best of its kind
    rows = [row for row, texts in enumerate(table.texts) if _is_named(texts, sentence.text)] or range(len(table.texts))
    rivals = [cell for row in rows if (cell := table.cells[row][column]) and _beats(cell, number, largest)]
    if rivals:
        best = max(rivals, key=lambda cell: cell.low if largest else -cell.high)
        yield Finding(
            "inconsistent",
            (number, best),
            f"{with_unit(number)} is called the {match['word']}, but {table_name(table)} has {with_unit(best)}.",
            matters(value(number), value(best)),
            f"{match['word']} = {'largest' if largest else 'smallest'} of the column {table.headings[column]!r}",
        )


def _has_number(table: TextTable, column: int, number: Number) -> bool:
    """Whether a column has the number, digit for digit or rounded."""
    same_unit = base(table.meanings[column].unit)[0] == base(number.unit)[0]
    return same_unit and bool(_rows_with(table, column, number))


def _rows_with(table: TextTable, column: int, number: Number) -> list[int]:
    numbers = [cells[column] for cells in table.cells]
    return [row for row, cell in enumerate(numbers) if cell and not value(cell).apart(value(number))]


def _is_named(texts: tuple[str, ...], sentence: str) -> bool:
    """Whether a word of the row's labels is in the sentence."""
    words = [word for text in texts for word in re.findall(r"[A-Za-z][\w-]{1,}", text)]
    return any(re.search(rf"\b{re.escape(word)}", sentence, re.IGNORECASE) for word in words)


def _beats(cell: Number, number: Number, largest: bool) -> bool:
    return value(cell).low > value(number).high if largest else value(cell).high < value(number).low
