"""Efficiency = speedup / devices = (rate / devices) / (rate / devices of the base case).

This is about tables with an efficiency, a number of devices or nodes, and a speedup, a rate or a time: a row is accused
if most rows follow with one base case and it does not.  With times, the total work may be fixed (E = t(1) / (n t(n)))
or the work per device (E = t(1) / t(n)); the rows show which.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import EXACT, Relation, first_value, inverse, quotient, rows_against_all
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import exact, per_device


def find(document: Document) -> Iterator[Finding]:
    """Rows whose efficiency does not follow from their speedup, rate or time."""
    for table in document.tables:
        for efficiency in table.columns("efficiency"):
            yield from rows_against_all(table, relations(table, efficiency))


def relations(table: TextTable, efficiency: int) -> Iterator[Relation]:
    """What the efficiency may have been computed from, the most certain first."""
    for size in (*table.columns("devices"), *table.columns("nodes")):
        for speedup in table.columns("speedup"):
            yield [efficiency, speedup, size], quotient, "efficiency = speedup / devices", EXACT
        for rate in table.columns("rate"):
            if not per_device(table, rate):
                yield (
                    [efficiency, rate, size],
                    quotient,
                    "efficiency = (rate / devices) / (rate / devices of the base case)",
                    MEASURED_TWICE,
                )
        for time in table.columns("time"):
            yield (
                [efficiency, time, size],
                _of_fixed_work,
                "efficiency = time of the base case / (time × devices / devices of the base case)",
                MEASURED_TWICE,
            )
    for rate in (*table.columns("rate"), *table.columns("flops")):
        if per_device(table, rate):
            identity = "efficiency = rate per device / rate per device of the base case"
            yield [efficiency, rate], first_value, identity, MEASURED_TWICE
    for time in table.columns("time"):
        identity = "efficiency = time of the base case / time"
        yield [efficiency, time], inverse, identity, MEASURED_TWICE


def _of_fixed_work(given: list[Bounds]) -> Bounds:
    return exact(1) / (given[0] * given[1])
