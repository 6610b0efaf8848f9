"""Rate × time = work: rows that did the same work have the same product.

A row of a table with one rate and one time is accused if the products of at least three rows in four agree, and its own
differs.  It is not accused if it has a name or a number of epochs of its own, if the time is that of a step or batch,
whose work changes with the batch size, or if few rows agree: the rate may leave out a warm-up that the time includes.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import apart_from_the_others
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.groups import other_work, own_group, split_rows
from scalelens.audit.quantities import per_device, value
from scalelens.audit.wording import about, matters, middle, table_name, with_unit


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate and time give a different amount of work than those of the others."""
    for table in document.tables:
        rates = [k for k in table.columns("rate") if not per_device(table, k)]
        times = [k for k in table.columns("time") if "steps" not in table.meanings[k].per]
        if len(rates) == 1 and len(times) == 1:
            yield from _of_table(table, rates[0], times[0])


def _of_table(table: TextTable, rate: int, time: int) -> Iterator[Finding]:
    rows = [row for row in table.rows_with(rate, time) if all(number.low > 0 for number in row[1])]
    products = [value(numbers[0]) * value(numbers[1]) for _, numbers in rows]
    if not products:
        return
    work, far = apart_from_the_others(products)
    item = table.meanings[rate].item
    apart, agreeing = split_rows([row for row, _ in rows], far)
    if own_group(table, apart, agreeing, (rate, time)) or other_work(table, apart, agreeing):
        return
    for k in far:
        row, (speed, duration) = rows[k]
        if any(cell and not products[k].apart(value(cell)) for cell in table.cells[row]):
            continue  # its own work stands beside it
        fitting = work / value(duration)
        yield Finding(
            "inconsistent",
            (speed, duration),
            f"{with_unit(speed)} for {with_unit(duration)} are {about(middle(products[k]), 6)} {item}, but the other "
            f"rows of {table_name(table)} give {about(middle(work))}; {about(middle(work))} {item} in "
            f"{with_unit(duration)} are {about(middle(fitting))} {item}/s.",
            matters(products[k], work),
            "rate × time = work",
        )
