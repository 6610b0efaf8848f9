"""Formulas of a table whose types fit: MWh = GPU-hours × 400 W, tokens/s of a GPU = 16,384 tokens / time of a step.

Headings give columns types such as tokens / s (prose/types.py), and the prose around gives numbers that all rows share.
Formulas of two or three of these whose types fit are few, so two rows that fulfill one show that it is meant, and a row
that does not is accused if a slip in one of its cells would mend it.
"""

from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations, product
from math import prod
from operator import mul

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import is_short_slip, slip
from scalelens.audit.printed import Bounds
from scalelens.audit.prose.rarest import is_measured_twice, rarest_slip
from scalelens.audit.prose.types import (
    Column,
    Nouns,
    Type,
    Typed,
    codes_of,
    columns_of,
    multiplied,
    nouns_of,
    rows_of,
    typed_of,
)
from scalelens.audit.wording import about, matters, table_name, with_unit

_FAR = 12  # lines from a table to a sentence whose numbers its rows share
_MOST_ROWS, _MOST_COLUMNS, _MOST_STATED = 16, 12, 12
_LEAST_ROWS, _LEAST_AGREEING, _MOST_OPERANDS = 3, 2, 4
_NARROW, _MOST_ROOM = 1.041, 1.05  # ends of a number, and of what some give, that are farther apart confirm nothing
_TO_THE_DIGIT = 1e-9
_NEARLY = 0.004  # by which rounded operands may miss
_FOR = ("gpu", "step", "epoch")


def find(document: Document) -> Iterator[Finding]:
    """Rows in which a formula does not hold that fits the types and holds in the other rows."""
    nouns = nouns_of(document)
    for table in document.tables:
        if not _LEAST_ROWS <= len(table.cells) <= _MOST_ROWS and len(table.headings) <= _LEAST_ROWS:
            continue
        stated = [
            each
            for sentence in document.sentences
            if -_FAR <= sentence.line - table.line <= len(table.cells) + _FAR
            for each in typed_of(sentence, nouns)
            if not each.number.hedge and each.type
        ]
        unique = list({(each.type, each.low): each for each in stated}.values())[:_MOST_STATED]
        done: set[int] = set()
        for columns in _oriented(table, nouns):
            for finding in _broken(table, columns, unique):
                if finding.numbers[0].line not in done:
                    done.add(finding.numbers[0].line)
                    yield finding


def _oriented(table: TextTable, nouns: Nouns) -> Iterator[list[Column]]:
    """The typed columns, and the typed rows."""
    if len(table.headings) <= _MOST_COLUMNS:
        yield columns_of(table, nouns)
    if len(table.cells) <= _MOST_COLUMNS and len(table.headings) > _LEAST_ROWS:
        yield rows_of(table, nouns)


def _broken(table: TextTable, columns: list[Column], stated: list[Typed]) -> Iterator[Finding]:
    many = len(columns[0]) if columns else 0
    series: list[Column] = [*columns, *((each,) * many for each in stated)]
    kinds = [_bare(first.type) if (first := next(filter(None, each), None)) else None for each in series]
    codes = codes_of(each for each in kinds if each is not None)
    known = [k for k, kind in enumerate(kinds) if kind is not None]
    of_table, of_text = [k for k in known if k < len(columns)], [k for k in known if k >= len(columns)]
    for target in of_table:
        kind = kinds[target]
        others = [k for k in of_table if k != target]
        for count in (1, 2, 3) if kind else ():
            for own in combinations(others, count):
                for extra in ((), *((each,) for each in of_text)):
                    operands = (*own, *extra)
                    if not 1 < len(operands) < _MOST_OPERANDS:
                        continue
                    given = [codes[kinds[k] or ()] for k in operands]
                    for signs in product((1, -1), repeat=len(operands)):
                        if sum(map(mul, given, signs)) == codes[kind or ()] and _is_plain(kind, kinds, operands, signs):
                            yield from _of_formula(table, series[target], tuple(series[k] for k in operands), signs)


