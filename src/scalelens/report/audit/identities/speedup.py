"""Speedup = rate / rate of the base case = time of the base case / time.

Said of a table with a speedup and a rate or a time, where most rows follow with one base case and a row does not.
"""

from collections.abc import Iterator

from scalelens.report.audit.columns import holds, rows_against
from scalelens.report.audit.document import Document
from scalelens.report.audit.finding import Finding
from scalelens.report.audit.printed import Interval
from scalelens.report.audit.quantities import exact, per_device


def find(document: Document) -> Iterator[Finding]:
    """Rows whose speedup is not that of their rate, or else of their time."""
    for table in document.tables:
        for speedup in table.columns("speedup"):
            rates = [place for place in table.columns("rate") if not per_device(table, place)]
            if any(holds(table, [speedup, rate], same) for rate in rates):
                for rate in rates:
                    yield from rows_against(table, [speedup, rate], same, "speedup = rate / rate of the base case")
                continue
            for time in table.columns("time"):
                yield from rows_against(table, [speedup, time], inverse, "speedup = time of the base case / time")


def same(given: list[Interval]) -> Interval:
    return given[0]


def inverse(given: list[Interval]) -> Interval:
    return exact(1) / given[0]
