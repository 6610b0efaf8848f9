"""A number right after the label of a row: "Block-sparse (48.75 MB)", "CULS has the highest mean F1 (0.715)".

Nothing but common words and those of a heading stands between the label and the number, so the row is sure.  The
column is the one that these words name, the only one of the unit, or the only one with numbers.  The number is accused
if its digits are those of the cell in another order or size, if one of them differs by much, or if it is another row's.
"""

import re
from collections import Counter
from collections.abc import Iterator

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Number
from scalelens.audit.prose.repeated import is_of_another
from scalelens.audit.prose.restated import given_twice, is_given
from scalelens.audit.quantities import value
from scalelens.audit.tokens import tokens
from scalelens.audit.units import COUNTED
from scalelens.audit.wording import table_name
from scalelens.units import base

_MARKS = str.maketrans("*_$\\~`", "      ")
_WORD = re.compile(r"[a-z0-9][\w.+/-]*|[^\W\d_]+")
_PLAIN = re.compile(
    r"\b(?:is|was|has|had|have|reach\w*|achiev\w*|gets?|got|scor\w*|takes?|took|needs?|uses?|used|runs?|ran|at|of|the|"
    r"an?|its|rates?|scores?|values?|highest|lowest|best|worst|fastest|slowest|most|least|mean|average|only|gives?|shows?|yields?)\b"
)
_IN_BRACKETS = re.compile(r" ?[(（] ?")
_OF_A_TIME = re.compile(r"\b(?:latency|time|duration|runtime)\b")
_FOR = re.compile(r"\s+(?:for|with|by|from|in|on)\s+(?:the\s+|our\s+|exact\s+)?")
_UNIT = re.compile(r"[(\[][^()\[\]]*[)\]]")
_MOST_BETWEEN, _AFTER = 48, 20
_MOST_NUMBERS, _MOST_ROWS = 16, 80
_LEAST_DIGITS, _MANY = 3, 4
_FAR = 0.05
_NEAR = 0.02  # two measurements may differ by so much
_LEAST_LETTERS = 3
_LEAST_NUMBERED = 2  # cells
_TWICE = 2
_ANOTHER_SECTION = 200  # lines


def find(document: Document) -> Iterator[Finding]:
    """Numbers that are not the cell of the row after whose label they stand."""
    labels = [
        (pattern, table, row)
        for table in document.tables
        if len(table.cells) <= _MOST_ROWS
        for row, texts in enumerate(table.texts)
        for label in _labels(table, row)
        if (pattern := _pattern(label))
    ]
    counts = Counter(number.text.replace(",", "") for number in document.numbers)
    for index, sentence in enumerate(document.sentences):
        if not 0 < len(sentence.numbers) <= _MOST_NUMBERS:
            continue
        text = sentence.text.lower().translate(_MARKS)
        rows = [(found, table, row) for pattern, table, row in labels for found in pattern.finditer(text)]
        for place, number in enumerate(sentence.numbers):
            if number.hedge or number.low <= 0 or len(_digits(number).strip("0")) < _LEAST_DIGITS - 1:
                continue
            cell = _cell_of(sentence, place, text, rows)
            if cell is None or document.is_of_a_log(number):
                continue
            if abs(cell[0].line - number.line) > _ANOTHER_SECTION and sentence.text.count(":") == 1:
                continue  # "- llama.cpp: 29.5 tokens/s" below the heading of another experiment
            is_new = counts[number.text.replace(",", "")] == 1
            words = _why(number, *cell, is_new=is_new)
            copied = _copied(number, *cell) if is_new and not words else ""
            if (copied or (words and not is_given(document, index, number))) and not is_of_another(
                cell[1], sentence, place
            ):
                yield given_twice(number, cell[0], _place(*cell), words or copied)
                break


def _labels(table: TextTable, row: int) -> list[str]:
    """The label of a row: its first cell, or the one after a first cell that is a number."""
    texts, cells = table.texts[row], table.cells[row]
    numbered = len(texts) > _LEAST_NUMBERED and cells[0] is not None and cells[1] is None
    return [texts[0], texts[1]] if numbered else [texts[0]]


