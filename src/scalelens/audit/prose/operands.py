"""What the numbers of a sentence may have been computed from: the numbers around it, and the rows that it names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

from scalelens.audit.document import Document, Sentence, TextTable
from scalelens.audit.printed import Number
from scalelens.audit.units import canonical
from scalelens.catalog import rows
from scalelens.units import base

_Dimension = tuple[int, int, int, int]  # powers of s, J, FLOP, B
_DIMENSIONS = {"s": (1, 0, 0, 0), "J": (0, 1, 0, 0), "W": (-1, 1, 0, 0), "FLOP": (0, 0, 1, 0), "B": (0, 0, 0, 1),
               "Hz": (-1, 0, 0, 0)}  # fmt: skip
_PEAKS = ("fp32_tflops", "tf32_tflops", "fp16_tflops", "bf16_tflops", "fp8_tflops")
_NEAR = 2  # sentences before
_NEAR_LINES = 8  # lines before one of a name and its value
_FAR_LINES = 25  # from a sentence to the table that it speaks of
_MOST_ROWS = 60
_FIRST = re.compile(r"\bfirst\b|\bone\b|\bsingle\b|\bfactors?\b|\bspeed-?ups?\b|\befficien\w+|\bscal\w+")
_LAST = re.compile(r"\b(?:last|final|bottom|largest)\b")
_WORD = re.compile(r"[A-Za-z][\w.+-]+|\d+[A-Za-z]+\b")


_LABEL = re.compile(r"([A-Za-z]+(?:/[A-Za-z]+)+)(?:\s*[:=]\s*|\s{2,})$")


_KEYED = re.compile(r"\s*[^:.]+:\s+[\d,.]+(?: ?\S+)?\s*$")
_TO = re.compile(r"[\s*_]*(?:to|→|->)[\s*_]*")
_COUNT = re.compile(r"(?!\d+000$)[\d,]+|[A-Za-z-]+")


@dataclass(frozen=True)
class Operand:
    """A number with its values in base units and its dimension; `cell` is its table, row and column."""

    number: Number
    low: float
    high: float
    dimension: _Dimension
    is_share: bool
    cell: tuple[int, int, int] | None = None


def operand_of(number: Number) -> Operand | None:
    """None for a number that is hedged or whose unit is a rank, or for zero."""
    if number.hedge == "about" or number.low <= 0:
        return None
    name, size = base(number.unit)
    dimension = [0, 0, 0, 0]
    for position, part in enumerate(name.split("/")):
        for k, power in enumerate(_DIMENSIONS.get(part, (0, 0, 0, 0))):
            dimension[k] += power if position == 0 else -power
    cell = None
    if number.table is not None and number.row is not None and number.cell is not None:
        cell = (number.table, number.row, number.cell)
    share = number.unit == "%"
    factor = 1.0 if share else float(size)
    if _COUNT.fullmatch(number.text) and not any(dimension) and number.unit not in ("%", "x"):
        exact = float(number.low + number.high) / 2  # a whole number without a dimension counts something
        return Operand(number, exact, exact, tuple(dimension), share, cell)  # type: ignore[arg-type]
    return Operand(number, float(number.low) * factor, float(number.high) * factor, tuple(dimension), share, cell)  # type: ignore[arg-type]


def around(document: Document, index: int) -> list[Operand]:
    """Operands for the numbers of a sentence: those of its own, of the sentences before, and of the rows it names."""
    sentence = document.sentences[index]
    found: list[Number] = []
    near = _NEAR_LINES if is_keyed(sentence) else _NEAR
    for other in document.sentences[max(0, index - near) : index + 2]:
        if abs(other.line - sentence.line) < _FAR_LINES:
            found += [*with_labels(other), *(number for number, _ in other.spelled)]
    for table in document.tables:
        if -3 <= sentence.line - table.line <= len(table.cells) + _FAR_LINES:
            found += _cells(table, document.sentences[max(0, index - _follows(sentence)) : index + 1])
    if re.search(r"peak|mfu|utili[sz]", sentence.marked):
        found += peaks(document.sentences[max(0, index - _NEAR) : index + 1])
    operands = [operand for number in found if (operand := operand_of(number))]
    distinct = {(each.low, each.high, each.dimension, each.is_share): each for each in reversed(operands)}
    return list(reversed(distinct.values()))


def with_labels(sentence: Sentence) -> list[Number]:
    """The numbers of a sentence; one without a unit has that of the words before it, or of the number that follows.

    "total images/sec: 1656.82", "from 206.90 to 251.89 ms".
    """
    result = []
    for place, (number, (start, end)) in enumerate(zip(sentence.numbers, sentence.positions, strict=True)):
        label = _LABEL.search(sentence.text[:start]) if not number.unit else None
        unit = canonical(label[1]) if label else ""
        following = sentence.numbers[place + 1] if place + 1 < len(sentence.numbers) else number
        if not number.unit and following.unit and _TO.fullmatch(sentence.text[end : sentence.positions[place + 1][0]]):
            number = replace(number, unit=following.unit)
        result.append(replace(number, unit=unit) if "/" in unit else number)
    return result


def is_keyed(sentence: Sentence) -> bool:
    """Whether a sentence is a name and its value: "tokens per step:    1,048,576"."""
    return bool(_KEYED.match(sentence.text))


def _follows(sentence: Sentence) -> bool:
    """Whether a sentence goes on with what the one before is about."""
    return bool(re.search(r"\b(?:then|thus|so|hence|therefore|this|that)\b", sentence.marked))


def devices_named(sentences: tuple[Sentence, ...]) -> list[dict[str, str]]:
    """The devices of the catalog that the sentences name, by its second word: all kinds of A100 for "A100"."""
    words = " ".join(each.text.lower() for each in sentences)
    return [row for row, name in _devices() if name.search(words)]


@cache
def _devices() -> list[tuple[dict[str, str], re.Pattern[str]]]:
    """The devices of the catalog, each with the pattern of its second word."""
    return [(row, re.compile(rf"\b{re.escape(row['device'].split()[1].lower())}\b")) for row in rows("devices_catalog")]


def peaks(sentences: tuple[Sentence, ...]) -> list[Number]:
    """The dense peaks of the devices that the sentences name."""
    found: dict[float, Number] = {}
    for row in devices_named(sentences):
        for column in _PEAKS:
            if row[column]:
                peak = Decimal(str(row[column]))
                found[float(peak)] = Number(str(peak), peak, peak, "TFLOP/s", 0, 0, row["device"])
    return list(found.values())


def _cells(table: TextTable, sentences: tuple[Sentence, ...]) -> list[Number]:
    """Cells of the rows that sentences name, in the columns that they name or in all."""
    text = " ".join(each.text.lower() for each in sentences)
    totals = {row for row, texts in enumerate(table.texts) if re.match(r"total|sum|all\b", texts[0].lower())}
    named, columns = _rows_named(table, sentences), _columns_named(table, text)
    chosen = list(range(len(table.headings))) if totals or not columns else columns
    if not named:
        return []
    return [cell for row in sorted(named | totals) for k in chosen if (cell := table.cells[row][k])]


def _rows_named(table: TextTable, sentences: tuple[Sentence, ...]) -> set[int]:
    """Rows that sentences name by their label, their size, or as the first or last one."""
    text = " ".join(each.text.lower() for each in sentences)
    words = set(_WORD.findall(text))
    sizes = {float(n.low + n.high) / 2 for s in sentences for n in s.with_spelled[1] if "." not in n.text}
    named = {row for row, texts in enumerate(table.texts) if _is_named(texts[0], words, text)}
    for row, cells in enumerate(table.cells):
        if cells and cells[0] and float((cells[0].low + cells[0].high) / 2) in sizes:
            named.add(row)
    if _FIRST.search(text):
        named.add(0)
    if _LAST.search(text):
        named.add(len(table.cells) - 1)
    return named


def _columns_named(table: TextTable, text: str) -> list[int]:
    words = set(_WORD.findall(text))
    return [k for k, heading in enumerate(table.headings) if _is_named(heading, words, text)]


def pairs_nearby(document: Document, sentence: Sentence) -> Iterator[tuple[Operand, Operand]]:
    """Pairs of cells of a column that a sentence may compare: of the columns and rows that it names, or of all."""
    for table in document.tables:
        if -_FAR_LINES <= sentence.line - table.line <= len(table.cells) + _FAR_LINES:
            named = _rows_named(table, (sentence,)) or set(range(len(table.cells)))
            for column in _columns_named(table, sentence.text.lower()) or range(len(table.headings)):
                cells = [row[column] for row in table.cells[:_MOST_ROWS]]
                operands = {row: each for row, cell in enumerate(cells) if cell and (each := operand_of(cell))}
                yield from ((a, b) for row, a in operands.items() if row in named for b in operands.values())


def _is_named(label: str, words: set[str], text: str) -> bool:
    """Whether a sentence has the label, or one of its rare words."""
    plain = label.lower().strip()
    if not plain or re.fullmatch(r"[\d.,\s]+", plain):
        return False
    own = [word for word in _WORD.findall(plain) if len(word) > 2 or word[0].isdigit()]
    return (len(plain) > 1 and plain in text) or any(word in words for word in own)
