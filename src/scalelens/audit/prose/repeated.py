"""Numbers of a sentence that stand in a table, too: the row and the column are found by words, units and other numbers.

A sentence speaks of a row if it has a word or a number that only this row has, and of a column if it has the words of
its heading or its unit.  A number is accused if a slip turns it into the cell of both, if it stands nowhere else, and
if nothing around it gives it.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import FACTORS, slip
from scalelens.audit.printed import POWERS, Number
from scalelens.audit.prose.digits import is_same_but_for_a_slip, is_same_but_for_its_point
from scalelens.audit.prose.given import is_given
from scalelens.audit.quantities import value
from scalelens.audit.tokens import tokens
from scalelens.audit.units import COUNTED, canonical
from scalelens.audit.wording import matters, table_name, with_unit
from scalelens.units import base

_NAMED_BY_NUMBER = re.compile(r"\b(?:step|epoch|seed|iteration|iter|checkpoint|batch|layer)s?[ =:#]*(\d[\d,]*)")
MEAN = re.compile(r"\b(?:mean|average|avg|median|geomean)\b", re.IGNORECASE)
_DEVICES = re.compile(r"\d{4}s\b")  # several 4090
_SIZED, _OF_SIZE = re.compile(r" ?[×x] ?\d"), re.compile(r"\d ?[×x] ?$")
_LEAST_DIGITS = 3
QUOTED = re.compile(r"\b(?:incorrect|wrong|typo|erratum|errata|mistaken\w*)\b|오류|错误|錯誤|ошиб", re.IGNORECASE)
_MOST_NUMBERS = 16
_MOST_ROWS = 80
_FAR_LINES = 30
_FAR = 0.05
_NEAR = 0.02  # two measurements may differ by so much
_ENOUGH = 3
_WELL = 4
_TELLING = 5  # digits that two numbers hardly share by chance
_COUNT = 7  # digits of a whole number that is counted, not measured
_HALF = 0.501
_ROOM = 0.006  # half of the last of three digits


@dataclass(frozen=True)
class _Words:
    """The words of a table: of each row, of each column, and in how many rows or columns each word stands."""

    labels: tuple[frozenset[str], ...]
    rows: tuple[frozenset[str], ...]
    columns: tuple[frozenset[str], ...]
    in_labels: Counter[str]
    in_rows: Counter[str]
    in_columns: Counter[str]
    numbers: tuple[frozenset[str], ...]
    in_numbers: Counter[str]
    digits_of_columns: tuple[Counter[str], ...]
    columns_of_units: dict[str, set[int]]
    numeric: tuple[int, ...]
    patterns: frozenset[str]
    sizes: tuple[float, ...]


def find(document: Document) -> Iterator[Finding]:
    """Numbers that differ by a slip from the cell that they repeat."""
    tables = [(table, _words_of(table)) for table in document.tables if len(table.cells) <= _MOST_ROWS]
    if not tables:
        return
    for index, sentence in enumerate(document.sentences):
        if len(sentence.numbers) > _MOST_NUMBERS or QUOTED.search(sentence.text):
            continue
        words = tokens(sentence.text)
        topics = words | tokens(_heading_before(document, sentence.line))
        for place, number in enumerate(sentence.numbers):
            if number.hedge == "bound" or number.low <= 0 or _significant(number.text) < _LEAST_DIGITS - 1:
                continue
            start, end = sentence.positions[place]
            if sentence.text[end : end + 1].isascii() and sentence.text[end : end + 1].isalpha():
                continue  # "2048N"
            if _SIZED.match(sentence.text, end) or _OF_SIZE.search(sentence.text[:start]):
                continue  # "3840×2160"
            if number.unit == "s" and _DEVICES.match(sentence.text, start):
                continue
            near = words, topics
            if ";" in sentence.text:
                near = tokens(_item_of(sentence, place)), tokens(_item_of(sentence, place)) | topics - words
            scaled = _scaled(number)
            near_by = [pair for pair in tables if _may_be_a_slip(number, scaled, pair[1])]
            found = [each for table, own in near_by if (each := _cell_of(table, own, sentence, near, place))]
            if found and document.is_of_a_log(number):
                continue
            if len({each[0].text for each in found}) == 1 and not _stands_elsewhere(document, number, found[0][0]):
                cell, table, words_of = found[0]
                if is_same_but_for_its_point(number, cell, words_of, 1) or not is_given(document, index, number):
                    yield finding_of(number, cell, table, words_of)
                    break


def _item_of(sentence: Sentence, place: int) -> str:
    """The words of one item of "name 5,761; name 5,544", after those that stand before the first number."""
    start = sentence.positions[place][0]
    head = sentence.text[: sentence.positions[0][0]]
    begin = sentence.text.rfind(";", 0, start) + 1
    end = sentence.text.find(";", start)
    return f"{head} {sentence.text[begin : end if end > 0 else None]}"


def _heading_before(document: Document, line: int) -> str:
    """The nearest heading of Markdown in the lines before."""
    for text in reversed(document.lines[max(0, line - _FAR_LINES) : line - 1]):
        if text.startswith("#"):
            return text
    return ""


@lru_cache(maxsize=16384)
def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _significant(text: str) -> int:
    return len(_digits(text).strip("0"))


def _words_of(table: TextTable) -> _Words:
    rows, numbers = [], []
    for texts, cells in zip(table.texts, table.cells, strict=True):
        labels = [text for k, text in enumerate(texts) if k == 0 or cells[k] is None]
        rows.append(frozenset().union(*(tokens(text) for text in labels)))
        numbers.append(frozenset(_digits(cell.text) for cell in cells if cell and _is_telling(cell)))
    names = tuple(tokens(texts[0]) for texts in table.texts)
    columns = tuple(tokens(heading) for heading in table.headings)
    half = len(table.cells) / 2
    numeric = [k for k in range(len(table.headings)) if sum(row[k] is not None for row in table.cells) > half]
    units: dict[str, set[int]] = defaultdict(set)
    for row in table.cells:
        for k in numeric:
            if cell := row[k]:
                units[cell.unit].add(k)
    return _Words(
        names,
        tuple(rows),
        columns,
        in_labels=_counted(names),
        in_rows=_counted(rows),
        in_columns=_counted(columns),
        numbers=tuple(numbers),
        in_numbers=_counted(numbers),
        digits_of_columns=tuple(
            Counter(_digits(cell.text) for cell in column if cell and _significant(cell.text) >= _LEAST_DIGITS)
            for column in zip(*table.cells, strict=True)
        ),
        columns_of_units=units,
        numeric=tuple(numeric),
        patterns=frozenset().union(*(_patterns(cell.text) for cells in table.cells for cell in cells if cell)),
        sizes=tuple(sorted(size for cells in table.cells for cell in cells if cell for size in _sizes(cell))),
    )


@lru_cache(maxsize=16384)
def _patterns(text: str) -> frozenset[str]:
    """What a number has in common with those that differ from it in one digit, or in the order of two."""
    whole, _, fraction = re.sub(r"[^\d.]", "", text).partition(".")
    digits, shape = _digits(text), f"{len(whole)} {len(fraction)}"
    return frozenset(
        [f"{shape} {''.join(sorted(digits))}", *(f"{shape} {digits[:k]}?{digits[k + 1 :]}" for k in range(len(digits)))]
    )


def _sizes(number: Number) -> tuple[float, float]:
    """A number in its own unit, and in base units."""
    size = float(number.low + number.high) / 2
    return size, size * float(base(number.unit)[1])


def _scaled(number: Number) -> list[tuple[float, float]]:
    """What a number may have been before a slip in its power of ten or its unit."""
    room = _ROOM + float((number.high - number.low) / (number.high + number.low))
    rights = {right for size in _sizes(number) for factor in FACTORS for right in (size * factor, size / factor)}
    return [(right * (1 - room), right * (1 + room)) for right in rights]


def _may_be_a_slip(number: Number, scaled: list[tuple[float, float]], own: _Words) -> bool:
    """Whether a table has a number that a slip could turn into this one: quick, and true rather too often."""
    if not own.patterns.isdisjoint(_patterns(number.text)):
        return True
    sizes, many = own.sizes, len(own.sizes)
    return any((at := bisect_left(sizes, low)) < many and sizes[at] <= high for low, high in scaled)


def _may_be_one(number: Number, cell: Number) -> bool:
    """Whether a slip could turn a number into this cell: quick, and true rather too often."""
    if not _patterns(number.text).isdisjoint(_patterns(cell.text)):
        return True
    if cell.low <= 0:
        return False
    room = _ROOM + sum(float((each.high - each.low) / (each.high + each.low)) for each in (number, cell))
    ratios = [a / b for a, b in zip(_sizes(number), _sizes(cell), strict=True)]
    return any(abs(ratio * by - 1) <= room for ratio in ratios for factor in FACTORS for by in (factor, 1 / factor))


def _counted(groups: Iterable[frozenset[str]]) -> Counter[str]:
    """In how many groups each word stands."""
    return Counter(word for words in groups for word in words)


def _is_telling(number: Number) -> bool:
    """Whether a number has enough digits to show what a sentence is about."""
    digits = _significant(number.text)
    return digits >= _LEAST_DIGITS or (digits > 1 and bool("." in number.text or number.unit))


def _cell_of(
    table: TextTable, own: _Words, sentence: Sentence, said: tuple[frozenset[str], frozenset[str]], place: int
) -> tuple[Number, TextTable, str] | None:
    """The only cell of what the sentence names that is the number but for a slip."""
    number = sentence.numbers[place]
    of_another = _is_of_another(table, sentence, place)
    others = {_digits(n.text) for k, n in enumerate(sentence.numbers) if k != place}
    others |= {
        digits for each in _NAMED_BY_NUMBER.findall(sentence.text) if len(digits := _digits(each)) >= _LEAST_DIGITS
    }
    by_row = [_row_strength(own, row, said[1], others) for row in range(len(table.cells))]
    by_column = [_column_strength(own, column, said[0], others, number) for column in range(len(table.headings))]
    found = []
    is_the_only_row = len(by_row) == 1 == by_row[0]
    for row, strength in enumerate(by_row):
        for column, cell in enumerate(table.cells[row]):
            if cell is None or not column or cell.hedge or not strength + by_column[column]:
                continue
            if is_the_only_row and not by_column[column]:
                continue  # neither is named
            named = (strength, by_column[column])
            is_named = not of_another and _is_named(number, cell, *named)
            if is_named and not of_one_unit(number, cell, own.rows[row] | own.columns[column]):
                is_named = not (number.unit and cell.unit) and strength >= _WELL and by_column[column] > 1
            if is_named and (not value(number).apart(value(cell)) or not number.bounds.apart(cell.bounds)):
                return None
            if any(each.low <= cell.high and cell.low <= each.high for each in sentence.numbers):
                continue
            if is_of_all_rows(sentence, place, table, row, column) or is_joined(table.texts[row][0], sentence, number):
                continue
            if _may_be_one(number, cell) and (words_of := _slip(number, cell, named, is_named, of_another)):
                found.append((cell, table, words_of))
    return found[0] if len(found) == 1 else None


def is_of_all_rows(sentence: Sentence, place: int, table: TextTable, row: int, column: int) -> bool:
    """Whether the words before a number say that it is a mean, as neither the row nor the column of a cell does."""
    before = sentence.text[sentence.positions[place - 1][1] if place else 0 : sentence.positions[place][0]]
    return bool(MEAN.search(before)) and not MEAN.search(f"{table.texts[row][0]} {table.headings[column]}")


def is_joined(label: str, sentence: Sentence, number: Number) -> bool:
    """Whether a sentence joins the label of a row to another name, and gives one number of the unit for both.

    "endian + wide" is not "endian", and what "A and B" score is not the score of A.
    """
    name, text = label.strip(" *`"), sentence.text.replace("`", "")
    if not name or name.lower() not in text.lower():
        return False
    own = re.escape(name)
    if re.search(rf"{own} ?[+&] ?\w|\w ?[+&] ?{own}", text, re.IGNORECASE):
        return True
    alone = sum(each.unit == number.unit for each in sentence.numbers) == 1
    return alone and re.search(rf"{own} and [A-Z]\w", text) is not None


def _is_of_another(table: TextTable, sentence: Sentence, place: int) -> bool:
    """Whether a sentence has further numbers of the unit, and hardly one is in the table: it tells of another."""
    number = sentence.numbers[place]
    peers = [n for k, n in enumerate(sentence.numbers) if k != place and n.unit == number.unit and _is_telling(n)]
    if not number.unit:
        peers = [each for each in peers if _shape(each) == _shape(number) and "." in each.text]
    inside = sum(_digits(each.text) in table.digits for each in peers)
    return bool(peers) and inside < len(peers) - inside


def _is_named(number: Number, cell: Number, row: int, column: int) -> bool:
    """Whether row and column are named well enough: many digits say which number is meant, too."""
    if min(row, column) > 0 and row + column >= _ENOUGH:
        return True
    mine, theirs = (_digits(each.text).strip("0") for each in (number, cell))
    if number.unit != cell.unit or not row + column:
        return False
    if row > 1 and number.unit and len(mine) == len(theirs) >= _LEAST_DIGITS + 1 and _shape(number) == _shape(cell):
        return True
    return (mine == theirs and len(mine) >= _TELLING) or (min(row, column) > 0 and len(mine) == len(theirs) >= _COUNT)


def _row_strength(own: _Words, row: int, words: frozenset[str], others: set[str]) -> int:
    """2 for each number that only this row has, and for its label or a name with digits; 1 for a word of its own."""
    mine, wide = own.labels[row], own.rows[row]
    alone = {word for word in mine & words if own.in_labels[word] == 1}
    alone |= {word for word in wide & words if own.in_rows[word] == 1}
    shared = [digits for digits in own.numbers[row] & others if own.in_numbers[digits] == 1]
    if not alone and not shared:
        return 2 if _is_only_one_named(own, row, words) else int(len(own.rows) == 1)
    named = len(mine) > 1 and mine <= words
    coded = any(re.search(r"[a-z].*\d|\d.*[a-z]", word) for word in alone)
    own_words = 2 if named or coded or len(alone) > 1 else 1 if alone else 0
    return own_words + 2 * min(2, len(shared))


def _is_only_one_named(own: _Words, row: int, words: frozenset[str]) -> bool:
    """Whether a label of two words or more is the only one of which the sentence has every word."""
    mine = own.labels[row]
    if len(mine) < 2 or not mine <= words:
        return False
    return all(k == row or not other or not other <= words or other < mine for k, other in enumerate(own.labels))


def _column_strength(own: _Words, column: int, words: frozenset[str], others: set[str], number: Number) -> int:
    """2 for the heading or two numbers of the column, 1 for a word of its own or the only column; more for its unit."""
    mine = own.columns[column]
    shared = sum(own.digits_of_columns[column][digits] for digits in others)
    alone = {word for word in mine & words if own.in_columns[word] == 1}
    whole = bool(mine) and mine <= words and bool(alone)
    strength = 2 if whole or shared > 1 else 1 if alone or own.numeric == (column,) else 0
    if number.unit and own.columns_of_units.get(number.unit) == {column}:
        strength += 1 if number.unit in COUNTED else 2
    return min(strength, 3)


def of_one_unit(number: Number, cell: Number, words: frozenset[str]) -> bool:
    """Whether both are in one unit; a share may stand without, as may a unit that the table has in words."""
    if number.unit == cell.unit:
        return True
    if number.unit and not cell.unit and number.unit not in ("%", "x"):
        return number.unit.lower().rstrip("s") in words or any(canonical(word) == number.unit for word in words)
    if cell.unit and not number.unit and cell.unit not in ("%", *COUNTED):
        return False
    if number.unit and cell.unit:
        return base(number.unit)[0] == base(cell.unit)[0] and (number.unit == "%") == (cell.unit == "%")
    return "x" not in (number.unit, cell.unit) or number.unit == cell.unit


def _slip(number: Number, cell: Number, named: tuple[int, int], is_named: bool, of_another: bool) -> str:
    """The slip between a number and a cell, if it is sure enough."""
    sizes = [base(each.unit)[1] if number.unit and cell.unit else 1 for each in (number, cell)]
    low, high = (float(each * sizes[1] / sizes[0]) for each in (cell.low, cell.high))
    size = 10.0 ** POWERS.get(number.text[-1], 0)
    words = slip(number.text.rstrip("kMBT"), low / size, high / size) if low > 0 else ""
    if not words or (words.endswith("factor of ten") and is_of_a_size(number, cell)):
        return ""
    if is_named and _is_sure(number, cell, words, (low, high), named):
        return words
    if named[0] < 1 or (number.unit and cell.unit and base(number.unit)[0] != base(cell.unit)[0]):
        return ""
    many = min(_significant(number.text), _significant(cell.text)) > _LEAST_DIGITS
    is_plain = (many or not of_another) and is_same_but_for_its_point(number, cell, words, max(named[1], named[0] - 1))
    is_plain |= not of_another and is_same_but_for_a_slip(number, cell, words, *named)
    return words if is_plain else ""


def is_of_a_size(number: Number, cell: Number) -> bool:
    """Whether one of two numbers is a power of two: 2,048 and 20,480 tokens are usual sizes, and a batch of 128."""
    whole = [text for each in (number, cell) if (text := each.text.replace(",", "")).isdigit()]
    return any(int(each) & (int(each) - 1) == 0 for each in whole)


def _is_sure(number: Number, cell: Number, words: str, right: tuple[float, float], named: tuple[int, int]) -> bool:
    """Whether a slip is sure: the less surely row and column are named, the fewer numbers may be one slip away."""
    row, column = named
    mine, theirs = (_digits(each.text) for each in (number, cell))
    fewer = max if sorted(mine) == sorted(theirs) else min  # a swap moves a zero to the front, where it counts no more
    digits = fewer(_significant(number.text), _significant(cell.text))
    alike = _shape(number) == _shape(cell)
    is_well_named = row >= _WELL and column > 1
    if digits < (2 if row >= _WELL else 3):
        return False
    is_count = digits >= _COUNT and "." not in number.text + cell.text and mine[-1] == theirs[-1]
    if abs(float(number.low) / right[0] - 1) < _NEAR and not is_well_named and not is_count:
        return False
    if words == "one digit differs":
        one = alike and sum(a != b for a, b in zip(mine, theirs, strict=True)) == 1
        named_by_column = column > 2 and digits >= _TELLING
        is_far = abs(float(number.low) / right[0] - 1) > _FAR
        return one and (is_count or named_by_column or row >= (2 if digits > 3 or (column > 1 and is_far) else _WELL))
    if words.startswith("two digits"):
        return alike and sorted(mine) == sorted(theirs)
    factor = next((size for size, name in FACTORS.items() if words.endswith(f"factor of {name}")), 0)
    if not factor or (number.unit != cell.unit and "%" in (number.unit, cell.unit)):
        return False
    if not _is_exact(number, *right, factor):
        return False
    same = sorted(mine.strip("0")) == sorted(theirs.strip("0"))
    if not same and row + column < 4 and (row < 2 or factor in (60, 3600)):
        return False
    in_units = bool(number.unit and cell.unit and row > 1)
    if factor in (60, 3600):
        return in_units or row + column > 4
    if same and number.text[-1] in POWERS and cell.text[-1] not in POWERS:
        return False  # 43.7M in a column of millions
    if factor == 100 and min(number.low, cell.low) < 1:
        return False  # a fraction and its points
    if factor >= 1000:
        return in_units or row > 3
    return factor != 2 or is_well_named


def _is_exact(number: Number, low: float, high: float, factor: int) -> bool:
    """Whether a number is another one times or by a factor within the digits of both, not only nearly."""
    size, half = float(number.low + number.high) / 2, float(number.high - number.low) / 2
    half = max(half, _HALF * 10.0 ** -_shape(number)[1])  # counts are exact, but not half of them
    middle, room = (low + high) / 2, (high - low) / 2
    return any(abs(size - middle * each) <= max(half, room * each) for each in (float(factor), 1 / factor))


def _shape(number: Number) -> tuple[int, int]:
    """How many digits a number has before and after its point."""
    whole, _, fraction = re.sub(r"[^\d.]", "", number.text).partition(".")
    return len(whole), len(fraction)


def _stands_elsewhere(document: Document, number: Number, cell: Number) -> bool:
    """Whether the number, or one that it may be rounded from, is that of another cell, or both stand elsewhere."""
    for each in document.numbers:
        same = each.unit == number.unit or not (each.unit and number.unit)
        if each.table is not None and each is not cell and same and not each.bounds.apart(number.bounds):
            return True
    lines = [
        sum(bool(pattern.search(line)) for line in document.lines) for pattern in (_printed(number), _printed(cell))
    ]
    return min(lines) > 1


def _printed(number: Number) -> re.Pattern[str]:
    return re.compile(rf"(?<![\d.,]){re.escape(number.text)}(?!\d|\.\d)")


def finding_of(number: Number, cell: Number, table: TextTable, words: str) -> Finding:
    row = table.texts[cell.row or 0][0]
    heading = table.headings[cell.cell or 0]
    return Finding(
        "inconsistent",
        (number, cell),
        f'{with_unit(number)} is {with_unit(cell)} in "{row}", "{heading}" of {table_name(table)} ({words}).',
        matters(value(number), value(cell) if number.unit and cell.unit else cell.bounds),
        "a number that is given twice",
    )
