"""Energy / time ≤ power limit of the device.

This is about energies of one device.  The limit is that of the device in the caption or a heading, else twice the
largest limit of the catalog, above which ScaleLens calls a power implausible.  The time is a column, or follows from
the rate and the work of an epoch, if the text says it (`1 epoch = 4 * batch size`).
"""

from collections.abc import Iterator
from decimal import Decimal

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Bounds, Number
from scalelens.audit.quantities import batches_per_epoch, exact, per_device, value
from scalelens.audit.wording import about, middle, table_name, with_unit
from scalelens.catalog import device, rows

_ABOVE_LIMIT = Decimal("1.1")  # a device may exceed its limit for a moment, and a meter may err
_IMPLAUSIBLE = 2


def find(document: Document) -> Iterator[Finding]:
    """The row of each table with the highest power, if no device can draw it."""
    for table in document.tables:
        limit, whose = _limit_of(table)
        for energy in table.columns("energy"):
            if per_device(table, energy):
                above = [
                    (power, numbers, why)
                    for numbers, seconds, why in _timed_rows(table, energy)
                    if seconds.low > 0 and (power := value(numbers[0]) / seconds).low > limit
                ]
                if above:
                    yield _finding(table, max(above, key=lambda row: row[0].low), len(above), limit, whose)


def _limit_of(table: TextTable) -> tuple[Decimal, str]:
    """The power in W that one device cannot exceed, and whose limit that is."""
    known = device(f"{table.caption} {' '.join(table.headings)}")
    if known and known["tdp_w"]:
        return Decimal(known["tdp_w"]) * _ABOVE_LIMIT, f"{known['device']} has a limit of {known['tdp_w']} W"
    largest = max(int(row["tdp_w"]) for row in rows("devices_catalog") if row["tdp_w"])
    return Decimal(largest) * _IMPLAUSIBLE, f"no device of the catalog has a limit above {largest} W"


def _timed_rows(table: TextTable, energy: int) -> Iterator[tuple[tuple[Number, ...], Bounds, str]]:
    """Rows with their energy first, the seconds in which it was spent, and how these are known."""
    same = table.meanings[energy].per & {"epochs", "steps"}
    for time in table.columns("time"):
        if table.meanings[time].per & {"epochs", "steps"} == same:
            for _, numbers in table.rows_with(energy, time):
                yield numbers, value(numbers[1]), "energy / time"
    batches = batches_per_epoch(table)
    if batches and "epochs" in same and not table.columns("time"):
        for batch in table.columns("batch"):
            for rate in table.columns("rate"):
                for _, numbers in (row for row in table.rows_with(energy, batch, rate) if row[1][2].low > 0):
                    seconds = exact(batches) * value(numbers[1]) / value(numbers[2])
                    yield numbers, seconds, f"time of an epoch = {batches} × batch size / rate; energy / time"


def _finding(
    table: TextTable, worst: tuple[Bounds, tuple[Number, ...], str], count: int, limit: Decimal, whose: str
) -> Finding:
    power, numbers, why = worst
    seconds = value(numbers[0]) / power
    return Finding(
        "inconsistent",
        numbers,
        f"{with_unit(numbers[0])} in {about(middle(seconds), 2)} s are {about(middle(power) / 1000, 3)} kW for one "
        f"device in {table_name(table)}; {whose}.  So it is in {count} of {len(table.cells)} rows: energy and time "
        "are not of the same work.",
        "conclusion",
        why,
    )
