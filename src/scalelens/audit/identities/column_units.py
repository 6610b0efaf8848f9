"""The unit of a heading fits the other columns.

Mean power is energy / time, a rate is batch size / step time, an efficiency is speedup / devices.  A table is accused
if all its rows follow one of these up to a factor between two units: 1000, 60, 3600, or 100 for per cent.  Another
factor may be a number of devices or a length.  A table with a column of devices is not accused of a wrong power or
rate.
"""

from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.agreement import gap, shared_values
from scalelens.audit.columns import Formula, factors, holds, quotient
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import exact
from scalelens.audit.wording import middle, table_name

_CONVERSIONS = [Decimal(size) for size in (1000, 1_000_000, 60, 3600)]
_NARROW = Decimal("0.02")


def find(document: Document) -> Iterator[Finding]:
    """Columns that would fit each other in another unit."""
    for table in document.tables:
        for columns, formula, identity, conversions in _related(table):
            if holds(table, columns, formula):
                shared = shared_values([each for _, _, each in factors(table, columns, formula)])
                if any(_is_about(shared, size) for size in conversions):
                    yield _finding(table, columns, identity, middle(shared))


def _is_about(shared: Bounds, size: Decimal) -> bool:
    """Whether the digits allow hardly any factor but this one."""
    return not gap(shared, exact(size)) and (shared.high - shared.low) / size < _NARROW


def _related(table: TextTable) -> Iterator[tuple[list[int], Formula, str, list[Decimal]]]:
    """Columns, the formula that gives the first from the others, the identity, and the factors of a wrong unit."""
    units = [*_CONVERSIONS, *(1 / size for size in _CONVERSIONS)]
    times = table.columns("time")
    steps = [time for time in times if table.meanings[time].per & {"steps", "batches"}]
    if not table.columns("devices"):
        for power in table.columns("power"):
            for energy in table.columns("energy"):
                yield from (([power, energy, time], quotient, "mean power = energy / time", units) for time in times)
        for rate in table.columns("rate"):
            for batch in table.columns("batch"):
                yield from (
                    ([rate, batch, step], quotient, "rate = batch size / time of a step", units) for step in steps
                )
    for efficiency in (k for k in table.columns("efficiency") if table.meanings[k].unit == "%"):
        for speedup in table.columns("speedup"):
            for devices in table.columns("devices"):
                columns = [efficiency, speedup, devices]
                yield columns, quotient, "efficiency = speedup / devices", [Decimal("0.01")]


def _finding(table: TextTable, columns: list[int], identity: str, factor: Decimal) -> Finding:
    numbers = tuple(number for number in (table.cells[0][column] for column in columns) if number)
    names = [repr(table.headings[column]) for column in columns]
    times = f"{factor:.0f} times" if factor > 1 else f"1/{1 / factor:.0f} of"
    return Finding(
        "inconsistent",
        numbers,
        f"In {table_name(table)}, {names[0]} is in every row {times} what {names[1]} and {names[2]} give: "
        "one of the three headings names a wrong unit.",
        "conclusion",
        identity,
    )
