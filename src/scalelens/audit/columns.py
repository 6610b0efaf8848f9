"""Identities between columns of a table: one column follows from others by a formula, up to a common factor."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from scalelens.audit.agreement import LEAST_AGREEING, MEASURED_TWICE, agreed, gap, shared_values
from scalelens.audit.document import TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.groups import own_group, split_rows
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import exact, value
from scalelens.audit.wording import about, matters, middle, table_name, with_unit
from scalelens.units import base

Formula = Callable[[list[Bounds]], Bounds]
Relation = tuple[list[int], Formula, str, Decimal]  # columns, formula, identity, tolerance: see rows_against
EXACT = Decimal(0)


def rows_against(
    table: TextTable, columns: list[int], formula: Formula, identity: str, tolerance: Decimal = EXACT
) -> Iterator[Finding]:
    """Rows whose first column is not what `formula` gives for the other columns, up to a factor that all rows share.

    `tolerance` is the share by which a row may be off: for columns that are measured, not computed from each other.
    Four other rows have to agree if there is a tolerance, or if only the last row is off: of two measurements that
    drift apart, the last row may be the first to show it.  Rows that form a group of their own may have another factor.
    """
    rows = factors(table, columns, formula)
    if not holds(table, columns, formula):
        return
    factor = shared_values([each for _, _, each in rows])
    apart = [k for k, (_, _, each) in enumerate(rows) if gap(factor, each) > tolerance]
    few = len(rows) - len(apart) <= LEAST_AGREEING
    doubtful = few and (tolerance > EXACT or apart == [len(rows) - 1])
    if doubtful or own_group(table, *split_rows([row for row, _, _ in rows], apart), columns):
        return
    for k in apart:
        yield finding(table, rows[k][1], formula, factor, identity)


def rows_against_all(table: TextTable, relations: Iterable[Relation]) -> Iterator[Finding]:
    """Rows that follow neither the first relation that holds nor any other one that does.

    A speedup may come from median times and be printed beside rates of the whole run.
    """
    holding = [relation for relation in relations if holds(table, *relation[:2])]
    for first in holding[:1]:
        for each in rows_against(table, *first):
            if not any(_follows(table, each.numbers[0].row, *other[:2]) for other in holding[1:]):
                yield each


def _follows(table: TextTable, row: int | None, columns: list[int], formula: Formula) -> bool:
    """Whether a row has the factor that the rows of the table share."""
    rows = factors(table, columns, formula)
    shared = shared_values([each for _, _, each in rows])
    return any(k == row and not gap(shared, each) for k, _, each in rows)


def factors(table: TextTable, columns: list[int], formula: Formula) -> list[tuple[int, tuple[Number, ...], Bounds]]:
    """Rows with a number in each column, these numbers, and the first over what the formula gives for the others."""
    rows = [each for each in table.rows_with(*columns) if all(number.low > 0 for number in each[1])]
    return [(row, numbers, value(numbers[0]) / formula([value(each) for each in numbers[1:]])) for row, numbers in rows]


def holds(table: TextTable, columns: list[int], formula: Formula) -> bool:
    """Whether more than three rows have numbers, and a clear majority follows the formula with one factor.

    Rows that are all alike follow any formula with some factor, so those that follow have to differ among themselves.
    """
    rows = factors(table, columns, formula)
    bounds = [each for _, _, each in rows]
    if len(bounds) <= LEAST_AGREEING or not agreed(shared := shared_values(bounds), bounds):
        return False
    claimed = sorted((value(numbers[0]) for _, numbers, each in rows if not gap(shared, each)), key=middle)
    return gap(claimed[-1], claimed[0]) > MEASURED_TWICE


def finding(table: TextTable, numbers: tuple[Number, ...], formula: Formula, factor: Bounds, identity: str) -> Finding:
    claimed, *given = numbers
    right = formula([value(number) for number in given]) * factor
    size = base(claimed.unit)[1]
    of = " and ".join(with_unit(number) for number in given)
    return Finding(
        "inconsistent",
        numbers,
        f"{with_unit(claimed)} does not follow from {of} as in the other rows of {table_name(table)}: "
        f"these give {about(middle(right) / size, 5)} {claimed.unit}".rstrip()
        + ".",
        matters(value(claimed), right),
        identity,
    )


# Formulas of several identities: what they give for the other columns.


def first_value(given: list[Bounds]) -> Bounds:
    return given[0]


def inverse(given: list[Bounds]) -> Bounds:
    return exact(1) / given[0]


def quotient(given: list[Bounds]) -> Bounds:
    return given[0] / given[1]
