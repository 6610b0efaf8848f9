"""Work / energy: it follows from energy and work in every row, and counts what its heading says.

A row is accused if it differs from the others, whose work is the same in all rows or grows with the batch size.  A
column called tokens is accused if it is the batch size divided by the energy, because a batch counts sequences, unless
its heading says that the batch size counts tokens.
"""

import re
from collections.abc import Iterator

from scalelens.audit.agreement import agreed
from scalelens.audit.columns import factors, holds, inverse, quotient, rows_against
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.quantities import exact
from scalelens.audit.wording import table_name, with_unit


def find(document: Document) -> Iterator[Finding]:
    """Columns of tokens per energy that are batches per energy, and rows that differ from the others."""
    for table in document.tables:
        for result in table.columns("work_per_energy"):
            for energy in table.columns("energy"):
                yield from rows_against(table, [result, energy], inverse, "work per energy = work / energy")
                for batch in (*table.columns("batch"), *table.columns("micro_batch")):
                    columns = [result, batch, energy]
                    yield from rows_against(table, columns, quotient, "work per energy = batch size / energy")
                    if _counts_sequences(table, columns):
                        yield _finding(table, columns)


def _counts_sequences(table: TextTable, columns: list[int]) -> bool:
    """Whether a column called tokens is batch size / energy, with a factor of 1, and the batch is not in tokens."""
    result, batch, _ = columns
    headed = table.meanings[result].item == "tokens" and not re.search("token", table.headings[batch], re.IGNORECASE)
    bounds = [each for _, _, each in factors(table, columns, quotient)]
    return headed and holds(table, columns, quotient) and agreed(exact(1), bounds)


def _finding(table: TextTable, columns: list[int]) -> Finding:
    result, batch, energy = columns
    numbers = factors(table, columns, quotient)[0][1]
    return Finding(
        "inconsistent",
        numbers,
        f"The column {table.headings[result]!r} of {table_name(table)} is {table.headings[batch]!r} divided by "
        f"{table.headings[energy]!r} ({numbers[1].text} / {numbers[2].text} = {numbers[0].text}).  A batch counts "
        f"sequences: what is called {with_unit(numbers[0])} is {numbers[0].text} sequences per {numbers[2].unit}.",
        "conclusion",
        "work per energy = batch size / energy",
    )
