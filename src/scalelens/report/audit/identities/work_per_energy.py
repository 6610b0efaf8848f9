"""Work / energy is counted in the unit of its heading: a batch counts samples, not tokens.

Said of a table whose column of work per energy is the batch size divided by the energy, while its heading counts tokens:
within the digits in three rows of four, and nearly so in the others.  A batch size that its heading counts in tokens is
right.  A row apart from the others is a finding by itself, whatever the work is that all rows share.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from scalelens.report.audit.agreement import gap, outside_of
from scalelens.report.audit.document import Document, Table
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Interval, Number
from scalelens.report.audit.quantities import exact, value
from scalelens.report.audit.units import base
from scalelens.report.audit.wording import about, matters, middle, place_of, shown

LEAST_ROWS = 3
NEARLY = Decimal("0.01")


def find(document: Document) -> Iterator[Finding]:
    """Columns of tokens per energy that are batches per energy."""
    for table in document.tables:
        for batch, energy, result in columns_of_batch_per_energy(table):
            if table.measures[result].item == "tokens":
                yield finding(table, batch, energy, result)
            yield from rows_apart(table, batch, energy, result)


def columns_of_batch_per_energy(table: Table) -> Iterator[tuple[int, int, int]]:
    """Batch size, energy and work per energy, where the last is the first divided by the second in every row."""
    for result in table.columns("work_per_energy"):
        for batch in (*table.columns("batch"), *table.columns("micro_batch")):
            for energy in table.columns("energy"):
                rows = table.rows_with(batch, energy, result)
                counts_tokens = re.search(r"token", table.headings[batch], re.IGNORECASE)
                if counts_tokens or len(rows) < LEAST_ROWS or any(numbers[1].low <= 0 for _, numbers in rows):
                    continue
                quotients = [quotient(numbers) for _, numbers in rows]
                out = outside_of(Decimal(1), quotients)
                if sum(not gap(Decimal(1), each) for each in quotients) == len(rows) - len(out) and all(
                    gap(Decimal(1), each) < NEARLY for each in quotients
                ):
                    yield batch, energy, result


def quotient(numbers: tuple[Number, ...]) -> Interval:
    """What batch size / energy is of the printed work per energy: 1 where it is that."""
    batch, energy, result = numbers
    return value(batch) / value(energy) / value(result)


def rows_apart(table: Table, batch: int, energy: int, result: int) -> Iterator[Finding]:
    """Rows whose printed work per energy does not follow from the printed batch and energy as in the other rows."""
    rows = table.rows_with(batch, energy, result)
    for place in outside_of(Decimal(1), [quotient(numbers) for _, numbers in rows]):
        work, spent, printed = rows[place][1]
        right = value(work) / value(spent) * exact(base(spent.unit)[1])
        yield Finding(
            "inconsistent",
            (printed, work, spent),
            f"{work.text} / {shown(spent)} is {about(middle(right), 5)}, but {place_of(table)} prints {printed.text}; "
            "the other rows follow from their batch size and energy.",
            matters(value(printed), value(work) / value(spent)),
            "work per energy = batch size / energy",
        )


def finding(table: Table, batch: int, energy: int, result: int) -> Finding:
    rows = table.rows_with(result, batch, energy)
    first = rows[0][1]
    unit = base(first[0].unit)[0].split("/")[0]
    return Finding(
        "inconsistent",
        first,
        f"The column {table.headings[result]!r} of {place_of(table)} is {table.headings[batch]!r} divided by "
        f"{table.headings[energy]!r} in its rows ({first[1].text} / {first[2].text} = {first[0].text}): "
        f"a batch counts sequences, so these are sequences per {first[2].unit}, and not {shown(first[0])}.  "
        f"What is called {unit} there are sequences.",
        "conclusion",
        "work per energy = batch size / energy",
    )