def _pattern(label: str) -> re.Pattern[str] | None:
    """The words of a label, one after the other; None if it hardly names anything."""
    words = _WORD.findall(label.lower().translate(_MARKS))
    if not words or sum(len(re.sub(r"[^a-z]", "", word)) for word in words) < _LEAST_LETTERS or not tokens(label):
        return None
    return re.compile(r"(?<![\w./-])" + r"[\s\W]{1,3}".join(map(re.escape, words)) + r"(?![\w/-])")


def _digits(number: Number) -> str:
    return re.sub(r"\D", "", number.text)


def _cell_of(
    sentence: Sentence, place: int, text: str, rows: list[tuple[re.Match[str], TextTable, int]]
) -> tuple[Number, TextTable] | None:
    """The cell of the row whose label stands before a number, if it differs from it and is the only one."""
    start, end = sentence.positions[place]
    before = sentence.positions[place - 1][1] if place else 0
    near = [each for each in rows if before <= each[0].end() <= start and start - each[0].end() <= _MOST_BETWEEN]
    if not near:
        return _of_label_after(sentence.numbers[place], text[end:], end, rows)
    last = max(found.end() for found, _, _ in near)
    longest = min(found.start() for found, _, _ in near if found.end() == last)
    found = []
    for label, table, row in near:
        if (label.start(), label.end()) != (longest, last):
            continue
        column = _column_of(table, row, sentence.numbers[place], text[last:start], text[end : end + _AFTER])
        if any(each and _is_same(sentence.numbers[place], each) for each in table.cells[row]):
            return None
        column = column or _same_digits(table, row, sentence.numbers[place], text[last:start])
        if column and (cell := table.cells[row][column]) and not cell.hedge:
            found.append((cell, table))
    return found[0] if len(found) == 1 else None


def _of_label_after(
    number: Number, rest: str, end: int, rows: list[tuple[re.Match[str], TextTable, int]]
) -> tuple[Number, TextTable] | None:
    """The only cell with the digits of a number in the row whose label follows: "0.8378 for the first layer"."""
    near = [each for each in rows if each[0].start() >= end and _FOR.fullmatch(rest[: each[0].start() - end])]
    longest = max((each[0].end() for each in near), default=0)
    found = []
    for label, table, row in near:
        if label.end() != longest or any(each and _is_same(number, each) for each in table.cells[row]):
            continue
        column = _same_digits(table, row, number, "")
        if column and (cell := table.cells[row][column]) and not cell.hedge:
            found.append((cell, table))
    return found[0] if len(found) == 1 else None


def _column_of(table: TextTable, row: int, number: Number, between: str, after: str) -> int | None:
    """The column that the words around a number name; None if there are others than such words."""
    numeric = [k for k, cell in enumerate(table.cells[row]) if k and cell]
    headings = {k: tokens(_UNIT.sub("", table.headings[k])) for k in numeric}
    said = tokens(between)
    named = [k for k, words in headings.items() if words and words <= said | tokens(after) and words & said]
    if base(number.unit)[0] == "s":
        between = _OF_A_TIME.sub(" ", between)
    rest = tokens(_PLAIN.sub(" ", between)) - frozenset().union(*(headings[k] for k in named))
    if rest or re.search(r"[.;,|]\s|than|over|from|→|->|\bvs\b", between):
        return None
    if named:
        column = max(named, key=lambda k: len(headings[k]))
        alone = sum(len(headings[k]) == len(headings[column]) for k in named) == 1
        return column if alone and _of_one_unit(number, table.cells[row][column]) else None
    of_unit = [k for k in numeric if (cell := table.cells[row][k]) and cell.unit == number.unit]
    if len(of_unit) == 1 and (len(numeric) == 1 or (number.unit and number.unit not in ("%", *COUNTED))):
        return of_unit[0]
    if len(of_unit) == 1 and number.unit == "%" and _IN_BRACKETS.fullmatch(between):
        return of_unit[0] if _has_other_digits(number, table.cells[row][of_unit[0]]) else None
    return None


