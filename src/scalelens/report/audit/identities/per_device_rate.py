"""Rate of a device × devices = rate of the run.

Said of a table with a number of devices, a rate per device and one without, where most rows follow and a row does not.
"""

from collections.abc import Iterator

from scalelens.report.audit.columns import rows_against
from scalelens.report.audit.document import Document
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Interval
from scalelens.report.audit.quantities import per_device


def find(document: Document) -> Iterator[Finding]:
    """Rows whose rate per device is not their rate divided by their devices."""
    for table in document.tables:
        rates = table.columns("rate")
        for one in (place for place in rates if per_device(table, place)):
            for whole in (place for place in rates if not per_device(table, place)):
                for devices in table.columns("devices"):
                    if table.measures[one].item == table.measures[whole].item:
                        yield from rows_against(
                            table, [one, whole, devices], quotient, "rate per device = rate / devices"
                        )


def quotient(given: list[Interval]) -> Interval:
    return given[0] / given[1]
