"""Batch size / time of a step = rate, up to a sequence length or a number of devices that all rows share.

A row is accused if most rows follow and it does not.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import quotient, rows_against
from scalelens.audit.document import Document
from scalelens.audit.finding import Finding

_IDENTITY = "rate = batch size / time of a step"


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate does not follow from their batch size and step time."""
    for table in document.tables:
        times = [k for k in table.columns("time") if table.meanings[k].per & {"steps", "batches"}]
        rates = [k for k in table.columns("rate") if table.meanings[k].item not in ("steps", "epochs")]
        for batch in (*table.columns("batch"), *table.columns("micro_batch")):
            for time in times:
                for rate in rates:
                    yield from rows_against(table, [rate, batch, time], quotient, _IDENTITY, MEASURED_TWICE)
