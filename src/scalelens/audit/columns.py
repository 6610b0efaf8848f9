"""Identities between the columns of a table whose formula has the same value in every row."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from scalelens.audit.agreement import LEAST_AGREEING, agreed, gap, shared_values
from scalelens.audit.document import TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.groups import own_group, split_rows
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.wording import about, matters, middle, place_of, shown
from scalelens.units import base

Formula = Callable[[list[Bounds]], Bounds]
Relation = tuple[list[int], Formula, str, Decimal]  # columns, formula, how it is said, room: see rows_against
EXACT = Decimal(0)


def rows_against(
    table: TextTable, columns: list[int], formula: Formula, said: str, room: Decimal = EXACT
) -> Iterator[Finding]:
    """Rows whose first column is not what `formula` gives of the other columns, up to a factor that all rows share.

    `room` is the share by which a row may be off besides: for columns that are measured, not computed from each other.

    Of such columns, and where the last row alone is apart, four others have to agree: of two measurements that drift
    apart, the last row may be the first to show it.  Rows that are a group of their own may have another factor.
    """
    rows = factors(table, columns, formula)
    if not holds(table, columns, formula):
        return
    factor = shared_values([each for _, _, each in rows])
    apart = [place for place, (_, _, each) in enumerate(rows) if gap(factor, each) > room]
    few = len(rows) - len(apart) <= LEAST_AGREEING
    doubtful = few and (room > EXACT or apart == [len(rows) - 1])
    if doubtful or own_group(table, *split_rows([row for row, _, _ in rows], apart), columns):
        return
    for place in apart:
        yield finding(table, rows[place][1], formula, factor, said)


def rows_against_all(table: TextTable, relations: Iterable[Relation]) -> Iterator[Finding]:
    """Rows that do not follow the first relation that holds, nor any other one that does.

    A speedup may come from median times and stand beside rates of the whole run.
    """
    held = [
        (columns, formula, said, room) for columns, formula, said, room in relations if holds(table, columns, formula)
    ]
    for columns, formula, said, room in held[:1]:
        for found in rows_against(table, columns, formula, said, room):
            if not any(_follows(table, found.numbers[0].row, *other[:2]) for other in held[1:]):
                yield found


def _follows(table: TextTable, row: int | None, columns: list[int], formula: Formula) -> bool:
    """A row has the factor that the rows of the table share."""
    found = factors(table, columns, formula)
    shared = shared_values([each for _, _, each in found])
    return any(place == row and not gap(shared, each) for place, _, each in found)


def factors(table: TextTable, columns: list[int], formula: Formula) -> list[tuple[int, tuple[Number, ...], Bounds]]:
    """Rows with a number in each column, these, and what the first is of the formula of the others."""
    rows = [each for each in table.rows_with(*columns) if all(number.low > 0 for number in each[1])]
    return [(row, numbers, value(numbers[0]) / formula([value(each) for each in numbers[1:]])) for row, numbers in rows]


def holds(table: TextTable, columns: list[int], formula: Formula) -> bool:
    """More than three rows have numbers, and a clear majority follows the formula with one factor."""
    found = [each for _, _, each in factors(table, columns, formula)]
    return len(found) > LEAST_AGREEING and agreed(shared_values(found), found)


def finding(table: TextTable, numbers: tuple[Number, ...], formula: Formula, factor: Bounds, said: str) -> Finding:
    claimed, *given = numbers
    right = formula([value(number) for number in given]) * factor
    size = base(claimed.unit)[1]
    of = " and ".join(shown(number) for number in given)
    return Finding(
        "inconsistent",
        numbers,
        f"{shown(claimed)} does not follow from {of} as in the other rows of {place_of(table)}: "
        f"these give {about(middle(right) / size, 5)} {claimed.unit}".rstrip()
        + ".",
        matters(value(claimed), right),
        said,
    )


# Formulas that several identities share.


def first_value(given: list[Bounds]) -> Bounds:
    return given[0]


def inverse(given: list[Bounds]) -> Bounds:
    return exact(1) / given[0]


def quotient(given: list[Bounds]) -> Bounds:
    return given[0] / given[1]
