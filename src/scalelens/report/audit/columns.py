"""Identities between the columns of a table whose formula has the same value in every row."""

from collections.abc import Callable, Iterator
from decimal import Decimal

from scalelens.report.audit.agreement import LEAST_AGREEING, gap, outside_of, shared_value
from scalelens.report.audit.document import Table
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Interval, Number
from scalelens.report.audit.quantities import exact, value
from scalelens.report.audit.units import base
from scalelens.report.audit.wording import about, matters, middle, place_of, shown

Formula = Callable[[list[Interval]], Interval]


def rows_against(table: Table, columns: list[int], formula: Formula, said: str, one: bool = False) -> Iterator[Finding]:
    """Rows whose first column is not what `formula` gives of the other columns, up to a factor that all rows share.

    With `one` the factor is 1.  Where all other rows that agree stand above the accused one, four have to agree: of two
    measurements that drift apart, the last row may be the first to show it.
    """
    rows = [(row, numbers) for row, numbers in table.rows_with(*columns) if all(number.low > 0 for number in numbers)]
    if len(rows) <= LEAST_AGREEING:
        return
    factors = [value(numbers[0]) / formula([value(number) for number in numbers[1:]]) for _, numbers in rows]
    factor = Decimal(1) if one else shared_value(factors)
    out = outside_of(factor, factors)
    if not out or (max(out) == len(rows) - 1 and len(rows) - len(out) <= LEAST_AGREEING):
        return
    for place in out:
        yield finding(table, rows[place][1], formula, factor, said)


def holds(table: Table, columns: list[int], formula: Formula) -> bool:
    """Most rows follow the formula, whether or not one of them is apart."""
    rows = [numbers for _, numbers in table.rows_with(*columns) if all(number.low > 0 for number in numbers)]
    if len(rows) <= LEAST_AGREEING:
        return False
    factors = [value(numbers[0]) / formula([value(number) for number in numbers[1:]]) for numbers in rows]
    shared = shared_value(factors)
    agreeing = sum(not gap(shared, factor) for factor in factors)
    return agreeing == len(rows) or bool(outside_of(shared, factors))


def finding(table: Table, numbers: tuple[Number, ...], formula: Formula, factor: Decimal, said: str) -> Finding:
    claimed, *given = numbers
    right = formula([value(number) for number in given]) * exact(factor)
    size = base(claimed.unit)[1]
    of = " and ".join(shown(number) for number in given)
    return Finding(
        "inconsistent",
        numbers,
        f"{shown(claimed)} does not follow from {of} as in the other rows of {place_of(table)}: "
        f"these give {about(middle(right) / size)} {claimed.unit}".rstrip() + ".",
        matters(value(claimed), right),
        said,
    )
