"""Efficiency = speedup / devices = (rate / devices) / (rate / devices of the base case).

Said of a table with an efficiency, a number of devices or nodes, and a speedup, a rate or a time, where most rows
follow with one base case and a row does not.  Of times, the total work may be fixed (E = t(1) / (n t(n))) or the work
of a device (E = t(1) / t(n)); the rows say which.
"""

from collections.abc import Iterator

from scalelens.audit.agreement import MEASURED_TWICE
from scalelens.audit.columns import EXACT, Relation, first_value, inverse, quotient, rows_against_all
from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds
from scalelens.audit.quantities import exact, per_device


def find(document: Document) -> Iterator[Finding]:
    """Rows whose efficiency is not that of their speedup, rate or time."""
    for table in document.tables:
        for efficiency in table.columns("efficiency"):
            yield from rows_against_all(table, relations(table, efficiency))


def relations(table: TextTable, efficiency: int) -> Iterator[Relation]:
    """What the efficiency may have been computed from, the surest first."""
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
            said = "efficiency = rate per device / rate per device of the base case"
            yield [efficiency, rate], first_value, said, MEASURED_TWICE
    for time in table.columns("time"):
        said = "efficiency = time of the base case / time"
        yield [efficiency, time], inverse, said, MEASURED_TWICE


def _of_fixed_work(given: list[Bounds]) -> Bounds:
    return exact(1) / (given[0] * given[1])