def _is_plain(kind: Type | None, kinds: list[Type | None], operands: tuple[int, ...], signs: tuple[int, ...]) -> bool:
    """Whether no type cancels, and none is that of the result but beside a factor."""
    up, down = ({kinds[k] for k, own in zip(operands, signs, strict=True) if own == sign} for sign in (1, -1))
    return not up & down and (kind not in up or () in up | down)


def _bare(kind: Type) -> Type:
    """A type without what a figure is given for: that other rows fulfill a formula shows what it is for."""
    return tuple((atom, power) for atom, power in kind if atom not in _FOR)


def _of_formula(
    table: TextTable, target: Column, operands: tuple[Column, ...], signs: tuple[int, ...]
) -> Iterator[Finding]:
    agreeing: set[tuple[str, ...]] = set()
    apart: list[tuple[Typed, list[Typed], float, float]] = []
    for k, claimed in enumerate(target):
        cells = [column[k] for column in operands]
        given = [each for each in cells if each]
        if not claimed or len(given) < len(cells):
            continue
        low, high = multiplied(given, signs)
        half = (claimed.high - claimed.low) / 2
        if low * (1 - _NEARLY) <= claimed.high + half and claimed.low - half <= high * (1 + _NEARLY):
            is_narrow = all(each.high < _NARROW * each.low for each in (claimed, *given)) and high < _MOST_ROOM * low
            if is_narrow or _is_exact(claimed, given, signs):
                agreeing.add((claimed.number.text, *(each.number.text for each in given)))
        else:
            apart.append((claimed, given, low, high))
    if len(apart) != 1 or len(agreeing) < _LEAST_AGREEING:
        return
    claimed, given, low, high = apart[0]
    words = _slip(claimed.number.text, low / claimed.size, high / claimed.size)
    words = words or _slip_of_operand(claimed, given, signs, low, high)
    own = (claimed.low / claimed.size, claimed.high / claimed.size)
    if words and not is_measured_twice(words, own, (low / claimed.size, high / claimed.size)):
        yield _finding(table, claimed, given, (low, high), len(agreeing), words)


def _is_exact(claimed: Typed, given: list[Typed], signs: tuple[int, ...]) -> bool:
    """Whether the printed numbers themselves multiply to the last digit: 15 × 16 × 1.5 = 360."""
    right = prod(((each.low + each.high) / 2) ** sign for each, sign in zip(given, signs, strict=True))
    own = (claimed.low + claimed.high) / 2
    return len(given) > _LEAST_AGREEING and abs(right / own - 1) < _TO_THE_DIGIT


def _slip(text: str, low: float, high: float) -> str:
    """The slip, of which a factor of two, or one of two digits, says enough where other rows agree."""
    if found := rarest_slip(text, low, high) or slip(text, low, high):
        return found
    return "one digit differs" if is_short_slip(text, low, high) else ""


def _slip_of_operand(claimed: Typed, given: list[Typed], signs: tuple[int, ...], low: float, high: float) -> str:
    """The slip in a cell that the target follows from."""
    for each, sign in zip(given, signs, strict=True):
        if each.number.table is None:
            continue
        ratio = (claimed.low / high, claimed.high / low)
        ends = ratio if sign > 0 else (1 / ratio[1], 1 / ratio[0])
        if found := _slip(each.number.text, each.low * ends[0] / each.size, each.high * ends[1] / each.size):
            return f"in {with_unit(each.number)}: {found}"
    return ""


def _finding(
    table: TextTable, claimed: Typed, given: list[Typed], right: tuple[float, float], agreeing: int, words: str
) -> Finding:
    operands = [each.number for each in given]
    *names, last = [with_unit(each) for each in operands]
    bounds = Bounds(*(Decimal(str(end / claimed.size)) for end in right))
    return Finding(
        "inconsistent",
        (claimed.number, *operands),
        f"{with_unit(claimed.number)} does not follow from {', '.join(names)} and {last} as in {agreeing} other places "
        f"of {table_name(table)}: these give {about((bounds.low + bounds.high) / 2, 5)} ({words}).",
        matters(claimed.number.bounds, bounds),
        "units of a × b, a / b, a × b × c, a × b / c",
    )
