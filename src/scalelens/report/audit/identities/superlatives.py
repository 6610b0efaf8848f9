"""What is called the highest or the lowest is that in its column.

In a sentence: "the highest throughput of 8,642 images/s" whose number stands in a column of that unit that has a larger
one.  Rows that the sentence narrows down by words of the table ("on the A100") are left out of the comparison with the
others; a sentence that narrows by anything else is left alone.  In a table: where the text says that the best is in bold,
the bold number of a column is its largest or smallest.
"""

import re
from collections.abc import Iterator

from scalelens.report.audit.document import Document, Sentence, Table
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Number
from scalelens.report.audit.quantities import value
from scalelens.report.audit.units import base
from scalelens.report.audit.wording import matters, place_of, shown

HIGHEST = r"highest|largest|maximum|max|peak|fastest"
LOWEST = r"lowest|smallest|minimum|min|shortest|least"
SAID = re.compile(rf"\b(?:the )?(?P<word>{HIGHEST}|{LOWEST}) (?P<what>[a-z/ -]{{2,40}}?)(?: \([^<>]*\))?(?: of| is| was|:| =| with) <(?P<number>\d+)>")
NARROWED = re.compile(r"\b(?:for|with|at|among|when|using|under|of (?:all|the|these|those)|in (?:the )?(?:case|class))\b")
BEST_IN_BOLD = re.compile(r"\bbest\b[^.]{0,60}\b(?:bold|boldface)\b|\bbold\b[^.]{0,60}\b(?:best|highest|lowest|fastest)\b", re.IGNORECASE)


def find(document: Document) -> Iterator[Finding]:
    """Superlatives and best-markers that another number of the column beats."""
    for sentence in document.sentences:
        for match in SAID.finditer(sentence.marked):
            yield from of_sentence(document, sentence, match)
    for table in document.tables:
        if BEST_IN_BOLD.search(f"{table.caption} {table.nearby}"):
            yield from best_markers(table)


def of_sentence(document: Document, sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    number = sentence.numbers[int(match["number"])]
    rest = sentence.marked[: match.start()] + sentence.marked[match.end() :]
    if number.hedge or not number.unit or NARROWED.search(rest):
        return
    largest = bool(re.fullmatch(HIGHEST, match["word"]))
    places = [(table, column) for table in document.tables for column in range(len(table.headings)) if stands(table, column, number)]
    if len(places) != 1:
        return
    table, column = places[0]
    rows = [row for row, texts in enumerate(table.texts) if named_row(texts, sentence.text)] or range(len(table.texts))
    rivals = [cell for row in rows if (cell := table.cells[row][column]) and beats(cell, number, largest)]
    if rivals:
        best = max(rivals, key=lambda cell: cell.low if largest else -cell.high)
        yield Finding(
            "inconsistent",
            (number, best),
            f"{shown(number)} is called the {match['word']}, but {place_of(table)} has {shown(best)}.",
            matters(value(number), value(best)),
            f"{match['word']} = {'largest' if largest else 'smallest'} of the column {table.headings[column]!r}",
        )


def stands(table: Table, column: int, number: Number) -> bool:
    """The number stands in this column, digit for digit or rounded."""
    same_unit = base(table.measures[column].unit)[0] == base(number.unit)[0]
    return same_unit and any(cells[column] is not None and not value(cells[column]).apart(value(number)) for cells in table.cells)


def named_row(texts: tuple[str, ...], sentence: str) -> bool:
    """A word of the row's labels stands in the sentence."""
    words = [word for text in texts for word in re.findall(r"[A-Za-z][\w-]{1,}", text)]
    return any(re.search(rf"\b{re.escape(word)}", sentence, re.IGNORECASE) for word in words)


def beats(cell: Number, number: Number, largest: bool) -> bool:
    return value(cell).low > value(number).high if largest else value(cell).high < value(number).low


def best_markers(table: Table) -> Iterator[Finding]:
    """The only bold number of a column that is neither its largest nor its smallest, where other columns keep to it."""
    kept, broken = 0, []
    for column in range(len(table.headings)):
        rows = table.rows_with(column)
        marked = [numbers[0] for row, numbers in rows if (row, column) in table.bold]
        if len(marked) == 1 and len(rows) > 2:
            others = [numbers[0] for _, numbers in rows]
            beaten = [any(beats(other, marked[0], largest) for other in others) for largest in (True, False)]
            kept += not all(beaten)
            broken += [(column, marked[0])] if all(beaten) else []
    for column, number in broken if kept >= len(broken) or len(broken) == 1 else []:
        yield Finding(
            "inconsistent",
            (number,),
            f"{shown(number)} is marked as the best of {table.headings[column]!r} in {place_of(table)}, which has both "
            "larger and smaller numbers.",
            "conclusion",
            "the best is the largest or the smallest of its column",
        )
