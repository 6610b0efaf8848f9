"""The bold number of a column, marked as its best, is its largest or its smallest number.

A column is accused if the text near the table says that the best is in bold, and the one bold number of the column is
between others, while the other columns follow the rule.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.quantities import value
from scalelens.audit.wording import table_name, with_unit

_BEST_IN_BOLD = re.compile(
    r"\bbest\b[^.]{0,60}\b(?:bold|boldface)\b|\bbold\b[^.]{0,60}\b(?:best|highest|lowest|fastest)\b", re.IGNORECASE
)

_MOST_OF_ROW = 0.7  # a row in bold is the chosen one as a whole


def find(document: Document) -> Iterator[Finding]:
    """Bold numbers that are neither the largest nor the smallest of their column."""
    for table in document.tables:
        if _BEST_IN_BOLD.search(f"{table.caption} {table.nearby}"):
            yield from _best_markers(table)


def _leads_row(table: TextTable, place: tuple[int, int]) -> bool:
    """Whether a number is the largest or the smallest of its row."""
    row, column = place
    number = table.cells[row][column]
    others = [value(each) for each in table.cells[row] if each and each is not number]
    if not number or not others:
        return False
    own = value(number)
    return all(each.high <= own.high for each in others) or all(each.low >= own.low for each in others)


def _best_markers(table: TextTable) -> Iterator[Finding]:
    in_row = Counter(row for row, _ in table.bold)
    if len(in_row) == len(table.cells) and max(in_row.values()) == 1:
        return  # the best of each row
    if len(in_row) * 2 > len(table.cells) and sum(map(partial(_leads_row, table), table.bold)) > 0.8 * len(table.bold):
        return
    whole = {
        row
        for row, count in in_row.items()
        if count >= _MOST_OF_ROW * sum(bool(text.strip()) for text in table.texts[row])
    }
    texts = [Counter(table.texts[row][column] for row, column in table.bold if row == each) for each in in_row]
    if any(max(each.values()) > 1 for each in texts):
        return  # the best of a row, reached several times
    kept, broken = 0, []
    for column in range(len(table.headings)):
        rows = table.rows_with(column)
        marked = [numbers[0] for row, numbers in rows if (row, column) in table.bold]
        if len(marked) == 1 and len(rows) > 2 and marked[0].row not in whole:
            best = value(marked[0])
            others = [value(numbers[0]) for _, numbers in rows]
            if any(other.low > best.high for other in others) and any(other.high < best.low for other in others):
                broken.append((column, marked[0]))
            else:
                kept += 1
    for column, number in broken if kept >= len(broken) or len(broken) == 1 else []:
        yield Finding(
            "inconsistent",
            (number,),
            f"{with_unit(number)} is marked as the best of {table.headings[column]!r} in {table_name(table)}, "
            "which has both larger and smaller numbers.",
            "conclusion",
            "the best is the largest or the smallest of its column",
        )
