"""The time of a step with what comes between, where validation or saving stands between most records of steps.

    10:00:00 step 500, loss 2.1
    10:02:31 validation loss 2.2, checkpoint saved
    10:02:31 step 1000, loss 1.9                    0.302 s a step, with the validation

It is not the time of a step, and so a metric with a name of its own.
"""

import statistics
from typing import Any

from scalelens.parsing.rows import Rows
from scalelens.parsing.source import Source
from scalelens.parsing.values import number
from scalelens.tabular.unknown_logs.records import BY_CLOCK, LineTable
from scalelens.tabular.unknown_logs.times import LineTimes

_NAME = "time per step with pauses"
_FINE = 10  # resolutions of the stamps that lie between two records


def means_with_pauses(source: Source, rows: Rows, table: LineTable, times: LineTimes) -> None:
    """Metrics of the mean time of a step since the record before, by time stamps that are fine enough."""
    spans = [span for span, _ in times.by_clock]
    if not spans or times.counts_down or statistics.median(spans) < _FINE * table.resolution_s:
        return
    last: dict[Any, tuple[float, float]] = {}
    for record in table.records(source):
        cells = record.cells
        step, now = number(cells.get(times.step or "")), number(cells.get(BY_CLOCK))
        if step is None or now is None:
            continue
        whose = cells.get("rank"), cells.get("worker")
        before = last.get(whose)
        last[whose] = step, now
        if before and step > before[0] and now > before[1] and record.line not in table.after_launches:
            rows.turn_to(record.line)
            mean_s = (now - before[1]) / (step - before[0])
            rows.metrics(record.line, *whose, int(step), [(_NAME, mean_s, "s")], stat="mean")
