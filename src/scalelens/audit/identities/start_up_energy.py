"""Work per energy that rises with the batch size, only because a start-up is spread over more work.

If the work of a run grows with the batch size, its energy has to grow with it.  A table is accused if its energy hardly
does: the line energy = a + b × batch has an `a` above half of the energy of the smaller half of the rows, fits all rows
to a quarter, and the work per energy at least doubles.  Then most of the rise is `a` divided by more work, not a better
use of the device.  A table is not accused if all rows do the same work, such as an epoch of a fixed data set.
"""

from collections.abc import Iterator

from scalelens.audit.document import Document, TextTable
from scalelens.audit.finding import Finding
from scalelens.audit.printed import Number
from scalelens.audit.quantities import value
from scalelens.audit.wording import table_name, with_unit

_LEAST_ROWS = 4
_LEAST_RISE = 2.0
_PROPORTIONAL = 0.1  # share by which the work of a run per batch may scatter
_FITS = 0.25


def find(document: Document) -> Iterator[Finding]:
    """Tables whose rise of work per energy is a fixed energy divided by more work."""
    for table in document.tables:
        batches = [*table.columns("batch"), *table.columns("micro_batch")]
        energies, results = table.columns("energy"), table.columns("work_per_energy")
        if len(batches) == len(energies) == len(results) == 1:
            rows = sorted(
                (numbers for _, numbers in table.rows_with(results[0], batches[0], energies[0])),
                key=lambda numbers: numbers[1].low,
            )
            if len(rows) >= _LEAST_ROWS and (fixed := _fixed_energy(rows)):
                yield _finding(table, rows, fixed)


def _center(number: Number) -> float:
    interval = value(number)
    return float(interval.low + interval.high) / 2


def _fixed_energy(rows: list[tuple[Number, ...]]) -> float | None:
    """The energy in J that does not grow with the work; None for other tables."""
    per_energy, batch, energy = ([_center(numbers[k]) for numbers in rows] for k in range(3))
    if min(*per_energy, *batch, *energy) <= 0 or per_energy[-1] < _LEAST_RISE * per_energy[0]:
        return None
    per_batch = [p * e / b for p, e, b in zip(per_energy, energy, batch, strict=True)]
    if max(per_batch) > (1 + _PROPORTIONAL) * min(per_batch):
        return None
    count, mean_b, mean_e = len(rows), sum(batch) / len(rows), sum(energy) / len(rows)
    spread = sum((b - mean_b) ** 2 for b in batch)
    if not spread:
        return None
    slope = sum((b - mean_b) * (e - mean_e) for b, e in zip(batch, energy, strict=True)) / spread
    fixed = mean_e - slope * mean_b
    fits = all(abs(fixed + slope * b - e) <= _FITS * e for b, e in zip(batch, energy, strict=True))
    return fixed if fits and fixed > max(energy[: (count + 1) // 2]) / 2 else None


def _finding(table: TextTable, rows: list[tuple[Number, ...]], fixed: float) -> Finding:
    first, last = rows[0], rows[-1]
    times = _center(last[0]) / _center(first[0])
    more_work, more_energy = _center(last[1]) / _center(first[1]), _center(last[2]) / _center(first[2])
    unit_size = _center(first[2]) / float((first[2].low + first[2].high) / 2)
    return Finding(
        "inconsistent",
        (last[0], first[0]),
        f"The rise from {with_unit(first[0])} to {with_unit(last[0])} ({times:.3g} times) in {table_name(table)} is no "
        f"better use of the device: the work grows {more_work:.3g} times and the energy only {more_energy:.3g} times, "
        f"because about {fixed / unit_size:.3g} {first[2].unit} are spent in every row whatever the work (start-up, "
        "idle), and are shared by more of it.",
        "conclusion",
        "energy = a + b × batch size, with a above half of the energy of the smaller rows",
    )
