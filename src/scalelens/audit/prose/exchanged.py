"""A sentence that names one row of a table and has the number of another, or whose number the row no longer has.

The sentence has the label of a row, or another number that only this row has, and nothing of the other row.  Either its
number is the one of another row in this column; or it stands nowhere else, and the cell of the row repeats that of
another row to the last digit, which no other two cells of the column do.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.prose.repeated import finding_of, is_of_another
from scalelens.audit.prose.restated import RANKS, begun, is_given
from scalelens.audit.tokens import with_characters

_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_PRINTED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\d|\.\d)")
_APART = re.compile(
    r"\b(?:unlike|subtract\w*|minus|except|exclud\w*|without|instead|rather|while|whereas|but|not|no)\b"
)
_HELD_AGAINST = re.compile(
    r";\s|\b(?:while|whereas|but|unlike|compared (?:to|with)|versus|vs\.?|than|over|instead of|rather than|against)\s"
)
_LETTERS = re.compile(r"[^\W\d_]{3}")
_MOST_NUMBERS, _MOST_ROWS = 12, 60
_LEAST_DIGITS = 3
_TWICE, _FAR = 2, 10
_WHOLE = 2  # what a whole label counts for beside its words


@dataclass(frozen=True)
class _Rows:
    """A table with the words and the numbers of its rows."""

    table: TextTable

    @cached_property
    def labels(self) -> list[frozenset[str]]:
        return [with_characters(self._label(row)) for row in range(len(self.table.cells))]

    def _label(self, row: int) -> str:
        texts, cells = self.table.texts[row], self.table.cells[row]
        return texts[0] if cells[0] is None or len(texts) < _LEAST_DIGITS or cells[1] else f"{texts[0]} {texts[1]}"

    @cached_property
    def headings(self) -> list[frozenset[str]]:
        return [with_characters(_UNIT.sub("", heading)) for heading in self.table.headings]

    @cached_property
    def numbers(self) -> list[frozenset[str]]:
        """The digits of each row that no other row has."""
        own = [
            {_digits(cell) for cell in cells[1:] if cell and _significant(cell) >= _LEAST_DIGITS}
            for cells in self.table.cells
        ]
        times = Counter(digits for row in own for digits in row)
        return [frozenset(digits for digits in row if times[digits] == 1) for row in own]

    @cached_property
    def numeric(self) -> list[int]:
        half = len(self.table.cells) / 2
        columns = range(1, len(self.table.headings))
        return [k for k in columns if sum(row[k] is not None for row in self.table.cells) > half]


def find(document: Document) -> Iterator[Finding]:
    """Numbers that are those of another row than their sentence names."""
    tables = [_Rows(table) for table in document.tables if 2 < len(table.cells) <= _MOST_ROWS]
    if not tables:
        return
    times = Counter(text for line in document.lines for text in _PRINTED.findall(line))
    for index, sentence in enumerate(document.sentences):
        if not 0 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        before = with_characters(begun(document, sentence))
        for place, number in enumerate(sentence.numbers):
            if number.hedge == "bound" or number.low <= 0 or _significant(number) < _LEAST_DIGITS:
                continue
            found: list[tuple[Number, TextTable, int]] = []
            for said in (sentence, _clause_of(sentence, place)):
                if not found and not _APART.search(said.marked):
                    words = with_characters(said.text)
                    found = [each for rows in tables for each in _meant(rows, said, number, (words, before), times)]
            if len(found) == 1 and not is_given(document, index, number) and not document.is_of_a_log(number):
                cell, table, other = found[0]
                yield finding_of(number, cell, table, f'the value of "{table.texts[other][0]}"')
                break


def _clause_of(sentence: Sentence, place: int) -> Sentence:
    """The part of a sentence around a number, up to the words that hold it against something else."""
    start, end = sentence.positions[place]
    ends = [0, *(each.end() for each in _HELD_AGAINST.finditer(sentence.text)), len(sentence.text)]
    begin = max(each for each in ends if each <= start)
    close = min((each.start() for each in _HELD_AGAINST.finditer(sentence.text, end)), default=len(sentence.text))
    inside = [k for k, (low, high) in enumerate(sentence.positions) if begin <= low and high <= close]
    return Sentence(
        sentence.text[begin:close],
        sentence.line,
        tuple(sentence.numbers[k] for k in inside),
        tuple((low - begin, high - begin) for low, high in (sentence.positions[k] for k in inside)),
    )


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _significant(number: Number) -> int:
    digits = _digits(number).lstrip("0")
    return len(digits if "." in number.text else digits.rstrip("0"))


def _plain(number: Number) -> str:
    return number.text.lstrip("+-\u2212")


def _meant(
    rows: _Rows, sentence: Sentence, number: Number, said_of: tuple[frozenset[str], frozenset[str]], times: Counter[str]
) -> Iterator[tuple[Number, TextTable, int]]:
    """The cell that a number should be, its table and the row whose value stands there instead."""
    table = rows.table
    words, before = said_of
    said = {_digits(each) for each in sentence.numbers if each is not number}
    row = _named(rows, words, said)
    if row is None or is_of_another(table, sentence, sentence.numbers.index(number)):
        return
    for column in rows.numeric:
        cell = table.cells[row][column]
        if (
            not cell
            or cell.hedge == "bound"
            or not _alike(number, cell)
            or _significant(cell) < _LEAST_DIGITS
            or _digits(cell) in said | {_digits(number)}
        ):
            continue
        is_other = times[_plain(number)] == 2 and times[_plain(cell)] == 1 and not RANKS.search(sentence.marked)
        same = _digits(number) if is_other else _digits(cell) if times[_plain(number)] == 1 else ""
        others = [
            k for k, cells in enumerate(table.cells) if k != row and (each := cells[column]) and _digits(each) == same
        ]
        if len(others) != 1 or not same:
            continue
        other = others[0]
        if (rows.labels[other] - rows.labels[row]) & (words | before) or rows.numbers[other] & said:
            continue
        is_named = _is_of_column(rows, column, number, words)
        if same == _digits(cell) and not (is_named and _is_repeated(rows, row, column, number, words)):
            continue
        if is_named or rows.numbers[row] & said:
            yield cell, table, other


def _alike(number: Number, cell: Number) -> bool:
    """Whether both are of one unit, and have as many digits after the point."""
    decimals = [len(each.text.partition(".")[2]) for each in (number, cell)]
    return (number.unit == cell.unit or not (number.unit and cell.unit)) and decimals[0] == decimals[1]


def _named(rows: _Rows, words: frozenset[str], said: set[str]) -> int | None:
    """The only row that a sentence names: by its label, by two words of it, or by its numbers; they must not differ."""
    fits = [len(label & words) + _WHOLE * bool(label and label <= words) for label in rows.labels]
    best = max(fits)
    by_label = [k for k, fit in enumerate(fits) if fit == best > 1]
    by_number = {k for k, numbers in enumerate(rows.numbers) if numbers & said}
    if len(by_label) != 1:
        return by_number.pop() if len(by_number) == 1 and not by_label else None
    return by_label[0] if by_number <= set(by_label) else None


def _is_of_column(rows: _Rows, column: int, number: Number, words: frozenset[str]) -> bool:
    """Whether a number is of a column: the sentence names its heading, or no other column has the unit."""
    if rows.numeric == [column]:
        return True
    if number.unit:
        of_unit = [
            k for k in rows.numeric if any((cell := row[k]) and cell.unit == number.unit for row in rows.table.cells)
        ]
        if of_unit == [column]:
            return True
    named = [k for k in rows.numeric if rows.headings[k] and rows.headings[k] <= words]
    return named == [column]


def _is_repeated(rows: _Rows, row: int, column: int, number: Number, words: frozenset[str]) -> bool:
    """Whether a cell surely repeats another one: no other two of its column are the same, and the label is whole."""
    cell = rows.table.cells[row][column]
    texts = Counter(each.text for cells in rows.table.cells if (each := cells[column]))
    label = rows.labels[row]
    if cell is None or number.unit != cell.unit or not label <= words or not _LETTERS.search(" ".join(label)):
        return False
    larger, smaller = sorted((number.high, cell.high), reverse=True)
    return sum(count > 1 for count in texts.values()) == 1 and max(texts.values()) == _TWICE and larger < _FAR * smaller
