"""Two numbers next to each other in a sentence, of which one is a cell: the other one stands in its row or column.

"25.6 µs vs 27.0 µs P50" next to a table whose column "P50" has 25.6 µs and 20.7 µs.  The other number stands nowhere
else in the text, one slip turns it into a single cell of this row or column, and the sentence names that cell.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.given import is_given
from scalelens.audit.prose.places import digits_of, middle_of
from scalelens.audit.prose.repeated import finding_of, is_of_a_size, is_of_all_rows
from scalelens.audit.prose.weights import DIGIT, POINT, SWAPPED
from scalelens.audit.tokens import with_characters

_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_PRINTED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\d|\.\d)")
_MOST_NUMBERS, _MOST_ROWS, _MOST_HOMES = 20, 80, 2
_ASIDE = re.compile(r"\(([^()\d]*)$")
_NEAR = 90  # characters between the two numbers
_LEAST_DIGITS, _MANY = 3, 4
_FAR = 0.05  # two measurements of one kind may differ by less
_WORDS_OF_ROW = 2


@dataclass(frozen=True)
class _Cell:
    """A number of a table, with its place."""

    table: TextTable
    row: int
    column: int
    number: Number


def find(document: Document) -> Iterator[Finding]:
    """Numbers next to one of a table that should be another one of its row or column."""
    cells = _cells_of(document)
    if not cells:
        return
    times = Counter(text for line in document.lines for text in _PRINTED.findall(line))
    for index, sentence in enumerate(document.sentences):
        if len(sentence.numbers) > _MOST_NUMBERS:
            continue
        words = with_characters(sentence.text)
        for place in range(len(sentence.numbers) - 1):
            between = sentence.positions[place + 1][0] - sentence.positions[place][1]
            for known, number in ((place, place + 1), (place + 1, place)) if between <= _NEAR else ():
                said = sentence.numbers[number]
                if times[said.text.lstrip("+-\u2212")] > 1 or digits_of(said) in cells:
                    continue
                found = _meant(sentence, words, (sentence.numbers[known], said), cells)
                if found and (found[1] != DIGIT or not is_given(document, index, said)):
                    cell, slip = found
                    if is_of_all_rows(sentence, number, cell.table, cell.row, cell.column):
                        continue
                    if slip == DIGIT and _is_aside(sentence, number, cell):
                        continue
                    yield finding_of(said, cell.number, cell.table, slip)
                    break


def _is_aside(sentence: Sentence, place: int, cell: _Cell) -> bool:
    """Whether a word before a number in brackets is none of its row or column: "0.4458 (lower 0.3500)" is a bound."""
    aside = _ASIDE.search(sentence.text[: sentence.positions[place][0]])
    names = f"{cell.table.texts[cell.row][0]} {cell.table.headings[cell.column]}"
    return aside is not None and not with_characters(aside[1]) <= with_characters(names)


def _cells_of(document: Document) -> dict[str, list[_Cell]]:
    """The cells of all tables by their digits."""
    result: dict[str, list[_Cell]] = defaultdict(list)
    for table in document.tables:
        for row, cells in enumerate(table.cells if len(table.cells) <= _MOST_ROWS else ()):
            for column, number in enumerate(cells):
                if column and number:
                    result[digits_of(number)].append(_Cell(table, row, column, number))
    return result


def _meant(
    sentence: Sentence, words: frozenset[str], pair: tuple[Number, Number], cells: dict[str, list[_Cell]]
) -> tuple[_Cell, str] | None:
    """The only cell in the row or the column of a known number that a slip turns into the number next to that one."""
    known, said = pair
    if min(known.low, said.low) <= 0 or len({known.unit, said.unit} - {""}) > 1:
        return None
    if min(map(_significant, pair)) < _LEAST_DIGITS:
        return None
    homes = [each for each in cells.get(digits_of(known), []) if _are_alike(known, each.number)]
    if not 0 < len(homes) <= _MOST_HOMES:
        return None
    found = [
        (each, slip, each.row == home.row)
        for home in homes
        for each in _beside(home)
        if (slip := _slip(said, each.number))
    ]
    if len({digits_of(each.number) for each, _, _ in found}) != 1:
        return None
    cell, slip, in_row = found[0]
    if any(digits_of(each) == digits_of(cell.number) for each in sentence.numbers):
        return None
    return (cell, slip) if _is_named(cell, said, slip, words, in_row) else None


def _beside(home: _Cell) -> Iterator[_Cell]:
    """The other cells of a row and of a column."""
    for column, number in enumerate(home.table.cells[home.row]):
        if column and number and column != home.column:
            yield _Cell(home.table, home.row, column, number)
    for row, cells in enumerate(home.table.cells):
        if (number := cells[home.column]) and row != home.row:
            yield _Cell(home.table, row, home.column, number)


def _are_alike(number: Number, cell: Number) -> bool:
    """Whether both are printed alike, and in one unit, which one of them may leave out."""
    return _shape(number) == _shape(cell) and (number.unit == cell.unit or not (number.unit and cell.unit))


def _significant(number: Number) -> int:
    """How many digits a number has; a zero at the end counts after a point."""
    digits = digits_of(number).lstrip("0")
    return len(digits if "." in number.text else digits.rstrip("0"))


def _shape(number: Number) -> str:
    return re.sub(r"\d", "0", number.text)


def _slip(number: Number, cell: Number) -> str:
    """The slip that turns a number into a cell: the point, two digits next to each other, or one digit."""
    mine, theirs = digits_of(number), digits_of(cell)
    if cell.low <= 0 or (number.unit != cell.unit and number.unit and cell.unit):
        return ""
    if mine.strip("0") == theirs.strip("0"):
        larger, smaller = sorted((middle_of(number), middle_of(cell)), reverse=True)
        return POINT if abs(larger / smaller - 10) < 1e-6 and not is_of_a_size(number, cell) else ""
    if _shape(number) != _shape(cell):
        return ""
    differ = [k for k, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
    swapped = len(differ) == 2 and differ[1] == differ[0] + 1 and sorted(mine) == sorted(theirs)
    return DIGIT if len(differ) == 1 else SWAPPED if swapped else ""


def _is_named(cell: _Cell, said: Number, slip: str, words: frozenset[str], in_row: bool) -> bool:
    """Whether a sentence names the row of a cell or its heading well enough; a power of ten says it by itself."""
    is_far = abs(middle_of(said) / middle_of(cell.number) - 1) > _FAR
    if slip == POINT or (slip == SWAPPED and is_far and _significant(said) >= _MANY):
        return True
    texts, cells = cell.table.texts[cell.row], cell.table.cells[cell.row]
    label = with_characters(" ".join(text for k, text in enumerate(texts) if k == 0 or cells[k] is None))
    heading = with_characters(_UNIT.sub("", cell.table.headings[cell.column]))
    is_sure = slip != DIGIT or is_far
    has_label, has_heading = bool(label) and label <= words, bool(heading) and heading <= words
    if in_row:
        few = slip == DIGIT and _significant(said) < _MANY  # many numbers of a row are one digit away
        return (has_heading or (has_label and not few)) and (is_sure or _significant(said) >= _MANY)
    has_most = len(label & words) >= _WORDS_OF_ROW and 2 * len(label & words) >= len(label)
    return has_label or ((has_most or has_heading) and is_sure)
