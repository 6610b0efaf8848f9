"""Work / energy is counted in the unit of its heading: a batch counts samples, not tokens.

Said of a table whose column of work per energy is the batch size divided by the energy, in every row, while its heading
counts tokens, or images per epoch of more than one batch.  A batch size that its heading counts in tokens is right.
"""

import re
from collections.abc import Iterator

from scalelens.report.audit.document import Document, Table
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Number
from scalelens.report.audit.quantities import value
from scalelens.report.audit.units import base
from scalelens.report.audit.wording import place_of, shown

LEAST_ROWS = 3


def find(document: Document) -> Iterator[Finding]:
    """Columns of tokens per energy that are batches per energy."""
    for table in document.tables:
        for batch, energy, result in columns_of_batch_per_energy(table):
            if table.measures[result].item == "tokens":
                yield finding(table, batch, energy, result)


def columns_of_batch_per_energy(table: Table) -> Iterator[tuple[int, int, int]]:
    """Batch size, energy and work per energy, where the last is the first divided by the second in every row."""
    for result in table.columns("work_per_energy"):
        for batch in (*table.columns("batch"), *table.columns("micro_batch")):
            for energy in table.columns("energy"):
                rows = table.rows_with(batch, energy, result)
                counts_tokens = re.search(r"token", table.headings[batch], re.IGNORECASE)
                if not counts_tokens and len(rows) >= LEAST_ROWS and all(is_ratio(numbers) for _, numbers in rows):
                    yield batch, energy, result


def is_ratio(numbers: tuple[Number, ...]) -> bool:
    batch, energy, result = numbers
    return energy.low > 0 and not (value(batch) / value(energy)).apart(value(result))


def finding(table: Table, batch: int, energy: int, result: int) -> Finding:
    rows = table.rows_with(result, batch, energy)
    first = rows[0][1]
    unit = base(first[0].unit)[0].split("/")[0]
    return Finding(
        "inconsistent",
        first,
        f"The column {table.headings[result]!r} of {place_of(table)} is {table.headings[batch]!r} divided by "
        f"{table.headings[energy]!r} in all {len(rows)} rows ({first[1].text} / {first[2].text} = {first[0].text}): "
        f"a batch counts sequences, so these are sequences per {first[2].unit}, and not {shown(first[0])}.  "
        f"What is called {unit} there are sequences.",
        "conclusion",
        "work per energy = batch size / energy",
    )