def _has_other_digits(number: Number, cell: Number | None) -> bool:
    """Whether a share has the same three digits as another one, in another order or size."""
    mine, theirs = _digits(number).strip("0"), _digits(cell).strip("0") if cell else ""
    return len(mine) >= _LEAST_DIGITS and sorted(mine) == sorted(theirs)


def _same_digits(table: TextTable, row: int, number: Number, between: str) -> int | None:
    """The only cell of a row with the same four digits or more: they show which one is meant, where no word does."""
    mine = sorted(_digits(number).strip("0"))
    found = [k for k, cell in enumerate(table.cells[row]) if k and cell and sorted(_digits(cell).strip("0")) == mine]
    is_next = re.fullmatch(r"[\s(:=]*", between) is not None
    if len(found) != 1 or not is_next or len(mine) < _MANY:
        return None
    cell = table.cells[row][found[0]]
    return found[0] if cell and cell.low > 0 and abs(number.low / cell.low - 1) > _NEAR else None


def _of_one_unit(number: Number, cell: Number | None) -> bool:
    return cell is not None and (
        number.unit == cell.unit
        or bool(number.unit and cell.unit and base(number.unit)[0] == base(cell.unit)[0] != "1" and number.unit != "%")
    )


def _is_same(number: Number, cell: Number) -> bool:
    return not value(number).apart(value(cell)) or not number.bounds.apart(cell.bounds)


def _shape(number: Number) -> tuple[int, int]:
    whole, _, fraction = re.sub(r"[^\d.]", "", number.text).partition(".")
    return len(whole), len(fraction)


def _why(number: Number, cell: Number, table: TextTable, is_new: bool) -> str:
    """What explains that the number is not the cell; "" if nothing does."""
    if cell.low <= 0 or number.unit != cell.unit:
        return ""
    mine, theirs = _digits(number), _digits(cell)
    away = abs(float(number.low / cell.low) - 1)
    if len(theirs.strip("0")) < _LEAST_DIGITS - 1:
        return ""
    words = slip(number.text, float(cell.low), float(cell.high)) if is_new else ""
    if words.startswith("two digits") and sorted(mine) == sorted(theirs) and _shape(number) == _shape(cell):
        return words if len(mine) >= _MANY or away > _FAR else ""
    if words.endswith("factor of ten") and mine.strip("0") == theirs.strip("0") and len(mine) >= _LEAST_DIGITS:
        return words
    if words.startswith("one digit") and _shape(number) == _shape(cell) and away > _FAR:
        return (
            words if len(mine) >= _LEAST_DIGITS and sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1 else ""
        )
    others = [
        row
        for row, cells in enumerate(table.cells)
        if (each := cells[cell.cell or 0]) and each.text == number.text and row != cell.row
    ]
    is_point = "." in number.text and "." in cell.text  # 12.8 is a version, 12 the first part of one
    if len(others) == 1 and len(mine) >= _LEAST_DIGITS and is_point and away > _FAR:
        return f'the value of "{table.texts[others[0]][0]}"'
    return ""


def _copied(number: Number, cell: Number, table: TextTable) -> str:
    """Whose value stands in the cell too, if no other two of the column are the same; "" if it is its own."""
    texts = Counter(each.text for cells in table.cells if (each := cells[cell.cell or 0]))
    few = min(len(_digits(each).strip("0")) for each in (number, cell)) < _LEAST_DIGITS
    if few or cell.low <= 0 or number.unit != cell.unit or _shape(number) != _shape(cell):
        return ""
    if texts[cell.text] != _TWICE or sum(count > 1 for count in texts.values()) > 1:
        return ""
    if abs(float(number.low / cell.low) - 1) <= _FAR:
        return ""
    other = next(
        row
        for row, cells in enumerate(table.cells)
        if row != cell.row and (each := cells[cell.cell or 0]) and each.text == cell.text
    )
    return f'the value of "{table.texts[other][0]}"'


def _place(cell: Number, table: TextTable) -> str:
    return f'"{table.texts[cell.row or 0][0]}" of {table_name(table)}'
