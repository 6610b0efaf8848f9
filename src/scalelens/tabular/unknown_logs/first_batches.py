"""The time of each epoch by the stamps of its first line, where those of its batches are too coarse to tell theirs.

    [10:00:03] epoch: 1/150, iter: 4/43, loss: 6.6          an epoch of 10 s, its validation included
    [10:00:04] epoch: 1/150, iter: 8/43, loss: 6.4
    [10:00:13] epoch: 2/150, iter: 4/43, loss: 6.0

Where the first lines of epochs are of the same batch, each epoch has its time.  Where they are not, as with a line for
each fourth step of all, the mean of several epochs is a metric, over so many that this is a fiftieth of it.
"""

import statistics
from collections.abc import Iterator

from scalelens.parsing.recurring_lines import RECURS
from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.cells import TableRecord
from scalelens.tabular.column_values import Survey
from scalelens.tabular.roles import ColumnReading, assign
from scalelens.tabular.steps import write_rows
from scalelens.tabular.unknown_logs.epoch_times import EPOCHS
from scalelens.tabular.unknown_logs.records import BY_CLOCK, TOTAL, LineTable
from scalelens.tabular.unknown_logs.shapes import Shape
from scalelens.tabular.unknown_logs.times import LineTimes

_MOSTLY = 0.9
_OPEN = 0.02  # share of a time that the batches before the first line may be
_LONG = 3  # times the usual one: something else was waited for


def epochs_by_first_batches(source: Source, rows: Rows, shape: Shape) -> list[ColumnReading]:
    """Rows of the times of epochs, by the first of the lines of each.  Returns what was read as a time."""
    table = LineTable(shape)
    counted = table.columns.get("batch") or table.columns.get("step")
    if shape.bar or not (shape.of_known_epoch and shape.of_training and counted) or shape.with_stamp != shape.lines:
        return []
    firsts = list(_first_lines(table, source))
    numbers = [int(value) for first in firsts if (value := number(first.cells.get(counted))) is not None]
    totals = {value for first in firsts if (value := number(first.cells.get(TOTAL)))}
    if len(firsts) < RECURS or 2 * len(firsts) > shape.lines or len(numbers) != len(firsts) or len(totals) != 1:
        return []
    usual = statistics.mode(numbers)
    aligned = sum(value == usual for value in numbers) >= _MOSTLY * len(numbers)
    if aligned:
        firsts = [first for first, value in zip(firsts, numbers, strict=True) if value == usual]
    times = LineTimes(table.columns["epoch"], table.resolution_s, of_epochs=True)
    kept = {table.columns["epoch"], "rank", "worker", BY_CLOCK}
    records = [first._replace(cells={k: v for k, v in first.cells.items() if k in kept}) for first in firsts]
    survey = Survey(times.seen(iter(records)))
    spans = [span for span, _ in times.by_clock]
    if not times.stamps_tell or max(spans) > _LONG * statistics.median(spans):
        return []
    least_s = times.least_epoch_s
    if not aligned:
        open_s = (max(numbers) - min(numbers)) / totals.pop() * statistics.median(spans)
        least_s = max(least_s, open_s / _OPEN, table.resolution_s / _OPEN)
    readings = assign(survey.columns, {"epoch": (table.columns["epoch"], None)})
    counts = [reading for reading in readings if reading.role in ("epoch", "rank", "place")]
    clock = ColumnReading(BY_CLOCK, "elapsed", "s")
    write_rows(
        source, rows, lambda _: iter(records), survey, [*counts, clock], stream=EPOCHS, begins_epochs=True,
        after_pauses=table.after_pauses, least_epoch_s=least_s, after_launches=table.after_launches,
    )  # fmt: skip
    return [clock]


def _first_lines(table: LineTable, source: Source) -> Iterator[TableRecord]:
    """The first record of each epoch, of the first writer."""
    writer, last = None, None
    for record in table.records(source):
        whose, epoch = (record.cells.get("rank"), record.cells.get("worker")), record.cells.get(table.columns["epoch"])
        writer = whose if writer is None else writer
        if whose == writer and epoch is not None and epoch != last and record.cells.get(BY_CLOCK) is not None:
            last = epoch
            yield record
