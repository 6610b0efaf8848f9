"""The parts of a column add up to its total.

This is about tables whose last row is called total, sum or overall.  A column is accused if another column adds up and
it does not, or if only one digit of the total is wrong.  A total may include parts that the table leaves out, and a
mean is not a sum: rates, shares, powers and ratios are not checked.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import reduce

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.forms.slips import slip
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import about, matters, middle, table_name, with_unit
from scalelens.units import base

_TOTAL = re.compile(r"(?:total|sum|overall|all|altogether)\b[\w\s]{0,12}:?", re.IGNORECASE)
_IS_MEAN = re.compile(r"\W*(?:mean|average|avg|median)\W*", re.IGNORECASE)  # of the rows: not one of the parts
_NO_SUM_WORDS = re.compile(
    r"\b(?:peak|max\w*|min\w*|mean|avg|average|median|largest|per|p\d\d+|percentiles?)\b|\w/\w", re.IGNORECASE
)
_NO_SUM = ("rate", "share", "power", "ratio", "speedup", "efficiency", "work_per_energy", "energy_per_work", "flops",
          "batch", "micro_batch", "length")  # fmt: skip
_SLIPS = ("two digits are swapped", "it is off by a factor of ten")
_DIGIT = "one digit differs"
_LEAST_ROWS = 2
_LEAST_DIGITS = 4
_OF_ITS_OWN_CLOCK = Decimal("0.005")  # a total may have been measured by itself


def find(document: Document) -> Iterator[Finding]:
    """Totals that are not the sum of their column."""
    for table in document.tables:
        last = len(table.cells) - 1
        if last > 1 and _TOTAL.fullmatch(table.texts[last][0]):
            sums = {column: parts for column in range(1, len(table.headings)) if (parts := _parts_of(table, column))}
            wrong = [column for column, (total, right) in sums.items() if right.apart(value(total))]
            right_ones = sum(column not in wrong and _adds(table, column) for column in sums)
            for column in wrong:
                total, right = sums[column]
                addends = [
                    number
                    for texts, cells in zip(table.texts[:-1], table.cells, strict=False)
                    if (number := cells[column]) and not _IS_MEAN.fullmatch(texts[0])
                ]
                if (
                    right_ones > len(wrong)
                    or _one_digit_off(total, right)
                    or _is_swapped(total, addends)
                    or _is_slipped(total, addends, right, _LEAST_DIGITS - bool(right_ones), bool(right_ones))
                    or (right_ones and any(total.text == part.text for part in addends))
                ):
                    yield _finding(table, column, total, right)


def _adds(table: TextTable, column: int) -> bool:
    """Whether a column has two parts or more that are not zero."""
    return sum(number is not None and number.high > 0 for row in table.cells[:-1] for number in [row[column]]) > 1


def _parts_of(table: TextTable, column: int) -> tuple[Number, Bounds] | None:
    """The total of a column and the sum of its other rows; None if they are not parts of a total."""
    rows = zip(table.texts, table.cells, strict=True)
    numbers = [cells[column] for texts, cells in rows if not _IS_MEAN.fullmatch(texts[0])]
    exact = [number for number in numbers if number is not None and not number.hedge]
    units = {base(number.unit)[0] for number in exact}
    if (
        len(numbers) <= _LEAST_ROWS
        or len(exact) != len(numbers)
        or len(units) != 1
        or table.meanings[column].kind in _NO_SUM
    ):
        return None
    if _NO_SUM_WORDS.search(table.headings[column]):
        return None
    if any(_TOTAL.fullmatch(texts[0]) for texts in table.texts[:-1]):
        return None
    largest = max(middle(value(number)) for number in exact[:-1])
    total, *parts = exact[-1], *exact[:-1]
    share = units == {base("%")[0]} and middle(value(total)) == largest
    if (middle(value(total)) < largest or share) and not _is_swapped(total, parts):
        return None  # a mean, or a share of all beside the share of each
    if _leaves_rows_out(table, column, total, len(parts)):
        return None
    right = reduce(Bounds.__add__, map(value, parts))
    if right.apart(value(total)) and any(not value(total).apart(each) for each in _without_some(parts)):
        return None  # a total of some of the rows
    if "." in total.text and all("." not in part.text for part in parts):
        room = base(total.unit)[1] * len(parts) / 2  # the parts were rounded to whole numbers
        right = Bounds(right.low - room, right.high + room)
    return total, right


def _is_swapped(total: Number, parts: list[Number]) -> bool:
    """Whether counts add up to the digits of the total in another order: 131 for 311."""
    if any(not number.text.replace(",", "").isdigit() for number in (total, *parts)):
        return False
    right = str(sum(int(number.text.replace(",", "")) for number in parts))
    shown = total.text.replace(",", "")
    return len(shown) > _LEAST_ROWS and shown != right and slip(shown, float(right), float(right)) == _SLIPS[0]


def _without_some(parts: list[Number]) -> Iterator[Bounds]:
    """What the rows add up to without the first or the last ones, or without one in between."""
    kept = [parts[k:] for k in (1, 2)] + [parts[:-k] for k in (1, 2)]
    kept += [parts[:k] + parts[k + 1 :] for k in range(1, len(parts) - 1)]
    return (reduce(Bounds.__add__, map(value, each)) for each in kept if len(each) > 1)


def _leaves_rows_out(table: TextTable, column: int, total: Number, parts: int) -> bool:
    """Whether the mean that stands beside a total is one of more or fewer rows than there are."""
    rows = zip(table.texts, table.cells, strict=True)
    means = [number for texts, cells in rows if _IS_MEAN.fullmatch(texts[0]) and (number := cells[column])]
    return any(mean.low > 0 and not total.low / mean.high <= parts <= total.high / mean.low for mean in means)


def _is_slipped(total: Number, parts: list[Number], right: Bounds, least: int, digits_count: bool) -> bool:
    """Whether a slip in the total or in one part would make them agree; few digits are near to much.

    One digit that differs counts where another column adds up.
    """
    if len(re.sub(r"\D", "", total.text).strip("0")) < least or right.low <= 0:
        return False
    counts = all(number.text.replace(",", "").isdigit() for number in (total, *parts))
    if abs(middle(value(total)) / middle(right) - 1) < _OF_ITS_OWN_CLOCK and not (counts and digits_count):
        return False
    slips = (*_SLIPS, _DIGIT) if digits_count else _SLIPS
    meant = [(total, right), *((part, value(total) - (right - value(part))) for part in parts)]
    for number, bounds in meant:
        size = base(number.unit)[1]
        if bounds.low > 0 and slip(number.text, float(bounds.low / size), float(bounds.high / size)) in slips:
            return True
    return False


def _one_digit_off(total: Number, right: Bounds) -> bool:
    """Whether the printed total and the sum differ in one digit."""
    digits = re.sub(r"\D", "", total.text)
    decimals = len(total.text.partition(".")[2])
    expected = re.sub(r"\D", "", f"{middle(right) / base(total.unit)[1]:.{decimals}f}")
    return (
        len(digits) > 2
        and len(digits) == len(expected)
        and sum(a != b for a, b in zip(digits, expected, strict=True)) == 1
    )


def _finding(table: TextTable, column: int, total: Number, right: Bounds) -> Finding:
    return Finding(
        "inconsistent",
        (total,),
        f"The rows of {table.headings[column]!r} in {table_name(table)} add up to "
        f"{about(middle(right) / base(total.unit)[1], 7)}, not {with_unit(total)}.",
        matters(value(total), right),
        "total = sum of the rows",
    )
