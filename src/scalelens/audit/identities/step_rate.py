"""Batch size / time of a step = rate, up to a length of sequences or a number of devices that all rows share.

Said of a table where most rows follow and a row does not.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import quotient, rows_against
from scalelens.audit.document import Document
from scalelens.audit.finding import Finding

SAID = "rate = batch size / time of a step"


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate is not that of their batch size and step time."""
    for table in document.tables:
        times = [place for place in table.columns("time") if table.meanings[place].per & {"steps", "batches"}]
        rates = [place for place in table.columns("rate") if table.meanings[place].item not in ("steps", "epochs")]
        for batch in (*table.columns("batch"), *table.columns("micro_batch")):
            for time in times:
                for rate in rates:
                    yield from rows_against(table, [rate, batch, time], quotient, SAID, MEASURED_TWICE)
