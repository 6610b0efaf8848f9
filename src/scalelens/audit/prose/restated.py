"""Numbers that a sentence takes from another row than it names, or gives otherwise than another sentence.

A number is accused if it stands nowhere else and nothing around it gives it.  Of two sentences, the words before the
numbers must be the same, and a slip must turn one number into the other; repeated.py does the same for cells.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.audit.prose.expressions import expressions
from scalelens.audit.prose.operands import around, operand_of
from scalelens.audit.quantities import value
from scalelens.audit.wording import matters, table_name, with_unit
from scalelens.units import base

_WORD = re.compile(r"[a-z][\w.+-]*[\w+]|\d+[a-z]\w*")
RANKS = re.compile(
    r"\b(?:best|worst|highest|lowest|fastest|slowest|than|from|over|vs|versus|compared|baseline|other|next|unlike)\b"
)
_ADDRESS = re.compile(r"(?:://\S*|\b(?:localhost|port)\W{0,2})$", re.IGNORECASE)
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_BEGINS = re.compile(r"\s*(?:[-*+]|\d+[.)])\s|\s*[|#]")
_STOP = {
    "the", "of", "and", "for", "with", "on", "in", "per", "at", "to", "from", "is", "are", "was", "a", "an", "by",
    "our", "avg", "average", "mean", "total", "score", "value", "result", "model", "base", "time", "all", "best",
}  # fmt: skip
_CERTAIN = ("two digits are swapped", "a factor of ten", "a factor of a hundred", "a factor of a thousand")
_LEAST_DIGITS = 3
_MANY_DIGITS = 4
_LAST_DIGITS = 0.015  # two measurements may differ by so much
_KEY_WORDS = 3
_WITH_ITS_CELL = 2
_MOST_NUMBERS = 16
_MOST_ROWS = 80


@dataclass(frozen=True)
class _Source:
    """Where a number stands elsewhere, in words."""

    number: Number
    place: str


def find(document: Document) -> Iterator[Finding]:
    """Numbers that differ by a slip from what they repeat."""
    texts = Counter(_digits(number.text) for number in document.numbers)
    said = _said(document)
    for index, sentence in enumerate(document.sentences):
        if len(sentence.numbers) > _MOST_NUMBERS:
            continue
        words = set(_WORD.findall(sentence.text.lower().replace("_", " ")))
        for place, number in enumerate(sentence.numbers):
            if _ADDRESS.search(sentence.text[: sentence.positions[place][0]]):
                continue
            if number.hedge or number.low <= 0 or len(_digits(number.text).strip("0")) < _LEAST_DIGITS:
                continue
            times = texts[_digits(number.text)]
            source = None
            if times == _WITH_ITS_CELL:
                source = _of_another_row(document, index, words, number)
            elif times == 1:
                source = _of_sentences(said, sentence, place)
            if source and not is_given(document, index, number):
                yield _finding(number, *source)


def begun(document: Document, sentence: Sentence) -> str:
    """What stands before a sentence in its paragraph or item: "1. **Top 10 % (hardest):**" says what it is about."""
    first = sentence.line
    while first > 1 and document.lines[first - 2].strip() and not _BEGINS.match(document.lines[first - 1]):
        first -= 1
    return " ".join(document.lines[first - 1 : sentence.line])


def _before(document: Document, index: int) -> set[str]:
    """Words of the sentence before, and of those before in the paragraph."""
    before = document.sentences[index - 1].text if index else ""
    text = f"{before} {begun(document, document.sentences[index])}"
    return set(_WORD.findall(text.lower().replace("_", " ")))


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


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


def _of_another_row(document: Document, index: int, words: set[str], number: Number) -> tuple[_Source, str] | None:
    """The cell of the only row that a sentence names, where the number is that of another row of the column."""
    sentence = document.sentences[index]
    if RANKS.search(sentence.marked):
        return None
    near = words | _before(document, index)
    found = []
    for table in document.tables:
        rows = [row for row, texts in enumerate(table.texts[:_MOST_ROWS]) if _names(texts[0], words)]
        for other, cells in enumerate(table.cells):
            for column, copied in enumerate(cells):
                if not column or copied is None or _digits(copied.text) != _digits(number.text):
                    continue
                cell = table.cells[rows[0]][column] if len(rows) == 1 and rows[0] != other else None
                if cell is None or cell.hedge or copied.unit != number.unit or cell.unit != copied.unit:
                    return None
                if not _is_of_column(table, column, words) or _said_of(table.texts[other][0], near):
                    return None
                if any(not value(each).apart(value(cell)) for each in sentence.numbers):
                    return None
                source = _Source(cell, _of_cell(table, rows[0], column))
                found.append((source, f'the value of "{table.texts[other][0]}"'))
    return found[0] if len(found) == 1 else None


def _is_of_column(table: TextTable, column: int, words: set[str]) -> bool:
    """Whether a sentence names a column, or a table has no other."""
    numeric = {k for row in table.cells for k, cell in enumerate(row) if k and cell}
    return numeric == {column} or [k for k, heading in enumerate(table.headings) if _names(heading, words)] == [column]


def _said_of(label: str, words: set[str]) -> bool:
    """Whether any word of a label is said."""
    return bool((set(_WORD.findall(label.lower().replace("_", " "))) - _STOP) & words)


def _of_cell(table: TextTable, row: int, column: int) -> str:
    return f'"{table.texts[row][0]}", "{table.headings[column]}" of {table_name(table)}'


def _names(label: str, words: set[str]) -> bool:
    """Whether a sentence has every word of a label, and one that is not common."""
    own = set(_WORD.findall(_UNIT.sub("", label.lower().replace("_", " ")))) - {"the", "of", "a", "in"}
    content = own - _STOP
    return bool(content) and (own <= words or (len(content) > 1 and content <= words))


def _of_one_unit(number: Number, cell: Number) -> bool:
    if number.unit and cell.unit:
        return base(number.unit)[0] == base(cell.unit)[0] and (number.unit == "%") == (cell.unit == "%")
    return "x" not in (number.unit, cell.unit)


def _slip(number: Number, other: Number) -> str:
    """The slip between the numbers of two sentences, if it is a sure one."""
    size = base(number.unit)[1]
    right = value(other) if number.unit and other.unit else other.bounds
    size = size if number.unit and other.unit else Decimal(1)
    words = slip(number.text, float(right.low / size), float(right.high / size))
    own, others = (_digits(each.text).strip("0") for each in (number, other))
    if not words.endswith(_CERTAIN) or sorted(own) != sorted(others) or len(own) < _MANY_DIGITS:
        return ""  # a number rounded to few digits, or another one
    if words.startswith("two digits") and _shape(number.text) != _shape(other.text):
        return ""
    return "" if right.low <= 0 or abs(float((number.low * size) / right.low) - 1) < _LAST_DIGITS else words


def _shape(text: str) -> tuple[int, int]:
    """How many digits a number has before and after its point."""
    whole, _, fraction = re.sub(r"[^\d.]", "", text).partition(".")
    return len(whole), len(fraction)


def _said(document: Document) -> dict[tuple[str, ...], list[tuple[Sentence, Number]]]:
    """Numbers of the sentences by the words before them, and their unit."""
    result: dict[tuple[str, ...], list[tuple[Sentence, Number]]] = defaultdict(list)
    for sentence in document.sentences:
        for place, number in enumerate(sentence.numbers):
            if key := _key(sentence, place):
                result[key].append((sentence, number))
    return result


def _key(sentence: Sentence, place: int) -> tuple[str, ...]:
    """The words before a number, its unit and the word after it; () if there are few."""
    start, end = sentence.positions[place]
    before = re.findall(r"[a-z][\w-]*", sentence.text[:start].lower())[-_KEY_WORDS:]
    after = re.findall(r"[a-z][\w-]*", sentence.text[end:].lower())[:1]
    content = [word for word in before if word not in _STOP]
    return (*before, sentence.numbers[place].unit, *after) if len(content) > 1 else ()


def _of_sentences(
    said: dict[tuple[str, ...], list[tuple[Sentence, Number]]], sentence: Sentence, place: int
) -> tuple[_Source, str] | None:
    """The one other sentence that says the same with the number but for a slip."""
    number = sentence.numbers[place]
    others = [(s, n) for s, n in said.get(_key(sentence, place), []) if s is not sentence]
    if len(others) != 1 or len(_digits(number.text)) < _MANY_DIGITS:
        return None
    elsewhere, other = others[0]
    rest = [{each.text for each in s.numbers if each is not n} for s, n in ((sentence, number), (elsewhere, other))]
    if all(rest) and not rest[0] & rest[1]:
        return None  # another case, with other numbers beside it
    if other.hedge or other.line > number.line or _digits(other.text) == _digits(number.text):
        return None
    words = _slip(number, other)
    return (_Source(other, f"line {other.line}"), words) if words else None


def _finding(number: Number, source: _Source, words: str) -> Finding:
    return Finding(
        "inconsistent",
        (number, source.number),
        f"{with_unit(number)} is {with_unit(source.number)} in {source.place} ({words}).",
        matters(value(number), value(source.number) if number.unit and source.number.unit else source.number.bounds),
        "a number that is given twice",
    )
