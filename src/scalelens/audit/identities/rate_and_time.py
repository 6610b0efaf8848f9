"""Rate × time = work: rows that did the same work have the same product.

Said of a table with one rate and one time where the products of at least three rows in four agree, and a row is apart.
Silent where that row has a name or a number of epochs of its own, where the time is of a step or batch, whose work
changes with the batch size, and where few rows agree: the rate may leave out a warm-up that the time has.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import apart_from_the_others
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.groups import other_work, own_group, split_rows
from scalelens.audit.quantities import per_device, value
from scalelens.audit.wording import about, matters, middle, place_of, shown


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate and time give another work than the others."""
    for table in document.tables:
        rates = [place for place in table.columns("rate") if not per_device(table, place)]
        times = [place for place in table.columns("time") if "steps" not in table.meanings[place].per]
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
    for place in far:
        given, taken = rows[place][1]
        fitting = work / value(taken)
        yield Finding(
            "inconsistent",
            (given, taken),
            f"{shown(given)} for {shown(taken)} are {about(middle(products[place]), 6)} {item}, but the other rows of "
            f"{place_of(table)} give {about(middle(work))}; {about(middle(work))} {item} in {shown(taken)} are "
            f"{about(middle(fitting))} {item}/s.",
            matters(products[place], work),
            "rate × time = work",
        )
