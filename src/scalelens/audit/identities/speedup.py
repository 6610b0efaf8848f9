"""Speedup = rate / rate of the base case = time of the base case / time.

A row of a table with a speedup and a rate or a time is accused if most rows follow with one base case and it does not.
With times, the total work may be fixed (S = t(1) / t(n)) or the work per device (S = n t(1) / t(n)).
"""

from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import Relation, first_value, inverse, rows_against_all
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import per_device


def find(document: Document) -> Iterator[Finding]:
    """Rows whose speedup follows from neither a rate nor a time."""
    for table in document.tables:
        for speedup in table.columns("speedup"):
            yield from rows_against_all(table, _relations(table, speedup))


def _relations(table: TextTable, speedup: int) -> Iterator[Relation]:
    """What the speedup may have been computed from."""
    for rate in table.columns("rate"):
        if not per_device(table, rate):
            yield [speedup, rate], first_value, "speedup = rate / rate of the base case", MEASURED_TWICE
    for time in table.columns("time"):
        yield [speedup, time], inverse, "speedup = time of the base case / time", MEASURED_TWICE
        for devices in table.columns("devices"):
            identity = "speedup = devices × time of the base case / time"
            yield [speedup, time, devices], _of_fixed_work_per_device, identity, MEASURED_TWICE


def _of_fixed_work_per_device(given: list[Bounds]) -> Bounds:
    return given[1] / given[0]
